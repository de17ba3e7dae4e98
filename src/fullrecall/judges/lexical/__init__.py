"""The built-in judges: is a claim supported by contexts, without a language model."""

from fullrecall.judges.lexical.judge import EmbeddedJudge, LexicalJudge

__all__ = ["EmbeddedJudge", "LexicalJudge"]
