"""The table of a report's results: columns in memory or in files, and views of single rows."""
