"""Checkpoint file from which a fit can be resumed."""

import json
import math
import os
import re
import secrets
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from sstruct._checks.shown import brief, shortened
from sstruct._checks.warn import warn_user
from sstruct._kernels._clock import seconds

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = 3
REMOVE = "Remove it, or choose another path"
# Upper limit of plausible running times: a thousand years.
MAX_SECONDS = 3e10
# Largest share of the time of a fit that is spent on writing.
SHARE = 0.05
# Far more fields than any problem and solver have.
MAX_FIELDS = 100
# Header that `np.savez` writes before the values of a one-dimensional array.
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?s:..)\{'descr': '([<>|][fiu][148])', 'fortran_order': False, "
    rb"'shape': \(([0-9]{1,15}),\), \} {0,99}\n"
)


def check_place(path):
    """Raise an error if a fit could not write its checkpoint.

    Parameters
    ----------
    path : str or path-like

    Raises
    ------
    OSError
        If the directory does not exist or is not writable, or if the path is not a regular file.
    TypeError, ValueError
        If `path` is not a valid path.
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
            f"checkpoint {shortened(name)}: there is no directory {path.parent}; create it, or "
            "choose another path"
        )
    if path.is_dir():
        raise IsADirectoryError(
            f"checkpoint {shortened(name)} is a directory: add the name of a file in it"
        )
    if path.exists() and not path.is_file():
        raise OSError(f"checkpoint {shortened(name)} is a device or a pipe, expected a file")
    written = temporary_path(path)
    try:
        with open(written, "xb"):
            pass
        written.unlink(missing_ok=True)  # another fit may have removed it as a leftover
    except OSError as error:
        raise OSError(
            error.errno,
            f"checkpoint {shortened(name)} cannot be written ({error.strerror}): choose another "
            "directory, or make this one writable",
        ) from error


def temporary_path(path):
    """Return a new name in the directory of a checkpoint, for writing its next version."""
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")


class Checkpoint:
    """A file with the whole state of a fit, replaced atomically while the fit runs.

    As a context manager, reserves the path for one fit at a time. The lock is an advisory lock on
    ``<path>.lock``, which the operating system releases when the process ends. If the platform or
    the file system has no such locks, several fits may write to the same path, and the last
    complete file remains.

    Parameters
    ----------
    path : str or path-like
        A path that `check_place` has accepted.
    fingerprints : dict of str
        Fingerprints of data and parameters by name. A file with others belongs to another fit.

    Attributes
    ----------
    failure : Warning or None
        Exception into which a warning filter has turned a warning about this file.
    """

    def __init__(self, path, fingerprints):
        self.path, self.fingerprints = Path(path).absolute(), fingerprints
        self.next_save = 0.0
        self.failure = None
        self._can_write = True
        self._lock = None

    def __enter__(self):
        """Reserve the path.

        Raises
        ------
        BlockingIOError
            If another fit is using it, in this process or another one.
        """
        try:
            self._lock = locked_file(self.path.with_name(f"{self.path.name}.lock"))
        except BlockingIOError as error:
            raise BlockingIOError(
                error.errno,
                f"checkpoint {self.path} is in use by another fit that is still running: wait "
                "until that fit ends, or choose another path",
            ) from None
        if self._lock is not None:
            self._remove_remains()
        return self

    def __exit__(self, *_):
        lock, self._lock = self._lock, None
        if lock is not None:
            unlock(lock)

    def _remove_remains(self):
        """Remove the temporary files of fits that were killed; requires the lock."""
        pattern = re.compile(re.escape(self.path.name) + r"\.[0-9a-f]{16}\.tmp")
        with suppress(OSError), os.scandir(self.path.parent) as entries:
            for found in entries:
                if pattern.fullmatch(found.name):
                    os.unlink(found.path)

    def load(self):
        """Return (arrays, notes) as saved, or None if there is no file.

        The arrays are not validated; callers must do so (``kept_array``).

        Raises
        ------
        ValueError
            If the file is damaged, or belongs to another fit or to another version of sstruct.
        """
        try:
            opened = open(self.path, "rb")
        except FileNotFoundError:
            return None
        with opened:
            try:
                arrays = read_arrays(opened)
                if "notes" not in arrays:
                    raise ValueError("it has no array 'notes'")
                notes = json.loads(arrays.pop("notes").tobytes())
                if not isinstance(notes, dict):
                    raise ValueError("'notes' is not a dict")
            except MemoryError:
                raise
            except Exception as error:  # zipfile and json raise many types for other files
                raise self.damaged(error) from error
        if notes.pop("format", None) != FORMAT:
            raise ValueError(
                f"checkpoint {self.path} was written by another version of sstruct. {REMOVE}"
            )
        kept, own = notes.pop("fingerprints", None), self.fingerprints
        if kept != own:
            kept = kept if isinstance(kept, dict) else {}
            names = [name for name in {**own, **kept} if own.get(name) != kept.get(name)]
            raise ValueError(
                f"{self.path} is the checkpoint of a fit with other data or parameters: "
                f"{shortened(names)}. {REMOVE}"
            )
        return arrays, notes

    def damaged(self, error):
        """Return the ValueError that explains why a fit cannot resume from the file."""
        return ValueError(
            f"{self.path} is damaged, or is not a checkpoint of sstruct: {brief(error)}. {REMOVE}"
        )

    def due(self):
        """Return whether to save now; saving takes only a small share of the total time."""
        return seconds() >= self.next_save

    def save(self, arrays, notes):
        """Replace the file atomically: at any time the path has a complete old or new version.

        If the file cannot be written, warn, keep the old version and let the fit continue. There is
        one warning until writing succeeds again.
        """
        begin = seconds()
        notes = json.dumps({"format": FORMAT, "fingerprints": self.fingerprints, **notes})
        notes = np.frombuffer(notes.encode(), dtype=np.uint8)
        try:
            self._write({"notes": notes, **arrays})
        except OSError as error:
            could_write, self._can_write = self._can_write, False
            if could_write:
                self._warn(
                    f"checkpoint {self.path} could not be written ({error.strerror or error}). "
                    "The fit continues, and tries again after later passes"
                )
        else:
            self._can_write = True
        now = seconds()
        self.next_save = now + (now - begin) / SHARE

    def _write(self, arrays):
        written = temporary_path(self.path)
        try:
            # Never an existing file, which may be a link to another one.
            with open(written, "xb") as file:
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(written, self.path)
        except BaseException:
            with suppress(OSError):
                written.unlink(missing_ok=True)
            raise

    def remove(self):
        """Remove the file of a fit that has ended, if there is one; warn if that fails."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            self._warn(
                f"checkpoint {self.path} could not be removed ({error.strerror or error}). "
                "Remove it before the next fit"
            )

    def _warn(self, message):
        try:
            warn_user(message, RuntimeWarning)
        except RuntimeWarning as error:
            self.failure = error
            raise


