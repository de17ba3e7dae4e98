"""What `fullrecall demo` runs: real retrievers over the standard library's documentation.

Full-text search by SQLite, and trigrams, need nothing but the core. Nothing is downloaded and
nothing is written to disk.
"""

from fullrecall.demo.demonstration import Demonstration, run

__all__ = ["Demonstration", "run"]
