"""Run the examples of the manual in an empty folder, since some of them write files."""

import pytest


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
