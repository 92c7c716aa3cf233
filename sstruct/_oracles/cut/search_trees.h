/* The maximum flow algorithm of Boykov and Kolmogorov, for the neighborhood named by SSTRUCT_KIND.
 *
 * Trees of residual arcs grow from the source and towards the sink. When they meet, flow is pushed
 * along the path between their roots (augmentation). Every saturated arc makes the node below it an
 * orphan, which searches for a new parent in its tree or becomes free, in which case its children
 * become orphans (adoption). The algorithm ends when no active node is left.
 * (An experimental comparison of min-cut/max-flow algorithms for energy minimization in vision.
 * IEEE PAMI 26(9), 2004, section 3.)
 *
 * Distances to the root keep paths short: an orphan takes the nearest parent. A distance is known to
 * be valid if its stamp is that of the last augmentation, so each part of a tree is traversed
 * at most once between two augmentations; otherwise it may be outdated.
 *
 * Rounding: an arc is residual if its residual is > 0. The bottleneck of a path is subtracted from
 * itself, so every augmentation leaves an arc or a terminal with exactly 0.
 */
#define SSTRUCT_PASTE2(a, b) a##b
#define SSTRUCT_PASTE(a, b) SSTRUCT_PASTE2(a, b)
#define NAMED(name) SSTRUCT_PASTE(name, SSTRUCT_KIND)

#ifdef SSTRUCT_DIRECTIONS
#define D SSTRUCT_DIRECTIONS
#define BEGIN(p) ((p) * D)
#define END(p) ((p) * D + D)
#define HEAD(p, a) ((p) + g->offset[(a) & (D - 1)])
#define SISTER(a, q) ((q) * D + (((a) & (D - 1)) ^ 1))
#define RESIDUAL(a) (g->residual[a])
#else
#define BEGIN(p) (g->first[p])
#define END(p) (g->first[(p) + 1])
#define HEAD(p, a) (g->arc[a].head)
#define SISTER(a, q) (g->arc[a].sister)
#define RESIDUAL(a) (g->arc[a].residual)
#endif
/* The residuals between p and its neighbor q in the direction of the tree, away from the source or
 * towards the sink: DOWN if p is the parent, UP if q is. */
#define DOWN(tree, a, q) ((tree) == SSTRUCT_SOURCE ? RESIDUAL(a) : RESIDUAL(SISTER(a, q)))
#define UP(tree, a, q) ((tree) == SSTRUCT_SOURCE ? RESIDUAL(SISTER(a, q)) : RESIDUAL(a))

SSTRUCT_FLOW_INLINE void NAMED(sstruct_activate_)(sstruct_flow *g, int32_t p)
{
    if (!g->queued[p]) {
        int64_t last = g->active_first + g->n_active++;
        g->queued[p] = 1;
        g->active[last < g->n_slots ? last : last - g->n_slots] = p;
    }
}

/* The smallest residual on the path from p to its root, at its terminal, or `least`. */
SSTRUCT_FLOW_INLINE double NAMED(sstruct_bottleneck_)(
    sstruct_flow *g, int tree, int32_t p, double least)
{
    while (g->node[p].parent != SSTRUCT_ROOT) {
        const int32_t a = g->node[p].parent, q = HEAD(p, a);
        const double residual = UP(tree, a, q);
        least = residual < least ? residual : least;
        p = q;
        ++g->work;
    }
    const double terminal = tree == SSTRUCT_SOURCE ? g->node[p].terminal : -g->node[p].terminal;
    return terminal < least ? terminal : least;
}

/* Push flow along the path from p to its root; disconnected nodes become orphans, root end first. */
SSTRUCT_FLOW_INLINE void NAMED(sstruct_push_)(sstruct_flow *g, int tree, int32_t p, double amount)
{
    int64_t low = g->n_orphans, high;
    while (g->node[p].parent != SSTRUCT_ROOT) {
        const int32_t a = g->node[p].parent, q = HEAD(p, a), b = SISTER(a, q);
        const int32_t with = tree == SSTRUCT_SOURCE ? b : a;
        const int32_t against = tree == SSTRUCT_SOURCE ? a : b;
        RESIDUAL(against) += amount;
        if ((RESIDUAL(with) -= amount) == 0) {
            g->node[p].parent = SSTRUCT_ORPHAN;
            g->orphan[g->n_orphans++] = p;
        }
        p = q;
    }
    g->node[p].terminal += tree == SSTRUCT_SOURCE ? -amount : amount;
    if (g->node[p].terminal == 0) {
        g->node[p].parent = SSTRUCT_ORPHAN;
        g->orphan[g->n_orphans++] = p;
    }
    for (high = g->n_orphans - 1; low < high; ++low, --high) {
        const int32_t other = g->orphan[low];
        g->orphan[low] = g->orphan[high];
        g->orphan[high] = other;
    }
}

