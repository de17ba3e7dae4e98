"""Scores of batches of samples, in whatever engine moves them."""

from fullrecall.batches.scorer import BatchScorer

__all__ = ["BatchScorer"]
