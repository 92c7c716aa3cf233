"""Initial completions by another model, clusters or random sample weights."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from sstruct._checks.arrays import items_of
from sstruct._checks.shown import shortened
from sstruct._input.labels import encode
from sstruct._input.ragged import check_weights, is_of_nodes


def last_of(model):
    """Return the last step of a (nested) pipeline, or the model itself."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1] if model.steps else None
    return model


def seeded(model, random):
    """Return a clone; if `random` is not None, draw the `random_state` of steps without one."""
    model = clone(model)
    if random is not None:
        given = sorted(model.get_params().items())
        unset = [k for k, v in given if v is None and k.split("__")[-1] == "random_state"]
        model.set_params(**{k: random.randint(np.iinfo(np.int32).max) for k in unset})
    return model


def labels_by(model, X, y, sample_weight, known):
    """Return codes of all labels, with hidden ones completed by a fit of another model.

    Parameters
    ----------
    model : BaseSSVM or LatentSSVM, or a pipeline that ends in one
        Fitted in place.
    X, y, sample_weight : as in ``fit``
    known : KnownLabels
        Known labels of the estimator that uses the result.

    Returns
    -------
    ndarray of int32
        In the form of ``KnownLabels.codes``.

    Raises
    ------
    ValueError, TypeError
        If the nodes, parts, labels or hidden labels of `model` differ from `known`.
    """
    while isinstance(model, Pipeline):
        before, model = model[:-1], model.steps[-1][1]
        if len(before):
            X = before.fit_transform(X, y)
    own = model._structure().hidden(X, y, sample_weight)
    alike = (own.classes is None) == (known.classes is None)
    if not alike or own.codes.shape != known.codes.shape:
        raise ValueError(
            f"{type(model).__name__} has labels of shape {own.codes.shape}, but the labels of the "
            f"parameter estimator have shape {known.codes.shape}; both must have the same nodes, "
            "parts or sets"
        )
    if known.classes is not None and ((own.codes < 0) != (known.codes < 0)).any():
        counts = [int((codes < 0).sum()) for codes in (own.codes, known.codes)]
        raise ValueError(
            f"{type(model).__name__} has {counts[0]} hidden labels and the parameter estimator has "
            f"{counts[1]}, but both must have the same ones; use the same ignore_label"
        )
    codes = model._first_labels(X, y, sample_weight, own)
    if known.classes is not None:
        labels = own.classes[codes]
        codes = encode(labels, known.classes)
        if (codes < 0).any():
            label = shortened(labels[np.argmin(codes)])
            raise ValueError(
                f"a hidden label was completed as {label}, which is not a label of the estimator"
            )
    return np.where(known.codes < 0, codes, known.codes)


def first_states(known, labels, n_states, random):
    """Return states of all nodes, by k-means on the features of the trained nodes of each label.

    The other nodes get state 0 of their label. If a label has at most S trained nodes, each of them
    gets its own state.

    Parameters
    ----------
    known : KnownLabels
        With the features of its nodes.
    labels : ndarray of int32 of shape (n_nodes,)
        Label of each node, including completed ones.
    n_states : int
        Number S of states per label.
    random : RandomState

    Returns
    -------
    ndarray of int32 of shape (n_nodes,)
        ``label * S + state``.
    """
    from sklearn.cluster import KMeans  # a quarter of the time of importing sstruct

    states = labels * np.int32(n_states)
    for k in range(len(known.classes)):
        rows = np.flatnonzero(known.trained & (labels == k))
        if len(rows) <= n_states:
            states[rows] += np.arange(len(rows), dtype=np.int32)
            continue
        means = KMeans(n_states, n_init=1, random_state=random.randint(np.iinfo(np.int32).max))
        with warnings.catch_warnings():  # fewer distinct nodes than states: some states are empty
            warnings.simplefilter("ignore", ConvergenceWarning)
            states[rows] += means.fit_predict(known.features[rows]).astype(np.int32)
    return states


def randomly_weighted(sample_weight, n_samples, random):
    """Return sample weights for ``fit``, multiplied by random numbers: the Bayesian bootstrap.

    The numbers are exponential, so no weight is 0 and no label is lost. [Rubin 1981, The
    Bayesian Bootstrap, Annals of Statistics 9(1)]
    """
    draws = random.exponential(size=n_samples)
    sample_weight = items_of(sample_weight)
    if not is_of_nodes(sample_weight):
        return check_weights(sample_weight, n_samples) * draws
    return [np.asarray(weights) * draw for weights, draw in zip(sample_weight, draws)]
