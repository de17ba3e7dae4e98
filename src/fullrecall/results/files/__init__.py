"""Saved reports: JSON Lines for people and diffs, Parquet for size; one schema behind both."""

from fullrecall.results.files.formats import (
    check_absent,
    check_suffix,
    load,
    open_report,
    save,
    writer,
)

__all__ = ["check_absent", "check_suffix", "load", "open_report", "save", "writer"]
