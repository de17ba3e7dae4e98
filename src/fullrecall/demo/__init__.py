"""What `fullrecall demo` runs: real retrievers over the standard library's documentation.

Full-text search by SQLite, trigrams, and a hybrid of all need nothing but the core; retrievers of
LangChain and LlamaIndex join where these are installed, and only here this distribution imports
them. Nothing is downloaded and nothing is written to disk.
"""

from fullrecall.demo.demonstration import Demonstration, missing_packages, run

__all__ = ["Demonstration", "missing_packages", "run"]
