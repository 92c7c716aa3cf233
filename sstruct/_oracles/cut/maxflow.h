/* Maximum flow from a source to a sink with two search trees: the graph and its storage.
 *
 * Design: (a) The source and the sink are not nodes: a node has one terminal residual, positive
 * from the source, negative to the sink (the difference of the two capacities).
 * (b) A graph given by edges stores its arcs sorted by tail (counting sort), 16 bytes each:
 * residual, head, sister (the reverse arc).
 * (c) A grid stores only residuals, one for each node and direction; head and sister are computed
 * from the indices. Its nodes are padded by a row above and below and one column, whose arcs have
 * no residual, so no border needs to be tested.
 * (d) The algorithm is in search_trees.h, compiled once for each kind of neighborhood.
 * (e) A search may be stopped by a signal. The flow is not maximal then; only `sstruct_flow_solve`, which
 * starts from the capacities again, may follow.
 */
#ifndef SSTRUCT_MAXFLOW_H
#define SSTRUCT_MAXFLOW_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define SSTRUCT_FLOW_INLINE static inline __attribute__((always_inline))
#define SSTRUCT_FLOW_PART static __attribute__((unused))
#else
#define SSTRUCT_FLOW_INLINE static __forceinline
#define SSTRUCT_FLOW_PART static
#endif

enum { SSTRUCT_FREE, SSTRUCT_SOURCE, SSTRUCT_SINK };      /* the tree that contains a node */
enum { SSTRUCT_ROOT = -1, SSTRUCT_ORPHAN = -2 };          /* instead of the arc to a parent */

typedef struct {
    double residual;
    int32_t head, sister;
} sstruct_arc;

typedef struct {
    double terminal;      /* residual: > 0 from the source, < 0 to the sink */
    int64_t stamp;        /* augmentation at which `distance` was last valid */
    int32_t parent;       /* arc to the parent */
    int32_t distance;     /* number of nodes on the path to the root */
} sstruct_flow_node;

typedef struct {
    int64_t n_nodes, n_edges;
    double *terminal;     /* (n_nodes,)   set by the caller */
    double *capacity;     /* (n_edges, 2) set by the caller */
    int64_t height, width;
    int connectivity;     /* 4 or 8 for a grid; 0 for a graph of edges */
    int32_t offset[8];    /* of a grid: from a node to its neighbor in each direction */
    int64_t n_slots;      /* nodes including padding */
    sstruct_flow_node *node;
    uint8_t *tree, *queued;
    int32_t *active;      /* FIFO ring of nodes that may still grow */
    int64_t active_first, n_active;
    int32_t *orphan;      /* nodes that lost their parent, in the order of adoption */
    int64_t n_orphans;
    int32_t *first;       /* (n_nodes + 1,) arcs of a node: first[v] ... first[v + 1] - 1 */
    int32_t *arc_of_edge; /* (n_edges,) the arc u -> v of an edge */
    sstruct_arc *arc;
    double *residual;     /* (n_slots, connectivity) of a grid */
    int64_t time, work;
    double flow;
    int (*check_signals)(void);   /* called from time to time; a nonzero result stops the search */
    int64_t next_check;   /* the work at which it is called next */
    int stopped;
    int64_t room[11];     /* allocated size of each array above */
} sstruct_flow;

/* Allocate memory for `count` items of `size` bytes; previous contents are lost. Memory grows by at least
 * a quarter, so that graphs of slowly growing size are rarely moved. Returns 0, or 1 without memory. */
SSTRUCT_FLOW_PART int sstruct_flow_room(void **items, int64_t *room, int64_t count, size_t size)
{
    if (count <= *room) {
        return 0;
    }
    *room = count > *room + *room / 4 ? count : *room + *room / 4;
    free(*items);
    *items = malloc((size_t)*room * size);
    if (*items == NULL) {
        *room = 0;
    }
    return *items == NULL;
}

/* Allocate a graph of edges (no residuals) or a grid; previous contents are lost. */
SSTRUCT_FLOW_PART int sstruct_flow_reserve(
    sstruct_flow *g, int64_t n_nodes, int64_t n_edges, int64_t n_slots, int64_t n_residuals)
{
    const int64_t n_listed = n_residuals ? 0 : n_edges;
    g->n_nodes = g->n_edges = g->n_slots = 0;
    g->connectivity = 0;
#define SSTRUCT_ROOM(k, field, count) \
    sstruct_flow_room((void **)&g->field, g->room + (k), (count), sizeof(*g->field))
    if (SSTRUCT_ROOM(0, terminal, n_nodes) | SSTRUCT_ROOM(1, capacity, 2 * n_edges)
        | SSTRUCT_ROOM(2, node, n_slots) | SSTRUCT_ROOM(3, tree, n_slots)
        | SSTRUCT_ROOM(4, queued, n_slots) | SSTRUCT_ROOM(5, active, n_slots)
        | SSTRUCT_ROOM(6, orphan, n_slots) | SSTRUCT_ROOM(7, residual, n_residuals)
        | SSTRUCT_ROOM(8, first, n_residuals ? 0 : n_nodes + 1) | SSTRUCT_ROOM(9, arc, 2 * n_listed)
        | SSTRUCT_ROOM(10, arc_of_edge, n_listed)) {
        return -1;
    }
#undef SSTRUCT_ROOM
    g->n_nodes = n_nodes;
    g->n_edges = n_edges;
    g->n_slots = n_slots;
    return 0;
}

