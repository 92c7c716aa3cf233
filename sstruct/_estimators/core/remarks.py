"""What a fit warns of: its data, the limit that ended it, and features that should be scaled."""

from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sstruct._checks.shown import shortened
from sstruct._checks.warn import warn_user
from sstruct._estimators.core.constant_predictions import constant_prediction
from sstruct._estimators.core.scales import Scales
from sstruct._estimators.core.threads import n_threads
from sstruct._estimators.core.training import Quality
from sstruct._problems.core._rows import is_mapped
from sstruct._solvers.core.solver import relative
from sstruct._solvers.core.status import Limit, Status
from sstruct._solvers.frank_wolfe.block_coordinate import MOST_ROUNDS

# A feature so many times the median one is regularized so much less that the others hardly count:
# of wine's 13 raw features one is 313 times the median, and cross-validated accuracy is 0.54 at a
# lam under which fits converge, 0.98 when scaled. Of 20 other data sets none has a ratio above 7.
FAR_APART = 100.0
# A fit that has not converged is looked at more closely: for the ratio, and for features that are
# all large, such as years or colours up to 255, whose squares the number of passes grows with:
# chains whose features have variance 1 take 12 passes if their mean is 0, 180 if it is 10, and more
# than 1,000 if it is 30. Counts of words are no alarm.
FAR_APART_UNCONVERGED = 30.0
LARGE = 10.0
# lam="auto" follows the scale of the nodes' features, and the weights of neighbors, whose features
# are ones, do not: at features of 255 (images as they are loaded) they all but vanish, and four
# labels of made images are right in 0.72 of the pixels, not 0.98; dates of digits from 0 to 16 are
# misread twice as often. Features that are all smaller than this are regularized too much at the
# least lam="auto".
SMALL = 0.01


def warn_of_data(training):
    """Warn of the data of a fit before it begins."""
    warn_of_empty(training.empty)
    for message in training.data_warnings:
        warn_user(message)


def warn_of_empty(empty):
    """Warn of the indices of samples without nodes, if there are any."""
    if len(empty):
        some = "1 sample" if len(empty) == 1 else f"{len(empty)} samples"
        warn_user(f"X has {some} without nodes, ignored in training; the first is X[{empty[0]}]")


def remarks(structure, solution, training):
    """Return what to warn of after a fit, as a list of (message, category)."""
    found = [(remark, ConvergenceWarning) for remark in solution.remarks]
    if solution.primal != solution.primal:  # of no objective
        return found
    name, inference = structure.estimator_name, training.inference
    gap = relative(solution.gap, solution.primal)
    stopped = f"{name} stopped at relative duality gap {gap:.2e}"
    # A solver without a dual has no other end.
    limited = solution.limit is not None and solution.gap == solution.gap
    unscaled = scale_remark(structure, training, limited)
    if solution.rounding > 0:
        found.append((_rounding(structure, solution, unscaled), ConvergenceWarning))
    elif limited:
        # A certificate is as good as the decoder that it rests on.
        approximate = " (approximate)" if inference.quality is Quality.APPROXIMATE else ""
        limit, advice = _limit(structure, solution.limit, training.problem.n_blocks)
        if training.alternative is not None:
            advice = f"{advice[:-1]}, or use solver={training.alternative!r}."
        ended = (
            f"{stopped}{approximate} after {solution.n_passes} passes, before "
            f"tol={float(structure.tol):g}: {limit}"
        )
        text = f"{ended}. {advice}" if unscaled is None else f"{ended}; {unscaled}"
        found.append((text, ConvergenceWarning))
    elif unscaled is not None:
        found.append((f"{name}: {unscaled}", UserWarning))
    elif solution.status in (Status.CONVERGED, Status.EARLY_STOPPED):
        constant = constant_prediction(structure, training, solution.w, n_threads(structure.n_jobs))
        if constant is not None:
            found.append((constant, UserWarning))
    if solution.status is Status.STALLED and inference.quality is Quality.BOUNDED:
        text = (
            f"{stopped}, before tol={float(structure.tol):g}: the search finds nothing that would "
            "reduce it. The optimum lies between dual_objective_ and objective_."
        )
        found.append((text, ConvergenceWarning))
    return found


