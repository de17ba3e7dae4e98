"""Collections of documents with judged questions, for demonstrations and for the tests."""

from fullrecall.collections.stdlib import documents, questions

__all__ = ["documents", "questions"]