def locked_file(path):
    """Open and lock a file; return None if the platform or the file system cannot lock it.

    Raises
    ------
    BlockingIOError
        If it is locked already.
    """
    if fcntl is None:
        return None
    while True:
        try:
            file = open(path, "ab", opener=without_links)
        except OSError:  # for example, the lock file of another user
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise
        except OSError:  # a file system without locks
            file.close()
            return None
        if is_at(file, path):
            return file
        # The last holder has removed the file since it was opened here: open the new one.
        file.close()


def unlock(file):
    """Remove and release a file of `locked_file`."""
    with suppress(OSError):
        # Keep a new file in a recreated directory, and a file with content of someone else.
        if is_at(file, file.name) and os.fstat(file.fileno()).st_size == 0:
            os.unlink(file.name)
    with suppress(OSError), file:
        fcntl.flock(file, fcntl.LOCK_UN)  # forked processes share the lock


def is_at(file, path):
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except OSError:
        return False


def without_links(path, flags):
    """Opener for `open` that follows no symbolic link and does not wait for a pipe's reader."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def read_arrays(opened):
    """Return the arrays of an ``.npz`` by name, using no more memory than the size of the file.

    Members must be as ``np.savez`` writes them: uncompressed one-dimensional arrays of numbers.
    """
    length = os.fstat(opened.fileno()).st_size
    arrays = {}
    with zipfile.ZipFile(opened) as file:
        members = file.infolist()
        if len(members) > MAX_FIELDS:
            raise ValueError(f"found {len(members)} fields, expected at most {MAX_FIELDS}")
        if sum(member.file_size for member in members) > length:
            raise ValueError("the fields are larger than the file")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays or member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{name} is duplicated or compressed")
            arrays[name] = array_of(name, file.read(member))
    return arrays


def array_of(name, content):
    """Return the array stored in the bytes of an ``.npy`` file."""
    header = HEADER.match(content)
    if header is None:
        raise ValueError(f"{name} is not a one-dimensional array of numbers")
    dtype, count = np.dtype(header[1].decode()), int(header[2])
    if len(content) != header.end() + count * dtype.itemsize or not dtype.isnative:
        raise ValueError(f"{name} is not an array of {count} native numbers of type {dtype}")
    # A copy is aligned for its type.
    return np.frombuffer(content, dtype, count, header.end()).copy()


def note(notes, name, kind, most=math.inf):
    """Return a nonnegative number, or a bool, of the exact type `kind` from the notes of a file.

    Raises
    ------
    ValueError
        If the value is missing or invalid; the message names it.
    """
    value = notes.get(name)
    if type(value) is not kind or not 0 <= value <= most:
        raise ValueError(f"{name} is {shortened(value)}, expected {kind.__name__} from 0 to {most}")
    return value
