# Design:
# (a) The structures and their functions are in the .pxd. Here is a door for tests.
"""Ordered structures over keys: a door for tests."""

from libc.stdint cimport int32_t

from sstruct._solvers._gdmm_ordered cimport (
    Heap, HeapWalk, heap_build, heap_update, walk_begin, walk_next)

import numpy as np


cdef class OrderedKeys:
    """A heap over some entries of a float64 array.

    Parameters
    ----------
    key : ndarray of shape (n * stride,)
        Changed by `change` alone while this object is in use.
    items : array-like of int
        Different items; item t has key ``key[t * stride]``.
    stride : int
    """

    cdef double[::1] key
    cdef int32_t[::1] item, place
    cdef Heap heap

    def __init__(self, double[::1] key, items, Py_ssize_t stride=1):
        items = np.array(items, dtype=np.int32)
        if len(items) == 0 or items.min() < 0 or items.max() * stride >= len(key):
            raise ValueError("items must be entries of key, at least one")
        self.key, self.item = key, items
        self.place = np.full(items.max() + 1, -1, dtype=np.int32)
        self.heap.key, self.heap.stride, self.heap.size = &key[0], stride, len(items)
        self.heap.item, self.heap.place = &self.item[0], &self.place[0]
        heap_build(&self.heap)

    def _check(self, Py_ssize_t item):
        if not 0 <= item < self.place.shape[0] or self.place[item] < 0:
            raise IndexError(f"{item} is not an item of the heap")

    def change(self, Py_ssize_t item, double key):
        """Give an item another key."""
        self._check(item)
        self.key[item * self.heap.stride] = key
        heap_update(&self.heap, item)

    def order(self):
        """Return the items in heap order, and the place of each item."""
        return np.array(self.item), np.array(self.place)

    def best(self, const double[::1] addend, const unsigned char[::1] skip):
        """Maximise key + addend, addend <= 0, over items not to be skipped.

        Returns
        -------
        item : int
            -1: there is none.
        n_visited : int
            Items that the walk has come by.
        """
        cdef HeapWalk walk
        cdef double best = -np.inf
        cdef Py_ssize_t item, n_visited = 0, found = -1
        if addend.shape[0] < self.place.shape[0] or skip.shape[0] < self.place.shape[0]:
            raise ValueError("addend and skip must have an entry for each item")
        with nogil:
            walk_begin(&walk, &self.heap)
            while True:
                item = walk_next(&walk, &self.heap, best)
                if item < 0:
                    break
                n_visited += 1
                if not skip[item] and self.key[item * self.heap.stride] + addend[item] > best:
                    best = self.key[item * self.heap.stride] + addend[item]
                    found = item
        return found, n_visited
