"""The embedded judge's decision: is a claim supported by contexts, without a language model."""

from __future__ import annotations

from fullrecall.judges.embedded.model import EmbeddedModel, LexicalModel, Support

__all__ = ["EmbeddedModel", "LexicalModel", "Support"]
