"""Scores of batches of samples, in whatever engine moves them; the ledger on a Redis server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.batches.redis import RedisLedger as RedisLedger
    from fullrecall.batches.scorer import BatchScorer as BatchScorer

_MODULES = {
    "BatchScorer": "scorer",
    "RedisLedger": "redis",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
