"""Score batches in a data engine (Ray, Spark, Dask); share answers and a budget through Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.batches.redis import RedisLedger as RedisLedger
    from fullrecall.batches.scorer import BatchScorer as BatchScorer
else:
    __getattr__ = lazy.names(__name__)
