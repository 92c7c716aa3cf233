"""The Structure of SegmentSSVM, for sequences of segments with labels and durations."""

from dataclasses import replace

import numpy as np

from sstruct._checks.parameters import FLAG, Range
from sstruct._estimators.chain.chain_structure import ChainStructure
from sstruct._estimators.core.structure import SOLVERS
from sstruct._estimators.segment.label_spans import has_spans as are_spans
from sstruct._estimators.segment.label_spans import (
    spans_of_nodes,
    spans_of_samples,
    splits_of,
    without_spans,
)
from sstruct._estimators.segment.segment_distribution import SegmentDistribution, max_marginals
from sstruct._estimators.segment.segment_gaps import SegmentGaps
from sstruct._estimators.segment.segment_state import SEGMENT_STATE, kinds_of
from sstruct._estimators.segment.segment_training import LabeledSegments
from sstruct._input.durations import check_limits, duration_bins
from sstruct._input.losses import OF_SEGMENTS, SEGMENT_NAMES
from sstruct._input.segment_features import segment_features, segment_rows
from sstruct._input.threads import n_threads
from sstruct._problems.segment._segment_problem import SegmentProblem
from sstruct._problems.segment._segment_sums import SegmentSums, segment_top_k
from sstruct._problems.segment.segment_arguments import SegmentModel, known_boundaries


