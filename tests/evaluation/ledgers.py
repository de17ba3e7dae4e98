"""Completions in a ledger, and the servers that tests have one on."""

from __future__ import annotations

from concurrent.futures import Future

from fullrecall.models import Completion
from fullrecall.run.ledger import Ledger
from fullrecall.run.request import completion_of, text_of


def keep(
    ledger: Ledger, key: str, model: str, completion: Completion, claim: str = ""
) -> Future[None]:
    """Keep a completion of a model; the future is done when it is kept."""
    return ledger.put(key, text_of(completion), model, claim)


def kept(ledger: Ledger, key: str) -> Completion | None:
    """Return the completion under a key; None where there is none."""
    value = ledger.get(key).value
    return None if value is None else completion_of(value)
