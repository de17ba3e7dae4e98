"""The one container of results: columns in memory and in files, and views of a row."""
