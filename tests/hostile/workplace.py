"""A temporary folder for files of this process."""

import os
import tempfile
from pathlib import Path

_places = {}


def folder():
    """Return the folder of this process; child processes have their own."""
    process = os.getpid()
    if process not in _places:
        _places[process] = tempfile.TemporaryDirectory(prefix="sstruct-hostile-")
    return Path(_places[process].name)
