"""Running scorers over samples: retrievers and models are asked within limits, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.run.budget import Budget as Budget
    from fullrecall.run.budget import Price as Price
    from fullrecall.run.ledger import Ledger as Ledger
    from fullrecall.run.sqlite import SQLiteLedger as SQLiteLedger

_MODULES = {
    "Budget": "budget",
    "Ledger": "ledger",
    "Price": "budget",
    "SQLiteLedger": "sqlite",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
