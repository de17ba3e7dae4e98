"""Reports as directories: Parquet files of rows, and a manifest that names them."""
