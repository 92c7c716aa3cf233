"""How many oracles of an exact pass run at one w: a rule of the problem alone."""

# Oracles that cost less than this are not worth a batch: one call at the current w gains more.
BATCH_WORK = 20000


def batch_size(n_blocks, work):
    """Return the batch size for blocks whose oracle calls cost `work` on average."""
    return 1 if work < BATCH_WORK else max(1, min(32, n_blocks // 64))
