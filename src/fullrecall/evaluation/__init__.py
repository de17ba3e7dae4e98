"""Running scorers over samples."""

from fullrecall.evaluation.run import aevaluate, evaluate

__all__ = ["aevaluate", "evaluate"]
