"""The demo: real retrievers over the documentation of Python's standard library.

`fullrecall demo` runs full-text search by SQLite, and trigrams, which need only the core. It
downloads nothing and writes nothing to disk. `documents` and `questions` are its data.
"""

from fullrecall.demo.demonstration import Demonstration, run
from fullrecall.demo.stdlib import documents, questions

__all__ = ["Demonstration", "documents", "questions", "run"]
