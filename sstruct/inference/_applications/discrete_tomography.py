"""Images of few grey levels from sums along rays: trees of neighbors and a term for each ray."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.scalars import is_integer
from sstruct._checks.shown import shortened
from sstruct._oracles.mrf._ray_walk import RayWalk
from sstruct._problems.map._problem import MapProblem
from sstruct._problems.map._ray_sums import RayTerms
from sstruct._problems.map._rounding import SequentialRounding
from sstruct._solvers.core.seed import seed_of
from sstruct._solvers.core.status import Status
from sstruct._solvers.proximal.ascent import Ascent, ascend
from sstruct.inference._applications.rays import checked_rays, checked_shape, checked_sums
from sstruct.inference._methods.map_mrf import check_options, check_positive
from sstruct.inference._model.map_result import MapResult, Record
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.terms import ModelWithTerms
from sstruct.inference._model.tree_cover import tree_cover

# Steps of walks, for each pixel: at first, after each evaluation of the bound, and from there to
# lower energies. A step looks at the pixels of a ray; so many looks at most.
FIRST_STEPS, STEPS, IMPROVING_STEPS = 20, 5, 10
MOST_LOOKS = 4_000_000
# The proximal weight to begin with, in units of the weight: the gap of poor images tells little.
FIRST_WEIGHT = 2.0
# How often the centre moves, and up to which promise weights double: on phantoms of 64 x 64 bounds
# rose faster than at the pace of trees alone. Oracles of rays cost little more than visits to
# planes, and approximate passes did not pay.
MOVE_EVERY, TOO_SHORT = 5, 2.0
# What an error of one costs on the way to the right sums and where energies are lowered, in units
# of the weight. Low at first, so that walks stay near where they begin.
MENDING_PRICE, IMPROVING_PRICE = 0.1, 8.0
# Gradients to prove that there is no image, where the first walk has found none.
PROOF_STEPS = 300


def discrete_tomography(
    sums: ArrayLike,
    rays: Sequence[ArrayLike] | sparse.sparray,
    shape: tuple[int, int],
    n_levels: int,
    weight: float = 1.0,
    truncation: float | None = None,
    tol: float = 1e-6,
    max_time: float | None = None,
    *,
    max_iter: int = 1000,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    proximal_weight: float | Literal["paper"] | None = None,
    step: Literal["exact", "published"] = "exact",
) -> MapResult:
    """Find a smooth image of few grey levels from its sums along rays, with a bound.

    Among the images x with levels 0, ..., n_levels - 1 that have the given sums along all rays,
    look for one of low energy

    .. math:: E(x) = \\text{weight} \\sum_{ij} \\min(|x_i - x_j|, \\text{truncation}).

    The sum runs over neighboring pixels, in rows and in columns.

    Parameters
    ----------
    sums : array-like of int of shape (n_rays,)
        Sum of the levels along each ray: from 0 to its number of pixels times n_levels - 1.
    rays : list of n_rays arrays of int, or sparse array of shape (n_rays, H * W)
        Pixels of each ray, as ``row * W + column``, each once; or one row of zeros and ones for
        each ray. :func:`projection_rays` makes them from angles.
    shape : tuple (H, W)
        Rows and columns of the image.
    n_levels : int
        Number of grey levels, at least 2.
    weight : float, default=1.0
        Factor of the energy, positive.
    truncation : float, default=None
        Largest difference that counts, positive. None: all differences count in full.
    tol : float, default=1e-6
        Stop where energy - bound <= tol (1 + abs(energy)).
    max_time : float, default=None
        Stop after this many seconds, set-up included.
    max_iter : int, default=1000
        Largest number of iterations: one minimization of each tree and each ray.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Order of the minimizations, and the random walks.
    proximal_weight : float, "paper" or None, default=None
        As in :func:`map_mrf` for ``"fwmap"``, but None starts at twice `weight`, not from the gap.
    step : {"exact", "published"}, default="exact"
        As in :func:`map_mrf` for ``"fwmap"``.

    Returns
    -------
    result : MapResult
        `labels` has the shape (H, W). If no image with all sums was found, `energy` is ``+inf`` and
        `labels` is an image with other sums. The status ``INFEASIBLE`` says that there is none, not
        even with levels between the given ones.

    Raises
    ------
    ValueError
        If shapes do not fit together, a ray is empty or has a pixel twice, a sum is impossible for
        its ray, or a parameter is out of range. The message names the ray.

    See Also
    --------
    projection_rays : Rays from angles.
    map_mrf : Takes terms of your own.

    Notes
    -----
    The rows and columns of the image are trees, each ray is a term of its own, and multipliers
    couple them. A ray's minimum is found by dynamic programming over halves of the ray, in
    O(n^2 k^2) for n pixels and k = n_levels - 1. The bound is that of the relaxation that joins the
    convex hulls of the images of all trees and rays. Images come from rounding, followed by random
    walks that change one pixel at a time until all sums are right. They may miss an image that
    exists.

    References
    ----------
    P. Swoboda, V. Kolmogorov. MAP inference via block-coordinate Frank-Wolfe algorithm. CVPR 2019,
    section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sstruct.inference import discrete_tomography, projection_rays
    >>> image = np.zeros((5, 5), dtype=int)
    >>> image[1:4, 2:4] = 2
    >>> rays = projection_rays(image.shape, [0, 45, 90])
    >>> sums = [image.ravel()[ray].sum() for ray in rays]
    >>> result = discrete_tomography(sums, rays, image.shape, 3)
    >>> bool((result.labels == image).all()), result.energy, result.status
    (True, 20.0, 'CONVERGED')
    """
    began = time.monotonic()
    check_options(tol, max_time, max_iter, proximal_weight, step)
    shape = checked_shape(shape)
    model = _image_model(shape, n_levels, weight, truncation)
    start, node = checked_rays(rays, shape[0] * shape[1])
    sums = checked_sums(sums, start, n_levels)
    terms = RayTerms(start, node, sums, n_levels)
    images = _Images(model, terms, weight, random_state)
    energies = ModelWithTerms(model, terms, only_forbid=True)
    record = Record(energies, images.first(), tol, max_time, began)
    try:
        if record.energy == np.inf and _is_impossible(model, terms):
            status = Status.INFEASIBLE
        elif model.n_edges == 0 and terms.n_terms == 0:
            record.bound(record.energy)
            status = Status.CONVERGED
        else:
            trees = tree_cover(model.n_nodes, model.edges)
            problem = MapProblem(model, trees, step == "published", terms)
            rounding = SequentialRounding(problem, np.arange(model.n_nodes))

            def offer(multipliers, engine):
                # In turn: walks would take as much time as passes.
                images.turn = not images.turn
                if images.turn:
                    images.offer(record, rounding.run(multipliers, True))
                    return
                images.offer(record, _mean_image(problem, engine))
                if record.energy < np.inf:
                    images.improve(record, record.labels.copy())

            ascent = Ascent(
                max_iter,
                random_state,
                proximal_weight,
                step,
                first_weight=FIRST_WEIGHT * float(weight),
                move_every=MOVE_EVERY,
                too_short=TOO_SHORT,
                multi_plane=False,
            )
            status = ascend(problem, record, offer, ascent)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    result = record.result(status, "fwmap")
    return replace(result, labels=result.labels.reshape(shape))


def _image_model(shape, n_levels, weight, truncation):
    """Pixels without costs, neighbors with the truncated difference of levels."""
    if not is_integer(n_levels) or n_levels < 2:
        raise ValueError(f"n_levels must be an integer of at least 2; found {shortened(n_levels)}")
    given = {"weight": weight, "truncation": weight if truncation is None else truncation}
    for name, value in given.items():
        check_positive(value, name)
    pixel = np.arange(shape[0] * shape[1]).reshape(shape)
    edges = np.concatenate([
        np.stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()], axis=1),
        np.stack([pixel[:-1].ravel(), pixel[1:].ravel()], axis=1),
    ])  # fmt: skip
    level = np.arange(n_levels)
    table = np.abs(level[:, None] - level).astype(np.float64)
    if truncation is not None:
        table = np.minimum(table, truncation)
    return MRF(np.zeros((pixel.size, n_levels)), edges, weight * table if len(edges) else [])


def _is_impossible(model, terms):
    """Whether it is proven that no image has the sums, with any levels between 0 and the last.

    With A the rays' matrix and k the last level, y proves it if y b > k sum_i max(0, (A^T y)_i): no
    x from 0 to k has A x = b then. What is left of b at the x of least squares is such a y, if
    anything is; accelerated projected gradients look for it (Beck and Teboulle 2009).
    """
    if terms.n_terms == 0:
        return False
    shape = (terms.n_terms, model.n_nodes)
    A = sparse.csr_array((np.ones(len(terms.node)), terms.node, terms.start), shape=shape)
    back, b, k = A.T.tocsr(), terms.sums.astype(np.float64), int(model.n_labels[0]) - 1
    # At least the largest eigenvalue of A^T A.
    steepest = float(np.diff(terms.start).max() * back.sum(axis=1).max())
    x = ahead = np.full(model.n_nodes, k / 2)
    momentum = 1.0
    for _ in range(PROOF_STEPS):
        y = b - A @ ahead
        slope = back @ y
        if y @ b - k * np.maximum(slope, 0).sum() > 1e-6 * (1 + np.abs(y) @ b):
            return True
        last, x = x, np.clip(ahead + slope / steepest, 0, k)
        last_momentum, momentum = momentum, (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = x + (last_momentum - 1) / momentum * (x - last)
    return False


class _Images:
    """Images from multipliers: rounding, then a walk to the right sums."""

    def __init__(self, model, terms, weight, random_state):
        seed = seed_of(random_state)
        self.model, self.terms, self.weight = model, terms, weight
        self.turn = False
        self.walk = RayWalk(model, terms.start, terms.node, terms.sums, seed)

    def first(self):
        """A walk from the mean over a pixel's rays of the sum for each of their pixels."""
        sizes = np.diff(self.terms.start)
        V, node = self.model.n_nodes, self.terms.node
        level = np.bincount(node, np.repeat(self.terms.sums / sizes, sizes), minlength=V)
        labels = level / np.maximum(np.bincount(node, minlength=V), 1)
        labels = np.rint(labels).astype(np.int32)
        self._mend(labels, FIRST_STEPS)
        return labels

    def offer(self, record, labels):
        """Walk from labels, and offer what has the right sums."""
        if self._mend(labels, STEPS):
            self.improve(record, labels)

    def improve(self, record, labels):
        """Walk from labels with the right sums to lower energies, and offer the last."""
        price = IMPROVING_PRICE * self.weight
        self.walk.improve(labels, self._at_most(IMPROVING_STEPS), price)
        record.offer(labels, self.model.energy(labels))

    def _mend(self, labels, steps):
        return self.walk.walk(labels, self._at_most(steps), MENDING_PRICE * self.weight)

    def _at_most(self, steps):
        looks = max(len(self.terms.node), 1) / max(self.terms.n_terms, 1)
        return min(steps * self.model.n_nodes, int(MOST_LOOKS / looks))


def _mean_image(problem, engine):
    """The levels of the mean labelings of trees and rays, rounded."""
    y, _ = engine.mean_planes()
    # Copies of each level of each pixel that several blocks have.
    copies = np.bincount(problem.cover.node, minlength=problem.model.n_nodes)
    sizes = np.diff(problem.copy_start)
    shares = np.add.reduceat(y, problem.copy_start[:-1]) / sizes
    level = np.tile(np.arange(problem.model.n_labels[0]), (copies > 1).sum())
    image = np.zeros(problem.model.n_nodes, dtype=np.int32)
    image[copies > 1] = np.rint((shares * level).reshape(-1, problem.model.n_labels[0]).sum(axis=1))
    return image
