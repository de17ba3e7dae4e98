"""Running scorers over samples."""

from fullrecall.evaluation.run import evaluate, score_one, score_rows

__all__ = ["evaluate", "score_one", "score_rows"]
