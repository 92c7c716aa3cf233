"""Fixtures for tests of graph estimators."""

import pytest

from sstruct._estimators.graph import graph_structure, nearest_labels
from sstruct._testing._graph_enumeration import graph_enumeration


@pytest.fixture
def enumerated(monkeypatch):
    """Decode all graphs by enumeration, so that every certificate is exact."""
    monkeypatch.setattr(graph_structure, "decoder_of", lambda *_, **__: graph_enumeration())


@pytest.fixture
def without_completion(monkeypatch):
    """Do not complete unknown labels from known labels of other nodes."""
    monkeypatch.setattr(nearest_labels, "MAX_EDGES", 0)
