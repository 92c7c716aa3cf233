"""How many oracles of an exact pass run at one w: a rule of the problem alone."""

# From the work of an oracle call to the batch size. One call at the current w gains more than many
# at an older one, and the scores of its working set come with it: below the first line nothing
# pays for that. Measured with one thread on oracles of about 1,000 units (CoNLL-2000): a pass in
# batches of 16 takes 1 to 4 % longer and gains 1 to 3 % less; on cheaper ones (OCR letters, 600
# units) it costs 5 to 8 % of the time to a gap of 0.01.
SIZES = ((800, 16), (20000, 32))


def batch_size(n_blocks, work):
    """Return the batch size for blocks whose oracle calls cost `work` on average."""
    size = 1
    for least, wanted in SIZES:
        if work >= least:
            size = wanted
    return max(1, min(size, n_blocks // 64))