/* The number of nodes from q to its root, or 0 if there is an orphan on the path. */
SSTRUCT_FLOW_INLINE int32_t NAMED(sstruct_distance_)(sstruct_flow *g, int32_t q)
{
    int32_t steps = 0;
    for (;;) {
        const sstruct_flow_node *node = g->node + q;
        ++g->work;
        if (node->stamp == g->time) {
            return steps + node->distance;
        }
        ++steps;
        if (node->parent == SSTRUCT_ROOT) {
            g->node[q].stamp = g->time;
            g->node[q].distance = 1;
            return steps;
        }
        if (node->parent == SSTRUCT_ORPHAN) {
            return 0;
        }
        q = HEAD(q, node->parent);
    }
}

/* Find a new parent for orphan p, as near to a root as possible, or free it. */
SSTRUCT_FLOW_INLINE void NAMED(sstruct_adopt_)(sstruct_flow *g, int tree, int32_t p)
{
    int32_t a, best = SSTRUCT_ORPHAN, nearest = INT32_MAX;
    const int32_t begin = BEGIN(p), end = END(p);
    g->work += end - begin;
    for (a = begin; a < end; ++a) {
        int32_t q = HEAD(p, a), steps;
        if (g->tree[q] != tree || !(UP(tree, a, q) > 0) || g->node[q].parent == SSTRUCT_ORPHAN) {
            continue;
        }
        steps = NAMED(sstruct_distance_)(g, q);
        if (steps == 0) {
            continue;
        }
        if (steps < nearest) {
            best = a;
            nearest = steps;
        }
        for (; g->node[q].stamp != g->time; q = HEAD(q, g->node[q].parent)) {
            g->node[q].stamp = g->time;
            g->node[q].distance = steps--;
        }
        if (nearest < g->node[p].distance) {     /* as near as the old parent */
            break;
        }
    }
    if (best != SSTRUCT_ORPHAN) {
        g->node[p].parent = best;
        g->node[p].stamp = g->time;
        g->node[p].distance = nearest + 1;
        return;
    }
    g->tree[p] = SSTRUCT_FREE;
    for (a = begin; a < end; ++a) {
        const int32_t q = HEAD(p, a);
        if (g->tree[q] != tree) {
            continue;
        }
        if (UP(tree, a, q) > 0) {
            NAMED(sstruct_activate_)(g, q);
        }
        const int32_t up = g->node[q].parent;
        if (up >= 0 && HEAD(q, up) == p) {
            g->node[q].parent = SSTRUCT_ORPHAN;
            g->orphan[g->n_orphans++] = q;
        }
    }
}

/* Push as much flow as the path through arc s -> t can carry, then repair the trees. */
SSTRUCT_FLOW_PART void NAMED(sstruct_augment_)(sstruct_flow *g, int32_t s, int32_t t, int32_t arc)
{
    int64_t i;
    double amount = RESIDUAL(arc);
    amount = NAMED(sstruct_bottleneck_)(g, SSTRUCT_SOURCE, s, amount);
    amount = NAMED(sstruct_bottleneck_)(g, SSTRUCT_SINK, t, amount);
    RESIDUAL(arc) -= amount;
    RESIDUAL(SISTER(arc, t)) += amount;
    g->n_orphans = 0;
    NAMED(sstruct_push_)(g, SSTRUCT_SOURCE, s, amount);
    NAMED(sstruct_push_)(g, SSTRUCT_SINK, t, amount);
    g->flow += amount;
    ++g->time;
    for (i = 0; i < g->n_orphans; ++i) {       /* at most once each: adopted nodes stay adopted */
        const int32_t p = g->orphan[i];
        if (g->tree[p] == SSTRUCT_SOURCE) {
            NAMED(sstruct_adopt_)(g, SSTRUCT_SOURCE, p);
        } else {
            NAMED(sstruct_adopt_)(g, SSTRUCT_SINK, p);
        }
    }
}

