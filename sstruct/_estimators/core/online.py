"""Samples that come in parts, ``partial_fit``: what the first part settles, and later ones keep."""

import numpy as np

from sstruct._checks.arrays import is_sized
from sstruct._checks.shown import shortened
from sstruct._estimators.core.training import alike
from sstruct._input.labels import training_classes

# What the data have settled about the meaning of weights, and what parameters have.
OF_DATA = ("n_features_in_", "n_types_", "parents_", "classes_", "edges_", "_pairs")
OF_PARAMETERS = (
    *("_bias", "_boundaries", "_transitions", "_pair_scores", "_masks"),
    "pairwise_scale_",
)
OF_MODEL = ("pairwise", "strength", "connectivity", "n_edge_features", "full", "K")


def takes_parts(estimator):
    """Raise AttributeError unless the solver of an estimator takes samples as they come."""
    solvers = estimator._solvers
    fine = [each for each in solvers if solvers[each].takes_samples_as_they_come]
    solver = getattr(estimator.solver, "name", estimator.solver)
    if not isinstance(solver, str) or solver not in fine:
        others = " or ".join(f'solver="{each}"' for each in fine)
        raise AttributeError(
            f"{type(estimator).__name__} has no partial_fit with solver={shortened(solver)}: set "
            f"{others} (how_to/learn_as_data_come in the manual)"
        )


def learner_of_part(estimator, y, classes):
    """Return an estimator's twin for the next part: it knows what the first part has settled.

    Parameters
    ----------
    estimator : BaseSSVM
        Stays as it is.
    y, classes : as given to ``partial_fit``

    Raises
    ------
    ValueError, TypeError
        If classes are missing or others than before, if the estimator cannot go on from its last
        fit, or if a parameter needs all samples at once.
    """
    parameters = estimator._parameters()
    for name in ("loss", "class_weight"):
        value = parameters.get(name)
        if isinstance(value, str) and value == "balanced":
            raise ValueError(
                f'{name}="balanced" counts the labels of all samples, which partial_fit does not '
                f"have: give {name} as numbers"
            )
    solver = estimator._solver_name
    if estimator._solvers[solver].has_objective and isinstance(estimator.lam, str):
        raise ValueError(
            f"lam={estimator.lam!r} depends on all samples, which partial_fit does not have: give "
            f"lam as a number for solver={solver!r}"
        )
    if classes is not None and "classes" not in parameters:
        raise ValueError(f"{type(estimator).__name__} has no classes: leave classes=None")
    twin = object.__new__(type(estimator))
    twin.__dict__.update(estimator.__dict__)
    if estimator._is_fitted():
        estimator._require_fitted()
        _check_goes_on(estimator)
        if classes is not None:
            _check_classes(estimator, estimator.classes_, classes)
        twin.__dict__.update(estimator._settled(), _goes_on=True)
    elif classes is not None:
        if estimator.classes is not None:
            _check_classes(estimator, estimator.classes, classes)
        twin.classes = classes
    elif parameters.get("classes", ()) is None and estimator._needs_classes(y):
        raise ValueError(
            "classes must be passed on the first call to partial_fit: all labels that may ever "
            "occur"
        )
    return twin


def check_settled(estimator, training):
    """Raise ValueError where a part's Training is of another model than the parts before."""
    now, before = _settled(training.attributes), _settled(estimator.__dict__)
    for name in before | now:
        found, expected = now.get(name), before.get(name)
        if alike(found, expected):
            continue
        if name in OF_DATA:
            raise ValueError(
                f"{name} of this part is {shortened(found)}, of those before {shortened(expected)}"
            )
        raise ValueError(
            f"this part is for another model than those before: {name.strip('_')} is "
            f"{shortened(found)}, was {shortened(expected)}; take a clone"
        )
    n_weights, found = len(estimator._w), training.problem.n_weights
    if found != n_weights:
        raise ValueError(f"this part has {found} weights, the model {n_weights}")


def _settled(attributes):
    """Return of attributes those that every part must have alike, by name."""
    names = (*OF_DATA, *OF_PARAMETERS)
    found = {name: attributes[name] for name in names if name in attributes}
    model = attributes.get("_model", {})
    return found | {name: model[name] for name in OF_MODEL if name in model}


def _class_array(classes):
    return training_classes(classes, np.arange(0), np.zeros(0, dtype=bool), int)


def _check_classes(estimator, known, classes):
    """Refuse classes that are not those known; of several types of nodes, those of any type."""
    if not estimator._classes_by_type:
        _check_same_classes(known, classes)
        return
    for given in (known, classes):
        if not isinstance(given, list | tuple) or not is_sized(given):
            raise TypeError(f"classes={shortened(given)}, expected a list of labels for each type")
    if len(classes) != len(known):
        raise ValueError(f"classes has labels of {len(classes)} types, expected {len(known)}")
    for own, given in zip(known, classes):
        if own is not None:  # a parameter may name those of some types
            _check_same_classes(own, given)


def _check_same_classes(known, classes):
    known, given = _class_array(known).tolist(), _class_array(classes)
    if {*given.tolist()} != {*known}:
        raise ValueError(
            f"classes={shortened(given.tolist())} is not the same as on the last call, "
            f"{shortened(known)}: name all that may ever occur on the first"
        )


def _check_goes_on(estimator):
    """Refuse a model whose last fit has left nothing that its parameters could go on from."""
    kept, solver = estimator.__dict__.get("_steps"), estimator._solver_name
    if kept is None or kept["solver"] != solver:
        before = estimator.solver_ if kept is None else kept["solver"]
        raise ValueError(
            f"partial_fit with solver={solver!r} cannot go on from a fit with solver={before!r}: "
            "take a clone"
        )
    if estimator._solvers[solver].has_objective and float(estimator.lam) != estimator.lam_:
        raise ValueError(
            f"partial_fit with lam={estimator.lam!r} cannot go on from steps with "
            f"lam={estimator.lam_!r}: take a clone"
        )
