"""Outcomes of hostile calls that are findings.

A call may return, or raise a ValueError (also NotFittedError), TypeError, OSError or MemoryError
with a message, whether this package, scikit-learn, NumPy or SciPy raises it. Exceptions of other
types are findings of the kind "exception", unless NumPy or SciPy raises them. Exceptions of hostile
objects (`MischiefError`) and of users' oracles pass.
"""

import re
import traceback
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import sstruct
from tests.hostile.values import MischiefError

ALLOWED = (ValueError, TypeError, OSError, MemoryError)
PACKAGE = Path(sstruct.__file__).resolve().parent
# Errors of these packages for unusual values, which cannot be listed; sstruct need not check them.
LIBRARIES = ("/numpy/", "/scipy/")
# A user's oracle may raise anything.
USERS_OWN = ("/tests/estimators/", "/tests/inference/")


@dataclass
class FindingError(Exception):
    """A finding: an outcome that must not happen.

    Attributes
    ----------
    kind : str
        crash, hang, exception, certificate, state or result.
    message : str
    where : str
        The place in the code, which is the same for findings with the same cause.
    details : str
    """

    kind: str
    message: str
    where: str
    details: str = field(default="", compare=False)

    def __str__(self):
        return f"{self.kind}: {self.message} [{self.where}]"

    @property
    def key(self):
        return self.kind, self.where


@cache
def own_path(path):
    """Return the path of a file of this package relative to its parent folder, or None."""
    if path.startswith("sstruct/"):  # compiled
        return path
    path = Path(path).resolve()
    return str(path.relative_to(PACKAGE.parent)) if path.is_relative_to(PACKAGE) else None


def _frames(error):
    """Return files and lines of a traceback, or of the text of the traceback of a worker."""
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    of_worker = re.findall(r'File "(.+)", line (\d+)', str(error.__cause__ or ""))
    return frames + [(path, int(line)) for path, line in of_worker]


def _place(frames):
    """Return the innermost line of this package, or of all code if there is none."""
    own = [(own_path(path), line) for path, line in frames if own_path(path)]
    path, line = own[-1] if own else frames[-1]
    return f"{path}:{line}"


def judge(error):
    """Return if an exception is allowed; otherwise raise a FindingError."""
    if isinstance(error, MischiefError | FindingError):
        return
    # Noted by the package for functions written in C, and by the oracles of the registry.
    if any(note.startswith("raised by") for note in getattr(error, "__notes__", ())):
        return
    frames = _frames(error)
    if any(folder in path for path, _ in frames for folder in USERS_OWN):
        return
    text = f"{type(error).__name__}: {str(error)[:200]}"
    is_library = any(folder in frames[-1][0] for folder in LIBRARIES)
    if isinstance(error, ALLOWED) or is_library:
        if str(error).strip():
            return
        text += ", without a message"
    # Only findings are formatted, which takes longer than most calls.
    details = "".join(traceback.format_exception(error)[-12:])
    raise FindingError("exception", text, _place(frames), details)


def same_attributes(before, estimator, where):
    """Check that a call that raised did not change the attributes of an estimator."""
    after = vars(estimator)
    changed = sorted(before.keys() ^ after.keys())
    changed += [name for name in before.keys() & after.keys() if before[name] is not after[name]]
    if changed:
        raise FindingError("state", f"a rejected call changed {', '.join(changed)}", where)
