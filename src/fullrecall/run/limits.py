"""How much a run may ask at once, in all, and how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from fullrecall.errors import ParameterError
from fullrecall.models.retries import MOST, Retries

if TYPE_CHECKING:
    from fullrecall.run.address import StoreLike
    from fullrecall.run.budget import Budget


class LimitOptions(TypedDict, total=False):
    """The same for type checkers: what whoever passes the options of a run on takes."""

    max_concurrency: int
    timeout: float | None
    deadline: float | None
    retries: Retries | int
    store: StoreLike | None
    budget: Budget | None


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
        if not _is_whole(self.max_concurrency, 1):
            raise ParameterError(
                f"max_concurrency must be a whole number >= 1, got {self.max_concurrency!r}"
            )
        for name in ("timeout", "deadline"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0
            ):
                raise ParameterError(
                    f"{name} must be a number of seconds > 0 or None, got {value!r}"
                )
        if not isinstance(self.retries, Retries) and not _is_whole(self.retries, 0):
            raise ParameterError(
                f"retries must be a whole number >= 0 or a Retries, got {self.retries!r}"
            )

    def retrying(self) -> Retries:
        """Return how failed requests are sent again."""
        return self.retries if isinstance(self.retries, Retries) else Retries(self.retries)


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
