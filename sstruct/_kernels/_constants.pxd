# Constants used by several compiled files. Header only.

cdef extern from *:
    """
    /* Relative to the terms of a sum: smaller differences are rounding. */
    #define SSTRUCT_ROUNDING 1e-12
    /* Work of one vectorized multiply-add over labels, in scalar ones (measured with AVX-512). */
    #define SSTRUCT_VECTOR_WORK (1.0 / 24)
    /* Work of a cut for each node and edge, measured for superpixel graphs. */
    #define SSTRUCT_CUT_WORK 50.0
    /* Work of a place in a distance transform on a grid, and of a pair of states in a table. */
    #define SSTRUCT_TRANSFORM_WORK 30.0
    #define SSTRUCT_PAIR_WORK 3.0
    /* Seconds between checks for signals. */
    #define SSTRUCT_SIGNAL_INTERVAL 0.05
    """
    const double ROUNDING "SSTRUCT_ROUNDING"
    const double VECTOR_WORK "SSTRUCT_VECTOR_WORK"
    const double CUT_WORK "SSTRUCT_CUT_WORK"
    const double TRANSFORM_WORK "SSTRUCT_TRANSFORM_WORK"
    const double PAIR_WORK "SSTRUCT_PAIR_WORK"
    const double SIGNAL_INTERVAL "SSTRUCT_SIGNAL_INTERVAL"
