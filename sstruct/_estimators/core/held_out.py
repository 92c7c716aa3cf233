"""Early stopping: samples that take no part in training, and the score of weights on them."""

import math
import numbers
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from sstruct._checks.arrays import check_depth
from sstruct._checks.compressed import as_csr, check_compressed
from sstruct._compat import num_samples, safe_indexing
from sstruct._input.ragged import check_number
from sstruct._problems.core._rows import is_mapped
from sstruct._solvers.core._state import aligned_zeros
from sstruct._solvers.core.seed import random_of
from sstruct._solvers.core.solver import Solution
from sstruct._solvers.core.status import Status


@dataclass(frozen=True)
class Samples:
    """Labeled samples, as a user gives them: to ``fit``, or as X_val, y_val, sample_weight_val."""

    X: Any
    y: Any
    sample_weight: Any = None

    def of(self, chosen):
        """Return those of some indices."""
        weights = self.sample_weight
        one_for_all = isinstance(weights, numbers.Number) or getattr(weights, "ndim", 1) == 0
        if weights is not None and not one_for_all:
            weights = safe_indexing(weights, chosen)
        return Samples(_taken(self.X, "X", chosen), _taken(self.y, "y", chosen), weights)

    @property
    def given(self):
        """Whether there are any."""
        return any(part is not None for part in vars(self).values())

    def fingerprint(self):
        """Return a hash of all that a score depends on."""
        return joblib.hash((self.X, self.y, self.sample_weight))


def _taken(values, name, chosen):
    """Return the items of some indices; not all kinds of sparse matrices have rows to take."""
    if sparse.issparse(values):
        check_compressed(values, name)
        values = as_csr(values)
    return safe_indexing(values, chosen)


def check_early_stopping(estimator):
    """Refuse parameters of early stopping that are out of range."""
    check_number("validation_fraction", estimator.validation_fraction, above=0)
    if not estimator.validation_fraction < 1:
        raise ValueError(
            "validation_fraction must be below 1, found "
            f"{estimator.validation_fraction!r}: the others are for training"
        )
    check_number("n_iter_no_change", estimator.n_iter_no_change, least=1, whole=True)


def divided(estimator, samples, validation):
    """Return who is to train, the samples to train on, and those held out, or None.

    Parameters
    ----------
    estimator : BaseSSVM
        Its parameters have been checked; it is not changed.
    samples : Samples
    validation : Samples or None
        What ``fit`` was given to validate on, of Nones if nothing; None: this is no ``fit``.

    Returns
    -------
    learner : BaseSSVM
        The estimator, or its twin that knows the classes of all samples.
    training : Samples
    held_out : Samples or None
    empty : ndarray of int or None
        Indices of the samples without nodes, which are in neither; None: `training` has all.

    Raises
    ------
    ValueError
        If they do not go with `early_stopping`, or the samples cannot be divided.
    """
    if not estimator.early_stopping:
        if validation is not None and validation.given:
            raise ValueError("X_val and y_val are for early_stopping=True, found False")
        return estimator, samples, None, None
    if validation is None:
        raise ValueError(
            f"early_stopping=True is for fit of {type(estimator).__name__} alone, found it in "
            "what goes on from one fit to another; take early_stopping=False"
        )
    if not validation.given:
        return _at_random(estimator, samples)
    if validation.X is None or validation.y is None:
        raise ValueError("X_val and y_val go together: give both, or neither")
    for name, part in vars(validation).items():
        check_depth(part, f"{name}_val")
    return estimator, samples, validation, None


def _at_random(estimator, samples):
    """Hold out `validation_fraction` of the samples."""
    estimator._check_divisible(samples.X)
    seed = estimator.random_state
    again = estimator.warm_start or estimator.checkpoint is not None
    if again and (seed is None or not isinstance(seed, int | np.integer)):
        raise ValueError(
            "early_stopping=True with warm_start or checkpoint holds out the same samples in each "
            f"fit: give random_state as an integer, found {seed!r}, or give X_val and y_val"
        )
    share = float(estimator.validation_fraction)
    # Before a part of them is taken: errors name samples by their index among all.
    training = estimator._training(samples.X, samples.y, samples.sample_weight)
    known, empty = training.attributes, training.empty
    kept = np.delete(np.arange(num_samples(samples.X)), empty)
    classes = estimator._classes_to_share(samples.y)
    kind = ShuffleSplit if classes is None else StratifiedShuffleSplit
    split = kind(1, test_size=share, random_state=random_of(seed))
    try:
        parts = next(split.split(kept, classes))
    except ValueError as error:
        raise ValueError(
            f"early_stopping=True with validation_fraction={share:g} cannot divide {len(kept)} "
            f"samples: {error} Give X_val and y_val, or another validation_fraction"
        ) from error
    learner = object.__new__(type(estimator))
    learner.__dict__.update(estimator.__dict__)
    if "classes" in estimator._parameters() and known.get("classes_") is not None:
        learner.classes = known["classes_"]
    trained, held_out = (samples.of(kept[np.sort(part)]) for part in parts)
    return learner, trained, held_out, empty


def class_numbers(y):
    """Return a number for the label of each sample; None where labels are none, as ``fit`` says."""
    numbers = {}
    try:
        labels = y.tolist() if isinstance(y, np.ndarray) else y
        return np.array([numbers.setdefault(label, len(numbers)) for label in labels])
    except TypeError:
        return None


def on_disk(X):
    """Whether features are mapped from a file, which a part of them would be read from."""
    rows = getattr(X, "flat", X) if hasattr(X, "offsets") else X
    if isinstance(rows, np.ndarray):  # whose own .data refuses dates
        return is_mapped(rows)
    return is_mapped(getattr(rows, "data", rows))


class Scorer:
    """An estimator's own ``score`` on held-out samples, of any weights.

    Parameters
    ----------
    estimator : BaseSSVM
        In its fit; it is not changed.
    solver : str
        Its name.
    training : Training
        Whose ``held_out`` are scored.

    Raises
    ------
    ValueError, TypeError
        What ``score`` says of the samples.
    """

    def __init__(self, estimator, solver, training):
        self.estimator, self.solver, self.training = estimator, solver, training
        self.samples = training.held_out
        # Beside parameters a user's subclass may have attributes that its methods read.
        fitted = estimator._fitted_state.fields
        self.own = {k: v for k, v in vars(estimator).items() if k not in fitted}
        self.model = object.__new__(type(estimator))
        try:
            self(aligned_zeros(training.problem.n_weights))
        except (ValueError, TypeError) as error:
            # Not of its own type, which may be made of other things than a message.
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"the samples held out (X_val, y_val): {error}") from error
        X, y = self.model._packed_for_score(self.samples.X, self.samples.y)
        self.samples = Samples(X, y, self.samples.sample_weight)

    def __call__(self, w):
        unknown = Solution(
            w=self.training.user_weights(w),
            primal=math.nan,
            dual=math.nan,
            status=Status.EARLY_STOPPED,
            exact=True,
            n_passes=1,
            n_oracle_calls=0,
            history={},
        )
        fitted = self.estimator._fitted_attributes(
            unknown, self.training.lam, self.solver, self.training.known
        )
        fitted = {k: v for k, v in fitted.items() if v is not None}
        self.model.__dict__ = self.own | fitted
        samples = self.samples
        score = float(self.model.score(samples.X, samples.y, sample_weight=samples.sample_weight))
        if not math.isfinite(score):
            raise ValueError(f"their score is {score}, expected a finite number")
        return score
