# xoshiro256++ (Blackman and Vigna 2019), seeded by splitmix64: small and fast, with a state of four
# words that a warm start can store. Header only, so that it is inlined.
from libc.stdint cimport uint64_t

from sstruct._kernels._splitmix cimport next_random


cdef struct Random:
    uint64_t[4] word


cdef inline uint64_t _rotated(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef inline void random_seed(Random* random, uint64_t seed) noexcept nogil:
    cdef int k
    for k in range(4):
        random.word[k] = next_random(&seed)


cdef inline uint64_t random_next(Random* random) noexcept nogil:
    cdef uint64_t* s = random.word
    cdef uint64_t result = _rotated(s[0] + s[3], 23) + s[0], t = s[1] << 17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = _rotated(s[3], 45)
    return result


cdef inline Py_ssize_t random_below(Random* random, Py_ssize_t n) noexcept nogil:
    """Return an integer from 0 to n - 1, without bias: draws of n or more are rejected."""
    cdef uint64_t mask = <uint64_t> (n - 1), draw
    mask |= mask >> 1
    mask |= mask >> 2
    mask |= mask >> 4
    mask |= mask >> 8
    mask |= mask >> 16
    mask |= mask >> 32
    while True:
        draw = (random_next(random) >> 11) & mask
        if draw < <uint64_t> n:
            return <Py_ssize_t> draw


cdef inline Py_ssize_t random_choice(
        Random* random, const double* weights, Py_ssize_t n, double total) noexcept nogil:
    """Return index k with probability weights[k] / total; `total`: their sum, which is positive."""
    cdef Py_ssize_t k, chosen = -1
    cdef double left = (random_next(random) >> 11) * (1.0 / 9007199254740992.0) * total
    for k in range(n):
        if weights[k] > 0:
            chosen = k          # rounding must not select an entry of probability 0
            if left < weights[k]:
                break
            left -= weights[k]
    return chosen


cdef inline void random_shuffle(Random* random, Py_ssize_t* order, Py_ssize_t n) noexcept nogil:
    """Fisher-Yates shuffle."""
    cdef Py_ssize_t k, j, swap
    for k in range(n - 1, 0, -1):
        j = random_below(random, k + 1)
        swap = order[k]
        order[k] = order[j]
        order[j] = swap
