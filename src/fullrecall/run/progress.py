"""How far a run is, for people at a terminal and for displays of one's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from fullrecall.counts import counted
from fullrecall.result import Status
from fullrecall.run.budget import Spending
from fullrecall.table.row import Row
from fullrecall.usage import Spent

if TYPE_CHECKING:
    from fullrecall.table.part import Part

T = TypeVar("T")

_DELAY_SECONDS = 1.0
"""Before a bar is shown: short runs have none."""

_LOG_SECONDS = 30.0
"""The same, and between two states of the bar, where standard error is no terminal."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A run as it stands.

    `done` samples of `total` (None where it is not known) are measured. `scored` and `unscored`
    count results, one for each sample and scorer; undefined ones are neither. `spent` is what the
    run has sent and paid.
    """

    done: int
    total: int | None
    scored: int
    unscored: int
    spent: Spent


OnProgress: TypeAlias = Callable[[Progress], object]


class Meter:
    """Counts a run's rows and shows a bar, where standard error is no terminal only now and then.

    A context manager, which takes the bar away at the end whatever ends the run. `on_progress` is
    called after each row, whatever is shown.
    """

    def __init__(
        self,
        account: Spending,
        *,
        total: int | None,
        show: bool,
        on_progress: OnProgress | None = None,
    ) -> None:
        self._account = account
        self._total = total
        self._on_progress = on_progress
        self._show = show
        self._after = _DELAY_SECONDS if sys.stderr.isatty() else _LOG_SECONDS
        self._bar: Any = None
        self._samples = self._scored = self._unscored = 0

    @property
    def is_seen(self) -> bool:
        """Whether anybody sees anything of it."""
        return self._show or self._on_progress is not None

    def add(self, row: Row) -> None:
        """Count a row, and show it."""
        statuses = [result.status for result in row.results]
        self.count(1, statuses.count(Status.SCORED), statuses.count(Status.UNSCORED))

    def add_part(self, part: Part, scores: int) -> None:
        """Count the rows of a part with so many scores, and show them."""
        from fullrecall.table.part import SCORED, UNSCORED

        statuses = [part.columns(score).status for score in range(scores)]
        scored, unscored = (
            sum(int((status == code).sum()) for status in statuses) for code in (SCORED, UNSCORED)
        )
        self.count(len(part), scored, unscored)

    def count(self, samples: int, scored: int, unscored: int) -> None:
        """Count samples with so many scores, and so many that could not be made, and show it."""
        self._samples += samples
        self._scored += scored
        self._unscored += unscored
        if self._on_progress is not None:
            self._on_progress(self._progress())
        if self._show and self._account.seconds >= self._after:
            self._draw()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()

    def _draw(self) -> None:
        if self._bar is None:
            from tqdm import tqdm  # a short run does without

            often = 0.1 if self._after == _DELAY_SECONDS else _LOG_SECONDS
            self._bar = tqdm(total=self._total, unit=" samples", mininterval=often, leave=False)
        if self._account.spent.calls or self._unscored:
            self._bar.set_postfix_str(self._details(), refresh=False)
        self._bar.update(self._samples - self._bar.n)

    def _progress(self) -> Progress:
        return Progress(
            self._samples, self._total, self._scored, self._unscored, self._account.so_far()
        )

    def _details(self) -> str:
        """Return what there is to tell beside the number of samples, in a few words each."""
        spent, phrases = self._account.so_far(), []
        if self._unscored:
            phrases.append(f"{self._unscored:,} unscored")
        if spent.calls:
            phrases += [counted(spent.calls, "call"), counted(spent.tokens, "token")]
        if spent.retries:
            phrases.append(f"{spent.retries:,} retries")
        if spent.cost is not None:
            phrases.append(f"cost {spent.cost:,.4g}")
        return ", ".join(phrases)


def known_length(samples: object) -> int | None:
    """Return how many items an iterable holds, None where it does not say."""
    try:
        return len(samples)  # type: ignore[arg-type]
    except TypeError:
        return None
