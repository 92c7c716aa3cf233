# Design:
# (a) Planes psi_i(y), L_i(y) of labelings that only Python can recompute, by block and number. The number
#     is the code of the labeling. Number 0 is the truth, whose plane is zero.
# (b) Labelings whose planes have equal bits are treated as one, since they are equivalent for solvers.
#     Labelings themselves are therefore never stored, compared or copied.
# (c) A plane is stored without zeros if more than half of its entries are zero; a plane given as index and
#     value is always stored that way.
# (d) Users of the table announce which planes they still need (`retain`); the numbers of the others are
#     reused.
"""Tables of planes, by block and number."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from sstruct._problems.core.kept_arrays import kept_array, kept_sizes

# Limit of restored planes: MANY_PLANES for each block, and MAX_PLANES more for all blocks together. Fits
# keep about a thousand per block.
MANY_PLANES = 1100
MAX_PLANES = 2**20


cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_products(
        const double* rows, int64_t count, int64_t n, const double* w, double* out) noexcept nogil
    double sstruct_squared_norm(const double* w, int64_t size) noexcept nogil


cdef double plane_product(const StoredPlane* plane, const double* w) noexcept nogil:
    """Return <w, psi>."""
    cdef Py_ssize_t j
    cdef double total = 0
    if plane.index == NULL:
        if plane.size > 0:
            sstruct_products(plane.value, 1, plane.size, w, &total)
        return total
    for j in range(plane.size):
        total += plane.value[j] * w[plane.index[j]]
    return total


cdef double plane_terms(const StoredPlane* plane, const double* w) noexcept nogil:
    """Return sum_j |w_j psi_j|, to which the rounding error of <w, psi> is proportional."""
    cdef Py_ssize_t j
    cdef double total = 0
    for j in range(plane.size):
        total += fabs(plane.value[j] * w[j if plane.index == NULL else plane.index[j]])
    return total


cdef void plane_add(const StoredPlane* plane, double c, double* out) noexcept nogil:
    """Add c * psi to `out`."""
    cdef Py_ssize_t j
    if plane.index == NULL:
        for j in range(plane.size):
            out[j] += c * plane.value[j]
    else:
        for j in range(plane.size):
            out[plane.index[j]] += c * plane.value[j]


cdef uint64_t mixed(uint64_t h, const void* memory, Py_ssize_t size) noexcept nogil:
    """Update an FNV-1a hash with 32-bit words."""
    cdef const int32_t* word = <const int32_t*> memory
    cdef Py_ssize_t k
    for k in range(size // <Py_ssize_t> sizeof(int32_t)):
        h = (h ^ <uint64_t> <unsigned int> word[k]) * <uint64_t> 0x100000001B3
    return h


cdef uint64_t hashed(
        double loss, Py_ssize_t size, const int32_t* index, const double* value) noexcept nogil:
    cdef uint64_t h = mixed(<uint64_t> 0xCBF29CE484222325, &loss, sizeof(double))
    h = mixed(h, value, size * sizeof(double))
    return mixed(h, index, size * sizeof(int32_t) if index != NULL else 0)


def plane_hash(double loss, const int32_t[::1] index, const double[::1] value not None):
    """Return the hash of a plane in a table; with index None it is dense, or zero."""
    cdef Py_ssize_t size = value.shape[0]
    return hashed(
        loss, size, &index[0] if index is not None and size > 0 else NULL,
        &value[0] if size > 0 else NULL)


def dense_difference(const double[::1] a, const double[::1] b):
    """Return index and value of the nonzeros of a - b, or (None, a - b) if at least half are nonzero."""
    cdef Py_ssize_t j, k = 0, size = 0
    values = np.empty(a.shape[0])
    cdef double[::1] value = values
    for j in range(a.shape[0]):
        value[j] = a[j] - b[j] + 0.0   # -0 becomes 0
        size += value[j] != 0
    if 2 * size >= a.shape[0]:
        return None, values
    indices = np.empty(size, dtype=np.int32)
    cdef int32_t[::1] index = indices
    for j in range(a.shape[0]):
        if value[j] != 0:
            index[k], value[k] = <int32_t> j, value[j]
            k += 1
    return indices, values[:size]


def sparse_difference(
        const int32_t[::1] at, const double[::1] a, const int32_t[::1] bt, const double[::1] b):
    """Return index and value of the nonzeros of a - b, for vectors with ascending indices."""
    cdef Py_ssize_t j = 0, k = 0, size = 0
    indices = np.empty(a.shape[0] + b.shape[0], dtype=np.int32)
    values = np.empty(len(indices))
    cdef int32_t[::1] index = indices
    cdef double[::1] value = values
    while j < a.shape[0] or k < b.shape[0]:
        if k == b.shape[0] or (j < a.shape[0] and at[j] < bt[k]):
            index[size], value[size] = at[j], a[j]
            j += 1
        elif j == a.shape[0] or bt[k] < at[j]:
            index[size], value[size] = bt[k], -b[k]
            k += 1
        else:
            index[size], value[size] = at[j], a[j] - b[k]
            j += 1
            k += 1
        size += value[size] != 0
    return indices[:size], values[:size]


cdef class PlaneTable:
    """Planes of blocks; different blocks may be used in different threads.

    Parameters
    ----------
    n_blocks, n_weights : int
    """

    def __cinit__(self, Py_ssize_t n_blocks, Py_ssize_t n_weights):
        cdef Py_ssize_t i
        self.n_blocks, self.n_weights = n_blocks, n_weights
        self.planes = <StoredPlane**> calloc(n_blocks, sizeof(void*))
        self.counts = <int32_t*> calloc(n_blocks, sizeof(int32_t))
        self.rooms = <int32_t*> calloc(n_blocks, sizeof(int32_t))
        if self.planes == NULL or self.counts == NULL or self.rooms == NULL:
            raise MemoryError("not enough memory for planes")
        for i in range(n_blocks):
            self.put(i, 0, 0, NULL, NULL)

    def __dealloc__(self):
        cdef Py_ssize_t i, k
        if self.planes != NULL and self.counts != NULL:
            for i in range(self.n_blocks):
                for k in range(self.counts[i]):
                    free(self.planes[i][k].value)
                free(self.planes[i])
        free(self.planes)
        free(self.counts)
        free(self.rooms)

    cdef bint holds(self, Py_ssize_t i, int32_t code) noexcept nogil:
        """Whether there is a plane with this number."""
        return 0 <= code < self.counts[i] and self.planes[i][code].used

    cdef int32_t put(
            self, Py_ssize_t i, double loss, Py_ssize_t size, const int32_t* index,
            const double* value) except -1 nogil:
        """Return the number of a plane, which is copied if it is new.

        index NULL: dense with n_weights entries, or without entries if the plane is zero.
        """
        cdef const StoredPlane* slot
        cdef int32_t k, at = -1
        cdef uint64_t h = hashed(loss, size, index, value)
        cdef Py_ssize_t bytes = size * sizeof(double), index_bytes = size * sizeof(int32_t)
        for k in range(self.counts[i]):
            slot = &self.planes[i][k]
            if not slot.used:
                if at < 0:
                    at = k
            elif (slot.hash == h and slot.loss == loss and slot.size == size
                    and (slot.index == NULL) == (index == NULL)
                    and (size == 0 or memcmp(slot.value, value, bytes) == 0)
                    and (size == 0 or index == NULL or memcmp(slot.index, index, index_bytes) == 0)):
                return k
        if at < 0:
            at = self.counts[i]
        self.store(i, at, loss, size, index, value, h)
        return at

    cdef int store(
            self, Py_ssize_t i, int32_t code, double loss, Py_ssize_t size, const int32_t* index,
            const double* value, uint64_t h) except -1 nogil:
        """Copy a plane to a free number."""
        cdef StoredPlane* slot
        cdef void* memory
        cdef Py_ssize_t room = 2 * (<Py_ssize_t> code + 1)
        if code >= self.rooms[i]:
            memory = realloc(self.planes[i], room * sizeof(StoredPlane))
            if memory == NULL:
                with gil:
                    raise MemoryError("not enough memory for planes")
            self.planes[i], self.rooms[i] = <StoredPlane*> memory, <int32_t> room
        while self.counts[i] <= code:
            memset(&self.planes[i][self.counts[i]], 0, sizeof(StoredPlane))
            self.counts[i] += 1
        slot = &self.planes[i][code]
        slot.value = <double*> malloc(
            size * (sizeof(double) + (sizeof(int32_t) if index != NULL else 0)) + 1)
        if slot.value == NULL:
            with gil:
                raise MemoryError("not enough memory for planes")
        slot.index = NULL
        if size > 0:
            memcpy(slot.value, value, size * sizeof(double))
        if index != NULL:
            slot.index = <int32_t*> (slot.value + size)
            memcpy(slot.index, index, size * sizeof(int32_t))
        slot.loss, slot.hash, slot.size, slot.used = loss, h, size, True
        return 0

    cdef int retain(self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1 nogil:
        """Remove the planes of block i except the given numbers and the truth."""
        cdef int32_t k
        cdef Py_ssize_t c
        cdef bint wanted
        cdef StoredPlane* slot
        for k in range(1, self.counts[i]):
            slot = &self.planes[i][k]
            if not slot.used:
                continue
            wanted = False
            for c in range(count):
                if codes[c][0] == k:
                    wanted = True
                    break
            if not wanted:
                free(slot.value)
                slot.value, slot.used = NULL, False
        while self.counts[i] > 1 and not self.planes[i][self.counts[i] - 1].used:
            self.counts[i] -= 1
        return 0

    cdef int squared_distance(
            self, const StoredPlane* a, const StoredPlane* b, double* scratch,
            double* out) except -1 nogil:
        """Write |psi_a - psi_b|^2, using n_weights entries of `scratch`."""
        cdef Py_ssize_t j = 0, k = 0
        cdef double difference, total = 0
        if (a.index != NULL or a.size == 0) and (b.index != NULL or b.size == 0):
            while j < a.size or k < b.size:
                if k == b.size or (j < a.size and a.index[j] < b.index[k]):
                    difference = a.value[j]
                    j += 1
                elif j == a.size or b.index[k] < a.index[j]:
                    difference = -b.value[k]
                    k += 1
                else:
                    difference = a.value[j] - b.value[k]
                    j += 1
                    k += 1
                total += difference * difference
            out[0] = total
            return 0
        memset(scratch, 0, self.n_weights * sizeof(double))
        plane_add(a, 1, scratch)
        plane_add(b, -1, scratch)
        out[0] = sstruct_squared_norm(scratch, self.n_weights)
        return 0

    cdef int32_t with_hash(self, Py_ssize_t i, uint64_t h) except -1:
        """Return the number of the plane with a given hash."""
        cdef int32_t k
        for k in range(self.counts[i]):
            if self.planes[i][k].used and self.planes[i][k].hash == h:
                return k
        raise RuntimeError(f"block {i}: a worker returned the hash of an unknown plane")

    def hashes(self, Py_ssize_t i):
        """Return the hashes of the planes of block i, starting with the truth."""
        cdef int32_t k
        return np.array(
            [self.planes[i][k].hash for k in range(self.counts[i]) if self.planes[i][k].used],
            dtype=np.uint64)

    def export(self):
        """Return all planes except the truths' as a dict of arrays for `restore`."""
        cdef Py_ssize_t i, j, at = 0, entry = 0, n = 0, total = 0, n_indices = 0
        cdef int32_t k
        cdef const StoredPlane* slot
        for i in range(self.n_blocks):
            for k in range(1, self.counts[i]):
                slot = &self.planes[i][k]
                if slot.used:
                    n += 1
                    total += slot.size
                    n_indices += 0 if slot.index == NULL else slot.size
        blocks, codes = np.empty((2, n), dtype=np.int64)
        sizes, denses = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int8)
        losses, values, indices = np.empty(n), np.empty(total), np.empty(n_indices, dtype=np.int32)
        cdef int64_t[::1] block = blocks, code = codes, size = sizes
        cdef signed char[::1] dense = denses
        cdef double[::1] loss = losses, value = values
        cdef int32_t[::1] index = indices
        cdef Py_ssize_t place = 0
        for i in range(self.n_blocks):
            for k in range(1, self.counts[i]):
                slot = &self.planes[i][k]
                if not slot.used:
                    continue
                block[at], code[at], size[at], loss[at] = i, k, slot.size, slot.loss
                dense[at] = slot.index == NULL
                for j in range(slot.size):
                    value[entry + j] = slot.value[j]
                    if slot.index != NULL:
                        index[place + j] = slot.index[j]
                entry += slot.size
                place += 0 if slot.index == NULL else slot.size
                at += 1
        return {
            "plane_block": blocks, "plane_code": codes, "plane_size": sizes, "plane_dense": denses,
            "plane_loss": losses, "plane_value": values, "plane_index": indices}

    def checked(self, kept, bint may_be_dense):
        """Return the validated arrays of `export`: block, code, size, dense, loss, value and index."""
        value, index = kept_array(kept, "plane_value", np.float64), kept_array(
            kept, "plane_index", np.int32, least=0, most=self.n_weights - 1)
        n = len(kept_array(kept, "plane_block", np.int64))
        block = kept_array(kept, "plane_block", np.int64, n, least=0, most=self.n_blocks - 1)
        code = kept_array(kept, "plane_code", np.int64, n, least=1, most=MAX_PLANES)
        size, _ = kept_sizes(kept, "plane_size", n, len(value), "plane_value")
        dense = kept_array(kept, "plane_dense", np.int8, n, least=0, most=1)
        loss = kept_array(kept, "plane_loss", np.float64, n, least=0)
        if n == 0:
            return block, code, size, dense, loss, value, index
        same = np.diff(block) == 0
        if (np.diff(block) < 0).any() or (np.diff(code)[same] <= 0).any():
            raise ValueError("plane_code: planes are not sorted by blocks and numbers")
        # The number of a plane is its position in an array, so it must be limited.
        last = code[np.r_[~same, True]]
        if last.sum() > MANY_PLANES * len(last) + MAX_PLANES:
            raise ValueError(
                f"plane_code: found {last.sum()} planes of {len(last)} blocks, more than any fit keeps")
        whole = dense != 0
        if not np.isin(size[whole], (0, self.n_weights if may_be_dense else 0)).all():
            raise ValueError(f"plane_size: a dense plane must have {self.n_weights} entries, or none")
        ends = np.cumsum(size[~whole])
        if ends.max(initial=0) != len(index):
            raise ValueError(
                f"plane_index: {len(index)} entries, expected {ends.max(initial=0)}, one for each entry "
                "of sparse planes")
        ascends = np.diff(index) > 0
        ascends[ends[(ends > 0) & (ends < len(index))] - 1] = True
        if not ascends.all():
            raise ValueError("plane_index: the indices of a plane are not ascending")
        return block, code, size, dense, loss, value, index

    def restore(self, kept, bint may_be_dense=True):
        """Restore the planes of `export`, with their numbers, replacing all except the truths'.

        may_be_dense : whether there is scratch memory for comparing dense planes

        Raises
        ------
        ValueError
            If the arrays are not valid planes of such a table.
        """
        cdef const int64_t[::1] block, code, size
        cdef const signed char[::1] dense
        cdef const double[::1] loss, value
        cdef const int32_t[::1] index
        cdef Py_ssize_t a, entry = 0, place = 0
        cdef const double* values
        cdef const int32_t* indices
        cdef uint64_t h
        block, code, size, dense, loss, value, index = self.checked(kept, may_be_dense)
        for a in range(self.n_blocks):
            self.retain(a, NULL, 0)
        for a in range(block.shape[0]):
            values = &value[entry] if size[a] > 0 else NULL
            indices = &index[place] if not dense[a] and size[a] > 0 else NULL
            h = hashed(loss[a], size[a], indices, values)
            self.store(block[a], <int32_t> code[a], loss[a], size[a], indices, values, h)
            entry += size[a]
            place += 0 if dense[a] else size[a]
