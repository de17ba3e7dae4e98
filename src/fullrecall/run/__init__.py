"""Runs scorers over samples, and asks retrievers and models within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.run.budget import Budget as Budget
    from fullrecall.run.budget import Price as Price
    from fullrecall.run.ledger import Ledger as Ledger
    from fullrecall.run.sqlite import SQLiteLedger as SQLiteLedger
else:
    __getattr__ = lazy.names(__name__)
