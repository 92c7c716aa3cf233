# Contributions of listed edges between labels to scores, planes and distances. Header only.
#
# Integral labels have one outcome, found by two look-ups; halves have masses on several outcomes. `model`
# contains the arguments that all calls have in common.
from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.label_set._codes cimport twice_masses


cdef struct LabelEdges:
    const int32_t* edges        # (E, 2)
    Py_ssize_t n_labels
    bint full                   # whether an edge has four weights, or one
    bint relaxed                # whether labels may be halves


cdef inline double edge_scores(
        const LabelEdges* model, const int32_t* code, const int32_t* listed, Py_ssize_t count,
        const double* w) noexcept nogil:
    """Return twice the score of the listed edges; w: the weights of all edges."""
    cdef Py_ssize_t j, o
    cdef int32_t e, u, v
    cdef int32_t[4] mass
    cdef double total = 0
    for j in range(count):
        e = listed[j]
        u, v = model.edges[2 * e], model.edges[2 * e + 1]
        if model.relaxed:
            twice_masses(code, model.n_labels, e, u, v, model.full, mass)
            for o in range(4 if model.full else 1):
                total += mass[o] * w[(4 if model.full else 1) * e + o]
        elif model.full:
            total += 2 * w[4 * e + code[u] + code[v] // 2]
        else:
            total += (code[u] & code[v]) * w[e]
    return total


cdef inline void add_edges(
        const LabelEdges* model, const int32_t** codes, const double* coefficient, Py_ssize_t count,
        const int32_t* listed, Py_ssize_t n_listed, double* out) noexcept nogil:
    """Add the contributions of the listed edges to planes, to the weights of all edges.

    Uses changes relative to the first labeling, since the coefficients sum to zero.
    """
    cdef Py_ssize_t j, k, o
    cdef int32_t e, u, v
    cdef int32_t[4] mass, first
    cdef double* w
    for j in range(n_listed):
        e = listed[j]
        u, v = model.edges[2 * e], model.edges[2 * e + 1]
        w = out + (4 * e if model.full else e)
        if model.relaxed:
            twice_masses(codes[0], model.n_labels, e, u, v, model.full, first)
            for k in range(1, count):
                twice_masses(codes[k], model.n_labels, e, u, v, model.full, mass)
                for o in range(4 if model.full else 1):
                    w[o] += 0.5 * coefficient[k] * (mass[o] - first[o])
        elif model.full:
            first[0] = codes[0][u] + codes[0][v] // 2
            for k in range(1, count):
                mass[0] = codes[k][u] + codes[k][v] // 2
                if mass[0] != first[0]:
                    w[mass[0]] += coefficient[k]
                    w[first[0]] -= coefficient[k]
        else:
            first[0] = codes[0][u] & codes[0][v]
            for k in range(1, count):
                w[0] += 0.5 * coefficient[k] * ((codes[k][u] & codes[k][v]) - first[0])


cdef inline int64_t edge_distance(
        const LabelEdges* model, const int32_t* a, const int32_t* b, const int32_t* listed,
        Py_ssize_t count) noexcept nogil:
    """Return four times the squared distance of the masses of the listed edges."""
    cdef Py_ssize_t j, o
    cdef int32_t e, u, v
    cdef int64_t change, total = 0
    cdef int32_t[4] of_a, of_b
    for j in range(count):
        e = listed[j]
        u, v = model.edges[2 * e], model.edges[2 * e + 1]
        twice_masses(a, model.n_labels, e, u, v, model.full, of_a)
        twice_masses(b, model.n_labels, e, u, v, model.full, of_b)
        for o in range(4 if model.full else 1):
            change = of_a[o] - of_b[o]
            total += change * change
    return total
