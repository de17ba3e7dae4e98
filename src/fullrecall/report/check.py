"""What a gate answers: an outcome for each rule, with the figures and a sentence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from fullrecall.counts import counted


class Outcome(StrEnum):
    """What a gate decides."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    CANNOT_TELL = "cannot_tell"

    @property
    def words(self) -> str:
        """The outcome as a sentence has it."""
        return self.value.replace("_", " ").upper()


@dataclass(frozen=True)
class Check:
    """One rule of a gate and what came of it.

    `value` is the mean, or the mean difference from the baseline; `lower` and `upper` are its
    one-sided bounds, each at the gate's confidence, with what is not measured at its worst and at
    its best. `p_pass` is the p-value of "the mean is below the threshold", `p_fail` that of "it
    reaches it", `p_fail_adjusted` the same by Holm's method for all rules of the gate; None under
    `point`. `samples` are those that the value stands on, `coverage` their share of those that
    should have one. `needed` is how many samples would settle it, at the values of these, where
    that is what is missing.
    """

    rule: str
    outcome: Outcome
    reason: str
    value: float | None
    lower: float | None
    upper: float | None
    p_pass: float | None
    p_fail: float | None
    p_fail_adjusted: float | None
    samples: int
    coverage: float | None
    needed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "outcome": str(self.outcome)}


@dataclass(frozen=True, repr=False)
class GateResult:
    """What a gate decides of a report; prints one line for each rule."""

    checks: tuple[Check, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst of all checks: fail, then cannot tell, then pass."""
        outcomes = {check.outcome for check in self.checks}
        for worst in (Outcome.FAIL, Outcome.CANNOT_TELL):
            if worst in outcomes:
                return worst
        return Outcome.PASS

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "outcome": str(self.outcome),
            "checks": [check.to_dict() for check in self.checks],
        }

    def to_markdown(self) -> str:
        """Return a table in GitHub's Markdown."""
        from fullrecall.views.gates import gate_markdown

        return gate_markdown(self)

    def to_junit(self, path: str | Path | None = None) -> str:
        """Return, and write to `path`, JUnit's XML: one test case for each rule.

        CANNOT TELL is an error there, as a test that could not be run.
        """
        from fullrecall.views import exports, junit

        return exports.written(junit.of_gate(self), path)

    def __repr__(self) -> str:
        return f"GateResult({self.outcome.words}, {counted(len(self.checks), 'rule')})\n{self}"

    def __str__(self) -> str:
        return "\n".join(f"{check.outcome.words}: {check.reason}" for check in self.checks)
