"""The gate in a pytest run: the fixture `recall_gate`.

    def test_recall(recall_gate):
        recall_gate(evaluate(samples, IdRecall()), Recall @ 10 >= 0.9, RR >= 0.7)

The fixture takes a report and the arguments of `fullrecall.Gate`. It fails the test if the gate
fails or cannot tell; with `--recall-cannot-tell=skip`, the test is skipped if the gate cannot tell.
Every check is listed at the end of the run and in JUnit's properties.

pytest loads this module in every run, so the rest of fullrecall is imported only when a gate is
used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from fullrecall.report import Report
    from fullrecall.stats.gate import GateResult, Rule

_OPTION = "--recall-cannot-tell"
_PROPERTY = "recall_gate"

RecallGate = Callable[..., "GateResult"]
"""A function of a `Report` or the path of one, and the rules and parameters of a gate."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for gates that cannot tell."""
    parser.getgroup("fullrecall").addoption(
        _OPTION,
        choices=("fail", "skip"),
        default="fail",
        help="outcome when a gate cannot tell: fail (default) or skip",
    )


@pytest.fixture
def recall_gate(request: pytest.FixtureRequest) -> RecallGate:
    """Return a function that checks a report by a gate, and fails the test unless it passes.

    Call it as `recall_gate(report, Recall @ 10 >= 0.9)`; a `margin=` also needs a `baseline=`. A
    report is a `Report` or the path of a saved one. The call returns the `GateResult` if the test
    continues.
    """

    def check(report: Report | str | Path, *rules: Rule, **parameters: Any) -> GateResult:
        result = _answered(report, rules, parameters)
        # Fail outside the `except` block: inside it, pytest would show the original error, too.
        if isinstance(result, str):
            pytest.fail(f"recall_gate: {result}", pytrace=False)
        request.node.user_properties.extend(_properties(result))
        if result.outcome == "cannot_tell" and request.config.getoption(_OPTION) == "skip":
            pytest.skip(str(result))
        if result.outcome != "pass":
            pytest.fail(str(result), pytrace=False)
        return result

    return check


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """List every check of the run, from all processes."""
    lines = [
        f"{report.nodeid}: {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in getattr(report, "user_properties", ())
        if name == _PROPERTY
    ]
    if lines:
        terminalreporter.section("recall gates")
        for line in lines:
            terminalreporter.line(line)


def _answered(
    report: Report | str | Path, rules: tuple[Rule, ...], parameters: dict[str, Any]
) -> GateResult | str:
    """Return the result of the gate, or a one-line message if its arguments are wrong."""
    from fullrecall import Gate
    from fullrecall.errors import FullrecallError

    try:
        baseline = parameters.pop("baseline", None)
        gate = Gate(*rules, **parameters)
        return gate.check(_loaded(report), None if baseline is None else _loaded(baseline))
    except FileNotFoundError as error:
        return f"no such file: {error.filename}"
    except (FullrecallError, OSError) as error:
        return str(error)


def _properties(result: GateResult) -> Iterator[tuple[str, object]]:
    """Yield a gate's properties for JUnit, as pairs of name and value.

    They are not set by `record_property`, which warns in JUnit's default format.
    """
    for check in result.checks:
        yield _PROPERTY, f"{check.outcome.words}: {check.reason}"
        low, high = check.interval[:2] if check.interval else (None, None)
        values = {"value": check.value, "low": low, "high": high, "samples": check.samples}
        for name, value in values.items():
            if value is not None:
                yield f"{_PROPERTY}.{name}", value


def _loaded(report: Report | str | Path) -> Report:
    from fullrecall.report import Report

    return report if isinstance(report, Report) else Report.load(report)
