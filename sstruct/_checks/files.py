"""Replace a file only by a complete new one."""

import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def replaced_file(path):
    """Yield a temporary path for a file that becomes the one at `path` unless an error occurs.

    At any time, `path` has a complete old or new version. The new one keeps the permissions of the
    old one. Devices and pipes are written directly.
    """
    path = Path(os.path.realpath(path))  # keep a link to the file
    if path.exists() and not path.is_file():
        yield path
        return
    # In the same folder, because os.replace is atomic only within a file system.
    with TemporaryDirectory(prefix=".", dir=path.parent, ignore_cleanup_errors=True) as folder:
        draft = Path(folder, path.name)
        yield draft
        with suppress(FileNotFoundError):  # a new file
            shutil.copymode(path, draft)
        os.replace(draft, path)
