"""A change of one measure, as cells and as a sentence: better, worse, or CANNOT TELL."""

from __future__ import annotations

from collections.abc import Mapping

from fullrecall._util.counts import counted
from fullrecall.show.sheet import Cell, CellLike
from fullrecall.show.text import chance, shown, signed, signed_between
from fullrecall.stats.bounds import Interval
from fullrecall.stats.change import Difference, Direction

_VERDICTS: Mapping[Direction, Cell] = {
    Direction.BETTER: Cell("Better", "good"),
    Direction.WORSE: Cell("Worse", "bad"),
    Direction.SAME: Cell("Unchanged", "unsure"),
    Direction.NOT_WORSE: Cell("Not worse", "good"),
    Direction.CANNOT_TELL: Cell("CANNOT TELL", "unsure"),
}

_FACTS: Mapping[Direction, str] = {
    Direction.SAME: "all lists are the same",
    Direction.NOT_WORSE: "every list after begins with the one before",
}

LIKELY_NOTE = (
    "likely: by Student's t-test, an approximation that errs more often than it says where losses "
    "are rare and large; no gate decides by it"
)
"""The note on "likely better"."""


def verdict_of(difference: Difference) -> Cell:
    """Return better or worse as the outcome has it; unchanged where no sample changed."""
    if difference.samples and not difference.wins and not difference.losses:
        return _VERDICTS[Direction.SAME]
    if difference.likely is not None:
        likely = f"likely {difference.likely} (t-test, approximate)"
        return Cell(f"CANNOT TELL for every law; {likely}", "unsure")
    return _VERDICTS[difference.outcome]


def change_sentence(label: str, difference: Difference) -> str:
    """Return how a mean changed, with its interval, and how many samples would settle it."""
    change, interval = difference.difference, difference.interval
    if change is None or interval is None:
        return f"{label}: no sample was compared"
    sure = f"{100 * interval.confidence:g}% interval"
    way = "rose" if change > 0 else "fell" if change < 0 else "stayed"
    text = (
        f"{label} {way} from {shown(difference.before)} to {shown(difference.after)}: "
        f"{signed(change)} ({sure} {signed_between(interval)}, "
        f"{counted(difference.samples, 'sample')})"
    )
    return f"{text}{_addition(difference, interval)}"


def _addition(difference: Difference, interval: Interval) -> str:
    """Return the fact that decides a change, or the samples to settle it; "" where it is shown."""
    if difference.outcome in _FACTS:
        return f"; by fact: {_FACTS[difference.outcome]}"
    is_unchanged = verdict_of(difference) is _VERDICTS[Direction.SAME]
    if is_unchanged or difference.outcome is not Direction.CANNOT_TELL:
        return ""
    # The interval is at its own confidence, the outcome at one error rate for all measures.
    if not interval.low <= 0 <= interval.high:
        return "; not shown at one error rate for all that was compared (Holm)"
    if difference.needed is None:
        return "; more samples with this mean change would not settle it"
    return f"; about {counted(difference.needed, 'sample')} with these changes would settle it"


def difference_heads(confidence: float) -> list[str]:
    """Return the heads of `difference_cells`."""
    interval = f"{100 * confidence:g}% interval"
    return ["before", "after", "difference", interval, "p", "better/\nsame/worse"]


def difference_cells(compared: Difference) -> list[Cell]:
    """Return the cells of a difference in a comparison, with the p-value that decides."""
    # Corrected where several measures were asked for, or it would contradict the verdict.
    p = compared.p if compared.p_adjusted is None else compared.p_adjusted
    return [
        Cell(shown(compared.before)),
        Cell(shown(compared.after)),
        Cell(signed(compared.difference), "strong"),
        Cell(signed_between(compared.interval)),
        Cell(chance(p)),
        Cell(f"{compared.wins:,}/{compared.ties:,}/{compared.losses:,}"),
    ]


def change_cells(change: Difference | None) -> list[CellLike]:
    """Return the change, its interval and the verdict; empty cells for the baseline."""
    if change is None:
        return ["", "", ""]
    return [signed(change.difference), signed_between(change.interval), verdict_of(change)]
