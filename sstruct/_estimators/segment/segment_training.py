"""Training data of sequences of segments, as arrays for a SegmentProblem."""

from dataclasses import replace

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._estimators.chain.chain_training import LabeledChains
from sstruct._input.durations import duration_bins, duration_limits
from sstruct._problems.segment.segment_arguments import SegmentModel, runs_of


class LabeledSegments(LabeledChains):
    """Validated training data of a model of segments: `LabeledChains` whose runs have durations.

    Attributes
    ----------
    bins : ndarray of int64 of shape (n_bins,), or None
        The smallest duration of each bin with weights.
    limits : ndarray of int64 of shape (2, K)
        The minimum and maximum durations of the labels.
    """

    def __init__(self, structure, nodes, y, sample_weight, completion=None):
        super().__init__(structure, nodes, y, sample_weight, completion)
        self.bins, labels = duration_bins(structure.duration_bins), self.classes.tolist()
        n_states = 1 if completion is None else completion.n_states
        if n_states > 1:
            labels = [label for label, _ in labels[::n_states]]
        limits = duration_limits(structure.min_duration, structure.max_duration, labels)
        self.limits = np.repeat(limits, n_states, axis=1)
        self._check_durations()

    def _check_durations(self):
        """Raise ValueError if the duration of a segment in y is not allowed."""
        ranges, offsets = self.ranges(), self.nodes.offsets
        first, stop, block = runs_of(self.codes, self.start, self.length)
        label, duration = self.codes[first], stop - first
        # Segments next to nodes that are not used may be longer than what is known of them.
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
        return SegmentModel(**vars(chain), bins=self.bins, least=least, most=most)

    @property
    def attributes(self):
        return {"duration_bins_": self.bins, "_durations": self.limits}

    def data(self):
        data = super().data()
        bins = np.empty(0, dtype=np.int64) if self.bins is None else self.bins
        return replace(data, common=[*data.common, bins, self.limits])
