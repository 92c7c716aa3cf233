"""Files are replaced as a whole."""

import os
import stat
import threading

import pytest

from sstruct._checks.files import replaced_file


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_errors_keep_the_old_file(tmp_path, error):
    path = tmp_path / "model.json"
    path.write_text("old")

    def fail(draft):
        draft.write_text("half of a")
        raise error

    with pytest.raises(error), replaced_file(path) as draft:
        fail(draft)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.json"]


def test_links_are_kept(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with replaced_file(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_pipes_are_written_directly(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    with replaced_file(pipe) as draft:
        draft.write_text("content")
    reader.join(30)
    assert read == ["content"]
    assert pipe.is_fifo()


def test_permissions_of_a_new_file_follow_the_umask(tmp_path):
    (tmp_path / "written").touch()
    with replaced_file(tmp_path / "replaced") as draft:
        draft.touch()
    modes = {os.stat(tmp_path / name).st_mode for name in ("written", "replaced")}
    assert len(modes) == 1


@pytest.mark.skipif(os.name != "posix", reason="the platform has no permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_permissions_of_an_existing_file_are_kept(tmp_path, mode):
    path = tmp_path / "model.json"
    path.touch()
    path.chmod(mode)
    with replaced_file(path) as draft:
        draft.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"
