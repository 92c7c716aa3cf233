"""Discrete tomography with trees of neighboring pixels and a term for each ray."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sstruct._checks.parameters import check_number, seed_of
from sstruct._oracles.mrf._ray_walk import RayWalk
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct._problems.map._map_problem import MapProblem
from sstruct._problems.map._ray_sums import RayTerms
from sstruct._problems.map._rounding import SequentialRounding
from sstruct._solvers.core.status import Status
from sstruct._solvers.proximal.ascent import Ascent, ascend
from sstruct.inference._applications.rays import checked_rays, checked_shape, checked_sums
from sstruct.inference._methods.map_mrf import check_options
from sstruct.inference._model.map_result import MapResult, Record
from sstruct.inference._model.mrf import MRF
from sstruct.inference._model.terms import ModelWithTerms
from sstruct.inference._model.tree_cover import tree_cover

# Steps of random walks per pixel: for the first image, after each evaluation of the bound, and for
# lower energies. A step visits the pixels of a ray; MAX_VISITS limits the visits of a walk.
FIRST_STEPS, STEPS, IMPROVING_STEPS = 20, 5, 10
MAX_VISITS = 4_000_000
# First proximal weight, relative to `weight`, since the gap of a poor image is not informative.
FIRST_WEIGHT = 2.0
# Iterations between moves of the center, and the ratio up to which the weight doubles. On phantoms
# of 64 x 64 pixels, bounds rise faster than with the values for trees only. Minimizing a ray takes
# little more time than evaluating its cached labelings, so approximate passes save no time.
MOVE_EVERY, TOO_SHORT = 5, 2.0
# Price of an error of one in a sum, relative to `weight`, while repairing sums and while lowering
# the energy. The first is low, so that walks stay near their start.
REPAIR_PRICE, IMPROVING_PRICE = 0.1, 8.0
# Gradient steps to prove infeasibility after the first walk has failed.
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
    """Find a smooth image with few gray levels from its sums along rays, with a lower bound.

    Search the images x with levels 0, ..., n_levels - 1 and the given sums along all rays for one
    of low energy

    .. math:: E(x) = \\text{weight} \\sum_{ij} \\min(|x_i - x_j|, \\text{truncation}).

    The sum runs over neighboring pixels, in rows and in columns.

    Parameters
    ----------
    sums : array-like of int of shape (n_rays,)
        Sum of the levels along each ray, from 0 to ``n_levels - 1`` times its number of pixels.
    rays : list of n_rays arrays of int, or sparse array of shape (n_rays, H * W)
        Pixels of each ray, as ``row * W + column``, without duplicates; or a matrix with a row of
        zeros and ones for each ray. :func:`projection_rays` computes them from angles.
    shape : tuple (H, W)
        Rows and columns of the image.
    n_levels : int
        Number of gray levels, at least 2.
    weight : float, default=1.0
        Positive factor of the energy.
    truncation : float, default=None
        Positive upper limit of the differences. Default: no limit.
    tol : float, default=1e-6
        Stop when energy - bound <= tol (1 + abs(energy)).
    max_time : float, default=None
        Time limit in seconds, including the setup.
    max_iter : int, default=1000
        Maximum number of iterations. An iteration minimizes each tree and each ray once.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Controls the order of the minimizations and the random walks.
    proximal_weight : float, "paper" or None, default=None
        As in :func:`map_mrf` for ``"fwmap"``, except that the default starts at twice `weight`.
    step : {"exact", "published"}, default="exact"
        As in :func:`map_mrf` for ``"fwmap"``.

    Returns
    -------
    result : MapResult
        `labels` and `fixed` have shape (H, W). If no image with all sums was found, `energy` is
        ``+inf`` and `labels` is an image with other sums. The status ``INFEASIBLE`` proves that no
        such image exists, not even with fractional levels.

    Raises
    ------
    ValueError
        If shapes are inconsistent, a ray is empty or has a duplicate pixel, a sum is impossible for
        its ray, or a parameter is out of range. The message names the ray.
    TypeError
        If a parameter has the wrong type.

    See Also
    --------
    projection_rays : Compute rays from angles.
    map_mrf : Minimize models with user-defined terms.

    Notes
    -----
    The rows and columns of the image are trees and each ray is a term, coupled by multipliers. A
    ray is minimized by dynamic programming over halves of the ray, in O(n^2 k^2) for n pixels and
    k = n_levels - 1. The bound is the one of the relaxation over the convex hulls of the images of
    each tree and each ray. Images are obtained by rounding, followed by random walks that change
    one pixel at a time until all sums are correct. They may miss an existing image.

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
    (True, 20.0, 'PROVEN')
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
                # Walks take as long as passes, so start one only from the rounded labels or from
                # the mean image, in turn.
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
    return replace(result, labels=result.labels.reshape(shape), fixed=result.fixed.reshape(shape))


