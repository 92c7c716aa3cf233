"""A folder for the files of this process, gone with it."""

import os
import tempfile
from pathlib import Path

_places = {}


def folder():
    """Return a folder of this process's own; children have others than their parents."""
    process = os.getpid()
    if process not in _places:
        _places[process] = tempfile.TemporaryDirectory(prefix="sstruct-hostile-")
    return Path(_places[process].name)