def _rounding(structure, solution, unscaled):
    """Say that a certificate is none."""
    bound = f"dual_objective_, {solution.dual:.3g}, allows for that"
    if solution.dual != solution.dual:
        bound = "there is no lower bound"
    text = (
        f"{structure.estimator_name} has no certificate: rounding may change the duality gap by "
        f"{solution.rounding:.2g}, where the objective is {solution.primal:.3g}; {bound}. "
        f"Features, costs and lam (here {structure.lam!r}) are too far apart for float64"
    )
    if unscaled is not None:
        return f"{text}; {unscaled}"
    return f"{text}. Scale the features, to about 1, or take a larger lam."


def _limit(structure, limit, n_blocks):
    """Name the limit that ended a fit, and say what to do about it."""
    passes = structure.max_iter
    if limit is Limit.TIME:
        return (
            f"max_time={float(structure.max_time):g} seconds were over",
            "Increase max_time, or tol.",
        )
    advice = "Increase max_iter, or tol."
    if limit is Limit.CALLS:
        calls = f"{passes * n_blocks} oracle calls"
        return f"{calls} were made, those of max_iter={passes} passes", advice
    if limit is Limit.ROUNDS:
        rounds = f"{passes * MOST_ROUNDS} rounds, {MOST_ROUNDS} times max_iter={passes}, were made"
        return f"{rounds}, most visits of which took a cached labeling", advice
    return f"max_iter={passes} passes were made", advice


def scale_remark(structure, training, limited):
    """Say what is wrong with the scales of a Training's features; None: nothing is.

    limited : whether a limit ended the fit.
    """
    rows = training.features
    if not rows or (not limited and any(map(_on_disk, rows))):
        return None
    scales = Scales.of(*rows)
    if scales is None:
        return None
    far = scales.ratio >= (FAR_APART_UNCONVERGED if limited else FAR_APART)
    largest = scales.scale[scales.largest]
    automatic = isinstance(structure.lam, str)
    # Scales of nodes and neighbors that follow each other need no values of about 1.
    automatic &= not isinstance(structure.pairwise_scale, str)
    small = automatic and largest < SMALL
    large = scales.median >= LARGE and (limited or (automatic and _has_neighbors(training)))
    if not far and not small and not large:
        return None
    which = _feature(scales.largest, training)
    if far:
        numbers = (
            f"{which} has values of about {largest:.3g}, {scales.ratio:.3g} times those of the "
            f"median feature, {scales.median:.3g}, so that others hardly count"
        )
    elif small:
        numbers = (
            f'no feature has larger values than {which}, of about {largest:.3g}; lam="auto" '
            "expects about 1"
        )
    else:
        numbers = (
            f"the median feature has values of about {scales.median:.3g}, the largest, {which}, of "
            f"{largest:.3g}; expected about 1, the scale of what bias and neighbors add"
        )
    return f"scale the features: {numbers}. {_way(structure, training.features)}"


def _on_disk(rows):
    return is_mapped(rows.data if sparse.issparse(rows) else rows)


def _has_neighbors(training):
    """Whether a model has weights of neighboring labels, and the data have neighbors."""
    problem = training.problem
    single = (
        training.features[0].shape[0] == problem.n_blocks and "edges_" not in training.attributes
    )
    return not single and any("edge" in name for name in problem.layout.blocks)


def _feature(index, training):
    """Name a feature by its index in the rows of nodes, then of edges."""
    n_features = training.features[0].shape[1]
    if index >= n_features:
        return f"edge feature {index - n_features}"
    names = training.attributes.get("feature_names_in_")
    return f"feature {index}" if names is None else f"feature {index} ({shortened(names[index])})"


def _way(structure, rows):
    """Say how to scale."""
    name, place = structure.estimator_name, structure.scaling
    if place is None:
        return "Divide each feature by its standard deviation over all samples."
    # Rows that are sparse must stay so, and features of edges may have to stay nonnegative.
    scalers = ["MaxAbsScaler()" if sparse.issparse(rows[0]) else "StandardScaler()"]
    scalers += ["MaxAbsScaler()"] * (len(rows) - 1)
    pipeline = f"make_pipeline({place.format(', '.join(scalers))}, {name}(...))"
    return f"Put a scaler before the model: {pipeline}."
