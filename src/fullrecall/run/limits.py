"""How much a run may ask at once, in all, and how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullrecall._util.parameters import check_k
from fullrecall.errors import ParameterError
from fullrecall.judge.models.retries import MOST, Retries

if TYPE_CHECKING:
    from fullrecall.run.address import StoreLike
    from fullrecall.run.budget import Budget


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The options of a run that bound what it asks; `evaluate` says what each means.

    Raises `ParameterError` for a value out of its range.
    """

    max_concurrency: int = 16
    timeout: float | None = 60.0
    deadline: float | None = None
    retries: Retries | int = MOST
    store: StoreLike | None = None
    budget: Budget | None = None

    def __post_init__(self) -> None:
        check_k(self.max_concurrency, "max_concurrency")
        for name in ("timeout", "deadline"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0
            ):
                raise ParameterError(
                    f"must be a number of seconds > 0 or None, got {value!r}", name
                )
        if not isinstance(self.retries, Retries):
            check_k(self.retries, "retries", least=0)

    def retrying(self) -> Retries:
        """Return how failed requests are sent again."""
        return self.retries if isinstance(self.retries, Retries) else Retries(self.retries)
