"""Samples that come in parts, ``partial_fit``: what the first part settles, and later ones keep."""

import numpy as np

from sstruct._checks.arrays import is_sized
from sstruct._checks.shown import shortened
from sstruct._estimators.core.training import alike
from sstruct._input.indicator import is_indicator
from sstruct._input.labels import training_classes

# What the data have settled about the meaning of weights, and what parameters have.
OF_DATA = ("n_features_in_", "n_types_", "parents_", "classes_", "edges_", "_pairs")
OF_PARAMETERS = (
    *("_bias", "_boundaries", "_transitions", "_pair_scores", "_masks"),
    "pairwise_scale_",
)
OF_MODEL = ("pairwise", "strength", "connectivity", "n_edge_features", "full", "K")


def structure_of_part(structure, model, y, classes):
    """Return a Structure for the next part of the samples, with the classes of the first one.

    Parameters
    ----------
    structure : Structure
    model : FittedModel or None
        The model after earlier parts.
    y, classes : as passed to ``partial_fit``

    Raises
    ------
    ValueError, TypeError
        If classes are missing or others than before, if the last fit cannot be continued, or if a
        parameter needs all samples at once.
    """
    parameters = structure.parameters
    for name in ("loss", "class_weight"):
        value = parameters.get(name)
        if isinstance(value, str) and value == "balanced":
            raise ValueError(
                f'{name}="balanced" counts the labels of all samples, which partial_fit does not '
                f"have: give {name} as numbers"
            )
    if structure.has_objective and isinstance(structure.lam, str):
        raise ValueError(
            f"lam={structure.lam!r} depends on all samples, which partial_fit does not have: give "
            f"lam as a number for solver={structure.solver_name!r}"
        )
    if classes is not None and "classes" not in parameters:
        raise ValueError(f"{structure.estimator_name} has no classes: leave classes=None")
    if model is not None:
        _check_goes_on(structure, model)
        if classes is not None:
            _check_classes(structure, model.classes_, classes)
        if "classes" in parameters:
            structure = structure.with_parameters(classes=model.classes_)
    elif classes is not None:
        if structure.classes is not None:
            _check_classes(structure, structure.classes, classes)
        structure = structure.with_parameters(classes=classes)
    elif parameters.get("classes", ()) is None:
        if not structure.samples_are_rows or not is_indicator(y):
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all labels that may ever "
                "occur"
            )
    return structure


def check_settled(model, training):
    """Raise ValueError if the Training of a part has another model than earlier parts."""
    now, before = _settled(training.attributes), _settled(vars(model))
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
    n_weights, found = len(model._w), training.problem.n_weights
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


def _check_classes(structure, known, classes):
    """Refuse classes that are not those known; of several types of nodes, those of any type."""
    if not structure.classes_by_type:
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


def _check_goes_on(structure, model):
    """Raise ValueError if the last fit cannot be continued with the parameters."""
    kept, solver = model.get("_steps"), structure.solver_name
    if kept is None or kept["solver"] != solver:
        before = model.solver_ if kept is None else kept["solver"]
        raise ValueError(
            f"partial_fit with solver={solver!r} cannot go on from a fit with solver={before!r}: "
            "take a clone"
        )
    if structure.has_objective and float(structure.lam) != model.lam_:
        raise ValueError(
            f"partial_fit with lam={structure.lam!r} cannot go on from steps with "
            f"lam={model.lam_!r}: take a clone"
        )
