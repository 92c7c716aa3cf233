"""Arguments of SegmentProblem, validated and converted to the layout of its compiled code."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sstruct._problems.chain.chain_arguments import ChainModel, chain_blocks
from sstruct._problems.core._rows import padded_labels
from sstruct._problems.core.weight_layout import WeightBlock, WeightLayout, label_row

FIRST_BIN = np.ones(1, dtype=np.int64)
# Features of whole segments by name, in the order of their weights.
FEATURE_KINDS = ("mean", "contrast", "first", "last")


@dataclass(frozen=True, kw_only=True)
class SegmentModel(ChainModel):
    """Labels, weights, masks and durations of a model of segments.

    Attributes
    ----------
    bins : ndarray of int64 of shape (n_bins,), or None
        The smallest duration of each bin, in increasing order, starting at 1; None if durations
        have no weights.
    least, most : ndarray of int64 of shape (K,)
        The range of durations of each label.
    kinds : tuple of str
        The features of whole segments that are computed, in the order of FEATURE_KINDS.
    n_given : int
        Number of features of whole segments that are passed as SegmentRows.
    self_transitions : bool
        Whether a segment may follow one with the same label. If transitions have weights, this
        transition then has a weight, too.
    """

    bins: np.ndarray | None = None
    least: np.ndarray
    most: np.ndarray
    kinds: tuple = ()
    n_given: int = 0
    self_transitions: bool = False


@lru_cache
def segment_layout(
    n_labels, n_features, bias, boundaries, transitions, n_bins, scored, n_groups, kinds=(),
    n_given=0, self_transitions=False,
):  # fmt: skip
    """Return the WeightLayout of a model of segments, see `chain_blocks`.

    n_bins, n_given, kinds, self_transitions : see SegmentModel; n_bins may be 0
    """
    blocks = chain_blocks(
        n_labels, n_features, bias, boundaries, transitions, 0, scored, n_groups=n_groups
    )
    # Weights of features that scale with those of nodes come before all others.
    node_blocks = {name: blocks.pop(name) for name in ("coef", "class_scores") if name in blocks}
    coef = node_blocks["coef"]
    node_blocks |= {kind: coef if kind in kinds else coef.shape for kind in FEATURE_KINDS}
    row = label_row(n_labels)
    segment_blocks = {
        "self_transition": row if self_transitions and transitions else (n_labels,),
        "duration": _label_table("duration", n_labels, n_bins),
        "segment": _label_table("segment_feature", n_labels, n_given),
    }
    return WeightLayout(node_blocks | blocks | segment_blocks)


def _label_table(axis, n_labels, n):
    """Return the block of n weights per label, or its shape if n is 0."""
    extent = padded_labels(n_labels * n)
    return WeightBlock(("label", axis), (n_labels, n), (n, 1), extent) if n else (n_labels, 0)


@dataclass(frozen=True)
class SegmentRows:
    """Given features of whole segments.

    Attributes
    ----------
    values : float64 ndarray of shape (n_segments, n_given)
    at : int64 ndarray of shape (n_rows,)
        For each row of X, the index in `values` of the segment of duration 1 that starts at this
        row. The longer segments that start there follow in order of duration.
    reach : int64 ndarray of shape (n_rows,)
        Duration of the longest segment that starts at each row.
    """

    values: np.ndarray
    at: np.ndarray
    reach: np.ndarray


@dataclass(frozen=True)
class SegmentLoss:
    """A loss that is a sum over segments.

    Attributes
    ----------
    n_true : ndarray of int64 of shape (n_blocks,)
        The number of true segments, or of boundaries between them.
    windows : int32 ndarray of shape (n_rows,), or None
        For the loss of boundaries: windows of `windows_of`, as positions in the block.
    begin, stop : int32 ndarray of shape (n_rows,), or None
        For the loss of segments: the true segment of each row, as positions in the block.
    """

    n_true: np.ndarray
    windows: np.ndarray | None = None
    begin: np.ndarray | None = None
    stop: np.ndarray | None = None

    @classmethod
    def from_labels(cls, name, labels, start, length, tolerance, n_labels=None):
        """Prepare the loss "segments" or "boundaries" for blocks of labeled rows.

        labels, n_labels : as for `runs_of`
        tolerance : as for `windows_of`; used only for "boundaries"
        """
        first, stop, block = runs_of(labels, start, length, n_labels)
        n_segments = np.bincount(block, minlength=len(start))
        if name == "boundaries":
            windows, inner = np.zeros(len(labels), dtype=np.int32), first > start[block]
            for b, (origin, L) in enumerate(zip(start.tolist(), length.tolist())):
                places = first[inner & (block == b)] - origin
                windows[origin : origin + L] = windows_of(places, places, L, tolerance)
            return cls(n_segments - 1, windows=windows)
        ends = np.zeros((2, len(labels)), dtype=np.int32)
        for a, b, origin in zip(first.tolist(), stop.tolist(), start[block].tolist()):
            ends[:, a:b] = [[a - origin], [b - origin]]
        return cls(n_segments, begin=ends[0], stop=ends[1])


def windows_of(first, last, length, tolerance):
    """Return the first node of the window that contains each node of a block, 0 if there is none.

    Each true change has a window: the nodes within the tolerance of its interval that are nearer to
    it than to the next change, and not farther from it than from the previous change. The first
    node of a window is at least 1.

    Parameters
    ----------
    first, last : ndarrays of int of shape (n_changes,)
        The interval of each true change; equal if the change is known.
    length : int
        Number of nodes of the block.
    tolerance : int
    """
    out, tolerance = np.zeros(length, dtype=np.int32), min(tolerance, length)
    if len(first):
        # The first node that is at least as near to the next change, for all changes but the last.
        middle = (last[:-1] + first[1:] + 1) // 2
        begin = np.maximum(first - tolerance, np.r_[1, middle])
        end = np.minimum(last + tolerance + 1, np.r_[middle, length])
        for a, b in zip(begin.tolist(), end.tolist()):
            out[a:b] = a
    return out


def check_segment_rows(given, model, starts, lengths, n_rows):
    """Raise ValueError unless given features have a row for each segment of allowed duration."""
    if (given is None) != (model.n_given == 0):
        raise ValueError(
            f"the model has {model.n_given} given features of segments, but `given` is "
            f"{'None' if given is None else 'not None'}"
        )
    if given is None:
        return
    values, at, reach = given.values, given.at, given.reach
    if values.ndim != 2 or values.shape[1] != model.n_given or at.shape != (n_rows,):
        raise ValueError(
            f"`values` and `at` of given features have shapes {values.shape} and {at.shape}, "
            f"expected (n_segments, {model.n_given}) and ({n_rows},)"
        )
    if reach.shape != (n_rows,) or (at < 0).any() or (at + reach > len(values)).any():
        raise ValueError(
            f"`at` and `reach` of given features must refer to their {len(values)} rows, one for "
            "each segment"
        )
    longest = int(np.max(model.most))
    for start, length in zip(starts.tolist(), lengths.tolist()):
        missing = reach[start : start + length] < np.minimum(np.arange(length, 0, -1), longest)
        if missing.any():
            row = start + int(missing.argmax())
            raise ValueError(
                f"the given features of segments that start at row {row} end at duration "
                f"{reach[row]}, expected a row for each segment of allowed duration"
            )


def check_segment_loss(loss, labels, lengths, n_rows):
    """Raise ValueError if a SegmentLoss is passed without labels, or its arrays are invalid."""
    if loss is None:
        return
    if labels is None:
        raise ValueError("a loss of segments requires labels")
    arrays = [each for each in (loss.windows, loss.begin, loss.stop) if each is not None]
    wrong = loss.n_true.shape != lengths.shape or any(a.shape != (n_rows,) for a in arrays)
    if wrong or not arrays:
        raise ValueError(
            f"a loss of segments must have n_true for each of {len(lengths)} blocks, and windows, "
            f"or begin and stop, for each of {n_rows} rows"
        )


def number_of_bins(bins):
    """Return the number of bins of durations with weights."""
    return 0 if bins is None else len(bins)


# Design: the code of a segmentation has a number for each node: the index k of its label, or K + k
# if a segment starts at the node and follows a segment with the same label. Each segmentation has
# exactly one code, which consists of the labels of the nodes if adjacent segments have different
# labels. In known codes, -1 allows any label, and k allows any boundary. After a node with the same
# label, K + k requires a boundary before the node, and 2 K + k forbids it.


def labels_of(codes, n_codes, model):
    """Return the labels of nodes, given codes less than `n_codes`; -1 if unknown."""
    codes = np.asarray(codes)
    if codes.dtype != np.int32 or (codes >= n_codes).any():
        raise ValueError(
            f"codes must be int32 and less than {n_codes}, found {codes.dtype} and values up to "
            f"{codes.max(initial=-1)}"
        )
    return np.where(codes < 0, codes, codes % model.n_labels).astype(np.int32)


def known_boundaries(codes, offsets, n_labels):
    """Return known codes that fix all boundaries between nodes with known labels.

    Parameters
    ----------
    codes : ndarray of int of shape (n_nodes,)
        Codes of segmentations, -1 for unknown labels.
    offsets : ndarray of shape (n + 1,)
    n_labels : int
    """
    continues = np.zeros(len(codes), dtype=bool)
    continues[1:] = (codes[1:] >= 0) & (codes[1:] == codes[:-1] % n_labels) & (codes[:-1] >= 0)
    continues[offsets[:-1][np.diff(offsets) > 0]] = False
    return np.where(continues, codes + 2 * n_labels, codes).astype(np.int32)


def runs_of(labels, start, length, n_labels=None):
    """Find the segments of blocks of rows.

    Parameters
    ----------
    labels : ndarray of int
        The label of each row, or the code if `n_labels` is given.
    start, length : ndarray of shape (n_blocks,)
    n_labels : int or None
        If None, segments are runs of equal labels.

    Returns
    -------
    first, stop : ndarray of shape (n_runs,)
        The rows of each run.
    block : ndarray of shape (n_runs,)
    """
    if len(start) == 0:
        return (np.empty(0, dtype=np.int64),) * 3
    n_before = np.cumsum(length) - length
    row = np.arange(n_before[-1] + length[-1]) + np.repeat(start - n_before, length)
    block = np.repeat(np.arange(len(start)), length)
    labels = labels[row]
    # The code of a node that continues a segment is its label: the code before it, modulo K.
    before = labels if n_labels is None else labels % n_labels
    begins = np.r_[True, (labels[1:] != before[:-1]) | (block[1:] != block[:-1])]
    at = np.flatnonzero(begins)
    return row[at], row[np.append(at[1:], len(row)) - 1] + 1, block[at]
