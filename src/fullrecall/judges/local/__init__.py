"""The built-in judge: do contexts support a claim, by words, numbers and names alone?"""

from fullrecall.judges.local.judge import LexicalJudge

__all__ = ["LexicalJudge"]