/* Add the free neighbors of p to its tree; push flow when it meets the other tree. */
SSTRUCT_FLOW_INLINE void NAMED(sstruct_grow_)(sstruct_flow *g, int tree, int32_t p)
{
    const int32_t begin = BEGIN(p), end = END(p);
    int32_t a = begin;
    g->work += end - begin;
    while (a < end) {
        const int32_t q = HEAD(p, a);
        if (!(DOWN(tree, a, q) > 0)) {
            ++a;
            continue;
        }
        if (g->tree[q] == SSTRUCT_FREE) {
            g->tree[q] = (uint8_t)tree;
            g->node[q].parent = SISTER(a, q);
            g->node[q].stamp = g->node[p].stamp;
            g->node[q].distance = g->node[p].distance + 1;
            NAMED(sstruct_activate_)(g, q);
        } else if (g->tree[q] != tree) {
            if (tree == SSTRUCT_SOURCE) {
                NAMED(sstruct_augment_)(g, p, q, a);
            } else {
                NAMED(sstruct_augment_)(g, q, p, SISTER(a, q));
            }
            if (g->tree[p] != tree || sstruct_flow_is_stopped(g)) {
                return;
            }
            continue;     /* retry the arc: q may be free now, or the arc not yet saturated */
        }
        ++a;
    }
}

/* Push flow along paths of one arc, which require no trees. */
SSTRUCT_FLOW_PART void NAMED(sstruct_push_to_neighbors_)(sstruct_flow *g)
{
    const int32_t n = (int32_t)g->n_slots;
    int32_t p, a;
    for (p = 0; p < n; ++p) {
        double excess = g->node[p].terminal;
        if (!(excess > 0)) {
            continue;
        }
        for (a = BEGIN(p); a < END(p) && excess > 0; ++a) {
            const int32_t q = HEAD(p, a);
            const double lack = -g->node[q].terminal;
            double amount = RESIDUAL(a);
            if (!(lack > 0) || !(amount > 0)) {
                continue;
            }
            amount = lack < amount ? lack : amount;
            amount = excess < amount ? excess : amount;
            RESIDUAL(a) -= amount;
            RESIDUAL(SISTER(a, q)) += amount;
            g->node[q].terminal += amount;
            excess -= amount;
            g->flow += amount;
        }
        g->node[p].terminal = excess;
        g->work += END(p) - BEGIN(p);
    }
}

/* If few nodes lack flow (as in moves that continue from an earlier flow), only the sink tree grows:
 * nodes that it cannot reach need not be visited. */
SSTRUCT_FLOW_PART void NAMED(sstruct_search_)(sstruct_flow *g)
{
    int64_t v, n_sources = 0, n_sinks = 0;
    NAMED(sstruct_push_to_neighbors_)(g);
    g->active_first = g->n_active = g->time = 0;
    memset(g->queued, 0, (size_t)g->n_slots);
    for (v = 0; v < g->n_slots; ++v) {
        sstruct_flow_node *node = g->node + v;
        g->tree[v] = node->terminal > 0 ? SSTRUCT_SOURCE
            : node->terminal < 0 ? SSTRUCT_SINK : SSTRUCT_FREE;
        node->parent = SSTRUCT_ROOT;
        node->stamp = 0;
        node->distance = 1;
        n_sources += g->tree[v] == SSTRUCT_SOURCE;
        n_sinks += g->tree[v] == SSTRUCT_SINK;
    }
    const int sink_alone = n_sources > 8 * n_sinks;
    for (v = 0; v < g->n_slots; ++v) {
        if (g->tree[v] == SSTRUCT_SINK || (g->tree[v] == SSTRUCT_SOURCE && !sink_alone)) {
            NAMED(sstruct_activate_)(g, (int32_t)v);
        }
    }
    while (g->n_active && !sstruct_flow_is_stopped(g)) {
        const int32_t p = g->active[g->active_first];
        g->active_first = g->active_first + 1 < g->n_slots ? g->active_first + 1 : 0;
        --g->n_active;
        g->queued[p] = 0;
        if (g->tree[p] == SSTRUCT_SINK) {
            NAMED(sstruct_grow_)(g, SSTRUCT_SINK, p);
        } else if (g->tree[p] == SSTRUCT_SOURCE && !sink_alone) {
            NAMED(sstruct_grow_)(g, SSTRUCT_SOURCE, p);
        }
    }
}

#undef NAMED
#undef SSTRUCT_PASTE
#undef SSTRUCT_PASTE2
#undef BEGIN
#undef END
#undef HEAD
#undef SISTER
#undef RESIDUAL
#undef DOWN
#undef UP
#undef D
