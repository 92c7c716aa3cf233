"""The file that a fit can be resumed from."""

import json
import math
import os
import re
import zipfile
from pathlib import Path

import numpy as np

from sstruct._checks.shown import brief, shortened
from sstruct._kernels._clock import seconds

FORMAT = 2
# No fit has lasted a thousand years.
MOST_SECONDS = 3e10
# Writing may take this share of the time of a fit.
SHARE = 0.05
# Far more than any problem and solver have.
MOST_FIELDS = 100
# What `np.savez` writes before the numbers of an array in one dimension.
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?s:..)\{'descr': '([<>|][fiu][148])', 'fortran_order': False, "
    rb"'shape': \(([0-9]{1,15}),\), \} {0,99}\n"
)


def check_place(path):
    """Raise where a fit could not write its checkpoint.

    Parameters
    ----------
    path : str or path-like

    Raises
    ------
    OSError
        If its folder is not there or cannot be written to, or if what is there is no file.
    TypeError, ValueError
        If it is no path.
    """
    name = os.fspath(path)
    if not isinstance(name, str):
        raise TypeError(f"checkpoint must be a path of str, found {shortened(name)}")
    if "\0" in name:
        raise ValueError(
            f"checkpoint must be a path, found {shortened(name)} with a null character"
        )
    path = Path(name)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint {shortened(name)}: there is no directory {path.parent}"
        )
    if path.is_dir():
        raise IsADirectoryError(
            f"checkpoint {shortened(name)} is a directory: add the name of a file in it"
        )
    if path.exists() and not path.is_file():
        raise OSError(f"checkpoint {shortened(name)} is a device or a pipe: take a file")
    written = beside(path)
    try:
        written.unlink(missing_ok=True)
        with open(written, "xb"):
            pass
        written.unlink()
    except OSError as error:
        raise OSError(
            error.errno,
            f"checkpoint {shortened(name)} cannot be written ({error.strerror}): take another "
            "directory, or let this one be written to",
        ) from error


def beside(path):
    """Return where the next checkpoint is written before it takes the place of the last."""
    return path.with_name(f"{path.name}.tmp")


class Checkpoint:
    """A file with the whole state of a fit, replaced atomically as the fit goes.

    Parameters
    ----------
    path : str or path-like
        That `check_place` has seen.
    fingerprint : str
        Of data and parameters: a file with another one belongs to another fit.
    """

    def __init__(self, path, fingerprint):
        self.path, self.fingerprint = Path(path), fingerprint
        self.next_save = 0.0

    def load(self):
        """Return (arrays, notes) as saved, or None where there is no file.

        The arrays are any that the format can hold: who takes one checks it (``kept_array``).

        Raises
        ------
        ValueError
            If the file is none of ours, or belongs to another fit.
        """
        try:
            opened = open(self.path, "rb")
        except FileNotFoundError:
            return None
        with opened:
            try:
                arrays = read_arrays(opened)
                notes = json.loads(arrays.pop("notes").tobytes())
            except MemoryError:
                raise
            except Exception as error:  # whatever those two raise for bytes that are none of ours
                raise ValueError(
                    f"{self.path} is no checkpoint of sstruct: {brief(error)}"
                ) from error
        if not isinstance(notes, dict):
            raise ValueError(f"{self.path} is no checkpoint of sstruct: notes is no dict")
        if notes.pop("format", None) != FORMAT:
            raise ValueError(f"{self.path} was written by another version of sstruct")
        if notes.pop("fingerprint", None) != self.fingerprint:
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
        written = beside(self.path)
        # Made anew: it may be what a killed process left, or somebody's link to a file of ours.
        written.unlink(missing_ok=True)
        try:
            with open(written, "xb") as file:
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


def read_arrays(opened):
    """Return the arrays of an ``.npz`` by name, taking no more memory than the file is long.

    Members are as ``np.savez`` writes them: not compressed, numbers in one dimension.
    """
    length = os.fstat(opened.fileno()).st_size
    arrays = {}
    with zipfile.ZipFile(opened) as file:
        members = file.infolist()
        if len(members) > MOST_FIELDS:
            raise ValueError(f"it has {len(members)} fields, expected at most {MOST_FIELDS}")
        if sum(member.file_size for member in members) > length:
            raise ValueError("its fields are longer than the file")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays or member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{name} is there twice, or compressed")
            arrays[name] = array_of(name, file.read(member))
    return arrays


def array_of(name, content):
    """Return the array of an ``.npy`` file's bytes."""
    header = HEADER.match(content)
    if header is None:
        raise ValueError(f"{name} is no array of numbers in one dimension")
    dtype, count = np.dtype(header[1].decode()), int(header[2])
    if len(content) != header.end() + count * dtype.itemsize or not dtype.isnative:
        raise ValueError(f"{name} is no array of {count} native numbers of type {dtype}")
    # A copy, on a border of its type.
    return np.frombuffer(content, dtype, count, header.end()).copy()


def note(notes, name, kind, most=math.inf):
    """Return a number from the notes of a file, at least 0, or a bool; of the very type `kind`.

    Raises
    ------
    ValueError
        Names the note.
    """
    value = notes.get(name)
    if type(value) is not kind or not 0 <= value <= most:
        raise ValueError(f"{name} is {shortened(value)}, expected {kind.__name__} from 0 to {most}")
    return value
