"""Pairwise tables with messages in time linear in the number of labels."""

import numpy as np

TABLE, POTTS, LINEAR, QUADRATIC = range(4)
# Number of entries that are compared together.
_CHUNK = 2**20


def _forms_of_stack(stack):
    """Return the forms and parameters of tables (n, K, K) with K >= 3."""
    n, K, _ = stack.shape
    form = np.zeros(n, dtype=np.int8)
    parameters = np.zeros((n, 2))
    equal, different = stack[:, 0, 0], stack[:, 0, 1]
    potts = np.where(np.eye(K, dtype=bool), equal[:, None, None], different[:, None, None])
    is_potts = (stack == potts).all(axis=(1, 2)) & (equal <= different)
    form[is_potts] = POTTS
    parameters[is_potts] = np.stack([equal, different], axis=1)[is_potts]
    candidates = np.flatnonzero(~is_potts & (equal == 0) & (different > 0) & np.isfinite(different))
    if len(candidates) == 0:
        return form, parameters
    line = np.abs(np.subtract.outer(np.arange(K), np.arange(K))).astype(np.float64)
    tables, slope = stack[candidates], different[candidates]
    largest = tables.max(axis=(1, 2))
    for kind, steps in ((LINEAR, line), (QUADRATIC, line * line)):
        expected = np.minimum(slope[:, None, None] * steps, largest[:, None, None])
        found = (tables == expected).all(axis=(1, 2)) & (form[candidates] == TABLE)
        form[candidates[found]] = kind
        parameters[candidates[found]] = np.stack([slope, largest], axis=1)[found]
    return form, parameters


def table_forms(tables, table_start, shapes):
    """Find the form of each table by exact comparison.

    Parameters
    ----------
    tables : ndarray, concatenated tables
    table_start : ndarray of shape (T + 1,)
    shapes : ndarray of shape (T, 2)

    Returns
    -------
    form : ndarray of shape (T,), dtype int8
        TABLE for tables without a special form, tables that are not square, and tables with fewer
        than three labels, for which the form would save nothing.
    parameters : ndarray of shape (T, 2)
        Potts: costs of equal and of different labels, the former not larger. LINEAR and QUADRATIC:
        the positive coefficient of the distance or its square, and the largest value.
    """
    form = np.zeros(len(shapes), dtype=np.int8)
    parameters = np.zeros((len(shapes), 2))
    square = (shapes[:, 0] == shapes[:, 1]) & (shapes[:, 0] >= 3)
    for K in np.unique(shapes[square, 0]):
        which = np.flatnonzero(square & (shapes[:, 0] == K))
        step = max(1, _CHUNK // (K * K))
        for first in range(0, len(which), step):
            some = which[first : first + step]
            stack = tables[table_start[some, None] + np.arange(K * K)].reshape(-1, K, K)
            form[some], parameters[some] = _forms_of_stack(stack)
    return form, parameters
