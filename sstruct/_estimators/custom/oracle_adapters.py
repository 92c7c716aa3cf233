"""Adapters of oracles in Python or in compiled code for StructuredSVM."""

import numpy as np
from joblib import Parallel, delayed

from sstruct._checks.arrays import is_partitioned
from sstruct._checks.parameters import check_number
from sstruct._estimators.core.sample_data import SampleData
from sstruct._estimators.core.training import Quality
from sstruct._estimators.custom.oracle_samples import OraclePartitions, OracleSamples
from sstruct._input.threads import n_workers
from sstruct._problems.core._block_problem import BlockProblem
from sstruct._problems.custom._callable import CallableProblem
from sstruct._problems.custom.oracle_calls import (
    FORMS,
    METHODS,
    best_labelings,
    digest,
    encoded,
    frozen,
    public,
    valid_loss,
)

# Default time of an oracle call in nanoseconds.
WORK = 1e6
# Maximum number of blocks decoded before a fit to identify a compiled oracle by its results.
PROBES = 4


def adapter_of(oracle):
    """Return the adapter of an oracle; compiled oracles have a method `problem`."""
    if callable(getattr(oracle, "problem", None)) and not hasattr(oracle, "argmax"):
        return CompiledOracleAdapter(oracle)
    return PythonOracleAdapter(oracle)


class OracleAdapter:
    """Interface between StructuredSVM and an oracle; created for each call of a method.

    Subclasses define:

    ``methods``
        Names of the methods that the oracle must have.
    ``samples(X, y)``
        The arguments of ``fit`` as an object with a length.
    ``problem(samples, weights, options)``
        The problem of a fit, with a block for each weight above 0, and the SampleData that
        identifies the data. Raises TypeError or ValueError if the oracle rejects a true labeling,
        or its loss is not 0. options: CallOptions.
    ``n_threads(problem, n_jobs)``
        The number of threads of the solver, given `n_jobs`.
    ``check_unchanged(problem)``
        Raises ValueError if the oracle has changed a sample during the fit.
    ``predict(samples, w, n_jobs)``
        A list of the labelings with the largest score for weights w, not decoded.
    ``losses(samples, truths, found)``
        The losses of labelings returned by ``predict``; truths are as passed by the user.
    ``quality``
        The Quality of the oracle, unless an error is found.
    ``largest_losses(samples, truths, n_weights, n_jobs)``
        The largest loss of any labeling of each sample, found by the oracle.

    Parameters
    ----------
    oracle : object
    """

    def __init__(self, oracle):
        self.oracle = oracle

    def check(self):
        """Raise TypeError or ValueError if the object is not a valid oracle."""
        oracle = self.oracle
        if isinstance(oracle, type):
            raise TypeError(f"oracle must be an instance, found the class {oracle.__name__}")
        for name in self.methods:
            if not callable(getattr(oracle, name, None)):
                raise TypeError(f"oracle has no method {name!r}: {type(oracle).__name__}")
        if len({callable(getattr(oracle, name, None)) for name in FORMS}) == 2:
            found = next(name for name in FORMS if callable(getattr(oracle, name, None)))
            raise TypeError(
                f"oracle must have both encode and decode, or neither of them; found only {found}"
            )
        check_number("work of the oracle", getattr(oracle, "work", WORK), above=0)

    def _names(self):
        """Return the type and public attributes of the oracle, which identify it."""
        return np.array([type(self.oracle).__qualname__, digest(public(self.oracle)).hex()])


