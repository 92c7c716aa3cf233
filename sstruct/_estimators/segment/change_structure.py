"""The Structure of ChangePointSSVM, for signals with change points."""

from importlib.util import find_spec

import numpy as np

from sstruct._checks.arrays import listed
from sstruct._checks.parameters import Range, check_choice
from sstruct._checks.shown import shortened
from sstruct._estimators.core.sample_data import SampleData
from sstruct._estimators.core.structure import Structure
from sstruct._estimators.core.training import Inference, Training
from sstruct._estimators.segment.change_samples import (
    KnownIntervals,
    changes_of_codes,
    flat_changes,
    interval_numbers,
    pack_signals,
)
from sstruct._estimators.segment.change_state import CHANGE_STATE
from sstruct._input.boundaries import boundary_f1, pack_changes
from sstruct._input.durations import duration_bins, duration_limits
from sstruct._input.per_sample import PerSample
from sstruct._input.ragged import NoNodesError, check_weights
from sstruct._input.threads import n_threads
from sstruct._problems.chain.chain_arguments import NoLabelingError
from sstruct._problems.core._decode import decode
from sstruct._problems.core._explicit import ExplicitProblem
from sstruct._problems.segment._change_problem import ChangePointProblem
from sstruct._problems.segment.change_arguments import COSTS, ChangePointModel
from sstruct._problems.segment.segment_arguments import windows_of

# Decoding compares all durations up to the last bin.
MAX_DURATION = 2**20
# The bins of "auto" start at these quantiles of the durations in training. Shorter segments, which
# only wrong predictions have, are another bin.
QUANTILES = (0, 0.1, 0.25, 0.5)


