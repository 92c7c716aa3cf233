"""Warnings of a fit about its data, its stopping criterion, and the scale of features."""

from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sstruct._checks.shown import shortened
from sstruct._checks.warn import warn_user
from sstruct._estimators.core.constant_predictions import constant_prediction
from sstruct._estimators.core.held_out import on_disk
from sstruct._estimators.core.scales import Scales
from sstruct._estimators.core.training import Quality
from sstruct._solvers.core.solver import relative
from sstruct._solvers.core.status import Limit, Status
from sstruct._solvers.frank_wolfe.block_coordinate import MAX_ROUNDS

# If a feature is larger than the median feature by this factor, the others have little influence,
# since they are regularized much more. Of the 13 raw features of wine, one is 313 times the median;
# at a lam for which fits converge, cross-validated accuracy is 0.54, and 0.98 with scaled features.
# None of 20 other data sets has a ratio above 7.
FAR_APART = 100.0
# For a fit that has not converged, the thresholds are lower: for the ratio, and for features that
# are all large, such as years or colors up to 255. The number of passes grows with the squares of
# the features: for chains with features of variance 1, a fit takes 12 passes if their mean is 0,
# 180 if it is 10, and more than 1,000 if it is 30. Word counts remain below these thresholds.
FAR_APART_UNCONVERGED = 30.0
LARGE = 10.0
# lam="auto" adapts to the scale of node features, but the features of pairwise weights are ones.
# With node features of 255 (images as they are loaded), pairwise weights almost vanish: the
# accuracy on generated images with four labels is 0.72 instead of 0.98, and dates written in digits
# with pixels from 0 to 16 have twice as many errors. Features that are all smaller than SMALL are
# regularized too much at the smallest lam="auto".
SMALL = 0.01


def warn_of_data(training):
    """Warn about the data of a fit before it starts."""
    warn_of_empty(training.empty)
    for message in training.data_warnings:
        warn_user(message)


def warn_of_empty(empty):
    """Warn about samples without nodes, given their indices."""
    if len(empty):
        some = "1 sample" if len(empty) == 1 else f"{len(empty)} samples"
        warn_user(f"X has {some} without nodes, ignored in training; the first is X[{empty[0]}]")


def fit_warnings(structure, solution, training):
    """Return the warnings of a fit as a list of (message, category)."""
    messages = [(text, ConvergenceWarning) for text in solution.warnings]
    if solution.primal != solution.primal:  # NaN for solvers without an objective
        return messages
    name, inference = structure.estimator_name, training.inference
    gap = relative(solution.gap, solution.primal)
    stopped = f"{name} stopped at relative duality gap {gap:.2e}"
    # Solvers without a dual always stop at a limit.
    limited = solution.limit is not None and solution.gap == solution.gap
    unscaled = scale_warning(structure, training, limited)
    if solution.rounding > 0:
        messages.append((_rounding(structure, solution, unscaled), ConvergenceWarning))
    elif limited:
        # A certificate with an approximate decoder is approximate.
        approximate = " (approximate)" if inference.quality is Quality.APPROXIMATE else ""
        limit, advice = _limit(structure, solution.limit, training.problem.n_blocks)
        if training.alternative is not None:
            advice = f"{advice[:-1]}, or use solver={training.alternative!r}."
        ended = (
            f"{stopped}{approximate} after {solution.n_passes} passes, before "
            f"tol={float(structure.tol):g}: {limit}"
        )
        text = f"{ended}. {advice}" if unscaled is None else f"{ended}; {unscaled}"
        messages.append((text, ConvergenceWarning))
    elif unscaled is not None:
        messages.append((f"{name}: {unscaled}", UserWarning))
    elif solution.status in (Status.CONVERGED, Status.EARLY_STOPPED):
        constant = constant_prediction(structure, training, solution.w)
        if constant is not None:
            messages.append((constant, UserWarning))
    if solution.status is Status.STALLED and inference.quality is Quality.BOUNDED:
        text = (
            f"{stopped}, before tol={float(structure.tol):g}: no labeling was found that would "
            "reduce it. The optimum lies between dual_objective_ and objective_."
        )
        messages.append((text, ConvergenceWarning))
    return messages


