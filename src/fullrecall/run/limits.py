"""The limits of a run: its concurrent requests, its total requests, and its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullrecall._util.parameters import check_k, check_seconds
from fullrecall.judge.usage import MOST

if TYPE_CHECKING:
    from fullrecall.judge.models.retries import Retries
    from fullrecall.run.address import StoreLike
    from fullrecall.run.budget import Budget


@dataclass(eq=False, repr=False)
class Limits:
    """The options of a run that limit its requests; `evaluate` documents each.

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
            check_seconds(getattr(self, name), name)
        if type(self.retries) is not int:
            from fullrecall.judge.models.retries import Retries

            if isinstance(self.retries, Retries):
                return
        check_k(self.retries, "retries", least=0)

    @property
    def in_flight(self) -> int:
        """The most requests in flight: `max_concurrency`, or fewer if few file handles are free."""
        return min(self.max_concurrency, _free_descriptors())

    def retrying(self) -> Retries:
        """Return the rules for sending failed requests again."""
        from fullrecall.judge.models.retries import Retries

        return self.retries if isinstance(self.retries, Retries) else Retries(self.retries)


_KEPT_FREE = 24
"""File descriptors that connections leave free for the run's store, output, modules and DNS."""


def _free_descriptors() -> int:
    """Return how many more connections this process may open, at least 1."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
    except ImportError:
        return 8_192  # the limit of the C library of Windows
    from pathlib import Path

    most, _ = getrlimit(RLIMIT_NOFILE)
    if most == RLIM_INFINITY:
        return 2**16
    opened = list(Path("/dev/fd").iterdir()) if Path("/dev/fd").is_dir() else ()
    return max(1, most - len(opened) - _KEPT_FREE)
