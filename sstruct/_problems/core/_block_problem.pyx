# Design:
# (a) Everything that a solver requires of a structured problem, block by block. Steps never use features.
#     phi(x_i, y) = B_i sigma_i(y) is linear in a small indicator of the labeling, so methods
#     add phi(x_i, y) to a vector (`scatter`), and never return it.
# (b) A labeling is an int32 code of `code_size(i)` entries, opaque to the solver.
# (c) Methods run without the GIL and report errors (`except -1`); there are no silent fallbacks.
# (d) An object owns scratch memory: there is one object per thread, created by `fork`, which shares
#     the data.
# (e) `true_code`, `best_code` and `code_loss` are for calls from Python; they validate their arguments.
"""Interface between solvers and structures, which represent problems as blocks."""

from libc.stdint cimport int32_t

from sstruct._kernels._random cimport Random
from sstruct._oracles.core._interval cimport Interval

import numpy as np

from sstruct._problems.core.weight_layout import vector_layout

# Batch sizes by the work of an oracle call. All calls of a batch use the same w. A call at the current w
# gains more, and its potentials also score the working set. Cheap calls are therefore not batched, but
# made in concurrent visits, whose weights lag behind by a few moves only. With batches of 16, fits with
# oracles of ten microseconds (Yeast) take one thread 1.13 times as long to a gap of 0.01 (medians of five
# fits).
SIZES = ((20000, 32),)