def _rounding(structure, solution, unscaled):
    """Return the warning for a gap that rounding errors make invalid."""
    bound = f"dual_objective_, {solution.dual:.3g}, is lowered to remain a valid bound"
    if solution.dual != solution.dual:
        bound = "there is no lower bound"
    text = (
        f"{structure.estimator_name} has no certified duality gap: rounding errors may reach "
        f"{solution.rounding:.2g}, and the objective is {solution.primal:.3g}; {bound}. The scales "
        f"of features, costs and lam (here {structure.lam!r}) differ too much for float64"
    )
    if unscaled is not None:
        return f"{text}; {unscaled}"
    return f"{text}. Scale the features to about 1, or increase lam."


def _limit(structure, limit, n_blocks):
    """Describe the limit that stopped a fit, and return advice."""
    passes = structure.max_iter
    if limit is Limit.TIME:
        return (
            f"the time limit max_time={float(structure.max_time):g} was reached",
            "Increase max_time, or tol.",
        )
    advice = "Increase max_iter, or tol."
    if limit is Limit.CALLS:
        calls = f"{passes * n_blocks} oracle calls"
        return f"{calls} were made, the limit for max_iter={passes} passes", advice
    if limit is Limit.ROUNDS:
        rounds = f"{passes * MAX_ROUNDS} rounds, {MAX_ROUNDS} times max_iter={passes}, were made"
        return f"{rounds}, and most visits used a cached labeling", advice
    return f"max_iter={passes} passes were made", advice


def scale_warning(structure, training, limited):
    """Return a warning about the scales of the features of a Training, or None.

    limited : whether a limit stopped the fit
    """
    rows = training.features
    if not rows or (not limited and any(map(on_disk, rows))):
        return None
    scales = Scales.from_arrays(*rows)
    if scales is None:
        return None
    far = scales.ratio >= (FAR_APART_UNCONVERGED if limited else FAR_APART)
    largest = scales.scale[scales.largest]
    automatic = isinstance(structure.lam, str)
    # If pairwise features are scaled in proportion to node features, values need not be about 1.
    automatic &= not isinstance(structure.pairwise_scale, str)
    small = automatic and largest < SMALL
    large = scales.median >= LARGE and (limited or (automatic and _has_neighbors(training)))
    if not far and not small and not large:
        return None
    which = _feature(scales.largest, training)
    if far:
        numbers = (
            f"{which} has values of about {largest:.3g}, {scales.ratio:.3g} times the median "
            f"feature, {scales.median:.3g}, so the other features have little influence"
        )
    elif small:
        numbers = (
            f'no feature has larger values than {which}, of about {largest:.3g}; lam="auto" '
            "expects about 1"
        )
    else:
        numbers = (
            f"the median feature has values of about {scales.median:.3g}, the largest, {which}, of "
            f"{largest:.3g}; expected values around 1, the scale of the bias and pairwise terms"
        )
    return f"scale the features: {numbers}. {_scaling_advice(structure, training.features)}"


def _has_neighbors(training):
    """Whether the model has weights of neighboring labels, and the data have neighbors."""
    problem = training.problem
    single = (
        training.features[0].shape[0] == problem.n_blocks and "edges_" not in training.attributes
    )
    return not single and any("edge" in name for name in problem.layout.blocks)


def _feature(index, training):
    """Return the name of a feature, given its index among node and then edge features."""
    n_features = training.features[0].shape[1]
    if index >= n_features:
        return f"edge feature {index - n_features}"
    names = training.attributes.get("feature_names_in_")
    return f"feature {index}" if names is None else f"feature {index} ({shortened(names[index])})"


def _scaling_advice(structure, rows):
    """Return advice on how to scale the features."""
    name, place = structure.estimator_name, structure.scaling
    if place is None:
        return "Divide each feature by its standard deviation over all samples."
    # Sparse rows must remain sparse, and edge features may have to remain nonnegative.
    scalers = ["MaxAbsScaler()" if sparse.issparse(rows[0]) else "StandardScaler()"]
    scalers += ["MaxAbsScaler()"] * (len(rows) - 1)
    pipeline = f"make_pipeline({place.format(', '.join(scalers))}, {name}(...))"
    return f"Put a scaler before the model: {pipeline}."
