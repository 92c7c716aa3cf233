# Design:
# (a) All that a solver may ask of a structured problem, block by block; it never sees features.
#     phi(x_i, y) = B_i sigma_i(y) is linear in a small indicator of the labeling, so no method
#     here needs a vector of the size of w other than w itself.
# (b) A labeling is an int32 code of `code_size(i)` entries, opaque to the solver.
# (c) Methods run without the GIL and report errors (`except -1`); nothing falls back silently.
# (d) An object owns scratch: one per thread, made by `fork`, which shares the data.
# (e) `true_code`, `best_code` and `code_loss` are doors from Python; they check what comes in.
"""The seam between solvers and structures: a problem made of blocks."""

from libc.stdint cimport int32_t

from sstruct._oracles.core._interval cimport Interval

import numpy as np

from sstruct._problems.core.weight_layout import vector_layout

# From the work of an oracle call to the batch size. One call at the current w gains more than many
# at an older one, and the scores of its working set come with it: cheaper calls are made in visits at
# once, which see newer weights. In batches of 16, oracles of ten microseconds (Yeast) take one thread
# 1.13 times as long to a gap of 0.01 (medians of five fits).
SIZES = ((20000, 32),)


def batch_size(n_blocks, work):
    """Return the batch size for blocks whose oracle calls cost `work` on average."""
    size = 1
    for least, wanted in SIZES:
        if work >= least:
            size = wanted
    return max(1, min(size, n_blocks // 64))


cdef class BlockProblem:
    """Data, joint feature map and loss of a structured learning problem.

    A subclass sets `n_blocks`, `n_weights`, `max_code_size`, `oracle_work` and `batch_size`, and
    has ``truth``, ``maximize``, ``scores``, ``loss``, ``squared_distance``, ``scatter`` and
    ``fork``. It has ``check_code`` too, since compiled code trusts codes; ``code_size`` where
    blocks differ in it; and `_layout`, a WeightLayout, if parts of w have names or w is padded. It
    calls ``need_labels`` where it may be made without labels, to predict, and sets ``has_labels``.
    All other methods and attributes may be left as they are here.

    Attributes
    ----------
    n_blocks : int
        Number of blocks (terms of the sum of hinge losses).
    n_weights : int
        Length of the weight vector, in the problem's own layout.
    max_code_size : int
        Length of the longest labeling code.
    oracle_work : float
        About what an oracle call costs, in scalar multiply-adds, a guess from sizes alone: what the
        batch size, and a solver's choices, go by.
    batch_size : int
        Number of oracle calls at one w in an exact pass; a function of the problem alone,
        so that results do not depend on the number of threads. 1 where oracles are cheap.
    bounded : bool
        Whether answers of ``maximize`` that are not exact come with an upper bound; True too where
        all are exact.
    has_product, has_between : bool
        Whether there is ``maximize_product``; ``maximize_between``.
    keeps_planes : bool
        Whether codes stand for something that is kept until `retain` leaves it out.
    n_choices : int
        If every block has this many labelings, with codes 0 ... n_choices - 1 of one entry, any two of
        them equally far apart, and ``maximize`` always computes the values of all of them
        (`choice_scores`). Otherwise 0.
    ahead_size : int
        Where oracles are asked together (`ask_ahead`), of so many blocks; 0: they are not.
    product_work : float
        What `oracle_work` is to ``maximize``, for ``maximize_product``; 0: about the same.

    Examples
    --------
    ``examples/compiled_problem`` has a whole one, in a package of its own. It begins::

        cdef class IntervalProblem(BlockProblem):
            ...
    """

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        """Number of int32 entries in a code of block i."""
        return self.max_code_size

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        """Ask for the memory of a block that is visited soon; where that does not pay, nothing."""

    cdef int lacks(self, const char* method) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.{method.decode()}")

    cdef int need_labels(self) except -1 nogil:
        """For problems that may have no labels, `has_labels`: raise where there are none."""
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
        slack rescaling. Potentials stay in this object's scratch for `scores`.
        """
        return self.lacks(b"maximize")

    cdef const double* choice_scores(self) noexcept nogil:
        """Return the values of all labelings that the last `maximize` in this object compared.

        Of problems with `n_choices`: labeling k has the value at k. Valid until the next call.
        """
        return NULL

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        """Write argmax_y L_i(y) (margin + <w, phi(x_i, y) - phi(x_i, y_i)>) and that maximum.

        The max-oracle of slack rescaling, where a structure has a direct one. The truth's value is
        0, so the maximum is never negative. Potentials without loss stay in this object's scratch.
        """
        return self.lacks(b"maximize_product")

    cdef int maximize_between(
            self, Py_ssize_t i, const double* w, double loss_weight, double margin,
            const Interval* interval, int32_t* code, OracleAnswer* answer) except -1 nogil:
        """Write argmax_y h(y) + loss_weight L_i(y) of those with L_i(y) / h(y) in an interval.

        The constrained lambda-oracle (paper 004, eq. 12): h(y) = margin + <w, phi(x_i, y) -
        phi(x_i, y_i)>, positive. The answer says whether any is `found`; its value, and its bound,
        are of h(y) + loss_weight L_i(y).
        """
        return self.lacks(b"maximize_between")

    cdef int ask_ahead(
            self, const Py_ssize_t* blocks, Py_ssize_t count, const double* w,
            double loss_weight) except -1 nogil:
        """Say which blocks `maximize` will next be called for, at which w and loss weight.

        Changes no answer. For problems whose oracles are asked together.
        """
        return 0

    cdef int retain(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1 nogil:
        """Say that of block i only those labelings, and the truth, will be asked for again.

        A solver says so after each visit of a block, where the problem `keeps_planes`.
        """
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        """Write loss_weight L_i(y) + <w, phi(x_i, y)> for each of `count` labelings.

        w == NULL: from the potentials that the last `maximize` of block i in this object left
        (with its loss_weight): absolute, comparable with its value. Otherwise lazily from w:
        only where the labelings differ, so up to one constant common to the call.
        `work` is increased by what the call cost.
        """
        return self.lacks(b"scores")

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        """Write L_i(y)."""
        return self.lacks(b"loss")

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        """Write |phi(x_i, a) - phi(x_i, b)|^2: the Gram matrix in the form that steps use."""
        return self.lacks(b"squared_distance")

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        """out += sum_k coefficient_k phi(x_i, y_k): the adjoint of `scores`.

        The coefficients sum to zero, so that only places where the labelings differ are touched.
        """
        return self.lacks(b"scatter")

    cdef int exchange(
            self, Py_ssize_t i, const int32_t* gain, const int32_t* lose, double c,
            double* out) except -1 nogil:
        """out += c (phi(x_i, gain) - phi(x_i, lose)): `scatter` of two."""
        cdef const int32_t* codes[2]
        cdef double coefficient[2]
        codes[0], codes[1] = gain, lose
        coefficient[0], coefficient[1] = c, -c
        return self.scatter(i, codes, coefficient, 2, out)

    cdef int offset_nodes(
            self, Py_ssize_t count, const int32_t* position, const double* offsets) except -1 nogil:
        """Set offsets that the following calls of `maximize` add to the scores of some nodes.

        position: (count,), index of each node in a labeling; a node may occur several times.
        offsets: (count, K). Both arrays must stay valid. For problems with `shared_nodes`.
        """
        return self.lacks(b"offset_nodes")

    def shared_nodes(self):
        """Return the SharedNodes of blocks that have copies of nodes of other blocks."""
        raise NotImplementedError(f"{type(self).__name__}.shared_nodes")

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        """Raise unless `code` is a valid labeling of block i."""
        self._check_block(i)
        if code.shape[0] != self.code_size(i):
            raise ValueError(
                f"block {i}: labeling code of {code.shape[0]} entries, expected {self.code_size(i)}")
        return 0

    cdef int check_node_labels(
            self, Py_ssize_t i, const int32_t[::1] code, Py_ssize_t n_labels) except -1:
        """The `check_code` of codes that hold a label for each node."""
        BlockProblem.check_code(self, i, code)
        for k in range(code.shape[0]):
            if not 0 <= code[k] < n_labels:
                raise ValueError(f"block {i}: label {code[k]} at position {k} of a labeling code")
        return 0

    @property
    def convex(self):
        """Whether a labeling may lie anywhere between two others, in features and loss."""
        return False

    @property
    def in_order(self):
        """Whether its blocks are visited one by one, and not some at once."""
        return False

    cpdef BlockProblem fork(self):
        """Return a problem on the same data with scratch of its own, for another thread."""
        raise NotImplementedError(f"{type(self).__name__}.fork")

    def begin_fit(self):
        """Forget what oracle calls have left behind, because a fit begins; here none ever does."""

    cpdef remember(self, bint kept):
        """Say whether oracle calls may leave something behind for later ones; here none ever does.

        Those of certificates may not: then a certificate at the same weights has the same bits,
        and a fit goes the same way however many it makes. Holds for forks too.
        """

    def counts(self):
        """Return what oracle calls have counted, by name: columns of a fit's history."""
        return {}

    def memory(self):
        """Return what oracle calls have left behind, as a dict of arrays, for a checkpoint."""
        return {}

    def restore_memory(self, kept):
        """Take back what `memory` gave; other arrays in `kept` are not looked at."""

    def norms(self):
        """Return of each block an upper bound of ``|phi(x_i, y)|`` over all labelings; None: not known.

        As a sum of the norms of what phi(x_i, y) is the sum of, so that ``|w|`` times it bounds the
        magnitudes of all terms of a score. O(features): what rounding may do to a certificate is in
        proportion to it.
        """
        return None

    def feature_rows(self):
        """Return the features that visits of blocks read: pairs of FeatureRows and first rows.

        First rows: (n_blocks,), of each block. Where none are read, or not as rows, nothing.
        """
        return []

    @property
    def n_feature_weights(self):
        """Number of the weights, the first of all, that `scale_features` concerns."""
        return 0

    def scale_features(self, double factor):
        """Multiply the features of nodes by a factor, without a copy; before the first fork."""
        raise NotImplementedError(f"{type(self).__name__}.scale_features")

    def fixed_scores(self):
        """Return of each block the sum of the magnitudes of what scores have beside <w, phi>."""
        return np.zeros(self.n_blocks)

    def largest_losses(self):
        """Return of each block the largest loss of a labeling, as the oracle finds it."""
        w = np.zeros(self.n_weights)
        return np.array([self.best_code(i, w)[1] for i in range(self.n_blocks)])

    def planes(self):
        """Return what codes stand for beyond the data, as a dict of arrays, for warm starts."""
        return {}

    def restore_planes(self, kept):
        """Take back what `planes` gave; other arrays in `kept` are not looked at."""

    @property
    def failure(self):
        """The exception that a user's oracle has raised last, or a look at its answer; or None."""
        return None

    @property
    def layout(self):
        """The WeightLayout: which weights w has, and where."""
        if self._layout is None:
            return vector_layout(self.n_weights)
        return self._layout

    def without_padding(self, w):
        """Return a copy of a weight vector whose padding is zero."""
        layout = self.layout
        return layout.padded(layout.public(w))

    def _check_block(self, Py_ssize_t i):
        if not 0 <= i < self.n_blocks:
            raise IndexError(f"block {i} of a problem with {self.n_blocks} blocks")

    def _check_weights(self, const double[::1] w):
        if w.shape[0] != self.n_weights:
            raise ValueError(f"{w.shape[0]} weights, expected {self.n_weights}")

    def code_sizes(self):
        """Return the number of entries in a code of each block."""
        cdef Py_ssize_t i
        sizes = np.empty(self.n_blocks, dtype=np.intp)
        cdef Py_ssize_t[::1] size = sizes
        for i in range(self.n_blocks):
            size[i] = self.code_size(i)
        return sizes

    def true_code(self, Py_ssize_t i):
        self._check_block(i)
        code = np.empty(self.code_size(i), dtype=np.int32)
        cdef int32_t[::1] out = code
        self.truth(i, &out[0])
        return code

    def best_code(self, Py_ssize_t i, const double[::1] w, double loss_weight=1.0):
        """Return (code, value, work, exact)."""
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
    """A problem that makes planes of another's: the base of such.

    Parameters
    ----------
    problem : BlockProblem
        Its other attributes are this one's too.
    """

    def __init__(self, BlockProblem problem not None):
        self.problem = problem
        self.n_blocks, self.n_weights = problem.n_blocks, problem.n_weights
        self._layout = problem.layout
        self.max_code_size, self.bounded = problem.max_code_size, problem.bounded
        self.oracle_work, self.batch_size = problem.oracle_work, problem.batch_size

    def __getattr__(self, name):
        return getattr(self.problem, name)

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        self.problem.prefetch(i)

    cpdef BlockProblem fork(self):
        return type(self)(self.problem.fork())

    @property
    def in_order(self):
        """Whether those of the other problem are."""
        return self.problem.in_order

    def begin_fit(self):
        """Forget what oracle calls of the other problem have left behind."""
        self.problem.begin_fit()

    def norms(self):
        """Return those of the other problem."""
        return self.problem.norms()

    @property
    def n_feature_weights(self):
        """As of the other problem."""
        return self.problem.n_feature_weights

    def scale_features(self, double factor):
        """Multiply those of the other problem."""
        self.problem.scale_features(factor)

    def feature_rows(self):
        """Return those of the other problem."""
        return self.problem.feature_rows()

    def fixed_scores(self):
        """Return those of the other problem."""
        return self.problem.fixed_scores()

    def largest_losses(self):
        """Return those of the other problem."""
        return self.problem.largest_losses()
