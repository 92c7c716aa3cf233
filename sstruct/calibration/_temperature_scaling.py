"""Probabilities by temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.parameters import check_number, random_of
from sstruct._checks.warn import warn_user
from sstruct._compat.public_module import public_module
from sstruct._estimators.calibration.held_out_loss import HeldOut, mean_loss
from sstruct._estimators.calibration.temperature import fit_temperature
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fitted_state import (
    FittedState,
    Flag,
    Number,
    Of,
    reads_one_fit,
)
from sstruct._estimators.core.meta_estimator import inner_estimator
from sstruct._estimators.core.missing_methods import AvailableIf, Missing, only_proba
from sstruct._input.label_schemes import LabelCodes, spans_in
from sstruct.calibration._held_out import WITH_DISTRIBUTION, HeldOutPredictor
from sstruct.spans import Scheme


def _has_exact_sums(calibrated):
    """Raise AttributeError if probabilities of whole labelings are not available."""
    if not getattr(calibrated, "exact_", True):
        raise AttributeError(
            "log_proba and sample of CalibratedSSVM require exact probabilities, but exact_ is "
            "False: predict_proba is the softmax of max-marginals, which defines no distribution "
            "of whole labelings"
        )


def _has_spans(calibrated):
    """Raise AttributeError unless the estimator labels sequences."""
    kind = type(inner_estimator(calibrated.estimator))
    if not getattr(getattr(kind, "_structure_class", None), "has_spans", False):
        raise AttributeError(
            f"CalibratedSSVM({kind.__name__}()) has no predict_spans, which is for sequences: use "
            "ChainSSVM or SegmentSSVM"
        )


@public_module("sstruct.calibration")
@dataclass(kw_only=True, eq=False, repr=False)
class CalibratedSSVM(HeldOutPredictor):
    r"""Add calibrated probabilities to a structured SVM, by temperature scaling.

    The scores of a fitted model define a distribution over the labelings of a sample,

    .. math::

        p(y \mid x) = \frac{\exp(\langle w, \phi(x, y) \rangle / T)}
        {\sum_{y'} \exp(\langle w, \phi(x, y') \rangle / T)}

    The temperature T, a single number, is estimated by maximum likelihood on samples that were not
    used for training [1]_. Predictions do not change. This is similar to
    :class:`sklearn.calibration.CalibratedClassifierCV` with ``ensemble=False``: the temperature is
    fitted to the held-out samples of all splits, and then the estimator to all samples.

    Probabilities are exact for sequences, graphs without cycles, multiclass data, poses with
    candidates, and label sets that have edges without cycles, a hierarchy or at most 18 labels.
    Otherwise the sum over all labelings cannot be computed, and probabilities are approximate: for
    each node, the softmax of the scores of :meth:`decision_function` divided by T, where T
    minimizes the log loss of held-out nodes. The attribute ``exact_`` is True for exact
    probabilities.

    Parameters
    ----------
    estimator : estimator of this package
        The estimator: :class:`~sstruct.ChainSSVM`, :class:`~sstruct.SegmentSSVM`,
        :class:`~sstruct.GraphCRFSSVM`, :class:`~sstruct.GridCRFSSVM`,
        :class:`~sstruct.TypedGraphCRFSSVM`, :class:`~sstruct.MulticlassSSVM`,
        :class:`~sstruct.MultilabelSSVM` or :class:`~sstruct.TreeSSVM`. It is cloned. A fitted
        estimator in a :class:`~sklearn.frozen.FrozenEstimator` is not fitted again: all samples
        passed to ``fit`` are then held-out samples, and must not have been used for its training.
        In a pipeline, CalibratedSSVM must be the last step.
    cv : int, cross-validation generator or iterable, default=5
        As in scikit-learn's searches; folds are stratified if the estimator is a classifier and
        every sample has one label. Test samples of different splits may overlap, and need not cover
        all samples. Not used for a FrozenEstimator.
    n_jobs : int or None, default=None
        Number of fits in parallel, through any backend of joblib. The `n_jobs` of `estimator` is
        the number of threads for probabilities. Results do not depend on either.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted to all samples, or a copy of the frozen one.
    temperature_ : float
        The temperature T, positive.
    exact_ : bool
        Whether probabilities are exact. For graphs and images, they are exact if no held-out sample
        has a cycle. :meth:`log_proba` and :meth:`sample` are available only if it is True.
    classes_ : as in the estimator
        Labels of the estimator. Not available for TreeSSVM.
    n_features_in_ : as in the estimator
        Number of features of the estimator.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has names.

    See Also
    --------
    sklearn.calibration.CalibratedClassifierCV : Calibration of classifiers, with several methods.

    Notes
    -----
    The likelihood of a sample with unknown labels, see `ignore_label` of the estimator, is the sum
    over their values. Labels that do not occur in the training samples of a split are treated as
    unknown in its test samples. Sequences that `transition_mask` or limits of durations forbid are
    ignored.

    The calibration is valid for samples from the distribution of the held-out samples. A single
    temperature cannot correct a model whose confidence is too high for some labels or samples and
    too low for others.

    Exact probabilities are computed by the sum-product algorithm [2]_, in logarithms or with
    rescaling, so that they are accurate for any length and any scores: O(L K^2) operations for L
    nodes with K labels each, O(L K (K + n_bins)) with bins of durations, O(L K) for
    ``pairwise="potts"`` and ``"contrast"``, O(K) for the K labels of a row, or O(2^K) if their
    edges have cycles (about 1 ms for 18 labels). The sums use the threads of the estimator.
    Estimating the temperature takes about 20 passes over the held-out samples.

    Approximate probabilities take into account only the best labeling with each label of a node,
    not the sum over all such labelings. They do not define probabilities of whole labelings. Their
    quality depends on the max-marginals, see ``decision_function`` of the estimator.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger. On Calibration of Modern Neural Networks.
       ICML 2017.
    .. [2] F. R. Kschischang, B. J. Frey, H.-A. Loeliger. Factor Graphs and the Sum-Product
       Algorithm. IEEE Transactions on Information Theory 47(2), 2001.

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
    >>> correct = probabilities.argmax(axis=1) == np.concatenate(y[40:])
    >>> bool(abs(probabilities.max(axis=1).mean() - correct.mean()) < 0.05)
    True
    """

    _fitted_state: ClassVar[FittedState] = FittedState(
        {
            "estimator_": Of(type=BaseSSVM),
            "temperature_": Number(positive=True),
            "exact_": Flag(),
        }
    )

    temperature_: float = field(init=False)
    exact_: bool = field(init=False)

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

        Notes
        -----
        For graphs and images, whether probabilities are exact depends on the edges of the held-out
        samples; for other estimators, it is known before the fits.
        """
        self._check()
        X, y = self._samples(X, y)
        splits = self._splits(X, y, sample_weight, groups)
        parts = self._held_out(X, y, sample_weight, splits)
        held_out = [HeldOut(*model._fitted(), *part) for model, *part in parts]
        exact = all(each.inexact is None for each in held_out)
        temperature, problem = fit_temperature(mean_loss(held_out, exact))
        model = self._final_estimator(parts, X, y, sample_weight)
        self._publish({"estimator_": model, "temperature_": float(temperature), "exact_": exact})
        if problem is not None:
            warn_user(f"temperature_={temperature:.3g} is uncertain: {problem}")
        return self

    def _is_supported(self, estimator):
        return isinstance(estimator, BaseSSVM) and estimator._structure_class.has_distribution

    def _supported(self):
        return WITH_DISTRIBUTION

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
            label: an array of shape (L_i, K) for each sequence or graph of a list, (H, W, K) for an
            image, (n, K) for rows with one label each, also for two classes. For sets of labels an
            array (n, K) with the probability that a row has each label; for TreeSSVM a list of P
            arrays (S_p,) for each sample; for TypedGraphCRFSSVM a list of T arrays (V_t, K_t). The
            most probable label of a node may differ from the predicted one, which is part of the
            most probable labeling.

        Raises
        ------
        ValueError
            If ``exact_`` is True and the probabilities of a sample cannot be computed exactly: a
            graph with a cycle, or score maps.
        """
        structure, model, samples, distribution = self._distribution(X)
        return structure.like_input(model, samples, distribution.marginals(self._scale))

    predict_log_proba = Missing(only_proba)

    @partial(AvailableIf, _has_exact_sums)
    @reads_one_fit
    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """Compute the log-probability of given labelings; available if ``exact_`` is True.

        Parameters
        ----------
        X, y : as in :meth:`fit`
            Samples and their labels. Nodes whose label is unknown, see `ignore_label` of the
            estimator, are summed over. In sets of labels, NaN, None and -1 are unknown.

        Returns
        -------
        ndarray of shape (n,)
            Natural logarithms; ``-inf`` if `transition_mask`, limits of durations or a hierarchy
            forbid the labeling, or a label is not in ``classes_``. 0 for empty samples.
        """
        structure, model, samples, free = self._distribution(X)
        observed = structure.observed(model, samples, y)
        given = free.given(observed.of_labelings).log_partition(self._scale)
        given[observed.sample[observed.unseen]] = -np.inf
        total = free.log_partition(self._scale)
        # If the mask forbids every labeling, both are -inf.
        possible = given > -np.inf
        return np.where(possible, given - np.where(possible, total, 0), -np.inf)

    @partial(AvailableIf, _has_exact_sums)
    @reads_one_fit
    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> np.ndarray:
        """Draw random labelings from the distribution; available if ``exact_`` is True.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        n_samples : int, default=1
            Number of labelings of each sample, at least 1.
        random_state : int, RandomState instance or None, default=None
            Pass an int for reproducible labelings. They depend on the sample and its index in X,
            not on the other samples.

        Returns
        -------
        ndarray of shape (n,), dtype object
            For each sequence or graph, an array (n_samples, L) of labels; for one label per row an
            array (n_samples,). For sets of labels an array (n_samples, K) of zeros and ones, for
            TreeSSVM an array (n_samples, P) of states, and for TypedGraphCRFSSVM a list of T arrays
            (n_samples, V_t).
        """
        check_number("n_samples", n_samples, least=1, whole=True)
        random = random_of(random_state)
        structure, model, samples, distribution = self._distribution(X)
        return structure.labels_of(
            model, samples, distribution.draw(self._scale, int(n_samples), random)
        )

    @partial(AvailableIf, _has_spans)
    @reads_one_fit
    def predict_spans(
        self, X: Any, scheme: Scheme = "bio", *, suffix: bool = False
    ) -> list[list[tuple[int, int, Any, float]]]:
        """Predict spans, such as named entities or segments, with their probabilities.

        Only available for estimators of sequences, ChainSSVM and SegmentSSVM.

        Parameters
        ----------
        X : as in :meth:`fit`
            Samples.
        scheme : {"bio", "bioes", "bilou", "iob1", "io"}, default="bio"
            Label scheme, as for :func:`sstruct.spans.spans_of`. Not supported for SegmentSSVM,
            whose spans are its segments.
        suffix : bool, default=False
            Whether the letter follows the type, as in ``"PER-B"``. Not supported for SegmentSSVM.

        Returns
        -------
        list of list of tuple (start, stop, type, probability)
            For each sequence, the spans of the predicted labels, found with ``invalid="repair"``.
            The probability is the sum over all labelings that have a span of this type with the
            same start and stop. For SegmentSSVM the predicted segments, whose type is their label.

        Raises
        ------
        ValueError
            If a label in ``classes_`` is not part of the scheme, or `scheme` or `suffix` are set
            for SegmentSSVM.
        """
        structure, model = self.estimator_._fitted()
        if structure.spans_are_segments:
            return structure.likely_segments(model, X, self._scale, scheme, suffix)
        classes, table = model.classes_.tolist(), LabelCodes(scheme, suffix)
        spans_in(classes, table, "repair", "classes_")  # validates the labels
        letters, types = zip(*(table.parts[table[label]] for label in classes), strict=True)
        known = sorted({kind for letter, kind in zip(letters, types, strict=True) if letter != "O"})
        nodes = structure.pack(X, model)
        labels = model.classes_[structure.decode(model, nodes)].tolist()
        bounds = nodes.offsets.tolist()
        predicted = [
            spans_in(labels[a:b], table, "repair", f"labels of X[{i}]")
            for i, (a, b) in enumerate(pairwise(bounds))
        ]
        rows = [(i, a, b, known.index(kind)) for i, s in enumerate(predicted) for a, b, kind in s]
        letter, kind = np.array(letters), np.array(types)
        inside = (letter != "O") & (kind == np.array(known, dtype=kind.dtype)[:, np.newaxis])
        continues = np.isin(letter, ["B", "I"])[:, np.newaxis] & np.isin(letter, ["I", "E"])
        continues &= kind[:, np.newaxis] == kind
        values = iter(structure.distribution(model, nodes).spans(
            self._scale, rows, inside, continues
        ).tolist())  # fmt: skip
        return [[(*span, next(values)) for span in spans] for spans in predicted]

    def _distribution(self, X):
        """Return the Structure, the FittedModel, the packed samples, and their distribution."""
        structure, model = self.estimator_._fitted()
        samples = structure.pack(X, model)
        inexact = structure.inexact(model, samples) if self.exact_ else None
        if inexact is not None:
            i, reason = inexact
            raise ValueError(
                f"the probabilities of X[{i}] cannot be computed exactly, since {reason}, but "
                "temperature_ was estimated for exact ones (exact_ is True); fit CalibratedSSVM "
                "to such samples"
            )
        return structure, model, samples, structure.distribution(model, samples, self.exact_)

    @property
    def _scale(self):
        return 1 / self.temperature_
