"""What may come of a hostile call, and what may not.

A call may return, or refuse what it was given: with a ValueError (NotFittedError is one),
TypeError, OSError or MemoryError that somebody *raised on purpose*, with a message. On purpose
means that the last frame of the traceback is at a ``raise`` statement of this package, or in what
scikit-learn was called for: its validation stands for ours. Where NumPy, SciPy or the interpreter
raised one of these types because nothing was checked before, the finding is of the kind "unclear";
exceptions of other types are of the kind "exception". NumPy's own MemoryError passes, since it
names size, shape and dtype of the array that did not fit; those of others are "unclear". What
hostile objects (`MischiefError`) and oracles raise themselves passes through: it is the user's own.
"""

import linecache
import re
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import sstruct
from tests.hostile.values import MischiefError

ALLOWED = (ValueError, TypeError, OSError, MemoryError)
ROOT = Path(sstruct.__file__).resolve().parents[1]
# Code whose refusals stand for ours, wherever in it they come from: validation and transformers.
TRUSTED = ("/sklearn/",)
# A user's oracle: whatever it raises is its own.
USERS_OWN = ("/tests/estimators/", "/tests/inference/")


@dataclass
class FindingError(Exception):
    """Something that must not happen.

    Attributes
    ----------
    kind : str
        crash, hang, exception, unclear, certificate, state or result.
    message : str
    where : str
        The place that findings of one cause share.
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


def own_path(path):
    """Return the path of a file of this package from its root, or None."""
    for part in ("/sstruct/", "sstruct/"):
        if part == "sstruct/" and not path.startswith(part):
            continue
        at = path.rfind(part)
        if at >= 0 and "/tests/" not in path:
            return path[at:].lstrip("/")
    return None


def _on_purpose(frames):
    """Whether the last of a traceback's frames raised on purpose."""
    path, line = frames[-1]
    own = own_path(path)
    if own is None:
        last = max((k for k, (path, _) in enumerate(frames) if own_path(path)), default=-1)
        return any(folder in path for path, _ in frames[last + 1 :] for folder in TRUSTED)
    return linecache.getline(str(ROOT / own), line).lstrip().startswith("raise")


def _frames(error):
    """Files and lines that an exception came through; of a worker process, by what it told."""
    frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    told = re.findall(r'File "(.+)", line (\d+)', str(error.__cause__ or ""))
    return frames + [(path, int(line)) for path, line in told]


def _place(frames):
    """The innermost line of this package, and what it led to elsewhere."""
    own = [(own_path(path), line) for path, line in frames if own_path(path)]
    path, line = own[-1] if own else frames[-1]
    return f"{path}:{line}"


def judge(error):
    """Return if an exception is a refusal; raise a FindingError if it is none."""
    if isinstance(error, MischiefError | FindingError):
        return
    # Of a user's function that has no frames, being written in C, the package says so.
    if any(note.startswith("raised by") for note in getattr(error, "__notes__", ())):
        return
    frames = _frames(error)
    if any(folder in path for path, _ in frames for folder in USERS_OWN):
        return
    text = f"{type(error).__name__}: {str(error)[:200]}"
    where, details = _place(frames), "".join(traceback.format_exception(error)[-12:])
    if not isinstance(error, ALLOWED):
        raise FindingError("exception", text, where, details)
    if not str(error).strip():
        raise FindingError("exception", f"{text}, without a message", where, details)
    if isinstance(error, MemoryError) and type(error).__module__.startswith("numpy."):
        return
    if not _on_purpose(frames):
        raise FindingError("unclear", text, where, details)


def same_attributes(before, estimator, where):
    """Check that a refused call left the attributes of an estimator as they were."""
    after = vars(estimator)
    changed = sorted(before.keys() ^ after.keys())
    changed += [name for name in before.keys() & after.keys() if before[name] is not after[name]]
    if changed:
        raise FindingError("state", f"a refused call changed {', '.join(changed)}", where)
