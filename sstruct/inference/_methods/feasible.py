"""Search for a labeling that nothing forbids: constraint propagation and backtracking."""

import numpy as np

# Propagated tables in all, those in a search before other methods, and as many more for each table.
# The nodes that are visited to choose the next one count too, many for one table.
MOST_REVISIONS = 2**18
REVISIONS_PER_TABLE = 8
FIRST_REVISIONS = 2**13
NODES_PER_REVISION = 2**11
# Wrong choices before the first restart, then twice as many.
FIRST_RESTART = 32


class _Refuted(Exception):
    """No label is left at a node."""


class _Stopped(Exception):
    """The limit of wrong choices, of work or of time is reached."""


class _Search:
    """The labels that are left at each node, and the terms that forbid combinations of them.

    Sets of labels are bool arrays in the order of ``mrf.node_costs``.
    """

    def __init__(self, mrf, record, most_revisions):
        self.record, self.left, self.start = record, most_revisions, mrf.node_start
        self.slices = [slice(*pair) for pair in zip(self.start[:-1], self.start[1:], strict=True)]
        self.allowed, self.scopes, finite = [], [], {}
        edges = ((mrf.edges[e], mrf.edge_cost, e, t) for e, t in enumerate(mrf.edge_table.tolist()))
        factors = (
            (mrf.factor(f)[0], lambda f: mrf.factor(f)[1], f, -1 - t)
            for f, t in enumerate(mrf.factor_table.tolist())
        )
        for terms in (edges, factors):
            for scope, costs_of, item, table in terms:
                if table not in finite:
                    finite[table] = np.isfinite(costs_of(item))
                if not finite[table].all():
                    self.allowed.append(finite[table])
                    self.scopes.append(scope.tolist())
        self.at = [[] for _ in self.slices]
        for t, scope in enumerate(self.scopes):
            for v in scope:
                self.at[v].append(t)
        self.left += REVISIONS_PER_TABLE * len(self.scopes)
        self.n_failures = np.array([len(terms) for terms in self.at], dtype=float)

    def propagate(self, labels, waiting):
        """Remove labels that some table leaves no support; raise _Refuted if a node loses all."""
        waiting = dict.fromkeys(waiting)
        while waiting:
            if self.is_over():
                raise _Stopped
            t = next(iter(waiting))
            del waiting[t]
            self.left -= 1
            scope, possible = self.scopes[t], self.allowed[t]
            for axis, v in enumerate(scope):
                shape = [1] * len(scope)
                shape[axis] = -1
                possible = possible & labels[self.slices[v]].reshape(shape)
            for axis, v in enumerate(scope):
                supported = possible.any(axis=tuple(k for k in range(len(scope)) if k != axis))
                if (supported != labels[self.slices[v]]).any():
                    if not supported.any():
                        self.n_failures[scope] += 1
                        raise _Refuted
                    labels[self.slices[v]] = supported
                    waiting.update((s, None) for s in self.at[v] if s != t)

    def is_over(self):
        return self.left <= 0 or self.record.is_late()

    def run(self, labels, costs, most_wrong):
        """Search depth first; return a set of one label for each node, or None if there is none."""
        stack, wrong = [], 0
        while True:
            n_left = np.add.reduceat(labels, self.start[:-1], dtype=np.int64)
            self.left -= len(n_left) / NODES_PER_REVISION
            is_open = (n_left > 1) & (self.n_failures > 0)
            if not is_open.any():
                return labels
            v = int(np.where(is_open, n_left / np.maximum(self.n_failures, 1), np.inf).argmin())
            of_v = self.slices[v]
            chosen = of_v.start + int(np.where(labels[of_v], costs[of_v], np.inf).argmin())
            stack.append((labels, v, chosen))
            labels = labels.copy()
            labels[of_v] = False
            labels[chosen] = True
            while True:
                if wrong > most_wrong:
                    raise _Stopped
                try:
                    self.propagate(labels, self.at[v])
                    break
                except _Refuted:
                    wrong += 1
                    if not stack:
                        return None
                    labels, v, chosen = stack.pop()
                    labels[chosen] = False


def find_feasible(mrf, record, most_revisions=MOST_REVISIONS):
    """Search for an allowed labeling and offer it; return whether there may be one.

    Parameters
    ----------
    mrf : MRF
    record : Record
    most_revisions : int
        Limit of the work, in propagated tables.

    Returns
    -------
    may_exist : bool
        False: it is proven that every labeling is forbidden. The search is bounded in steps and by
        the record's time, so that True does not imply that a labeling was found.

    Notes
    -----
    After each choice labels without support in a table are removed (generalized arc consistency).
    The next node is the one with the fewest labels left for each time that one of its tables has
    failed [1]; restarts after a growing number of wrong choices keep these counts. Labels of low
    cost are tried first.

    References
    ----------
    [1] F. Boussemart, F. Hemery, C. Lecoutre, L. Saïs. Boosting systematic search by weighting
    constraints. ECAI 2004.
    """
    search, labels = _Search(mrf, record, most_revisions), np.isfinite(mrf.node_costs)
    if not np.logical_or.reduceat(labels, mrf.node_start[:-1]).all():
        return False
    try:
        search.propagate(labels, range(len(search.scopes)))
    except _Refuted:
        return False
    except _Stopped:
        return True
    most_wrong = FIRST_RESTART
    while not search.is_over():
        try:
            found = search.run(labels, mrf.node_costs, most_wrong)
        except _Stopped:
            most_wrong *= 2
            continue
        if found is None:
            return False
        kept = np.where(found, mrf.node_costs, np.inf)
        best = np.array([kept[of_v].argmin() for of_v in search.slices], dtype=np.int32)
        record.offer(best, mrf.energy(best))
        break
    return True
