"""What each stage of a LangChain retrieval handed on, seen in the very call that is measured.

Nested retrievers report themselves by callbacks, whatever nests them: `trace` follows those of one
call. What fires none, `observers` watch. Both make one tree of `run`s, of which `pipeline` makes
the stages. (`langchain_fullrecall.capture` is for applications: it sees which retrievers were
called within a block and what they brought, and asks nothing about the steps between them.)
"""

from langchain_fullrecall.stages.observers import observed
from langchain_fullrecall.stages.trace import RetrievalTrace

__all__ = ["RetrievalTrace", "observed"]
