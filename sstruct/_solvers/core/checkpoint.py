"""The file that a fit can be resumed from."""

import json
import os
import zipfile
from pathlib import Path

import numpy as np

from sstruct._kernels._clock import seconds

FORMAT = 1
# Writing may take this share of the time of a fit.
SHARE = 0.05


class Checkpoint:
    """A file with the whole state of a fit, replaced atomically as the fit goes.

    Parameters
    ----------
    path : str or path-like
    fingerprint : str
        Of data and parameters: a file with another one belongs to another fit.

    Raises
    ------
    ValueError
        If there is no directory for the file.
    """

    def __init__(self, path, fingerprint):
        self.path, self.fingerprint = Path(path), fingerprint
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint {str(path)!r}: there is no directory {self.path.parent}")
        self.next_save = 0.0

    def load(self):
        """Return (arrays, notes) as saved, or None where there is no file.

        Raises
        ------
        ValueError
            If the file is none of ours, or belongs to another fit.
        """
        try:
            with open(self.path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            notes = json.loads(arrays.pop("notes").tobytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{self.path} is no checkpoint of sstruct: {error}") from error
        if notes.pop("format", None) != FORMAT:
            raise ValueError(f"{self.path} was written by another version of sstruct")
        if notes.pop("fingerprint") != self.fingerprint:
            raise ValueError(
                f"{self.path} is the checkpoint of a fit with other data or parameters. Remove it, "
                "or choose another file"
            )
        return arrays, notes

    def due(self):
        """Whether it is time to save, so that saving stays a small share of the whole."""
        return seconds() >= self.next_save

    def save(self, arrays, notes):
        """Replace the file; at any moment the old or the new one is there, whole."""
        begin = seconds()
        notes = json.dumps({"format": FORMAT, "fingerprint": self.fingerprint, **notes})
        written = self.path.with_name(f"{self.path.name}.tmp")
        try:
            with open(written, "wb") as file:
                np.savez(file, notes=np.frombuffer(notes.encode(), dtype=np.uint8), **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(written, self.path)
        finally:
            written.unlink(missing_ok=True)
        now = seconds()
        self.next_save = now + (now - begin) / SHARE

    def remove(self):
        """Remove the file, if it is there."""
        self.path.unlink(missing_ok=True)
