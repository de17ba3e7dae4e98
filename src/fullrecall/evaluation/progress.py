"""The progress bar of long runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def with_progress(items: Iterable[T], *, show: bool, total: int | None, unit: str) -> Iterator[T]:
    """Yield `items`, with a bar on standard error once a run has lasted a second.

    No bar where standard error is no terminal, nor with `show=False`.
    """
    if not show:
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, total=total, unit=unit, delay=1.0, disable=None, leave=False)


def known_length(samples: object) -> int | None:
    """Return how many items an iterable holds, None where it does not say."""
    try:
        return len(samples)  # type: ignore[arg-type]
    except TypeError:
        return None
