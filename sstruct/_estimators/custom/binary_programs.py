"""Oracles that solve binary linear programs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import LinearConstraint, milp
from sklearn.base import BaseEstimator

from sstruct._checks.arrays import LARGEST, first_beyond, first_true, real_array
from sstruct._checks.compressed import as_csr, check_compressed
from sstruct._checks.parameters import check_number
from sstruct._checks.shown import shortened
from sstruct._compat.public_module import public_module

# Relative violation of a constraint by rounding errors; HiGHS has an absolute one of 1e-6.
TOLERANCE = 1e-6
# The tolerances of HiGHS are absolute, so the largest coefficient of an objective is scaled to
# about this magnitude.
MAGNITUDE = 1024
INFEASIBLE = 2  # value of `OptimizeResult.status`


@public_module("sstruct.extending")
@dataclass(frozen=True, eq=False, repr=False)
class BinaryProgram:
    """A sample of :class:`MILPOracle`: variables of value 0 or 1 with linear constraints.

    Parameters
    ----------
    features : array-like or sparse matrix of shape (n_variables, d)
        Features of each variable. The features of a labeling are their sum over all variables of
        value 1, so the score of a variable is the product of its features and the weights.
    constraints : scipy.optimize.LinearConstraint or sequence of these, default=()
        Constraints that each labeling satisfies; matrices have one column per variable.
    costs : array-like of shape (n_variables,), default=None
        Cost of a wrong value of each variable, at least 0. The loss of a labeling is their sum over
        all variables with a wrong value. By default 1 / n_variables each, so that the loss is the
        fraction of wrong values.

    Raises
    ------
    ValueError, TypeError
        If shapes do not agree, numbers are not finite, costs are negative, or a lower bound is
        above the upper one. Bounds of constraints may be infinite.

    Examples
    --------
    Of three candidates, exactly one is chosen:

    >>> import numpy as np
    >>> from scipy.optimize import LinearConstraint
    >>> from sstruct.extending import BinaryProgram
    >>> BinaryProgram(np.eye(3), LinearConstraint(np.ones((1, 3)), 1, 1))
    BinaryProgram(3 variables, 3 features, 1 constraint)
    """

    features: Any
    constraints: Any = ()
    costs: Any = None
    # The constraints together: lower <= matrix @ labeling <= upper.
    matrix: Any = field(init=False)
    lower: NDArray = field(init=False)
    upper: NDArray = field(init=False)

    def __post_init__(self):
        features = self.features
        if sparse.issparse(features):
            check_compressed(features, "features")
            features = as_csr(features).astype(np.float64)
            _finite(features.data, "features")
        else:
            features = _finite(features, "features")
        if features.ndim != 2 or 0 in features.shape:
            raise ValueError(
                f"features must have shape (n_variables, d) with at least one variable and one "
                f"feature, found {features.shape}"
            )
        n = features.shape[0]
        costs = np.full(n, 1 / n) if self.costs is None else _finite(self.costs, "costs")
        if costs.shape != (n,):
            raise ValueError(f"costs must have shape ({n},), found {costs.shape}")
        if (j := first_true(costs < 0)) is not None:
            raise ValueError(f"costs must be at least 0, found {costs[j]} at index {j}")
        given = self.constraints
        if isinstance(given, LinearConstraint):
            given = [given]
        elif not isinstance(given, Iterable):
            raise TypeError(
                "constraints must be a scipy.optimize.LinearConstraint or a sequence of these, "
                f"found {shortened(given)}"
            )
        rows = [_rows(each, k, n) for k, each in enumerate(given)]
        empty = sparse.csr_array((0, n)), np.empty(0), np.empty(0)
        matrices, lower, upper = zip(empty, *rows, strict=True)
        for name, value in {
            "features": features,
            "costs": costs,
            "matrix": sparse.csr_array(sparse.vstack(matrices)),
            "lower": np.concatenate(lower),
            "upper": np.concatenate(upper),
        }.items():
            object.__setattr__(self, name, value)

    def __repr__(self):
        sizes = zip((*self.features.shape, len(self.lower)), ("variable", "feature", "constraint"))
        return f"BinaryProgram({', '.join(f'{k} {name}' + 's' * (k != 1) for k, name in sizes)})"

    def _violated(self, labeling):
        """Return the first constraint that a labeling violates.

        Parameters
        ----------
        labeling : ndarray of shape (n_variables,)
            The value of each variable.

        Returns
        -------
        int or None
            Index of the constraint; None if the labeling satisfies all, up to rounding errors.
        """
        value, size = self.matrix @ labeling, abs(self.matrix) @ labeling
        slack = TOLERANCE * np.maximum(1, size)
        wrong = (value < self.lower - slack) | (value > self.upper + slack)
        return first_true(wrong)


def _finite(values, name):
    """Return values as an array of finite numbers of limited magnitude."""
    array = real_array(values, name)
    wrong = first_beyond(array) if array.ndim else None
    if wrong is not None:
        raise ValueError(
            f"{name} has {wrong[1]} at index {wrong[0]}, expected finite numbers of at most "
            f"{LARGEST:g}"
        )
    return array


def _rows(constraint, k, n):
    """Return the matrix and the bounds of a LinearConstraint, the k-th one, for n variables."""
    name = f"constraints[{k}]"
    if not isinstance(constraint, LinearConstraint):
        raise TypeError(
            f"{name} must be a scipy.optimize.LinearConstraint, found {shortened(constraint)}"
        )
    matrix = constraint.A
    if sparse.issparse(matrix):
        check_compressed(matrix, f"{name}.A")
        matrix = as_csr(matrix)
        _finite(matrix.data, f"{name}.A")
    else:
        matrix = np.atleast_2d(_finite(matrix, f"{name}.A"))
    if matrix.ndim != 2 or matrix.shape[1] != n:
        raise ValueError(f"{name}.A must have {n} columns, found shape {matrix.shape}")
    bounds = []
    for side in ("lb", "ub"):
        bound = real_array(getattr(constraint, side), f"{name}.{side}")
        if bound.ndim > 1 or bound.size not in (1, matrix.shape[0]) or np.isnan(bound).any():
            raise ValueError(
                f"{name}.{side} must be a number or have shape ({matrix.shape[0]},), without NaN; "
                f"found shape {bound.shape}"
            )
        bounds.append(np.broadcast_to(bound, matrix.shape[0]))
    if (row := first_true(bounds[0] > bounds[1])) is not None:
        raise ValueError(
            f"{name} has lb {bounds[0][row]:g} above ub {bounds[1][row]:g} in row {row}"
        )
    return sparse.csr_array(matrix), *bounds


@public_module("sstruct.extending")
class MILPOracle(BaseEstimator):
    """Oracle of :class:`~sstruct.StructuredSVM` for binary linear programs.

    A sample is a :class:`BinaryProgram`, and a labeling has a value 0 or 1 for each of its
    variables. Examples are assignments, selections of candidates, and tracks of objects. The
    labeling with the best score is found by HiGHS, with :func:`scipy.optimize.milp`. If HiGHS stops
    early because of a limit, its upper bound of the best score keeps the certificate valid:
    ``objective_`` is then at least the true objective.

    Parameters
    ----------
    mip_rel_gap : float, default=0.0
        HiGHS stops when the difference between its bound and the value of the best labeling found
        is at most this fraction of the value. With a gap of 0.01 or more, training is often faster,
        and reaches a correspondingly larger duality gap.
    max_time : float or None, default=None
        Time limit of one program in seconds. Results then depend on the speed of the machine.
    max_nodes : int or None, default=None
        Limit of the number of nodes of one branch and bound search.

    See Also
    --------
    sstruct.extending.CompiledOracle : For structures with a decoder in C.

    Notes
    -----
    The loss of a labeling is the sum of ``costs`` over wrong variables. A loss that depends on
    several variables together is not supported.

    In training, the true labeling replaces a worse labeling that was found before the limit, and is
    used if none was found. In ``predict``, an error is raised if none was found.

    HiGHS cannot be interrupted by Ctrl-C: an interruption waits for the current program, at most
    `max_time` seconds if it is set.

    Examples
    --------
    In each sample, at most two of five items are chosen:

    >>> import numpy as np
    >>> from scipy.optimize import LinearConstraint
    >>> from sstruct import StructuredSVM
    >>> from sstruct.extending import BinaryProgram, MILPOracle
    >>> rng = np.random.default_rng(0)
    >>> at_most_two = LinearConstraint(np.ones((1, 5)), -np.inf, 2)
    >>> X = [BinaryProgram(rng.normal(size=(5, 3)), at_most_two) for _ in range(40)]
    >>> scores = [x.features @ [2.0, -1.0, 0.0] for x in X]
    >>> y = [((s > 0) & (np.argsort(np.argsort(-s)) < 2)).astype(int) for s in scores]
    >>> model = StructuredSVM(MILPOracle(), lam=0.01, random_state=0).fit(X[:20], y[:20])
    >>> model.inference_
    'oracle (bounded)'
    >>> bool(model.score(X[20:], y[20:]) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        mip_rel_gap: float = 0.0,
        max_time: float | None = None,
        max_nodes: int | None = None,
    ) -> None:
        self.mip_rel_gap, self.max_time, self.max_nodes = mip_rel_gap, max_time, max_nodes

    # An encoded labeling is an array (2, n_variables) of the values and their costs, since `loss`
    # is not passed the sample.

    def encode(self, x: BinaryProgram, y: ArrayLike) -> NDArray:
        """Return a validated labeling in the form that the other methods use.

        Parameters
        ----------
        x : BinaryProgram
            The sample.
        y : array-like of shape (n_variables,)
            The labeling: 0 or 1, or False or True, for each variable.

        Returns
        -------
        ndarray of shape (2, n_variables)
            The labeling, and the cost of a wrong value of each variable.

        Raises
        ------
        ValueError, TypeError
            If x is not a BinaryProgram, a parameter is invalid, or y does not have one value 0 or 1
            per variable or violates a constraint.
        """
        self._check(x)
        values = real_array(y, "y")
        if values.shape != x.costs.shape:
            raise ValueError(f"y must have shape {x.costs.shape}, found {values.shape}")
        wrong = ~np.isin(values, (0, 1))
        if wrong.any():
            raise ValueError(f"y must have values 0 and 1, found {values[wrong][0]:g}")
        k = x._violated(values)
        if k is not None:
            raise ValueError(
                f"y violates constraint {k}: {(x.matrix @ values)[k]:g} is not between "
                f"{x.lower[k]:g} and {x.upper[k]:g}"
            )
        return np.stack([values, x.costs])

    def decode(self, x: BinaryProgram, labeling: NDArray) -> NDArray:
        """Return the labeling that :meth:`encode` has encoded.

        Parameters
        ----------
        x : BinaryProgram
            The sample.
        labeling : ndarray of shape (2, n_variables)
            The encoded labeling.

        Returns
        -------
        ndarray of int64 of shape (n_variables,)
            The value, 0 or 1, of each variable.
        """
        return labeling[0].astype(np.int64)

    def joint_feature(self, x: BinaryProgram, y: NDArray) -> NDArray | sparse.csr_array:
        """Return the sum of the features of the variables of value 1.

        Parameters
        ----------
        x : BinaryProgram
            The sample.
        y : ndarray of shape (2, n_variables)
            An encoded labeling.

        Returns
        -------
        ndarray of shape (d,), or sparse array of shape (1, d)
            Sparse if the features are.
        """
        if sparse.issparse(x.features):
            return sparse.csr_array(y[:1]) @ x.features
        return x.features.T @ y[0]

    def loss(self, y_true: NDArray, y: NDArray) -> float:
        """Return the sum of the costs of wrong values.

        Parameters
        ----------
        y_true, y : ndarray of shape (2, n_variables)
            Encoded labelings.

        Returns
        -------
        float
            The loss, at least 0.
        """
        return float(y_true[1] @ (y_true[0] != y[0]))

    def argmax(
        self, x: BinaryProgram, w: NDArray, y_true: NDArray | None = None, loss_weight: float = 1.0
    ) -> NDArray:
        """Return the best labeling found.

        Parameters
        ----------
        x : BinaryProgram
            The sample.
        w : ndarray of shape (d,)
            The weights.
        y_true : ndarray of shape (2, n_variables) or None, default=None
            The true labeling, encoded; if given, the loss is added to the score.
        loss_weight : float, default=1.0
            Factor of the loss.

        Returns
        -------
        ndarray of shape (2, n_variables)
            The encoded labeling.

        Raises
        ------
        ValueError
            If the constraints have no solution.
        RuntimeError
            If `y_true` is None and no labeling was found before the limit.
        """
        return self.bounded_argmax(x, w, y_true, loss_weight)[0]

    def bounded_argmax(
        self, x: BinaryProgram, w: NDArray, y_true: NDArray | None = None, loss_weight: float = 1.0
    ) -> tuple[NDArray, float]:
        """Return the best labeling found, and an upper bound of the value of any labeling.

        Parameters
        ----------
        x : BinaryProgram
            The sample.
        w : ndarray of shape (d,)
            The weights.
        y_true : ndarray of shape (2, n_variables) or None, default=None
            The true labeling, encoded; if given, the loss is added to the score.
        loss_weight : float, default=1.0
            Factor of the loss.

        Returns
        -------
        labeling : ndarray of shape (2, n_variables)
            The encoded labeling.
        bound : float
            The bound, up to the tolerances of HiGHS.

        Raises
        ------
        ValueError, RuntimeError
            As for :meth:`argmax`.
        """
        self._check(x)
        if x.features.shape[1] != len(w):
            raise ValueError(
                f"features of the BinaryProgram have {x.features.shape[1]} columns, expected "
                f"{len(w)}, the number of weights"
            )
        # The loss is linear: its value at 0, plus the change with each value of 1.
        value, constant = x.features @ w, 0.0
        if y_true is not None:
            value = value + loss_weight * x.costs * (1 - 2 * y_true[0])
            constant = loss_weight * float(x.costs @ y_true[0])
        found, bound = self._solve(x, value)
        if y_true is not None and (found is None or found @ value < y_true[0] @ value):
            found = y_true[0]
        if found is None:
            raise RuntimeError(
                "HiGHS found no labeling within the limits of the MILPOracle; increase max_time or "
                "max_nodes"
            )
        return np.stack([found, x.costs]), max(bound, float(found @ value)) + constant

    def _check(self, x):
        """Raise an error if a parameter or the sample is invalid."""
        if not isinstance(x, BinaryProgram):
            raise TypeError(f"a sample of MILPOracle must be a BinaryProgram, found {shortened(x)}")
        check_number("mip_rel_gap", self.mip_rel_gap, least=0)
        check_number("max_time", self.max_time, above=0, other=(None,))
        check_number("max_nodes", self.max_nodes, least=1, whole=True, other=(None,))

    def _solve(self, x, value):
        """Return the variables with the best sum of values, or None, and a bound of the sum."""
        largest = float(np.max(np.abs(value)))
        # A power of two, so that no digit is lost.
        factor = 2.0 ** round(math.log2(MAGNITUDE / largest)) if largest > 0 else 1.0
        limits = {"time_limit": self.max_time, "node_limit": self.max_nodes}
        result = milp(
            -factor * value,
            integrality=np.ones(len(value)),
            bounds=(0, 1),
            constraints=(x.matrix, x.lower, x.upper) if len(x.lower) else None,
            options={"mip_rel_gap": self.mip_rel_gap}
            | {name: limit for name, limit in limits.items() if limit is not None},
        )
        if result.status == INFEASIBLE:
            raise ValueError("the constraints of a sample have no solution")
        # HiGHS of SciPy 1.12 may return -1.
        found = None if result.x is None else np.clip(np.round(result.x), 0, 1)
        if found is not None and x._violated(found) is not None:
            found = None  # a solution only within the tolerances of HiGHS
        bound, trivial = result.mip_dual_bound, float(np.maximum(value, 0).sum())
        if bound is None or not np.isfinite(bound):
            return found, trivial
        return found, min(-bound / factor, trivial)
