"""The built-in judge: is a claim supported by contexts, told by words, numbers and names alone."""

from fullrecall.judges.local.judge import LexicalJudge

__all__ = ["LexicalJudge"]
