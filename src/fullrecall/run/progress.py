"""How far a run is, for people at a terminal, for logs, and for displays of one's own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeVar

from fullrecall.counts import counted
from fullrecall.result import Status
from fullrecall.run.budget import Spending
from fullrecall.table.row import Row
from fullrecall.usage import Spent

T = TypeVar("T")

LOG_EVERY = 30.0
"""Seconds between two lines where standard error is no terminal."""


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

    def __str__(self) -> str:
        of = "" if self.total is None else f"/{self.total:,}"
        rate = self.done / self.spent.seconds if self.spent.seconds else 0.0
        phrases = [f"{self.done:,}{of} samples", f"{rate:.3g}/s"]
        if self.total and rate:
            left = max(0, self.total - self.done) / rate
            phrases[0] += f" ({min(1.0, self.done / self.total):.0%})"
            if left:
                phrases.append(f"{_duration(left)} left")
        return ", ".join([*phrases, *self.details()])

    def details(self) -> list[str]:
        """Return what there is to tell beside the number of samples, in a few words each."""
        spent, phrases = self.spent, []
        if self.unscored:
            phrases.append(f"{self.unscored:,} unscored")
        if spent.calls:
            phrases += [counted(spent.calls, "call"), counted(spent.tokens, "token")]
        if spent.retries:
            phrases.append(f"{spent.retries:,} retries")
        if spent.cost is not None:
            phrases.append(f"cost {spent.cost:,.4g}")
        return phrases


OnProgress: TypeAlias = Callable[[Progress], object]


class Meter:
    """Counts a run's rows and shows how far it is: a bar on a terminal, else now and then a line.

    A context manager, which takes the bar away at the end whatever ends the run.

    `log_every` is the seconds between two lines. `on_progress` is
    called after each row, whatever is shown.
    """

    def __init__(
        self,
        account: Spending,
        *,
        total: int | None,
        show: bool,
        log_every: float = LOG_EVERY,
        on_progress: OnProgress | None = None,
    ) -> None:
        self._account = account
        self._total = total
        self._on_progress = on_progress
        self._every = log_every
        self._logged = 0.0
        self._logs = show and not sys.stderr.isatty()
        self._bar: Any = None
        self._samples = self._scored = self._unscored = 0
        if show and not self._logs:
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=" samples", delay=1.0, leave=False)

    @property
    def is_seen(self) -> bool:
        """Whether anybody sees anything of it."""
        return self._logs or self._bar is not None or self._on_progress is not None

    def add(self, row: Row) -> None:
        """Count a row, and show it."""
        statuses = [result.status for result in row.results]
        self.count(1, statuses.count(Status.SCORED), statuses.count(Status.UNSCORED))

    def count(self, samples: int, scored: int, unscored: int) -> None:
        """Count samples with so many scores, and so many that could not be made, and show it."""
        self._samples += samples
        self._scored += scored
        self._unscored += unscored
        if self._on_progress is not None:
            self._on_progress(self.progress())
        if self._bar is not None:
            self._bar.update(samples)
        self.beat()

    def beat(self) -> None:
        """Show that the run goes on; to be called now and then while no row is done."""
        if self._bar is not None:
            if self._account.spent.calls or self._unscored:
                self._bar.set_postfix_str(", ".join(self.progress().details()), refresh=False)
        elif self._logs and self._account.seconds - self._logged >= self._every:
            self._log()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away; a run that was logged is logged once more."""
        if self._bar is not None:
            self._bar.close()
        elif self._logged:
            self._log()

    def progress(self) -> Progress:
        """Return the run as it stands."""
        return Progress(
            self._samples, self._total, self._scored, self._unscored, self._account.so_far()
        )

    def _log(self) -> None:
        self._logged = self._account.seconds
        sys.stderr.write(f"fullrecall: {self.progress()}\n")
        sys.stderr.flush()


def _duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds: 1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def known_length(samples: object) -> int | None:
    """Return how many items an iterable holds, None where it does not say."""
    try:
        return len(samples)  # type: ignore[arg-type]
    except TypeError:
        return None


class Counted(Iterable[T]):
    """Items that are made as they are read, and as many as `samples` are, where those tell."""

    def __init__(self, items: Iterator[T], samples: Any) -> None:
        self._items = items
        self._samples = samples

    def __iter__(self) -> Iterator[T]:
        return self._items

    def __len__(self) -> int:
        return len(self._samples)