SSTRUCT_FLOW_PART void sstruct_flow_free(sstruct_flow *g)
{
    free(g->terminal); free(g->capacity); free(g->node); free(g->tree); free(g->queued);
    free(g->active); free(g->orphan); free(g->first); free(g->arc_of_edge); free(g->arc);
    free(g->residual);
}

/* Sort the arcs of edges (n_edges, 2) by tail, with an arc u -> v and an arc v -> u for each edge.
 * Returns -1 without memory, e + 1 if edge e is out of range or a loop, 0 on success. O(V + E). */
SSTRUCT_FLOW_PART int64_t sstruct_flow_set_graph(
    sstruct_flow *g, int64_t n_nodes, int64_t n_edges, const int32_t *edges)
{
    int64_t e, v;
    if (sstruct_flow_reserve(g, n_nodes, n_edges, n_nodes, 0)) {
        return -1;
    }
    int32_t *first = g->first;
    memset(first, 0, (size_t)(n_nodes + 1) * sizeof(*first));
    for (e = 0; e < n_edges; ++e) {
        int32_t u = edges[2 * e], w = edges[2 * e + 1];
        if (u < 0 || w < 0 || u >= n_nodes || w >= n_nodes || u == w) {
            g->n_nodes = g->n_edges = g->n_slots = 0;
            return e + 1;
        }
        ++first[u];
        ++first[w];
    }
    for (v = 1; v <= n_nodes; ++v) {     /* first[v]: the end of v's arcs, decreased below */
        first[v] += first[v - 1];
    }
    for (e = n_edges - 1; e >= 0; --e) {
        int32_t u = edges[2 * e], w = edges[2 * e + 1];
        int32_t forth = --first[u], back = --first[w];
        g->arc[forth].head = w;
        g->arc[forth].sister = back;
        g->arc[back].head = u;
        g->arc[back].sister = forth;
        g->arc_of_edge[e] = forth;
    }
    return 0;
}

/* Slots of a row: one slot of padding, then its nodes. */
#define SSTRUCT_STRIDE(g) ((g)->width + 1)
#define SSTRUCT_SLOT(g, row, column) (((row) + 1) * SSTRUCT_STRIDE(g) + (column) + 1)

/* Directions: right, left, down, up, down-right, up-left, down-left, up-right, so that the reverse
 * of direction d is d ^ 1. Edges have the directions 0, 2, 4 and 6. Returns -1 without memory. */
SSTRUCT_FLOW_PART int sstruct_flow_set_grid(
    sstruct_flow *g, int64_t height, int64_t width, int connectivity)
{
    const int32_t stride = (int32_t)width + 1;
    const int32_t ahead[4] = {1, stride, stride + 1, stride - 1};
    int64_t n_slots = (height + 2) * stride + 1;
    int64_t n_edges = height * (width - 1) + (height - 1) * width
        + (connectivity == 8 ? 2 * (height - 1) * (width - 1) : 0);
    int d;
    if (sstruct_flow_reserve(g, height * width, n_edges, n_slots, n_slots * connectivity)) {
        return -1;
    }
    g->height = height;
    g->width = width;
    g->connectivity = connectivity;
    for (d = 0; d < 8; ++d) {
        g->offset[d] = d & 1 ? -ahead[d / 2] : ahead[d / 2];
    }
    return 0;
}

SSTRUCT_FLOW_PART void sstruct_flow_load_grid(sstruct_flow *g)
{
    const int64_t height = g->height, width = g->width;
    const int64_t D = g->connectivity;
    const double *capacity = g->capacity;
    int64_t r, c, d;
    memset(g->residual, 0, (size_t)(g->n_slots * D) * sizeof(double));
    for (d = 0; d < D / 2; ++d) {
        const int64_t rows = d == 0 ? height : height - 1;
        const int64_t begin = d == 3 ? 1 : 0, end = d == 0 || d == 2 ? width - 1 : width;
        for (r = 0; r < rows; ++r) {
            double *from = g->residual + SSTRUCT_SLOT(g, r, 0) * D + 2 * d;
            double *to = from + g->offset[2 * d] * D + 1;
            for (c = begin; c < end; ++c, capacity += 2) {
                from[c * D] = capacity[0];
                to[c * D] = capacity[1];
            }
        }
    }
    for (r = 0; r < g->n_slots; ++r) {
        g->node[r].terminal = 0;
    }
    for (r = 0; r < height; ++r) {
        for (c = 0; c < width; ++c) {
            g->node[SSTRUCT_SLOT(g, r, c)].terminal = g->terminal[r * width + c];
        }
    }
}

