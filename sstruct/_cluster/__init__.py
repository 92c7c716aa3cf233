"""Transport of oracle calls: threads, processes, Dask."""
