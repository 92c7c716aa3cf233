"""The Structure of StructuredSVM, given by a user-defined oracle."""

from dataclasses import replace

import numpy as np

from sstruct._checks.arrays import is_partitioned
from sstruct._checks.parameters import Range
from sstruct._estimators.core.structure import Structure
from sstruct._estimators.core.training import Inference, Quality, Training
from sstruct._estimators.custom.hidden import KnownLabelings
from sstruct._estimators.custom.oracle_adapters import adapter_of
from sstruct._estimators.custom.oracle_samples import CallOptions, some_samples
from sstruct._input.labels import object_array
from sstruct._input.ragged import check_weights
from sstruct._input.threads import n_threads
from sstruct._problems.custom.oracle_calls import decoded, frozen, samples_of


class CustomStructure(Structure):
    """The Structure of StructuredSVM."""

    valid_values = Structure.valid_values | {
        "batch_size": Range(least=1, whole=True, other=("auto",))
    }
    first_labels_of_user = True

    def check(self):
        adapter_of(self.oracle).check()
        sequential = getattr(self.solver, "sequential_visits", False)
        if sequential and self.batch_size not in ("auto", 1):
            raise ValueError(
                "sequential_visits=True calls the oracle for one sample at a time; use "
                'batch_size="auto"'
            )

    def pack(self, X, model=None):
        if is_partitioned(X):
            raise TypeError("X is on a cluster; use X.map_partitions(model.predict)")
        return samples_of(X, "X")

    def train(self, X, y, sample_weight, completion=None, model=None):
        oracle = adapter_of(self.oracle)
        samples = oracle.samples(X, y if completion is None else completion.codes)
        weights = check_weights(sample_weight, len(samples))
        options = CallOptions(
            n_jobs=self.n_jobs,
            batch_size=(
                None if self.batch_size == "auto" else min(int(self.batch_size), len(samples))
            ),
            searches=self.rescaling == "slack",
        )
        problem, data = oracle.problem(samples, weights, options)
        total = float(weights.sum())
        return Training(
            problem,
            weights[weights > 0],
            total,
            None,
            data,
            Inference("oracle", oracle.quality),
            attributes={},
            n_threads=oracle.n_threads(problem, n_threads(self.n_jobs)),
            conclude=self._conclude,
        )

    def _conclude(self, training, solution):
        """Return the Solution with warnings about errors of the oracle."""
        problem = training.problem
        if solution.interruption is None:
            try:
                adapter_of(self.oracle).check_unchanged(problem)
            except ValueError as error:
                solution = replace(solution, interruption=error)
        warnings = []
        suboptimal = problem.counts().get("suboptimal", 0)
        if suboptimal:
            training.inference = replace(training.inference, quality=Quality.APPROXIMATE)
            times = "once" if suboptimal == 1 else f"{suboptimal} times"
            warnings.append(
                f"the oracle returned a labeling worse than one seen before, {times}; objective_ "
                "and dual_gap_ may be too small. Check argmax against enumeration; does it add "
                "loss_weight * loss(y_true, y) to the scores?"
            )
        if getattr(problem, "n_wrong", None) == 0:
            warnings.append(
                "the oracle has found only the true labelings, so nothing was learned. Does "
                "argmax add loss_weight * loss(y_true, y) to the scores?"
            )
        return replace(solution, warnings=tuple(warnings))

    def decode(self, model, samples, known=None):
        if not samples:
            return []
        return adapter_of(self.oracle).predict(samples, frozen(model._w), self.n_jobs)

    def output(self, model, samples, codes):
        return object_array(decoded(self.oracle, x, y) for x, y in zip(samples, codes))

    def truth(self, model, samples, y, sample_weight):
        truths = some_samples(y, "y")
        if len(samples) != len(truths):
            raise ValueError(f"X has {len(samples)} samples but y has {len(truths)}")
        return truths, check_weights(sample_weight, len(truths))

    def score(self, model, samples, truth):
        (truths, weights), oracle = truth, adapter_of(self.oracle)
        losses = np.asarray(oracle.losses(samples, truths, self.decode(model, samples)))
        largest = oracle.largest_losses(samples, truths, len(model._w), self.n_jobs)
        # An approximate oracle may miss the largest loss, but not a loss that was found.
        largest = np.average(np.maximum(largest, losses), weights=weights)
        return float(1 - np.average(losses, weights=weights) / max(1.0, largest))

    def hidden(self, X, y, sample_weight):
        if not callable(getattr(self.oracle, "complete", None)) or is_partitioned(X):
            where = "X is on a cluster" if is_partitioned(X) else "the oracle has no 'complete'"
            raise TypeError(
                f"LatentSSVM of StructuredSVM requires local samples and an oracle with the method "
                f"complete(x, y, w); {where}"
            )
        samples = adapter_of(self.oracle).samples(X, y)
        weights = check_weights(sample_weight, len(samples))
        known = [y if weight > 0 else None for y, weight in zip(samples.y, weights)]
        return KnownLabelings(self.oracle, samples.X, known)

    def first_labels(self, X, y, sample_weight, known):
        return known.completed(None)

    def complete(self, model, X, known, n_states=1):
        return known.completed(frozen(model._w))

    def axis_values(self, model):
        return {"feature": np.arange(len(model._w))}