def batch_size(n_blocks, work):
    """Return the batch size for blocks whose oracle calls cost `work` on average.

    At most n_blocks / 64, and at least 1.
    """
    size = 1
    for least, wanted in SIZES:
        if work >= least:
            size = wanted
    return max(1, min(size, n_blocks // 64))


cdef class BlockProblem:
    """Data, joint feature map and loss of a structured learning problem.

    A subclass sets `n_blocks`, `n_weights`, `max_code_size`, `oracle_work` and `batch_size`, and
    implements ``truth``, ``maximize``, ``scores``, ``loss``, ``squared_distance``, ``scatter``, ``fork``
    and ``check_code``, since compiled code trusts codes. It also implements ``code_size`` if the size
    differs between blocks, and sets `_layout`, a WeightLayout, if parts of w have names or w is padded.
    If it can be created without labels, for prediction, it sets ``has_labels`` and calls
    ``need_labels``. All other methods and attributes have defaults.

    Attributes
    ----------
    n_blocks : int
        Number of blocks (terms of the sum of hinge losses).
    n_weights : int
        Length of the weight vector, in the problem's layout.
    max_code_size : int
        Length of the longest labeling code.
    oracle_work : float
        Approximate cost of an oracle call in scalar multiply-adds, estimated from sizes or given by
        the user, but not measured. It determines the batch size, and choices of solvers.
    batch_size : int
        Number of oracle calls at the same w in an exact pass; a function of the problem only, so that
        results do not depend on the number of threads. 1 if oracles are cheap.
    bounded : bool
        Whether inexact answers of ``maximize`` come with an upper bound; also True if all answers are
        exact.
    may_be_hasty : bool
        Whether `set_hasty` has an effect.
    has_product, has_between, has_ranking : bool
        Whether ``maximize_product``, ``maximize_between`` and ``ranked`` are implemented.
    keeps_planes : bool
        Whether codes refer to stored data, which is kept until `retain` omits it.
    n_choices : int
        If every block has this many labelings, with codes 0 ... n_choices - 1 of one entry, all
        pairwise distances are equal, and ``maximize`` always computes the values of all of them
        (`choice_scores`). Otherwise 0.
    ahead_size : int
        If oracles are called together (`ask_ahead`), the number of blocks of such a call; otherwise 0.
    product_work : float
        Same as `oracle_work`, but for ``maximize_product``; 0 if it is about the same.

    Examples
    --------
    ``examples/compiled_problem`` contains a complete one, in a separate package. It starts with::

        cdef class IntervalProblem(BlockProblem):
            ...
    """

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        """Return the number of int32 entries in a code of block i."""
        return self.max_code_size

    cdef void set_hasty(self, bint hasty) noexcept nogil:
        """Set whether the next calls of `maximize` may stop early, with a labeling that is not exact."""

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        """Prefetch the memory of a block that will be visited soon; does nothing by default."""

    cdef int lacks(self, const char* method) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.{method.decode()}")

    cdef int need_labels(self) except -1 nogil:
        """Raise an error if the problem has no labels, for problems that set `has_labels`."""
        if not self.has_labels:
            with gil:
                raise ValueError("a problem without labels has no truth and no loss")
        return 0

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        """Write the code of the true labeling."""
        return self.lacks(b"truth")

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        """Write argmax_y loss_weight L_i(y) + <w, phi(x_i, y)>: the max-oracle.

        loss_weight 1: loss-augmented decoding; 0: plain; other values: the lambda-oracle of
        slack rescaling. Potentials remain in this object's scratch memory for `scores`.
        """
        return self.lacks(b"maximize")

    cdef const double* choice_scores(self) noexcept nogil:
        """Return the values of all labelings that the last `maximize` of this object computed.

        For problems with `n_choices`: entry k belongs to labeling k. Valid until the next call.
        """
        return NULL

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        """Write argmax_y L_i(y) (margin + <w, phi(x_i, y) - phi(x_i, y_i)>) and the maximum.

        The max-oracle of slack rescaling, for structures with a direct one. The value of the truth is
        0, so the maximum is nonnegative. Potentials without loss remain in scratch memory.
        """
        return self.lacks(b"maximize_product")

    cdef int maximize_between(
            self, Py_ssize_t i, const double* w, double loss_weight, double margin,
            const Interval* interval, int32_t* code, OracleAnswer* answer) except -1 nogil:
        """Write argmax_y h(y) + loss_weight L_i(y) over labelings with L_i(y) / h(y) in an interval.

        The constrained lambda-oracle ([C15], eq. 12): h(y) = margin + <w, phi(x_i, y) -
        phi(x_i, y_i)>, positive. `found` of the answer is whether such a labeling exists; its value and
        bound refer to h(y) + loss_weight L_i(y).
        """
        return self.lacks(b"maximize_between")

    cdef double ranked(
            self, Py_ssize_t i, const double* w, double loss_weight, bint first, int32_t* code,
            double* work) except? -1 nogil:
        """Write the next labeling by decreasing loss_weight L_i(y) + <w, phi(x_i, y)>; return this value.

        The value is -inf if there are no more labelings. Only calls of ``scores`` with w and of ``loss``
        may come between two calls.

        first : whether to begin with the best labeling
        """
        return self.lacks(b"ranked")

    cdef Py_ssize_t n_values(self, Py_ssize_t i) noexcept nogil:
        """Return the number of probabilities that `probabilities` writes for block i."""
        return self.code_size(i)

    cdef double log_partition(
            self, Py_ssize_t i, const double* w, double scale, const int32_t* known) except? -1 nogil:
        """Return log(sum of exp(scale <w, phi(x_i, y)>)) over the labelings that agree with known labels.

        known : label of each node, or -1 if it is free; NULL if all labels are free
        -inf if there are no such labelings. For structures whose sums are exact.
        """
        return self.lacks(b"log_partition")

    cdef int probabilities(self, double* out) except -1 nogil:
        """Write the marginals of the last block of `log_partition`, which must not have returned -inf."""
        return self.lacks(b"probabilities")

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        """Draw labels of the last block of `log_partition`, which must not have returned -inf."""
        return self.lacks(b"sample")

    cdef int ask_ahead(
            self, const Py_ssize_t* blocks, Py_ssize_t count, const double* w,
            double loss_weight) except -1 nogil:
        """Announce the blocks for which `maximize` will be called next, with w and loss weight.

        Does not change answers. For problems whose oracles are called together.
        """
        return 0

    cdef void track(self, const double* w) noexcept nogil:
        """Assume that, until the next call, only this object reads the weights at w, and only its
        `scatter` changes them.

        NULL ends the assumption. The labelings that `maximize` finds do not change, except by rounding.
        The object may store results computed from the weights, and changes of the weights, which it
        writes back in the next call.
        """

    cdef int retain(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1 nogil:
        """Announce that only the given labelings of block i, and the truth, will be used again.

        Solvers call this after each visit of a block if the problem `keeps_planes`.
        """
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        """Write loss_weight L_i(y) + <w, phi(x_i, y)> for each of `count` labelings.

        w == NULL: use the potentials that the last `maximize` of block i in this object computed
        (with its loss_weight): absolute values, comparable with its value. Otherwise computed from w,
        only at positions where the labelings differ, so the values have an arbitrary common
        constant. `work` is increased by the cost of the call.
        """
        return self.lacks(b"scores")

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        """Write L_i(y)."""
        return self.lacks(b"loss")

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        """Write |phi(x_i, a) - phi(x_i, b)|^2, the form of the Gram matrix that steps use.

        Exchanging a and b must not change the bits, because resumed fits compute it in another order.
        """
        return self.lacks(b"squared_distance")

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        """Add sum_k coefficient_k phi(x_i, y_k) to `out`, the adjoint of `scores`.

        The coefficients sum to zero, so only positions where the labelings differ matter.
        """
        return self.lacks(b"scatter")

    cdef int exchange(
            self, Py_ssize_t i, const int32_t* gain, const int32_t* lose, double c,
            double* out) except -1 nogil:
        """Add c (phi(x_i, gain) - phi(x_i, lose)) to `out`, a `scatter` of two labelings."""
        cdef const int32_t* codes[2]
        cdef double coefficient[2]
        codes[0], codes[1] = gain, lose
        coefficient[0], coefficient[1] = c, -c
        return self.scatter(i, codes, coefficient, 2, out)

    cdef int offset_nodes(
            self, Py_ssize_t count, const int32_t* position, const double* offsets) except -1 nogil:
        """Set offsets that the next call of `maximize` adds to the scores of some nodes.

        position : (count,), index of each node in a labeling; a node may occur several times
        offsets : (count, K). Both arrays must remain valid until then. For problems with `shared_nodes`.
        """
        return self.lacks(b"offset_nodes")

    def shared_nodes(self):
        """Return the SharedNodes of blocks that have copies of nodes of other blocks."""
        raise NotImplementedError(f"{type(self).__name__}.shared_nodes")

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        """Raise an error unless `code` is a valid labeling of block i."""
        self._check_block(i)
        if code.shape[0] != self.code_size(i):
            raise ValueError(
                f"block {i}: labeling code of {code.shape[0]} entries, expected {self.code_size(i)}")
        return 0

    cdef int check_node_labels(
            self, Py_ssize_t i, const int32_t[::1] code, Py_ssize_t n_labels) except -1:
        """`check_code` for codes that contain a label for each node."""
        BlockProblem.check_code(self, i, code)
        for k in range(code.shape[0]):
            if not 0 <= code[k] < n_labels:
                raise ValueError(
                    f"block {i}: label {code[k]} at position {k} of a labeling code, expected 0 to "
                    f"{n_labels - 1}")
        return 0

    @property
    def convex(self):
        """Whether, at any w, the points (score, loss) of labelings fill the border of their convex hull."""
        return False

    @property
    def in_order(self):
        """Whether blocks must be visited one at a time, without concurrent visits."""
        return False

    @property
    def oracle_is_quick(self):
        """Whether the oracle takes little longer than scoring cached labelings."""
        return False

    @property
    def oracle_is_slow(self):
        """Whether the oracle takes longer than scoring cached labelings with the same work."""
        return False

    cpdef BlockProblem fork(self):
        """Return a problem on the same data with separate scratch memory, for another thread."""
        raise NotImplementedError(f"{type(self).__name__}.fork")

    def begin_fit(self):
        """Reset the state left by previous oracle calls, at the start of a fit; by default, none."""

    def prepare_product(self):
        """Prepare ``maximize_product``, and set `has_product` and `product_work`.

        Called before these attributes are read. Does nothing by default.
        """

    cpdef remember(self, bint kept):
        """Set whether oracle calls may store state for later calls; has no effect by default.

        Calls for certificates may not store state, so that a certificate at the same weights has the same
        bits, and a fit does not depend on the number of certificates. Also applies to forks.
        """

    def set_tolerance(self, tolerance):
        """Begin a certificate whose oracle calls may be inexact by `tolerance`, or end it with 0.

        A call may stop if its bound exceeds the value of its labeling by at most the tolerance. It may
        start from the state of other calls of the same certificate, but not of other certificates.
        A change from a positive tolerance to 0 does not begin another certificate. Also applies to
        forks. By default, this has no effect.
        """

    def counts(self):
        """Return counts of oracle calls by name, as columns of a fit's history."""
        return {}

    def memory(self):
        """Return the state that oracle calls have stored, as a dict of arrays, for a checkpoint."""
        return {}

    def restore_memory(self, kept):
        """Restore the state of `memory`; other arrays in `kept` are ignored."""

    def norms(self):
        """Return an upper bound of ``|phi(x_i, y)|`` over all labelings for each block, or None.

        The bound is a sum of norms of the terms of phi(x_i, y), so that ``|w|`` times it bounds the
        magnitudes of all terms of a score. O(features). Rounding errors of certificates are
        proportional to it.
        """
        return None

    def feature_rows(self):
        """Return the features that visits of blocks read, as pairs (FeatureRows, first rows).

        first rows: (n_blocks,), one for each block. Empty if there are no features in rows.
        """
        return []

    @property
    def n_feature_weights(self):
        """Number of leading weights whose features `scale_features` scales."""
        return 0

    def scale_features(self, double factor):
        """Multiply the features of nodes by a factor without a copy; only before the first fork."""
        raise NotImplementedError(f"{type(self).__name__}.scale_features")

    def fixed_scores(self):
        """Return an upper bound, for each block, of the magnitudes of score terms other than <w, phi>."""
        return np.zeros(self.n_blocks)

    def largest_losses(self):
        """Return the largest loss of a labeling for each block, as found by the oracle.

        The state that oracle calls store is restored, so that a fit does not depend on when this is
        called.
        """
        w, kept = np.zeros(self.n_weights), self.memory()
        self.remember(False)
        try:
            return np.array([self.best_code(i, w)[1] for i in range(self.n_blocks)])
        finally:
            self.remember(True)
            self.restore_memory(kept)

    def planes(self):
        """Return the stored data that codes refer to, as a dict of arrays, for warm starts."""
        return {}

    def restore_planes(self, kept):
        """Restore the data of `planes`; other arrays in `kept` are ignored."""

    @property
    def failure(self):
        """The exception being handled, if a user's oracle or the validation of its answer raised it."""
        return None

    @property
    def layout(self):
        """The WeightLayout, which describes the weights in w and their positions."""
        if self._layout is None:
            return vector_layout(self.n_weights)
        return self._layout

    def without_padding(self, w):
        """Return a copy of a weight vector with zero padding."""
        layout = self.layout
        return layout.padded(layout.public(w))

    def _check_block(self, Py_ssize_t i):
        if not 0 <= i < self.n_blocks:
            raise IndexError(f"block {i} is out of range for a problem with {self.n_blocks} blocks")

    def _check_weights(self, const double[::1] w):
        if w.shape[0] != self.n_weights:
            raise ValueError(f"w has {w.shape[0]} weights, expected {self.n_weights}")

    def code_sizes(self):
        """Return the number of entries in a code of each block."""
        return np.diff(self.code_starts())

    def code_starts(self):
        """Return the start of each block's code in the concatenation of all codes, and its end."""
        cdef Py_ssize_t i
        starts = np.empty(self.n_blocks + 1, dtype=np.intp)
        cdef Py_ssize_t[::1] start = starts
        start[0] = 0
        for i in range(self.n_blocks):
            start[i + 1] = start[i] + self.code_size(i)
        return starts

    def true_code(self, Py_ssize_t i):
        self._check_block(i)
        code = np.empty(self.code_size(i), dtype=np.int32)
        cdef int32_t[::1] out = code
        self.truth(i, &out[0])
        return code

    def best_code(self, Py_ssize_t i, const double[::1] w, double loss_weight=1.0):
        """Return (code, value, work, exact) of the max-oracle."""
        self._check_block(i)
        self._check_weights(w)
        code = np.empty(self.code_size(i), dtype=np.int32)
        cdef int32_t[::1] out = code
        cdef OracleAnswer answer
        with nogil:
            self.maximize(i, &w[0], loss_weight, &out[0], &answer)
        return code, answer.value, answer.work, bool(answer.exact)

    def code_loss(self, Py_ssize_t i, const int32_t[::1] code):
        self.check_code(i, code)
        cdef double out = 0
        self.loss(i, &code[0], &out)
        return out


cdef class WrappedProblem(BlockProblem):
    """Base class of problems that derive their planes from those of another problem.

    Parameters
    ----------
    problem : BlockProblem
        The other problem, whose attributes are also available on this one.
    """

    def __init__(self, BlockProblem problem not None):
        self.problem = problem
        self.n_blocks, self.n_weights = problem.n_blocks, problem.n_weights
        self._layout = problem.layout
        self.max_code_size, self.bounded = problem.max_code_size, problem.bounded
        self.may_be_hasty = problem.may_be_hasty
        self.oracle_work, self.batch_size = problem.oracle_work, problem.batch_size

    def __getattr__(self, name):
        return getattr(self.problem, name)

    cdef void set_hasty(self, bint hasty) noexcept nogil:
        self.problem.set_hasty(hasty)

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        self.problem.prefetch(i)

    cpdef BlockProblem fork(self):
        return type(self)(self.problem.fork())

    @property
    def in_order(self):
        """Whether blocks of the other problem must be visited one at a time."""
        return self.problem.in_order

    @property
    def oracle_is_slow(self):
        """Whether the oracle of the other problem is slow."""
        return self.problem.oracle_is_slow

    def begin_fit(self):
        """Reset the state of the other problem at the start of a fit."""
        self.problem.begin_fit()

    def set_tolerance(self, tolerance):
        self.problem.set_tolerance(tolerance)

    def counts(self):
        """Return the counts of the other problem."""
        return self.problem.counts()

    def norms(self):
        """Return the norms of the other problem."""
        return self.problem.norms()

    @property
    def n_feature_weights(self):
        """Number of leading feature weights of the other problem."""
        return self.problem.n_feature_weights

    def scale_features(self, double factor):
        """Scale the features of the other problem."""
        self.problem.scale_features(factor)

    def feature_rows(self):
        """Return the feature rows of the other problem."""
        return self.problem.feature_rows()

    def fixed_scores(self):
        """Return the fixed scores of the other problem."""
        return self.problem.fixed_scores()

    def largest_losses(self):
        """Return the largest losses of the other problem."""
        return self.problem.largest_losses()
