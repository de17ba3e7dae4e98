"""Test sets: from documents to references that can be trusted."""

from fullrecall.testset.documents import Document, Documents, documents_of
from fullrecall.testset.draft import Defect, Draft
from fullrecall.testset.generation import TestSet, agenerate, generate

__all__ = [
    "Defect",
    "Document",
    "Documents",
    "Draft",
    "TestSet",
    "agenerate",
    "documents_of",
    "generate",
]
