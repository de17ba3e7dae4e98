"""What `diagnose` returns: each miss with its cause, and what they add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from fullrecall.counts import counted
from fullrecall.diagnosis.causes import FIXES, Cause, Diagnosed
from fullrecall.diagnosis.change import Change
from fullrecall.report.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What to change, and the causes of all misses of a report. Iterates over the misses.

    `changes` are ranked by the recall that they would bring, the largest gain first. `scores` are
    the labels of the scorers that measure recall, with a miss or without; `samples` counts the
    report's.
    """

    misses: Sequence[Diagnosed]
    scores: Sequence[str]
    samples: int
    changes: Sequence[Change] = ()

    def __iter__(self) -> Iterator[Diagnosed]:
        return iter(self.misses)

    def __len__(self) -> int:
        return len(self.misses)

    def counts(self, score: str | None = None) -> dict[Cause, int]:
        """Return how many misses have each cause, the most frequent first.

        `score` is a scorer's label; None counts the misses of all.
        """
        found = Counter(miss.cause for miss in self.misses if score in (None, miss.score))
        order = list(Cause)
        return dict(sorted(found.items(), key=lambda item: (-item[1], order.index(item[0]))))

    def shares(self, score: str | None = None) -> dict[Cause, float]:
        """Return the share of the misses that each cause has, in [0, 1]; they add up to 1."""
        counts = self.counts(score)
        total = sum(counts.values())
        return {cause: count / total for cause, count in counts.items()}

    @property
    def fixes(self) -> Mapping[Cause, str]:
        """What each cause that occurs suggests to do, the most frequent first."""
        return {cause: FIXES[cause] for cause in self.counts()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "samples": self.samples,
            "changes": [change.to_dict() for change in self.changes],
            "causes": {str(cause): count for cause, count in self.counts().items()},
            "fixes": {str(cause): fix for cause, fix in self.fixes.items()},
            "misses": [{**miss._asdict(), "cause": str(miss.cause)} for miss in self.misses],
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per miss, with the fields of `Diagnosed`."""
        rows = [
            tuple({**miss._asdict(), "cause": str(miss.cause)}.values()) for miss in self.misses
        ]
        frame = frame_of(rows, Diagnosed._fields, "Diagnosis.to_pandas()")
        return frame.astype({"rank": "Int64"})

    def plot(self, **options: Any) -> Any:
        """Draw the misses by cause; see `fullrecall.report.plots.plot_causes` for the options."""
        from fullrecall.report import plots

        return plots.plot_causes(self, **options)

    def _repr_html_(self) -> str:
        from fullrecall.report.notebook import diagnosis_html

        return diagnosis_html(self)

    def __str__(self) -> str:
        from fullrecall.report import terminal

        console = terminal.console(StringIO(), width=240)
        if not self.misses:
            return f"Nothing was missed in {counted(self.samples, 'sample')}.\n"
        by_score = {score: self.counts(score) for score in self.scores}
        rows = [
            (
                str(cause).replace("_", " "),
                [_cell(counts.get(cause, 0), sum(counts.values())) for counts in by_score.values()],
            )
            for cause in self.counts()
        ]
        totals = [f"{sum(counts.values()):,}" for counts in by_score.values()]
        sections = [
            terminal.Section("cause", rows),
            terminal.Section("targets", [("missed", totals)]),
        ]
        heads = [score.replace("_", "\n", 1) for score in by_score]
        fixes = [f"{str(cause).replace('_', ' ')}: {fix}" for cause, fix in self.fixes.items()]
        advice = [f"{nth}. {change}" for nth, change in enumerate(self.changes, start=1)]
        blocks = ["What to change", *advice, ""] if advice else []
        return terminal.printed(console, [*blocks, terminal.table(heads, sections), "", *fixes])

    def __repr__(self) -> str:
        missed = f"{counted(len(self.misses), 'target')} missed"
        return f"Diagnosis({missed} in {counted(self.samples, 'sample')})\n{self}"


def _cell(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.0%})" if count else "-"
