"""Transport of oracle calls and of distributed fits: threads, processes, Dask."""
