"""Past one machine: batches for Ray, Spark and Dask, and what their parts come to."""
