"""Consistency checks of ``partial_fit``, whose first call defines the model."""

import numpy as np

from sstruct._checks.arrays import is_sized
from sstruct._checks.shown import shortened
from sstruct._estimators.core.training import have_same_values
from sstruct._input.labels import training_classes

# Attributes of the data, and of parameters, that define the meaning of the weights.
OF_DATA = ("n_features_in_", "n_types_", "parents_", "classes_", "edges_", "_pairs")
OF_PARAMETERS = (
    *("_bias", "_boundaries", "_transitions", "_pair_scores", "_masks", "_class_scores"),
    *("transition_groups_", "duration_bins_", "_segment_kinds", "_n_segment_features"),
    "_self_transitions",
    *("_costs", "_scaled"),
    "pairwise_scale_",
)
OF_MODEL = ("pairwise", "strength", "connectivity", "n_edge_features", "full", "K")
OF_PARAMETER = "the parameter classes of the estimator"
FIRST_CALL = "pass all labels that can occur on the first call"


def structure_for_partial_fit(structure, model, y, classes):
    """Return a Structure for the next call, with the classes of the first one.

    Parameters
    ----------
    structure : Structure
    model : FittedModel or None
        The model after earlier calls.
    y, classes : as passed to ``partial_fit``

    Raises
    ------
    ValueError, TypeError
        If classes are missing or differ from earlier calls, if the last fit cannot be continued, or
        if a parameter requires all samples.
    """
    parameters = structure.parameters
    structure.check_not_balanced("by partial_fit")
    if structure.has_objective and isinstance(structure.lam, str):
        raise ValueError(
            f"lam={structure.lam!r} is not supported by partial_fit, since it depends on all "
            f"samples; set lam to a number for solver={structure.chosen_solver.name!r}"
        )
    if classes is not None and "classes" not in parameters:
        raise ValueError(
            f"partial_fit of {structure.estimator_name} does not support classes; use classes=None"
        )
    if model is not None:
        _check_continues(structure, model)
        if classes is not None:
            check_same_classes(structure, model.classes_, classes)
        if "classes" in parameters:
            structure = structure.with_parameters(classes=model.classes_)
    elif classes is not None:
        if structure.classes is not None:
            advice = "use classes=None in partial_fit, or the same labels"
            check_same_classes(structure, structure.classes, classes, OF_PARAMETER, advice)
        structure = structure.with_parameters(classes=classes)
    elif parameters.get("classes", ()) is None:
        if not structure.has_label_sets(y):
            raise ValueError(
                "classes must be passed on the first call to partial_fit, with all labels that can "
                "occur in later calls"
            )
    return structure


def check_same_model(model, training):
    """Raise ValueError if the Training of a call does not match the model of earlier calls."""
    now, before = model_attributes(training.attributes), model_attributes(vars(model))
    for name in before | now:
        found, expected = now.get(name), before.get(name)
        if have_same_values(found, expected):
            continue
        if name in OF_DATA:
            raise ValueError(
                f"{name} is {shortened(found)}, but earlier calls had {shortened(expected)}"
            )
        raise ValueError(
            f"the model differs from earlier calls of partial_fit: {name.strip('_')} is "
            f"{shortened(found)}, was {shortened(expected)}; use a clone"
        )
    n_weights, found = len(model._w), training.problem.n_weights
    if found != n_weights:
        raise ValueError(f"the data require {found} weights, but the model has {n_weights}")


def model_attributes(attributes):
    """Return the attributes, by name, that must be equal in all calls."""
    names = (*OF_DATA, *OF_PARAMETERS)
    found = {name: attributes[name] for name in names if name in attributes}
    model = attributes.get("_model", {})
    return found | {name: model[name] for name in OF_MODEL if name in model}


def _class_array(classes):
    return training_classes(classes, np.arange(0), np.zeros(0, dtype=bool), int)


def check_same_classes(
    structure, known, classes, source="the classes of the last call", advice=FIRST_CALL
):
    """Raise an error if classes differ from the known ones, for any type of nodes.

    source, advice : description of the known classes, and what to do, for errors
    """
    if not structure.classes_by_type:
        _check_same_labels(known, classes, source, advice)
        return
    for given in (known, classes):
        if not isinstance(given, list | tuple) or not is_sized(given):
            raise TypeError(f"classes={shortened(given)}, expected a list of labels for each type")
    if len(classes) != len(known):
        raise ValueError(f"classes has labels of {len(classes)} types, expected {len(known)}")
    for own, given in zip(known, classes):
        if own is not None:  # the parameter may specify the classes of some types only
            _check_same_labels(own, given, source, advice)


def _check_same_labels(known, classes, source, advice):
    known, given = _class_array(known).tolist(), _class_array(classes)
    if {*given.tolist()} != {*known}:
        raise ValueError(
            f"classes={shortened(given.tolist())} differs from {source}, {shortened(known)}; "
            f"{advice}"
        )


def _check_continues(structure, model):
    """Raise ValueError if the last fit cannot be continued with the parameters."""
    kept, solver = model.get("_steps"), structure.chosen_solver.name
    if kept is None or kept["solver"] != solver:
        before = model.solver_ if kept is None else kept["solver"]
        raise ValueError(
            f"partial_fit with solver={solver!r} cannot continue a fit with solver={before!r}; "
            "use a clone"
        )
    if structure.has_objective and float(structure.lam) != model.lam_:
        raise ValueError(
            f"partial_fit with lam={structure.lam!r} cannot continue from steps with "
            f"lam={model.lam_!r}; use a clone"
        )