class SegmentStructure(ChainStructure):
    """The Structure of SegmentSSVM."""

    state = SEGMENT_STATE
    solvers = SOLVERS
    labeled, decoder = LabeledSegments, "segment viterbi"
    # Sequences are not cut into windows, in which durations would be unknown.
    window_size = None
    exported = None  # formats of exported models have no durations
    spans_are_segments = True
    nothing_allowed = "min_duration, max_duration and transition_mask forbid every segmentation of"
    loss_names = SEGMENT_NAMES
    valid_values = ChainStructure.valid_values | {
        "tolerance": Range(least=0, whole=True),
        "self_transitions": FLAG,
    }

    def check(self):
        super().check()
        segment_features(self.segment_features)
        if self.has_segment_loss and self.class_weight is not None:
            raise ValueError(
                f"class_weight is not supported by loss={self.loss!r}, which counts segments; use "
                "a loss of nodes, or weights of samples"
            )
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
        return super().labels(without_spans(y, nodes.lengths, self.self_transitions), nodes)

    def splits(self, y, nodes):
        """Return a mask (n_nodes,) of the starts of segments that follow one of the same label."""
        if not self.self_transitions:
            return np.zeros(nodes.offsets[-1], dtype=bool)
        return splits_of(y, nodes.lengths)

    def observed(self, model, samples, y):
        observed = super().observed(model, samples, y)
        if not model.get("_self_transitions"):
            return observed
        K = len(model.classes_)
        codes = np.where(observed.codes >= 0, observed.codes + K * self.splits(y, samples), -1)
        return replace(observed, of_labelings=known_boundaries(codes, samples.offsets, K))

    def hidden(self, X, y, sample_weight):
        if self.self_transitions:
            raise ValueError(
                "self_transitions=True is not supported by LatentSSVM, whose completions are "
                "labels of nodes; use self_transitions=False"
            )
        return super().hidden(X, y, sample_weight)

    def distinct_labels(self, y):
        return super().distinct_labels(
            [[label for _, _, label in own] if are_spans(own) else own for own in y]
        )

    def axis_values(self, model):
        bins = model.get("duration_bins_")
        values = super().axis_values(model)
        n_given = model.get("_n_segment_features") or 0
        values |= {"segment_feature": list(range(n_given))} if n_given else {}
        return values if bins is None else values | {"duration": bins}

    @property
    def has_segment_loss(self):
        """Whether the loss is a sum over segments."""
        return isinstance(self.loss, str) and self.loss in OF_SEGMENTS

    def chain_model(self, model):
        least, most = model._durations
        return SegmentModel(
            **vars(super().chain_model(model)),
            bins=model.get("duration_bins_"),
            least=least,
            most=most,
            kinds=kinds_of(vars(model)),
            n_given=model.get("_n_segment_features") or 0,
            self_transitions=bool(model.get("_self_transitions")),
        )

    def new_problem(self, nodes, rows, chains, model, *arguments, **options):
        if model.n_given and "given" not in options:
            options["given"] = self.given_rows(nodes, model.most, model.n_given)
        return SegmentProblem(rows, chains, model, *arguments, **options)

    def given_rows(self, nodes, most, n_expected=None):
        """Return the SegmentRows of the function in `segment_features`.

        most : ndarray of int64 of shape (K,), the maximum durations
        n_expected : the number of features of the fitted model, or None
        """
        _, function = segment_features(self.segment_features)
        if function is None:
            raise ValueError(
                f"this {self.estimator_name} was fitted with a function in segment_features, which "
                f"is {self.segment_features!r} now; set it again"
            )
        return segment_rows(function, nodes.flat, nodes.offsets, int(most.max()), n_expected)

    def max_marginals(self, model, nodes):
        if nodes.offsets[-1] == 0:
            return np.empty((0, len(model.classes_)))
        return max_marginals(self.decoder_of(model, nodes), model._w, n_threads(self.n_jobs))

    def best_codes(self, problem, w, k):
        return segment_top_k(SegmentSums(problem), w, k)

    def agree(self, model, known, codes):
        K, splits = len(model.classes_), codes >= len(model.classes_)
        same_splits = (known < K) | (splits == (known < 2 * K))
        return same_splits & super().agree(model, np.where(known < 0, -1, known % K), codes % K)

    def labelings(self, model, nodes, codes, spans=None):
        """Return the labels of the nodes in segmentations, or lists of their segments.

        spans : whether to return segments; None returns them if labels do not determine them
        """
        if spans is None:
            spans = model.get("_self_transitions") is not None
        if not spans:
            return super().labelings(model, nodes, codes % len(model.classes_))
        n, length = codes.shape
        return spans_of_samples(codes.ravel(), np.arange(n + 1) * length, model.classes_)

    def _check_scheme(self, scheme, suffix):
        """Raise ValueError unless the options of spans of labels have their default values."""
        if scheme != "bio" or suffix is not False:
            raise ValueError(
                f"scheme and suffix are not supported for {self.estimator_name}, whose spans are "
                f"its segments; found scheme={scheme!r} and suffix={suffix!r}"
            )

    def span_gaps(self, model, scheme, suffix):
        self._check_scheme(scheme, suffix)
        return SegmentGaps(self, model)

    def exact_distribution(self, model, nodes):
        problem = self.decoder_of(model, nodes) if nodes.offsets[-1] else None
        arguments = model, nodes.lengths, self.n_jobs, self.nothing_allowed
        return SegmentDistribution(problem, *arguments)

    def likely_segments(self, model, X, scale, scheme, suffix):
        """Return the predicted segments of each sequence: (start, stop, label, probability)."""
        self._check_scheme(scheme, suffix)
        nodes = self.pack(X, model)
        codes = self.segment_codes(model, nodes)
        first, stop, label, sequence = spans_of_nodes(codes, nodes.offsets, len(model.classes_))
        rows = np.column_stack([sequence, first, stop, label])
        p = iter(self.distribution(model, nodes).segments(scale, rows).tolist())
        spans = spans_of_samples(codes, nodes.offsets, model.classes_)
        return [[(*span, next(p)) for span in own] for own in spans]

    def _supports_gdmm(self, problem):
        return False

    def segments(self, model, nodes):
        """Return the segments of each sequence: lists of (start, stop, label)."""
        codes = self.segment_codes(model, nodes)
        return spans_of_samples(codes, nodes.offsets, model.classes_)

    def _decoded(self, *arguments):
        codes, (model, *_) = self.segment_codes(*arguments), arguments
        return codes % len(model.classes_)

    def segment_codes(self, *arguments):
        """Return the codes of the best segmentations, with the arguments of `_decoded`."""
        return super()._decoded(*arguments)

    def as_sparse(self, layout, attributes):
        return None  # sparse decoding has no durations