def _image_model(shape, n_levels, weight, truncation):
    """Return the model with zero node costs and truncated differences of neighbors."""
    check_number("n_levels", n_levels, least=2, whole=True)
    check_number("weight", weight, above=0)
    if truncation is not None:
        check_number("truncation", truncation, above=0)
    edges = grid_edges(*shape)
    level = np.arange(n_levels)
    table = np.abs(level[:, None] - level).astype(np.float64)
    if truncation is not None:
        table = np.minimum(table, truncation)
    node_costs = np.zeros((shape[0] * shape[1], n_levels))
    return MRF(node_costs, edges, weight * table if len(edges) else [])


def _is_impossible(model, terms):
    """Return True if it is proven that no image, even with fractional levels, has the given sums.

    Let A be the matrix of the rays and k the largest level. A vector y with
    y b > k sum_i max(0, (A^T y)_i) proves it, because no x in [0, k] then satisfies A x = b. If any
    such y exists, the least-squares residual is one; accelerated projected gradients compute it
    (Beck and Teboulle 2009).
    """
    if terms.n_terms == 0:
        return False
    shape = (terms.n_terms, model.n_nodes)
    A = sparse.csr_array((np.ones(len(terms.node)), terms.node, terms.start), shape=shape)
    back, b, k = A.T.tocsr(), terms.sums.astype(np.float64), int(model.n_labels[0]) - 1
    # Upper bound on the largest eigenvalue of A^T A.
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
    """Compute images by rounding multipliers, and a random walk to the correct sums."""

    def __init__(self, model, terms, weight, random_state):
        seed = seed_of(random_state)
        self.model, self.terms, self.weight = model, terms, weight
        self.turn = False
        self.walk = RayWalk(model, terms.start, terms.node, terms.sums, seed)

    def first(self):
        """Walk from the image in which each pixel has the mean level of the rays through it."""
        sizes = np.diff(self.terms.start)
        V, node = self.model.n_nodes, self.terms.node
        level = np.bincount(node, np.repeat(self.terms.sums / sizes, sizes), minlength=V)
        labels = level / np.maximum(np.bincount(node, minlength=V), 1)
        labels = np.rint(labels).astype(np.int32)
        self._repair_sums(labels, FIRST_STEPS)
        return labels

    def offer(self, record, labels):
        """Walk from `labels`, and offer the image if its sums are correct."""
        if self._repair_sums(labels, STEPS):
            self.improve(record, labels)

    def improve(self, record, labels):
        """Walk from an image with correct sums to lower energies, and offer the last one."""
        price = IMPROVING_PRICE * self.weight
        self.walk.improve(labels, self._at_most(IMPROVING_STEPS), price)
        record.offer(labels, self.model.energy(labels))

    def _repair_sums(self, labels, steps):
        return self.walk.walk(labels, self._at_most(steps), REPAIR_PRICE * self.weight)

    def _at_most(self, steps):
        mean_size = max(len(self.terms.node), 1) / max(self.terms.n_terms, 1)
        return min(steps * self.model.n_nodes, int(MAX_VISITS / mean_size))


def _mean_image(problem, engine):
    """Return the rounded mean levels of the current labelings of trees and rays."""
    y, _ = engine.mean_planes()
    # Only pixels with several copies have multipliers; `sizes` are the numbers of copies of each of
    # their levels.
    copies = np.bincount(problem.cover.node, minlength=problem.model.n_nodes)
    sizes = np.diff(problem.copy_start)
    shares = np.add.reduceat(y, problem.copy_start[:-1]) / sizes
    level = np.tile(np.arange(problem.model.n_labels[0]), (copies > 1).sum())
    image = np.zeros(problem.model.n_nodes, dtype=np.int32)
    image[copies > 1] = np.rint((shares * level).reshape(-1, problem.model.n_labels[0]).sum(axis=1))
    return image