SSTRUCT_FLOW_PART void sstruct_flow_load_graph(sstruct_flow *g)
{
    int64_t e, v;
    for (e = 0; e < g->n_edges; ++e) {
        sstruct_arc *forth = g->arc + g->arc_of_edge[e];
        forth->residual = g->capacity[2 * e];
        g->arc[forth->sister].residual = g->capacity[2 * e + 1];
    }
    for (v = 0; v < g->n_nodes; ++v) {
        g->node[v].terminal = g->terminal[v];
    }
}

/* Whether the search must stop; checked about every 100,000 arcs. */
enum { SSTRUCT_ARCS_PER_CHECK = 100000 };

SSTRUCT_FLOW_INLINE int sstruct_flow_is_stopped(sstruct_flow *g)
{
    if (g->work >= g->next_check) {
        g->next_check = g->work + SSTRUCT_ARCS_PER_CHECK;
        g->stopped = g->check_signals();
    }
    return g->stopped;
}

#define SSTRUCT_KIND graph
#include "search_trees.h"
#undef SSTRUCT_KIND

#define SSTRUCT_KIND grid4
#define SSTRUCT_DIRECTIONS 4
#include "search_trees.h"
#undef SSTRUCT_DIRECTIONS
#undef SSTRUCT_KIND

#define SSTRUCT_KIND grid8
#define SSTRUCT_DIRECTIONS 8
#include "search_trees.h"
#undef SSTRUCT_DIRECTIONS
#undef SSTRUCT_KIND

SSTRUCT_FLOW_PART void sstruct_flow_begin(sstruct_flow *g)
{
    g->flow = 0;
    g->work = 0;
    g->next_check = SSTRUCT_ARCS_PER_CHECK;
    g->stopped = 0;
}

/* Find a maximum flow for the capacities in `terminal` and `capacity`; return 0, or nonzero if
 * `check_signals` has stopped the search. */
SSTRUCT_FLOW_PART int sstruct_flow_solve(sstruct_flow *g)
{
    sstruct_flow_begin(g);
    if (g->connectivity == 0) {
        sstruct_flow_load_graph(g);
        sstruct_search_graph(g);
    } else {
        sstruct_flow_load_grid(g);
        if (g->connectivity == 4) {
            sstruct_search_grid4(g);
        } else {
            sstruct_search_grid8(g);
        }
    }
    return g->stopped;
}

/* Continue from the flow of the last solution of a graph of edges with other terminals: `terminal`
 * is added to each. The capacities are kept; `work` is updated, but not the flow. Terminal residuals
 * may change arbitrarily: less from the source equals more to the sink, up to a constant. */
SSTRUCT_FLOW_PART int sstruct_flow_solve_again(sstruct_flow *g)
{
    int64_t v;
    sstruct_flow_begin(g);
    for (v = 0; v < g->n_nodes; ++v) {
        g->node[v].terminal += g->terminal[v];
    }
    sstruct_search_graph(g);
    return g->stopped;
}

/* The sink tree contains the nodes from which the sink can still be reached. */
SSTRUCT_FLOW_PART int sstruct_flow_on_sink_side(const sstruct_flow *g, int64_t node)
{
    if (g->connectivity) {
        const int32_t v = (int32_t)node, width = (int32_t)g->width;
        node = SSTRUCT_SLOT(g, (int64_t)(v / width), (int64_t)(v % width));
    }
    return g->tree[node] == SSTRUCT_SINK;
}

SSTRUCT_FLOW_PART void sstruct_flow_sides(const sstruct_flow *g, int32_t *side)
{
    const int64_t width = g->connectivity ? g->width : g->n_nodes;
    int64_t v, row = 0;
    for (v = 0; v < g->n_nodes; v += width, ++row) {
        const uint8_t *tree = g->tree + (g->connectivity ? SSTRUCT_SLOT(g, row, 0) : 0);
        int64_t c;
        for (c = 0; c < width; ++c) {
            side[v + c] = tree[c] == SSTRUCT_SINK;
        }
    }
}

/* Add the last flow of each edge to `flow` (n_edges,), positive for u -> v. */
SSTRUCT_FLOW_PART void sstruct_flow_add_flows(const sstruct_flow *g, double *flow)
{
    const int64_t width = g->width, D = g->connectivity;
    const double *capacity = g->capacity;
    int64_t e, r, c, d;
    if (D == 0) {
        for (e = 0; e < g->n_edges; ++e) {
            flow[e] += capacity[2 * e] - g->arc[g->arc_of_edge[e]].residual;
        }
        return;
    }
    for (d = 0; d < D / 2; ++d) {
        const int64_t rows = d == 0 ? g->height : g->height - 1;
        const int64_t begin = d == 3 ? 1 : 0, end = d == 0 || d == 2 ? width - 1 : width;
        for (r = 0; r < rows; ++r) {
            const double *from = g->residual + SSTRUCT_SLOT(g, r, 0) * D + 2 * d;
            for (c = begin; c < end; ++c, capacity += 2) {
                *flow++ += *capacity - from[c * D];
            }
        }
    }
}

#endif
