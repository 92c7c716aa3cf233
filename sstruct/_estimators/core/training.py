"""Input, packed data, problem and decoder of a fit."""

import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy import sparse

from sstruct._checks.compressed import as_csr, check_compressed
from sstruct._compat import safe_indexing
from sstruct._estimators.core.lam_from_scale import TrainedNodes
from sstruct._estimators.core.sample_data import SampleData


class Samples(NamedTuple):
    """Labeled samples as passed to ``fit``, or as X_val, y_val and sample_weight_val."""

    X: Any
    y: Any
    sample_weight: Any = None

    def subset(self, chosen):
        """Return the subset of samples with some indices."""
        weights = self.sample_weight
        one_for_all = isinstance(weights, numbers.Number) or getattr(weights, "ndim", 1) == 0
        if weights is not None and not one_for_all:
            weights = safe_indexing(weights, chosen)
        return Samples(_taken(self.X, "X", chosen), _taken(self.y, "y", chosen), weights)

    @property
    def given(self):
        """Whether any argument is not None."""
        return not (self.X is None and self.y is None and self.sample_weight is None)

    def fingerprint(self):
        """Return a hash of the samples."""
        return joblib.hash(tuple(self))


def _taken(values, name, chosen):
    """Return the items with some indices; sparse matrices are converted to CSR."""
    if sparse.issparse(values):
        check_compressed(values, name)
        values = as_csr(values)
    return safe_indexing(values, chosen)


class Quality(Enum):
    """The quality of a decoder, which determines the validity of certificates."""

    EXACT = "exact"
    BOUNDED = "bounded"  # the best labeling may be missed, but not by more than a known bound
    APPROXIMATE = "approximate"


@dataclass(frozen=True)
class Inference:
    """The max-oracle of a fit; its string is the attribute ``inference_``.

    Attributes
    ----------
    decoder : str
    quality : Quality
    relaxed : bool
        Whether it decodes the linear programming relaxation; `quality` then refers to that.
    search : str or None
        How slack rescaling searches for the most violated labeling.
    """

    decoder: str
    quality: Quality = Quality.EXACT
    relaxed: bool = False
    search: str | None = None

    def __str__(self):
        properties = ["LP relaxation"] if self.relaxed else []
        if self.quality is not Quality.EXACT or not self.relaxed:
            properties.append(self.quality.value)
        name = self.decoder if self.search is None else f"{self.decoder}, {self.search}"
        return f"{name} ({', '.join(properties)})"


@dataclass
class Training:
    """The problem of a fit, and the data and settings that belong to it.

    Attributes
    ----------
    problem : BlockProblem
    sample_weight : ndarray of shape (n_blocks,)
        Weight of the sample of each block, multiplied by its class weight.
    total_weight : float
        The weights of hinge losses are sample weights divided by this number.
    nodes : TrainedNodes or None
        Data for ``lam="auto"``; None for user-defined structures.
    data : SampleData
        Identifies the data, which a warm start requires to be the same, except for added samples.
    inference : Inference
    attributes : dict
        Fitted attributes that depend on the data and not on the solver; None if missing.
    features : tuple of arrays
        Features of nodes and, if the model uses them, of edges, for warnings about scales.
    empty : ndarray of int
        Indices of the samples without nodes, which are not used in training.
    data_warnings : tuple of str
        Further warnings at the start of ``fit``, in addition to samples without nodes.
    held_out : Samples or None
        Validation samples, whose score selects the weights.
    whole : callable or None
        Returns the problem of whole samples and the index of each sample's first block, if blocks
        are windows of samples.
    bounds : ndarray of shape (2, n_weights) or None
        Bounds of the weights of a fitted model, in the problem's layout. Set after the samples are
        packed.
    prior : ndarray of shape (n_weights,) or None
        Weights to which the regularizer pulls, in the problem's layout and the units of X. Set
        after the samples are packed.
    auto_solver : str
        Name of the solver that ``solver="auto"`` stands for. It does not depend on `lam`.
    alternative : str or None
        Name of a solver that a warning recommends if another one is stopped by a limit.
    n_threads : int or None
        Number of threads of the solver; None to use `n_jobs`.
    conclude : callable or None
        ``conclude(training, solution)`` is called after the solver, and returns the Solution.
    lam : float
        Set after the samples are packed.
    pairwise_scale : float
        Size of pairwise features relative to the node features in X; set together with `lam`.
    solver_lam : float
        The regularization strength of the problem as solved, set together with `lam`. The objective
        with pairwise features of size r is lam / 2 (|u|^2 + |v|^2 / r^2) + ..., for node weights u
        and pairwise weights v in the units of X. With w = (r u, v) that is lam / (2 r^2) |w|^2 +
        ..., and <w, (x / r, pairs)> are the scores: node features are divided by r, and pairwise
        features stay ones and zeros.
    completed : bool
        Whether hidden labels have been completed.
    """

    problem: object
    sample_weight: np.ndarray
    total_weight: float
    nodes: TrainedNodes | None
    data: SampleData
    inference: Inference
    attributes: dict
    features: tuple = ()
    empty: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    data_warnings: tuple = ()
    held_out: Samples | None = None
    whole: Callable[[], tuple] | None = None
    bounds: np.ndarray | None = None
    prior: np.ndarray | None = None
    auto_solver: str = "mp-bcfw"
    alternative: str | None = None
    n_threads: int | None = None
    conclude: Callable[[Any, Any], Any] | None = None
    lam: float = field(init=False)
    pairwise_scale: float = field(default=1.0, init=False)
    solver_lam: float = field(init=False)
    completed: bool = field(default=False, init=False)

    @property
    def block_weight(self):
        """The weight of each block's hinge loss, (n_blocks,)."""
        return self.sample_weight / self.total_weight

    def set_lam_and_scale(self, lam, pairwise_scale):
        """Set `lam` and `pairwise_scale`, which is None for models without this parameter."""
        self.lam = self.solver_lam = lam
        if pairwise_scale is not None:
            self.pairwise_scale = self.attributes["pairwise_scale_"] = pairwise_scale
            self.solver_lam = lam / pairwise_scale**2

    def user_weights(self, w, in_place=False):
        """Convert the weights of a solver to the units of the features in X.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            In the layout of the problem. Returned without a copy if nothing changes.
        in_place : bool
            Whether w may be changed.
        """
        if self.pairwise_scale == 1:
            return w
        w = self._with_node_weights(w, 1 / self.pairwise_scale, in_place)
        return w if self.bounds is None else np.clip(w, *self.bounds, out=w)

    def solver_weights(self, w):
        """Convert weights of a fitted model, their bounds or a prior to the units of the solver.

        None remains None, and weights are not copied if the units are equal.
        """
        if w is None or self.pairwise_scale == 1:
            return w
        return self._with_node_weights(w, self.pairwise_scale)

    def _with_node_weights(self, w, factor, in_place=False):
        w = w if in_place and w.flags.writeable else w.copy()
        w[..., : self.problem.n_feature_weights] *= factor
        return w

    @property
    def known(self):
        """The fitted attributes that are known before the solver runs."""
        approximate = self.inference.quality is Quality.APPROXIMATE
        return {
            **self.attributes,
            "inference_": str(self.inference),
            "_is_approximate": approximate,
        }


def have_same_values(a, b):
    """Whether two attributes of a Training have the same values."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(have_same_values(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(have_same_values, a, b))
    return np.array_equal(a, b)
