"""Validation samples for early stopping, and their scores."""

import math

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from sstruct._checks.arrays import check_depth, is_partitioned
from sstruct._checks.parameters import random_of
from sstruct._checks.shown import errors_of
from sstruct._compat import num_samples
from sstruct._estimators.core.fitted_model import FittedModel
from sstruct._problems.core._rows import is_mapped
from sstruct._solvers.core._state import aligned_zeros
from sstruct._solvers.core.solver import Solution
from sstruct._solvers.core.status import Status
from sstruct.sequences import Sequences


def train_validation_split(structure, samples, validation):
    """Split samples into training and validation samples for early stopping.

    Parameters
    ----------
    structure : Structure
        With validated parameters, and a solver with `early_stopping`.
    samples : Samples
    validation : Samples or None
        X_val, y_val and sample_weight_val of ``fit``; None if the caller is not ``fit``.

    Returns
    -------
    structure : Structure
        With the classes of all samples, if validation samples are drawn at random.
    training : Samples
    held_out : Samples
    empty : ndarray of int or None
        Indices of the samples without nodes, which are in neither subset; None if `training` has
        all samples.

    Raises
    ------
    ValueError, TypeError
        If the caller does not support early stopping, if only one of X_val and y_val is given, or
        if the samples cannot be split.
    """
    if validation is None:
        raise ValueError(
            "early_stopping=True of the solver is supported only by fit of "
            f"{structure.estimator_name}, not by paths, LatentSSVM or partial_fit; use "
            "early_stopping=False"
        )
    if not validation.given:
        return _at_random(structure, samples)
    if validation.X is None or validation.y is None:
        raise ValueError("X_val and y_val must be passed together; pass both, or neither")
    for name, part in validation._asdict().items():
        check_depth(part, f"{name}_val")
    return structure, samples, validation, None


def _at_random(structure, samples):
    """Hold out `validation_fraction` of the samples."""
    if is_partitioned(samples.X):
        raise TypeError(
            "early_stopping=True cannot draw validation samples from partitions on a cluster; pass "
            "X_val and y_val as lists of samples"
        )
    if on_disk(samples.X):
        raise ValueError(
            "X is mapped from a file, and drawing validation samples would copy it into memory; "
            "split the samples yourself, and pass X_val and y_val to fit"
        )
    seed = structure.random_state
    continues = structure.warm_start or structure.solver_option("checkpoint") is not None
    if continues and not isinstance(seed, int | np.integer):
        raise ValueError(
            "early_stopping=True with warm_start or a checkpoint must draw the same validation "
            f"samples in each fit; set random_state to an integer, found {seed!r}, or pass X_val "
            "and y_val"
        )
    share = float(structure.chosen_solver.validation_fraction)
    # Before the split, so that errors name samples by their index in X.
    training = structure.train(*samples)
    known, empty = training.attributes, training.empty
    kept = np.delete(np.arange(num_samples(samples.X)), empty)
    classes = None
    if structure.samples_are_rows and not structure.has_label_sets(samples.y):
        classes = class_numbers(samples.y)
    kind = ShuffleSplit if classes is None else StratifiedShuffleSplit
    split = kind(1, test_size=share, random_state=random_of(seed))
    try:
        parts = next(split.split(kept, classes))
    except ValueError as error:
        raise ValueError(
            f"early_stopping=True with validation_fraction={share:g} cannot split {len(kept)} "
            f"samples: {str(error).rstrip('.')}. Pass X_val and y_val, or change "
            "validation_fraction"
        ) from error
    if "classes" in structure.parameters and known.get("classes_") is not None:
        structure = structure.with_parameters(classes=known["classes_"])
    trained, held_out = (samples.subset(kept[np.sort(part)]) for part in parts)
    return structure, trained, held_out, empty


def class_numbers(y):
    """Return a number for the label of each sample; y is a list, an array, a column or a frame."""
    numbers = {}
    items = y if isinstance(y, list | tuple | Sequences) else np.asarray(y).ravel()
    labels = (np.ravel(item)[0] if isinstance(item, list | np.ndarray) else item for item in items)
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels])


def on_disk(X):
    """Whether features are mapped from a file."""
    rows = getattr(X, "flat", X) if hasattr(X, "offsets") else X
    if isinstance(rows, np.ndarray):  # the attribute .data of an array of dates raises
        return is_mapped(rows)
    return is_mapped(getattr(rows, "data", rows))


class Scorer:
    """The score of weights on held-out samples, which are packed once.

    Parameters
    ----------
    structure : Structure
    training : Training
        Its ``held_out`` samples are scored.
    fitted_attributes : callable
        Returns the fitted attributes of a Solution.

    Raises
    ------
    ValueError, TypeError
        If ``score`` raises for the samples.
    """

    def __init__(self, structure, training, fitted_attributes):
        self.structure, self.training = structure, training
        unknown = Solution(
            w=aligned_zeros(training.problem.n_weights),
            primal=math.nan,
            dual=math.nan,
            status=Status.EARLY_STOPPED,
            exact=True,
            n_passes=1,
            n_oracle_calls=0,
            history={},
        )
        attributes = fitted_attributes(unknown)
        self.model = FittedModel(
            structure.state, {k: v for k, v in attributes.items() if v is not None}
        )
        held_out = training.held_out
        with errors_of("validation samples (X_val, y_val)"):
            self.samples = structure.pack(held_out.X, self.model)
            self.truth = structure.truth(
                self.model, self.samples, held_out.y, held_out.sample_weight
            )
            self(unknown.w)

    def __call__(self, w):
        model = self.model.with_weights(self.training.user_weights(w))
        score = float(self.structure.score(model, self.samples, self.truth))
        if not math.isfinite(score):
            raise ValueError(f"score returned {score}, expected a finite number")
        return score
