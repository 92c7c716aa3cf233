"""Training data of sequences of segments, as arrays for a SegmentProblem."""

from dataclasses import replace

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._estimators.chain.chain_training import LabeledChains
from sstruct._input.durations import duration_bins, duration_limits
from sstruct._input.losses import OF_SEGMENTS
from sstruct._input.segment_features import segment_features
from sstruct._problems.segment.segment_arguments import (
    FEATURE_KINDS,
    SegmentLoss,
    SegmentModel,
    runs_of,
)

# The cost of a wrong node for ``lam="auto"``, times the number of nodes per segment, if segments or
# boundaries count in the loss. On the data of benchmarks/segment_durations.py, between 2 and 16
# were best.
COST = 4


class LabeledSegments(LabeledChains):
    """Validated training data of a model of segments: `LabeledChains` whose runs have durations.

    Attributes
    ----------
    codes : ndarray of int32 of shape (n_nodes,)
        The codes of segmentations, see segment_arguments.py, -1 if a node is not used in training.
    self_transitions : bool
        Whether a segment may follow one with the same label.
    bins : ndarray of int64 of shape (n_bins,), or None
        The smallest duration of each bin with weights.
    limits : ndarray of int64 of shape (2, K)
        The minimum and maximum durations of the labels.
    kinds : tuple of str
        The features of segments.
    given : SegmentRows or None
        The values of the function for other features of segments.
    segment_loss : SegmentLoss or None
        The loss, if it is a sum over segments.
    """

    def __init__(self, structure, nodes, y, sample_weight, completion=None):
        super().__init__(structure, nodes, y, sample_weight, completion)
        self.bins, labels = duration_bins(structure.duration_bins), self.classes.tolist()
        n_states = 1 if completion is None else completion.n_states
        if n_states > 1:
            labels = [label for label, _ in labels[::n_states]]
        limits = duration_limits(structure.min_duration, structure.max_duration, labels)
        self.limits = np.repeat(limits, n_states, axis=1)
        self.self_transitions = bool(structure.self_transitions)
        # This also changes the codes that identify the data, which are the same array.
        self.codes[structure.splits(y, nodes) & (self.codes >= 0)] += len(self.classes)
        self._check_durations()
        self.kinds, function = segment_features(structure.segment_features)
        self.given = function and structure.given_rows(nodes, self.limits[1])
        self.segment_loss, self._loss_terms = None, []
        if structure.has_segment_loss:
            self._set_loss(structure.loss, structure.tolerance, completion)

    def _set_loss(self, name, tolerance, completion):
        """Set the loss of segments, and the cost of a wrong node for ``lam="auto"``."""
        for given, argument in ((completion, "LatentSSVM"), (self._node_weight, "node weights")):
            if given is not None:
                raise ValueError(
                    f"loss={name!r} does not support {argument}; use a loss of nodes, such as "
                    "'hamming-count'"
                )
        blocks = self.start, self.length
        self.segment_loss = SegmentLoss.from_labels(
            name, self.codes, *blocks, tolerance, len(self.classes)
        )
        self._loss_terms = [np.array([OF_SEGMENTS.index(name), tolerance])]
        weight = self.sample_weight
        cost = COST * (weight @ self.segment_loss.n_true) / (weight @ self.length)
        self.trained = replace(self.trained, mean_cost=float(cost))

    def _check_durations(self):
        """Raise ValueError if the duration of a segment in y is not allowed."""
        ranges, offsets = self.ranges(), self.nodes.offsets
        K = len(self.classes)
        first, stop, block = runs_of(self.codes, self.start, self.length, K)
        label, duration = self.codes[first] % K, stop - first
        # Segments next to nodes that are not used may continue at these nodes.
        is_cut = ~ranges.starts_here[block] & (first == self.start[block])
        is_cut |= ~ranges.ends_here[block] & (stop == (self.start + self.length)[block])
        least, most = self.limits[:, label]
        wrong = np.flatnonzero((duration > most) | ((duration < least) & ~is_cut))
        if len(wrong) == 0:
            return
        r, i = wrong[0], int(self._sample[block[wrong[0]]])
        name, limit = ("max", most[r]) if duration[r] > most[r] else ("min", least[r])
        raise ValueError(
            f"y[{i}] has {duration[r]} nodes with label "
            f"{shortened(self.classes[label[r]])} from node {first[r] - offsets[i]} on, but "
            f"{name}_duration is {limit}; change {name}_duration or the labels"
        )

    def model(self, structure):
        chain, (least, most) = super().model(structure), self.limits
        n_given = 0 if self.given is None else self.given.values.shape[1]
        return SegmentModel(
            **vars(chain), bins=self.bins, least=least, most=most, kinds=self.kinds,
            n_given=n_given, self_transitions=self.self_transitions,
        )  # fmt: skip

    @property
    def problem_options(self):
        return {"given": self.given, "segment_loss": self.segment_loss}

    @property
    def attributes(self):
        kinds = np.array([FEATURE_KINDS.index(kind) for kind in self.kinds], dtype=np.int32)
        return {
            "duration_bins_": self.bins,
            "_durations": self.limits,
            "_segment_kinds": kinds if self.kinds else None,
            "_n_segment_features": None if self.given is None else self.given.values.shape[1],
            "_self_transitions": self.self_transitions or None,
        }

    def data(self):
        data = super().data()
        bins = np.empty(0, dtype=np.int64) if self.bins is None else self.bins
        kinds = np.array(self.kinds, dtype=object)
        common = [*data.common, bins, self.limits, *([kinds] if self.kinds else [])]
        common += [np.array([True])] if self.self_transitions else []
        data = replace(data, common=common, costs=[*data.costs, *self._loss_terms])
        return data if self.given is None else replace(data, arrays_of_first=self._with_given)

    def _with_given(self, n):
        end = self.nodes.offsets[n]
        at = self.given.at[end] if end < len(self.given.at) else len(self.given.values)
        return [*self._arrays_of_first(n), self.given.values[:at]]
