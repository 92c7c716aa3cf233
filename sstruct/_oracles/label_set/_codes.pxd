# Codes of label sets and of half-integral solutions of a relaxation. Header only.
#
# A code contains TWICE the value of each of K labels: 0 off, 2 on, 1 one half. If halves may occur,
# they are followed by a bit for every edge, 32 in a word. For an edge that joins two halves, it is 1
# if the outcomes (1, 1) and (0, 0) have mass 1/2, and 0 if (0, 1) and (1, 0) have mass 1/2.
from libc.stdint cimport int32_t, uint32_t


cdef inline Py_ssize_t relaxed_code_size(Py_ssize_t n_labels, Py_ssize_t n_edges) noexcept nogil:
    """Return the number of entries of a code with halves."""
    return n_labels + (n_edges + 31) // 32


cdef inline int32_t edge_bit(
        const int32_t* code, Py_ssize_t n_labels, Py_ssize_t edge) noexcept nogil:
    return <int32_t> ((<uint32_t> code[n_labels + edge // 32] >> (edge % 32)) & 1)


cdef inline int32_t twice_both(
        const int32_t* code, Py_ssize_t n_labels, Py_ssize_t edge, int32_t u,
        int32_t v) noexcept nogil:
    """Return twice the mass of the outcome (1, 1) of edge (u, v)."""
    cdef int32_t a = code[u], b = code[v]
    if a == 1 and b == 1:
        return edge_bit(code, n_labels, edge)
    return a + b - 2 if a + b > 2 else 0


cdef inline void twice_masses(
        const int32_t* code, Py_ssize_t n_labels, Py_ssize_t edge, int32_t u, int32_t v, bint full,
        int32_t* mass) noexcept nogil:
    """Write twice the mass of outcomes of an edge: (0, 0), (0, 1), (1, 0), (1, 1) if `full`, else (1, 1)."""
    cdef int32_t both = twice_both(code, n_labels, edge, u, v)
    if full:
        mass[0] = 2 - code[u] - code[v] + both
        mass[1], mass[2], mass[3] = code[v] - both, code[u] - both, both
    else:
        mass[0] = both
