# The dual variables of the factors of one sample. Header only.
#
# Design:
# (a) Only admitted labels, and the edges between them, have stored variables. A label that is not
#     admitted is off (alpha 0), and the masses of an edge with such an end follow: mass 0 on (1, 1), no
#     residual, no message. `admit` therefore changes only what is stored.
# (b) alpha = C (y - q) for a label with value q, in [0, C] if the label is truly on and in [-C, 0] if it
#     is off; beta = C (e - mass) of the outcomes of an edge; that of (0, 0) is minus the sum of the others.
# (c) The true labels of the sample come first, so the position of a label determines its truth.
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from sstruct._kernels._memory cimport grow


cdef struct LabelBlock:
    int32_t n_true, n_labels, n_pairs, label_room, pair_room
    int32_t* label      # (n_labels,)
    double* alpha       # (n_labels,)
    int32_t* edge       # (n_pairs,)
    int32_t* end        # (n_pairs, 2) positions of the ends in `label`
    double* beta        # (n_pairs, 3) for the outcomes (0, 1), (1, 0), (1, 1)
    double* message     # (n_pairs, 2) residual + multiplier / rho, at the first and second end


# Sorted edges, the lower end first; the edges of u start at `first[u]`.
cdef struct EdgeIndex:
    const int32_t* edges        # (E, 2)
    const int32_t* first        # (K + 1,)


cdef inline Py_ssize_t edge_between(const EdgeIndex* index, int32_t a, int32_t b) noexcept nogil:
    """Return the edge between two labels, or -1."""
    cdef int32_t u = min(a, b), v = max(a, b)
    cdef Py_ssize_t low = index.first[u], high = index.first[u + 1], middle
    while low < high:
        middle = (low + high) // 2
        if index.edges[2 * middle + 1] < v:
            low = middle + 1
        else:
            high = middle
    if low < index.first[u + 1] and index.edges[2 * low + 1] == v:
        return low
    return -1


cdef inline int _reserve(LabelBlock* block, int32_t n_labels, int32_t n_pairs) except -1 nogil:
    cdef int32_t room
    if n_labels > block.label_room:
        room = n_labels + n_labels // 2 + 2
        grow(<void**> &block.label, room, sizeof(int32_t))
        grow(<void**> &block.alpha, room, sizeof(double))
        block.label_room = room
    if n_pairs > block.pair_room:
        room = n_pairs + n_pairs // 4 + 2
        grow(<void**> &block.edge, room, sizeof(int32_t))
        grow(<void**> &block.end, room, 2 * sizeof(int32_t))
        grow(<void**> &block.beta, room, 3 * sizeof(double))
        grow(<void**> &block.message, room, 2 * sizeof(double))
        block.pair_room = room
    return 0


cdef inline int admit(LabelBlock* block, int32_t label, const EdgeIndex* index) except -1 nogil:
    """Admit a label that is off: give it variables and edges. O(n_labels log K)."""
    cdef int32_t at, low, high, p = block.n_pairs
    cdef Py_ssize_t e
    _reserve(block, block.n_labels + 1, p + block.n_labels)
    for at in range(block.n_labels):
        e = edge_between(index, block.label[at], label)
        if e < 0:
            continue
        low, high = (at, block.n_labels) if block.label[at] < label else (block.n_labels, at)
        block.edge[p], block.end[2 * p], block.end[2 * p + 1] = <int32_t> e, low, high
        block.beta[3 * p] = block.alpha[at] if high == at else 0
        block.beta[3 * p + 1] = block.alpha[at] if low == at else 0
        block.beta[3 * p + 2] = block.message[2 * p] = block.message[2 * p + 1] = 0
        p += 1
    block.label[block.n_labels], block.alpha[block.n_labels] = label, 0
    block.n_labels += 1
    block.n_pairs = p
    return 0


cdef inline bint is_admitted(const LabelBlock* block, int32_t label) noexcept nogil:
    cdef int32_t at
    for at in range(block.n_labels):
        if block.label[at] == label:
            return True
    return False


cdef inline void free_block(LabelBlock* block) noexcept nogil:
    free(block.label)
    free(block.alpha)
    free(block.edge)
    free(block.end)
    free(block.beta)
    free(block.message)
