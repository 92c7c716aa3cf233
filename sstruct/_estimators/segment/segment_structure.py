"""SegmentStructure: sequences whose runs of equal labels are segments with durations."""

import numpy as np

from sstruct._estimators.chain.chain_structure import ChainStructure
from sstruct._estimators.core.structure import SOLVERS, NodeStructure
from sstruct._estimators.segment.label_spans import has_spans as are_spans
from sstruct._estimators.segment.label_spans import (
    spans_of_nodes,
    spans_of_samples,
    without_spans,
)
from sstruct._estimators.segment.segment_distribution import SegmentDistribution, max_marginals
from sstruct._estimators.segment.segment_state import SEGMENT_STATE
from sstruct._estimators.segment.segment_training import LabeledSegments
from sstruct._input.durations import check_limits, duration_bins
from sstruct._input.threads import n_threads
from sstruct._problems.chain.chain_arguments import NoLabelingError
from sstruct._problems.core._decode import decode
from sstruct._problems.segment._segment_problem import SegmentProblem
from sstruct._problems.segment._segment_sums import SegmentSums, segment_top_k
from sstruct._problems.segment.segment_arguments import SegmentModel


class SegmentStructure(ChainStructure):
    """Sequences of segments with the parameters of a SegmentSSVM."""

    state = SEGMENT_STATE
    solvers = SOLVERS
    labeled, decoder = LabeledSegments, "segment viterbi"
    # Sequences are not cut into windows, in which durations would be unknown.
    window_size = None
    exported = None  # formats of exported models have no durations
    spans_are_segments = True
    nothing_allowed = "min_duration, max_duration and transition_mask forbid every segmentation of"

    def check(self):
        super().check()
        duration_bins(self.duration_bins)
        check_limits("min_duration", self.min_duration)
        check_limits("max_duration", self.max_duration)

    def pack(self, X, model=None):
        nodes = super().pack(X, model)
        if nodes.edge_rows is not None:
            raise ValueError(
                f"edge features are not supported by {self.estimator_name}; add them to the "
                "features of the nodes, or use ChainSSVM"
            )
        return nodes

    def labels(self, y, nodes):
        return super().labels(without_spans(y, nodes.lengths), nodes)

    def distinct_labels(self, y):
        return super().distinct_labels(
            [[label for _, _, label in own] if are_spans(own) else own for own in y]
        )

    def describe(self, attributes):
        return NodeStructure.describe(self, attributes)

    def axis_values(self, model):
        bins = model.get("duration_bins_")
        values = super().axis_values(model)
        return values if bins is None else values | {"duration": bins}

    def chain_model(self, model):
        least, most = model._durations
        chain = super().chain_model(model)
        return SegmentModel(**vars(chain), bins=model.get("duration_bins_"), least=least, most=most)

    def new_problem(self, nodes, *arguments, **options):
        return SegmentProblem(*arguments, **options)

    def max_marginals(self, model, nodes):
        if nodes.offsets[-1] == 0:
            return np.empty((0, len(model.classes_)))
        return max_marginals(self._decoder(model, nodes), model._w, n_threads(self.n_jobs))

    def best_codes(self, problem, w, k):
        return segment_top_k(SegmentSums(problem), w, k)

    def exact_distribution(self, model, nodes):
        problem = self._decoder(model, nodes) if nodes.offsets[-1] else None
        arguments = model, nodes.lengths, self.n_jobs, self.nothing_allowed
        return SegmentDistribution(problem, *arguments)

    def likely_segments(self, model, X, scale):
        """Return the predicted segments of each sequence: (start, stop, label, probability)."""
        nodes = self.pack(X, model)
        codes = self.decode(model, nodes)
        first, stop, label, sequence = spans_of_nodes(codes, nodes.offsets)
        rows = np.column_stack([sequence, first, stop, label])
        p = iter(self.distribution(model, nodes).segments(scale, rows).tolist())
        found = spans_of_samples(codes, nodes.offsets, model.classes_)
        return [[(*span, next(p)) for span in own] for own in found]

    def _supports_gdmm(self, problem):
        return False

    def _decoded(self, model, nodes, known=None, n_states=1):
        if nodes.offsets[-1] == 0:
            return np.empty(0, dtype=np.int32)
        problem = self._decoder(model, nodes, known, n_states)
        try:
            return decode(problem, model._w, n_threads(self.n_jobs))
        except NoLabelingError as error:
            raise self._no_labeling(error, nodes, known) from None
