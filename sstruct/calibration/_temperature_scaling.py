"""Probabilities by temperature scaling."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.parameters import check_number
from sstruct._checks.warn import warn_user
from sstruct._estimators.calibration.temperature import fit_temperature
from sstruct._estimators.core.fitted_state import (
    FittedState,
    Number,
    Of,
    reads_one_fit,
)
from sstruct._input.label_schemes import LabelCodes, spans_in
from sstruct._input.labels import object_array
from sstruct._input.ragged import NoNodesError, is_of_nodes
from sstruct._solvers.core.seed import random_of
from sstruct.calibration._held_out import HeldOutMetaEstimator
from sstruct.chain import ChainSSVM
from sstruct.spans import Scheme


@dataclass(kw_only=True, eq=False, repr=False)
class CalibratedSSVM(HeldOutMetaEstimator):
    r"""Add calibrated probabilities to a structured SVM, by temperature scaling.

    The scores of a fitted model define a distribution over the labelings of a sample,

    .. math::

        p(y \mid x) = \frac{\exp(\langle w, \phi(x, y) \rangle / T)}
        {\sum_{y'} \exp(\langle w, \phi(x, y') \rangle / T)}

    The temperature T, a single number, is estimated by maximum likelihood on samples that were not
    used for training [1]_. Predictions do not change. Works like
    :class:`sklearn.calibration.CalibratedClassifierCV` with ``ensemble=False``: the temperature is
    fitted to the held-out samples of all splits, and then the estimator to all samples.

    Parameters
    ----------
    estimator : ChainSSVM
        The estimator. It is cloned. In a
        :class:`~sklearn.frozen.FrozenEstimator`, a fitted one, which is not fitted again: all
        samples passed to ``fit`` are then held-out samples, and must not have been used for its
        training. Other estimators are not supported, since their normalization constant cannot be
        computed exactly yet. A pipeline contains this estimator as its last step.
    cv : int, cross-validation generator or iterable, default=5
        As in scikit-learn's searches. Test samples of different splits may overlap, and need not
        cover all samples. Not used for a FrozenEstimator.
    n_jobs : int or None, default=None
        Number of fits in parallel, through any backend of joblib. The `n_jobs` of `estimator` is
        the number of threads for probabilities. Results do not depend on either.

    Attributes
    ----------
    estimator_ : ChainSSVM
        The estimator, fitted to all samples, or a copy of the frozen one.
    temperature_ : float
        The temperature T, positive.
    classes_ : ndarray of shape (K,)
        Labels of the estimator.
    n_features_in_ : int
        Number of features of the estimator.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    sklearn.calibration.CalibratedClassifierCV : For one label per sample, as in
        :class:`sstruct.MulticlassSSVM`.

    Notes
    -----
    The likelihood of a sequence with unknown labels, see `ignore_label` of the estimator, is the
    sum over their values. Labels that do not occur in the training samples of a split are treated
    as unknown in its test samples. Sequences that `transition_mask` forbids are ignored.

    The calibration is valid for samples from the distribution of the held-out samples. One
    temperature cannot correct a model whose confidence is too high for some labels or samples and
    too low for others.

    Probabilities take O(L K^2) operations for a sequence of L nodes and K labels, and O(L K)
    memory. The temperature takes about 20 passes over the held-out samples.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger. On Calibration of Modern Neural Networks.
       ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sstruct import ChainSSVM
    >>> from sstruct.calibration import CalibratedSSVM
    >>> from sstruct.datasets import make_sequences
    >>> X, y = make_sequences(n_samples=60, random_state=0)
    >>> model = CalibratedSSVM(ChainSSVM(random_state=0)).fit(X[:40], y[:40])
    >>> probabilities = np.concatenate(model.predict_proba(X[40:]))
    >>> np.allclose(probabilities.sum(axis=1), 1)
    True
    >>> found = probabilities.argmax(axis=1) == np.concatenate(y[40:])
    >>> bool(abs(probabilities.max(axis=1).mean() - found.mean()) < 0.05)
    True
    """

    __module__ = "sstruct.calibration"  # import path for pickle and skops

    _fitted_state = FittedState(
        {"estimator_": Of(type=ChainSSVM), "temperature_": Number(positive=True)}
    )

    estimator_: ChainSSVM = field(init=False)
    temperature_: float = field(init=False)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Estimate the temperature on held-out samples, and fit the estimator to all samples.

        Parameters
        ----------
        X, y : as in the estimator's ``fit``
            Samples and their labels.
        sample_weight : as in the estimator's ``fit``, optional
            Weights for the fits. Weights of samples also apply to the likelihood; weights of nodes
            do not.
        groups : array-like of shape (n,), optional
            Groups for the splits.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the estimator is not supported, the data or a parameter are invalid, or no held-out
            node has a known label. The object remains unchanged.

        Warns
        -----
        UserWarning
            If the likelihood has no maximum: the held-out samples are predicted without errors, or
            the scores do not predict their labels.
        """
        self._check()
        parts = self._held_out(X, y, sample_weight, groups)
        held_out = [_HeldOut(*part) for part in parts]
        total = sum(each.weights.sum() for each in held_out)
        if total == 0:
            raise NoNodesError(
                "no held-out sample of positive weight has a known label at a node in a labeling "
                "allowed by transition_mask; the temperature requires at least one"
            )
        # The mean weight of the samples is 1.
        factor = sum(np.count_nonzero(each.weights) for each in held_out) / total
        temperature, problem = fit_temperature(
            lambda scale: factor * sum(each.loss(scale) for each in held_out)
        )
        model = self._final_estimator(parts, X, y, sample_weight)
        self._publish({"estimator_": model, "temperature_": float(temperature)})
        if problem is not None:
            warn_user(f"temperature_={temperature:.3g} is uncertain: {problem}")
        return self

    def _is_supported(self, estimator):
        return isinstance(estimator, ChainSSVM)

    def _supported(self):
        return "a ChainSSVM, whose probabilities can be computed exactly"

    @reads_one_fit
    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the probability of each label at each node (marginals).

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.

        Returns
        -------
        ndarray
            As :meth:`predict`, with K probabilities in the order of ``classes_`` instead of each
            label. For lists, an array of shape (L_i, K) per sequence. The most probable label of a
            node may differ from the predicted one, which is part of the most probable labeling.
        """
        structure, model = self.estimator_._fitted()
        nodes = structure.pack(X, model)
        return nodes.like_input(structure.distribution(model, nodes).marginals(self._scale))

    @reads_one_fit
    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """Compute the log-probability of given labelings.

        Parameters
        ----------
        X, y : as in :meth:`fit`
            Samples and their labels. Nodes whose label is unknown, see `ignore_label` of the
            estimator, are summed over.

        Returns
        -------
        ndarray of shape (n,)
            Natural logarithms; ``-inf`` if `transition_mask` forbids the labeling, or a label is
            not in ``classes_``. 0 for empty sequences.
        """
        structure, model = self.estimator_._fitted()
        nodes = structure.pack(X, model)
        codes, is_known = structure.truth(model, nodes, y, None)
        unseen = (codes < 0) & (is_known > 0)
        free, known = _free_and_known(structure, model, nodes, codes, is_known)
        given = known.log_partition(self._scale)
        given[np.repeat(np.arange(len(nodes)), nodes.lengths)[unseen]] = -np.inf
        total = free.log_partition(self._scale)
        # If the mask forbids every labeling, both are -inf.
        possible = given > -np.inf
        return np.where(possible, given - np.where(possible, total, 0), -np.inf)

    @reads_one_fit
    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> np.ndarray:
        """Draw random labelings from the distribution.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        n_samples : int, default=1
            Number of labelings of each sample, at least 1.
        random_state : int, RandomState instance or None, default=None
            Seed. The labelings of a sample depend on its index, not on the other samples.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sequence, an array (n_samples, L) of labels; for 2-D X an array (n_samples,).
        """
        check_number("n_samples", n_samples, least=1, whole=True)
        random = random_of(random_state)
        structure, model = self.estimator_._fitted()
        nodes = structure.pack(X, model)
        draws = structure.distribution(model, nodes).draw(self._scale, int(n_samples), random)
        one = nodes.form == "rows"
        return object_array([model.classes_[d[:, 0] if one else d] for d in draws])

    @reads_one_fit
    def predict_spans(
        self, X: Any, scheme: Scheme = "bio", *, suffix: bool = False
    ) -> list[list[tuple[int, int, str, float]]]:
        """Predict spans, such as named entities, with their probabilities.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
            Label scheme, as for :func:`sstruct.spans.spans_of`.
        suffix : bool, default=False
            Whether the letter follows the type, as in ``"PER-B"``.

        Returns
        -------
        list of list of tuple (start, stop, type, probability)
            For each sequence, the spans of the predicted labels, found with ``invalid="repair"``.
            The probability is the sum over all labelings that have a span of this type with the
            same start and stop.

        Raises
        ------
        ValueError
            If a label in ``classes_`` is not part of the scheme.
        """
        structure, model = self.estimator_._fitted()
        classes, table = model.classes_.tolist(), LabelCodes(scheme, suffix)
        spans_in(classes, table, "repair", "classes_")  # validates the labels
        letters, types = zip(*(table.parts[table[label]] for label in classes), strict=True)
        known = sorted({kind for letter, kind in zip(letters, types, strict=True) if letter != "O"})
        nodes = structure.pack(X, model)
        labels = model.classes_[structure.decode(model, nodes)].tolist()
        bounds = nodes.offsets.tolist()
        found = [
            spans_in(labels[a:b], table, "repair", f"labels of X[{i}]")
            for i, (a, b) in enumerate(pairwise(bounds))
        ]
        rows = [(i, a, b, known.index(kind)) for i, s in enumerate(found) for a, b, kind in s]
        letter, kind = np.array(letters), np.array(types)
        inside = (letter != "O") & (kind == np.array(known, dtype=kind.dtype)[:, np.newaxis])
        continues = np.isin(letter, ["B", "I"])[:, np.newaxis] & np.isin(letter, ["I", "E"])
        continues &= kind[:, np.newaxis] == kind
        values = iter(structure.distribution(model, nodes).spans(
            self._scale, rows, inside, continues
        ).tolist())  # fmt: skip
        return [[(*span, next(values)) for span in spans] for spans in found]

    @property
    def _scale(self):
        return 1 / self.temperature_


class _HeldOut:
    """Samples that were not used to fit a model.

    Attributes
    ----------
    weights : ndarray of shape (n,)
        Weights of the samples in the likelihood, 0 if they have no known label.
    """

    def __init__(self, estimator, X, y, sample_weight=None):
        structure, model = estimator._fitted()
        nodes = structure.pack(X, model)
        codes, is_known = structure.truth(model, nodes, y, None)
        self.free, self.known = _free_and_known(structure, model, nodes, codes, is_known)
        sample = np.repeat(np.arange(len(nodes)), nodes.lengths)
        informative = np.bincount(sample[(codes >= 0) & (is_known > 0)], minlength=len(nodes)) > 0
        self.weights = np.ones(len(nodes))
        if sample_weight is not None and not is_of_nodes(sample_weight):
            self.weights *= sample_weight
        self.weights[~informative | (self.known.log_partition(1.0) == -np.inf)] = 0

    def loss(self, scale):
        """Return the sum of the negative log-likelihoods at an inverse temperature."""
        used = self.weights > 0
        free, known = self.free.log_partition(scale)[used], self.known.log_partition(scale)[used]
        return float(np.sum(self.weights[used] * (free - known)))


def _free_and_known(structure, model, nodes, codes, is_known):
    """Return the distribution of all labelings, and of those that agree with the known labels."""
    codes = np.where(is_known > 0, codes, -1).astype(np.int32)
    free = structure.distribution(model, nodes)
    return free, structure.distribution(model, nodes, codes)