class PythonOracleAdapter(OracleAdapter):
    """Adapter of an oracle in Python, which is called for one sample at a time."""

    methods = METHODS

    @property
    def quality(self):
        return Quality.BOUNDED if hasattr(self.oracle, "bounded_argmax") else Quality.EXACT

    def samples(self, X, y):
        return OraclePartitions(X, y) if is_partitioned(X) else OracleSamples(X, y)

    def problem(self, samples, weights, options):
        calls, workers = samples.calls(self.oracle, weights, options)
        problem = CallableProblem(
            calls,
            oracle_work=float(getattr(self.oracle, "work", WORK)),
            batch_size=options.batch_size,
            workers=workers,
        )
        digests = np.array(calls.digests), np.array(calls.truth_digests)
        return problem, SampleData(
            problem.n_blocks, [self._names()], lambda n: [each[:n] for each in digests]
        )

    def n_threads(self, problem, n_jobs):
        # One thread, since workers make the calls. Only searches of slack rescaling have one thread
        # each, which calls the oracle or waits for a worker.
        return problem.calls.n_threads

    def check_unchanged(self, problem):
        problem.calls.check_all_unchanged()

    def predict(self, samples, w, n_jobs, truths=None):
        n_tasks, rows = min(n_workers(n_jobs), len(samples)), range(len(samples))
        if n_tasks == 1:
            return best_labelings(self.oracle, samples, w, rows, truths)
        parts = [slice(k, None, n_tasks) for k in range(n_tasks)]
        results = Parallel(n_jobs=n_jobs)(
            delayed(best_labelings)(
                self.oracle, samples[k], w, rows[k], None if truths is None else truths[k]
            )
            for k in parts
        )
        return [results[i % n_tasks][i // n_tasks] for i in range(len(samples))]

    def losses(self, samples, truths, labelings):
        return self._losses(self._encoded(samples, truths), labelings)

    def largest_losses(self, samples, truths, n_weights, n_jobs):
        truths = self._encoded(samples, truths)
        zero = frozen(np.zeros(n_weights))
        return self._losses(truths, self.predict(samples, zero, n_jobs, truths))

    def _encoded(self, samples, truths):
        return [encoded(self.oracle, x, truth) for x, truth in zip(samples, truths)]

    def _losses(self, truths, labelings):
        pairs = enumerate(zip(truths, labelings))
        return [valid_loss(self.oracle.loss(a, b), f"X[{i}]: loss") for i, (a, b) in pairs]


class CompiledOracleAdapter(OracleAdapter):
    """Adapter of an oracle with a method `problem`: see doc/how_to/compiled_oracle.rst."""

    methods = ("problem", "predict", "losses")
    quality = Quality.EXACT

    def samples(self, X, y):
        if is_partitioned(X):
            raise TypeError(
                "partitions on a cluster are supported only for oracles in Python, found "
                f"{type(self.oracle).__name__}; pass X and y as lists"
            )
        return OracleSamples(X, y)

    def problem(self, samples, weights, options):
        X, y, rows = samples.chosen(weights)
        problem, name = self.oracle.problem(X, y, rows), type(self.oracle).__name__
        if not isinstance(problem, BlockProblem):
            raise TypeError(
                f"{name}.problem returned {type(problem).__name__}, expected a BlockProblem"
            )
        if problem.n_blocks != len(X):
            raise ValueError(
                f"{name}.problem has {problem.n_blocks} blocks for {len(X)} samples, expected one "
                "for each sample"
            )
        for size in ("n_weights", "max_code_size", "batch_size"):
            if getattr(problem, size) < 1:
                raise ValueError(
                    f"{name}.problem has {size} {getattr(problem, size)}, expected >= 1"
                )
        for i, row in enumerate(rows):
            loss = problem.code_loss(i, problem.true_code(i))
            if loss != 0:
                raise ValueError(
                    f"X[{row}]: {name}.problem returns loss {loss:g} for the true labeling, "
                    "expected 0"
                )
        digests = np.array([digest((x, labeling)) for x, labeling in zip(X, y)])
        answers = {problem.n_blocks: self._answers(problem, problem.n_blocks)}

        def arrays_of_first(n):
            if n not in answers:
                answers[n] = self._answers(problem, n)
            return [digests[:n], answers[n]]

        if options.batch_size is not None:
            problem.batch_size = options.batch_size
        return problem, SampleData(problem.n_blocks, [self._names()], arrays_of_first)

    def _answers(self, problem, n):
        """Return results of an oracle for two weight vectors, which identify its functions.

        Only some of the first n blocks are decoded.
        """
        blocks = np.linspace(0, n - 1, min(PROBES, n)).astype(int)
        weights = np.zeros(problem.n_weights), 1 / np.arange(1.0, problem.n_weights + 1)
        problem.remember(False)
        try:
            return np.array([problem.best_code(i, w)[1] for w in weights for i in blocks])
        except Exception:
            # The error will occur again in the fit, which keeps its result until then.
            return np.array([])
        finally:
            problem.remember(True)

    def n_threads(self, problem, n_jobs):
        return n_jobs

    def check_unchanged(self, problem):
        pass  # not checked: compiled code must not change its data

    def predict(self, samples, w, n_jobs):
        labelings = self.oracle.predict(samples, w)
        if len(labelings) != len(samples):
            raise ValueError(
                f"{type(self.oracle).__name__}.predict returned {len(labelings)} labelings for "
                f"{len(samples)} samples, expected one for each sample"
            )
        return labelings

    def losses(self, samples, truths, labelings):
        return self.oracle.losses(samples, truths, labelings)

    def largest_losses(self, samples, truths, n_weights, n_jobs):
        rows = list(range(len(samples)))
        return self.oracle.problem(list(samples), list(truths), rows).largest_losses()
