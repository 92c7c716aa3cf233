"""Constructors with errors that suggest a replacement for unknown arguments."""

import re
from dataclasses import MISSING, fields
from difflib import get_close_matches
from functools import wraps
from inspect import get_annotations, signature
from typing import ForwardRef, TypeVar

from sstruct._checks.parameters import is_real

T = TypeVar("T")


def explains_arguments(cls: type[T]) -> type[T]:
    """Decorate a dataclass whose constructor suggests a replacement for invalid arguments.

    scikit-learn reads the parameters from the signature, which is therefore kept, with the
    parameters in the order of the docstring.
    """
    init = cls.__init__
    parameters = [each for each in fields(cls) if each.init]
    names = [each.name for each in parameters]
    leading = [each.name for each in parameters if not each.kw_only]
    needed = [f"{each.name}=..." for each in parameters if each.kw_only and each.default is MISSING]

    @wraps(init)
    def explained(self, *args, **given):
        if len(args) > len(leading):
            raise TypeError(_positional(cls.__name__, names, leading, needed, args[len(leading)]))
        for name, value in given.items():
            if name not in names:
                raise TypeError(_unknown(cls.__name__, names, name, value))
        init(self, *args, **given)

    explained.__signature__ = _documented_order(cls, signature(init))
    explained.__annotations__ = _types(cls, init.__annotations__)
    cls.__init__ = explained
    return cls


def _types(cls, annotations):
    """Return annotations that ``typing.get_type_hints`` evaluates in the module of each field.

    The annotations of the signature are short strings, which do not contain these modules.
    """
    by_class = [(base.__module__, get_annotations(base)) for base in cls.__mro__]
    types = dict(annotations)
    for name, text in annotations.items():
        if isinstance(text, str):
            module = next(module for module, own in by_class if name in own)
            types[name] = ForwardRef(text, module=module)
    return types


def _documented_order(cls, original):
    """Return a signature with keyword parameters in the order of the docstring.

    In a dataclass, inherited fields come first.
    """
    first, *parameters = original.parameters.values()
    documented = re.findall(r"^ *(\w+) : ", cls.__doc__ or "", re.MULTILINE)
    if {*documented} >= {each.name for each in parameters}:  # False under python -OO
        parameters.sort(key=lambda each: documented.index(each.name))
    return original.replace(parameters=[first, *parameters])


def _positional(owner, names, leading, needed, value):
    """Return the error message for a parameter that was passed by position.

    names : names of all parameters
    leading : names of the parameters that may be passed by position
    needed : required keyword arguments, such as "parents=..."
    """
    number, is_estimator = is_real(value), "lam" in names
    found = f"{float(value):g}" if number else f"a {type(value).__name__}"
    example = f"lam={found if number else 0.01}" if is_estimator else f"{names[0]}=..."
    call = ", ".join([*leading, *needed, example])
    others = f" (except {', '.join(leading)})" if leading else ""
    return (
        f"{owner} takes keyword arguments only{others}, got {found}; use {owner}({call})"
        + "; pass X and y to fit" * (is_estimator and not number)
    )


_STRENGTH = "larger values regularize more"
_NORM = "the penalty is always the squared L2 norm"
_PASSES = "the number of passes over the data"
_GAP = "the relative duality gap at which a fit stops"
# Maps a parameter of another package to the parameter of this package, and an explanation.
OTHER_NAMES = {
    "C": ("lam", "C={0} is lam=1 / ({0} * n), where n is the number or total weight of samples"),
    "alpha": ("lam", "alpha of SGDClassifier is on the same scale"),
    "c1": ("lam", _NORM),
    "c2": ("lam", "c2 of CRFsuite is lam=2 * c2 / n, where n is the number of sequences"),
    "l2": ("lam", _STRENGTH),
    "penalty": ("lam", _NORM),
    "reg": ("lam", _STRENGTH),
    "reg_lambda": ("lam", _STRENGTH),
    "epochs": ("max_iter", _PASSES),
    "max_epochs": ("max_iter", _PASSES),
    "max_iterations": ("max_iter", _PASSES),
    "n_epochs": ("max_iter", _PASSES),
    "n_iter": ("max_iter", _PASSES),
    "eps": ("tol", _GAP),
    "epsilon": ("tol", _GAP),
    "algorithm": ("solver", "all except 'perceptron' and 'pa' minimize the same objective"),
    "seed": ("random_state", "an integer makes fits reproducible"),
    "all_possible_transitions": ("transitions", "every pair of labels has a weight"),
    "inference_method": ("inference", "the decoder of graphs"),
    "negativity_constraint": ("bounds", "an upper bound of 0 for some of the weights"),
}
# Maps an option of a solver to the solver object that has it.
SOLVER_OPTIONS = {
    **dict.fromkeys(
        (
            *("step", "sampling", "cache", "schedule", "average", "cache_lifetime"),
            *("max_working_set", "max_approximate_passes", "full_pass_every", "cache_gap_share"),
            *("cache_mean_gap_share", "gap_refresh_every", "sequential_visits"),
            *("couple_windows", "checkpoint"),
        ),
        "MPBCFW({name}=...)",
    ),
    **dict.fromkeys(
        ("certificate_every", "early_stopping", "validation_fraction", "n_iter_no_change"),
        "MPBCFW({name}=...), or another solver object",
    ),
    "averaging": "MPBCFW(average=...)",
    "solver_options": "MPBCFW(...)",
    "pa_aggressiveness": "PassiveAggressive(aggressiveness=...)",
    "gdmm_rho": "GDMM(rho=...)",
    "gdmm_parts": "GDMM(parts=...)",
}


def other_name(owner, names, name, value):
    """Return an error message that suggests a replacement for a parameter, or None.

    The parameter may be one of another package, or an option of a solver.

    Parameters
    ----------
    owner : str
        Name of the estimator.
    names : list of str
        Parameters of the estimator.
    name : str
        The unknown parameter.
    value : object
        Value of the unknown parameter.
    """
    if name in names:
        return None
    if name in SOLVER_OPTIONS and "solver" in names:
        instead = SOLVER_OPTIONS[name].format(name=name)
        return f"{owner} has no parameter {name!r}; use solver={instead}"
    here, difference = OTHER_NAMES.get(name, (None, None))
    if here not in names:
        return None
    value = f"{float(value):g}" if is_real(value) else name
    return f"{owner} has no parameter {name}; use {here} ({difference.format(value)})"


def _unknown(owner, names, name, value):
    """Return the error message for an unknown parameter.

    It suggests a replacement or the most similar parameter, or lists all parameters.
    """
    known = other_name(owner, names, name, value)
    if known is not None:
        return known
    near = get_close_matches(name, names, n=1)
    has = f"it has {', '.join(sorted(names))}" if names else "it has none"
    instead = f"did you mean {near[0]}?" if near else has
    return f"{owner} has no parameter {name}; {instead}"
