# Ordered structures over keys that lie elsewhere. Header only, so that they inline.
#
# Design:
# (a) An implicit binary max-heap of items with a reverse index: the key of item t is
#     key[t * stride], so the entries of a table, of one of its rows and of one of its columns are
#     ordered without a copy of the table. Whoever writes a key calls `heap_update` after it.
# (b) A walk is a branch and bound: positions come from the top down, and a position whose key does
#     not exceed the caller's bound is left out with all that is below it. The caller raises its
#     bound as it finds better items and, for items that may not be taken, simply goes on.
from libc.stdint cimport int32_t

cdef enum:
    DEPTH = 64   # of a walk's stack: at most one position waits per level, and two at the last


cdef struct Heap:
    const double* key
    Py_ssize_t stride
    Py_ssize_t size
    int32_t* item    # in heap order
    int32_t* place   # place[t]: where item t is; read for items of the heap alone


cdef struct HeapWalk:
    Py_ssize_t[DEPTH] waiting
    int count


cdef inline double heap_key(const Heap* heap, Py_ssize_t at) noexcept nogil:
    """Key of the item at a position."""
    return heap.key[heap.item[at] * heap.stride]


cdef inline void _set(Heap* heap, Py_ssize_t at, int32_t item) noexcept nogil:
    heap.item[at] = item
    heap.place[item] = <int32_t> at


cdef inline Py_ssize_t _rise(Heap* heap, Py_ssize_t at) noexcept nogil:
    cdef int32_t item = heap.item[at]
    cdef double key = heap_key(heap, at)
    cdef Py_ssize_t above
    while at > 0:
        above = (at - 1) >> 1
        if not heap_key(heap, above) < key:
            break
        _set(heap, at, heap.item[above])
        at = above
    _set(heap, at, item)
    return at


cdef inline void _sink(Heap* heap, Py_ssize_t at) noexcept nogil:
    cdef int32_t item = heap.item[at]
    cdef double key = heap_key(heap, at)
    cdef Py_ssize_t below
    while True:
        below = 2 * at + 1
        if below >= heap.size:
            break
        if below + 1 < heap.size and heap_key(heap, below) < heap_key(heap, below + 1):
            below += 1
        if not key < heap_key(heap, below):
            break
        _set(heap, at, heap.item[below])
        at = below
    _set(heap, at, item)


cdef inline void heap_build(Heap* heap) noexcept nogil:
    """Order `size` items, which `item` holds in any order. O(size)."""
    cdef Py_ssize_t at
    for at in range(heap.size):
        heap.place[heap.item[at]] = <int32_t> at
    for at in range(heap.size // 2 - 1, -1, -1):
        _sink(heap, at)


cdef inline void heap_update(Heap* heap, Py_ssize_t item) noexcept nogil:
    """Restore the order after the key of one item has changed, either way. O(log size)."""
    cdef Py_ssize_t at = heap.place[item]
    if _rise(heap, at) == at:
        _sink(heap, at)


cdef inline void walk_begin(HeapWalk* walk, const Heap* heap) noexcept nogil:
    """Begin at the top."""
    walk.count = 1 if heap.size > 0 else 0
    walk.waiting[0] = 0


cdef inline Py_ssize_t walk_next(HeapWalk* walk, const Heap* heap, double bound) noexcept nogil:
    """Return the next item whose key is above `bound`, or -1: there is none.

    Bounds of one walk must not fall. An item comes after all those above it.
    """
    cdef Py_ssize_t at, left, right
    while walk.count > 0:
        walk.count -= 1
        at = walk.waiting[walk.count]
        if not heap_key(heap, at) > bound:
            continue
        left, right = 2 * at + 1, 2 * at + 2
        if right < heap.size:
            # The larger one is on top of the stack: it raises the caller's bound sooner.
            if heap_key(heap, left) < heap_key(heap, right):
                left, right = right, left
            walk.waiting[walk.count] = right
            walk.count += 1
        if left < heap.size:
            walk.waiting[walk.count] = left
            walk.count += 1
        return heap.item[at]
    return -1
