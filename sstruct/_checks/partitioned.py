"""Detection of samples in partitions on a Dask cluster, without importing Dask."""

import sys


def is_partitioned(values):
    """Return True if samples are a bag, or a list of futures or delayed objects."""
    dask, distributed = sys.modules.get("dask"), sys.modules.get("distributed")
    if dask is None:
        return False
    first = next(iter(values), None) if isinstance(values, list | tuple) else None
    return (
        dask.is_dask_collection(values)
        or dask.is_dask_collection(first)
        or (distributed is not None and isinstance(first, distributed.Future))
    )
