"""Oracle calls and distributed fits in threads, processes and on Dask clusters."""
