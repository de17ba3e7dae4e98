"""The outcome of a gate: each check with its reason, as lines and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fullrecall._util.counts import counted
from fullrecall._util.truth import NoTruth
from fullrecall.show import markdown, terminal
from fullrecall.show.sheet import Cell, CellLike, Emphasis, Line, Section, Sheet
from fullrecall.show.text import outward, shown
from fullrecall.stats.bounds import Interval
from fullrecall.stats.plain import plain_of

if TYPE_CHECKING:
    from rich.text import Text


class Outcome(StrEnum):
    """The decision of a gate."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    CANNOT_TELL = "cannot_tell"

    @property
    def words(self) -> str:
        """The outcome as a sentence has it."""
        return self.value.replace("_", " ").upper()


@dataclass(frozen=True)
class Check(NoTruth):
    """One rule of a gate and its outcome.

    `value` is the mean, or the mean difference from the baseline; `interval` is two-sided, at the
    gate's confidence: that of a summary or a comparison, with unscored samples at their worst and
    at their best. `bound` is the one-sided bound that decides PASS or FAIL, at the same confidence;
    None for CANNOT TELL. `p_pass` is the p-value of "the mean is below the threshold", `p_fail`
    that of "it reaches it", adjusted by Holm's method for all rules of the gate. `samples` are
    those with a value, `coverage` their share of those that should have one. `needed` is how many
    samples with these values would settle it, where more samples would.
    """

    rule: str
    outcome: Outcome = Outcome.CANNOT_TELL
    reason: str = ""
    value: float | None = None
    interval: Interval | None = None
    bound: float | None = None
    p_pass: float | None = None
    p_fail: float | None = None
    samples: int = 0
    coverage: float | None = None
    needed: int | None = None


@dataclass(frozen=True, repr=False)
class GateResult(NoTruth):
    """The decision of a gate about a report; prints one line for each rule.

    `drift` names the changes beside the retriever: of the corpus, the list, the references.
    `parameters` has the parameters that differ from the defaults, one text for each scorer that
    has any: "text_recall(threshold=0.05)".
    """

    checks: tuple[Check, ...]
    drift: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The outcome, with the first rule that decides it and how many more do."""
        outcome = self.outcome
        deciding = [check for check in self.checks if check.outcome is outcome]
        if outcome is Outcome.PASS:
            rules = f"PASS: {counted(len(deciding), 'rule')} at the required confidence"
            return "; but ".join([rules, *self.drift])
        more = f" (and {len(deciding) - 1:,} more)" if len(deciding) > 1 else ""
        return f"{outcome.words}: {deciding[0].reason}{more}"

    @property
    def outcome(self) -> Outcome:
        """The worst of all checks: fail, then cannot tell, then pass."""
        worst_first = [Outcome.FAIL, Outcome.CANNOT_TELL, Outcome.PASS]
        return min((check.outcome for check in self.checks), key=worst_first.index)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return plain_of(self, "outcome", "sentence", "drift", "parameters", "checks")

    def to_markdown(self) -> str:
        """Return a table in GitHub's Markdown."""
        lines = []
        for check in self.checks:
            sign, emphasis = _LOOKS[check.outcome]
            cells: list[CellLike] = [
                Cell(f"{sign} {check.outcome.words}", emphasis),
                shown(check.value),
                ""
                if check.interval is None
                else "{:.3f} to {:.3f}".format(*outward(check.interval)),
                f"{check.samples:,}",
                "" if check.coverage is None else f"{check.coverage:.1%}",
                check.reason,
            ]
            lines.append(Line(check.rule, cells))
        heads = ["", "value", "interval", "samples", "coverage", "why"]
        section = Section("", lines)
        sheet = Sheet(heads, [section], corner="rule", sides="llrrrrt", notes=self.notes)
        title = f"{_LOOKS[self.outcome][0]} Recall gate: {markdown.escaped(self.sentence)}"
        return markdown.text_of(title, sheet)

    def __repr__(self) -> str:
        return f"GateResult({self.outcome.words}, {counted(len(self.checks), 'rule')})\n{self}"

    def __str__(self) -> str:
        checks = [f"{check.outcome.words}: {check.reason}" for check in self.checks]
        return "\n".join([*checks, *self.notes])

    @property
    def notes(self) -> list[str]:
        """The line that names parameters which differ from the defaults; empty without any."""
        named = ", ".join(self.parameters)
        return [f"Parameters that differ from the defaults: {named}."] if named else []


_LOOKS: Mapping[str, tuple[str, Emphasis]] = {
    "pass": ("✅", "good"),
    "fail": ("❌", "bad"),
    "cannot_tell": ("⚠️", "unsure"),
}
"""How an outcome stands out: its sign in Markdown, and its emphasis."""


def outcome_lines(result: GateResult) -> Iterator[Text]:
    """Yield one line for each check of a gate, with its outcome in front, then the notes."""
    from rich.text import Text

    for check in result.checks:
        _, emphasis = _LOOKS[check.outcome]
        style = f"bold {terminal.STYLES[emphasis]}"
        yield Text.assemble((check.outcome.words, style), "  ", check.reason)
    yield from map(Text, result.notes)