class ChangePointStructure(Structure):
    """The Structure of ChangePointSSVM."""

    state = CHANGE_STATE
    valid_values = Structure.valid_values | {
        "tolerance": Range(least=0, whole=True),
        "min_duration": Range(least=1, whole=True),
        "max_duration": Range(least=1, whole=True, other=(None,)),
    }
    scaling = None

    def check(self):
        if self.scale is not None:
            check_choice("scale", self.scale, ("noise",))
        self.kinds()
        self.limits()
        self.bins()

    def kinds(self):
        """Return the indices of the costs."""
        names = [self.costs] if isinstance(self.costs, str) else self.costs
        names = listed(names, "costs", f"a cost or a list of costs, of {COSTS}")
        for name in names:
            check_choice("costs", name, COSTS)
        if len(names) == 0 or len(set(names)) < len(names):
            raise ValueError(
                f"costs must be one or several different costs of {COSTS}, found "
                f"{shortened(self.costs)}"
            )
        return np.array([COSTS.index(name) for name in names], dtype=np.int32)

    def bins(self):
        """Return the smallest duration of each bin with a weight, None, or "auto"."""
        if isinstance(self.duration_bins, str) and self.duration_bins == "auto":
            return "auto"
        bins = duration_bins(self.duration_bins)
        if bins is not None and bins[-1] > MAX_DURATION:
            raise ValueError(
                f"duration_bins must be at most {MAX_DURATION}, found {bins[-1]}: decoding "
                "compares all segments up to the last bin"
            )
        return bins

    def chosen_bins(self, changes, lengths, weights, model):
        """Return the bins of a fit; with duration_bins="auto", those of an earlier fit, if any.

        changes, lengths, weights : change points, number of nodes and weight of each signal
        model : FittedModel of earlier calls of ``partial_fit``; None for the last fit, if any
        """
        bins = self.bins()
        if not isinstance(bins, str):
            return bins
        model = self.last_fit if model is None else model
        if model is not None:
            return model.get("duration_bins_")
        durations = [np.diff(places, prepend=0, append=L) for places, L in zip(changes, lengths)]
        weights = np.repeat(weights, [len(own) for own in durations])
        return automatic_bins(np.concatenate(durations), weights)

    def limits(self):
        """Return the minimum and the maximum duration of a segment, (2, 1)."""
        return duration_limits(self.min_duration, self.max_duration, ["a segment"])

    def pack(self, X, model=None):
        return pack_signals(self.expected_input(model), X)

    def train(self, X, y, sample_weight, completion=None, model=None):
        signals = self.pack(X, model)
        lengths = signals.lengths
        intervals = pack_changes(y, "y", lengths, intervals=True)
        annotated = changes = [pairs.sum(axis=1) // 2 for pairs in intervals]
        if completion is not None:
            changes = changes_of_codes(completion.codes, lengths)
        weights = check_weights(sample_weight, len(signals))
        kinds, limits = self.kinds(), self.limits()
        _check_durations(changes, lengths, limits)
        used = (weights > 0) & (lengths > 0)
        if not used.any():
            raise NoNodesError("X has no nodes in any sample with positive weight", signals.empty)
        bins = self.chosen_bins(annotated, lengths, weights * used, model)
        attributes = {
            "n_features_in_": signals.n_features,
            "feature_names_in_": signals.feature_names,
            "duration_bins_": bins,
            "_costs": kinds,
            "_durations": limits,
            "_scaled": self.scale == "noise",
        }
        change_model = ChangePointModel(kinds, *limits[:, 0].tolist(), bins)
        sums = signals.sums(used, self.scale, change_model.with_positions)
        truth = flat_changes([changes[i] for i in np.flatnonzero(used)], lengths[used])
        windows = np.concatenate([
            windows_of(*intervals[i].T, int(lengths[i]), self.tolerance)
            for i in np.flatnonzero(used)
        ])  # fmt: skip
        problem = ExplicitProblem(ChangePointProblem(sums, change_model, truth, windows))
        if self.warm_start or self.solver_option("checkpoint") is not None:
            problem.keep_labelings()

        supported = not self.warm_start and find_spec("clarabel") is not None
        # Planes contain losses, so a warm start requires the same tolerance.
        common = [kinds, limits, np.array([attributes["_scaled"], self.tolerance])]
        common += [] if bins is None else [bins]

        def arrays_of_first(n):
            end = signals.offsets[n]
            return [signals.flat[:end], signals.offsets[: n + 1], used[:n], *intervals[:n]]

        return Training(
            problem,
            weights[used],
            float(weights[used].sum()),
            None,
            SampleData(
                len(signals),
                common,
                arrays_of_first,
                lambda n: used[:n].sum(),
            ),
            Inference("pruned optimal partitioning"),
            attributes,
            empty=signals.empty,
            # Few weights: cutting planes need the fewest oracle calls, but keep no dual weights.
            auto_solver="cutting-plane" if supported else "mp-bcfw",
        )

    def given_bounds(self, problem):
        # Pruning requires nonnegative weights of costs.
        bounds = problem.layout.unbounded()
        problem.layout.table(bounds[0], "coef")[...] = 0
        return self.narrowed_bounds(problem, bounds)

    def output(self, model, samples, codes):
        return PerSample.from_items(codes)

    def decode(self, model, samples, known=None):
        """Return an array of the change points of each signal.

        known : intervals of each signal, each with one change, or None
        """
        lengths = samples.lengths
        if not lengths.any():
            return changes_of_codes(np.empty(0, dtype=np.int32), lengths)
        used = lengths > 0
        change_model = ChangePointModel(
            model._costs, *model._durations[:, 0].tolist(), model.get("duration_bins_")
        )
        sums = samples.sums(used, "noise" if model._scaled else None, change_model.with_positions)
        if known is not None:
            known = np.concatenate([
                interval_numbers(known[i], int(lengths[i])) for i in np.flatnonzero(used)
            ])  # fmt: skip
        problem = ChangePointProblem(sums, change_model, intervals=known)
        try:
            codes = decode(problem, model._w, n_threads(self.n_jobs))
        except NoLabelingError as error:
            i = np.flatnonzero(used)[error.block]
            raise ValueError(
                f"min_duration and max_duration forbid every segmentation of X[{i}], which has "
                f"{error.length} nodes"
            ) from None
        return changes_of_codes(codes, lengths)

    def truth(self, model, samples, y, sample_weight):
        changes = pack_changes(y, "y", samples.lengths, intervals=True)
        return changes, check_weights(sample_weight, len(samples))

    def score(self, model, samples, truth):
        changes, weights = truth
        return boundary_f1(changes, self.decode(model, samples), self.tolerance, weights)

    def hidden(self, X, y, sample_weight):
        nodes = self.pack(X)
        intervals = pack_changes(y, "y", nodes.lengths, intervals=True)
        trained = (check_weights(sample_weight, len(nodes)) > 0) & (nodes.lengths > 0)
        return KnownIntervals(intervals, nodes.lengths, trained, nodes.empty)

    def complete(self, model, X, known, n_states=1):
        changes = self.decode(model, self.pack(X, model), known.intervals)
        return flat_changes(changes, known.lengths)

    def axis_values(self, model):
        bins = model.get("duration_bins_")
        values = {"cost": [COSTS[kind] for kind in model._costs]}
        return values | super().axis_values(model) | ({} if bins is None else {"duration": bins})


def automatic_bins(durations, weights):
    """Return bins of durations that start at quantiles of given durations with weights."""
    order = np.argsort(durations)
    total = np.cumsum(weights[order])
    # With this tolerance, rounding errors of sums do not change the result.
    at = np.searchsorted(total, np.array(QUANTILES) * total[-1] + 1e-9 * total[-1])
    starts = durations[order][np.minimum(at, len(order) - 1)]
    return np.unique(np.minimum([1, *starts], MAX_DURATION)).astype(np.int64)


def _check_durations(changes, lengths, limits):
    """Raise ValueError if the duration of a segment in y is not allowed."""
    (least,), (most,) = limits
    for i, (places, length) in enumerate(zip(changes, lengths)):
        if length == 0:
            continue
        bounds = np.r_[0, places, length]
        durations = np.diff(bounds)
        wrong = np.flatnonzero((durations < least) | (durations > most))
        if len(wrong):
            at = wrong[0]
            name, limit = ("min", least) if durations[at] < least else ("max", most)
            raise ValueError(
                f"y[{i}] has a segment of {durations[at]} nodes from node {bounds[at]} on, but "
                f"{name}_duration is {limit}; change {name}_duration or the change points"
            )
