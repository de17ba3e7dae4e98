"""The gate in a pytest run: the fixture and the marker `recall_gate`.

    @pytest.mark.recall_gate(min_recall=0.9, at=10)
    def test_recall(recall_gate):
        recall_gate(evaluate(samples, IdRecall()))

The fixture takes the parameters of `fullrecall.report.Gate` too; those of the marker hold where a
call names none. It fails the test where the gate fails, and where it cannot tell: the option
`--recall-cannot-tell` makes a warning or a skip of that. Every check goes to a section at the end
of the run and into JUnit's properties.

pytest loads this module in every run: it imports the rest when a gate is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from fullrecall.report import GateResult, Report

_OPTION = "--recall-cannot-tell"
_CHOICES = ("fail", "warn", "skip")
_PROPERTY = "recall_gate"
_CALLED = pytest.StashKey[bool]()

RecallGate = Callable[..., "GateResult"]
"""Called with a `Report`, or the path of one, and the parameters of a gate."""


class RecallGateWarning(UserWarning):
    """A gate could not tell, in a run in which that is no failure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that says what "cannot tell" comes to."""
    parser.getgroup("fullrecall").addoption(
        _OPTION,
        choices=_CHOICES,
        default="fail",
        help="what a recall gate comes to that cannot tell: fail (the default), warn or skip",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "recall_gate(min_recall=None, margin=None, at=None, baseline=None, …): the parameters of "
        "the gate that this test's recall_gate fixture checks a report by",
    )


@pytest.fixture
def recall_gate(request: pytest.FixtureRequest) -> RecallGate:
    """Return what checks a report by a gate, and fails the test unless it passes.

    `recall_gate(report, min_recall=0.9, at=10)`; with `margin=` also `baseline=`. Reports are
    `Report`s or paths of saved ones. Returns the `GateResult` where the test goes on.
    """

    def check(
        report: Report | str | Path,
        *,
        baseline: Report | str | Path | None = None,
        **parameters: Any,
    ) -> GateResult:
        from fullrecall.report import Gate

        request.node.stash[_CALLED] = True
        given = {**_marked(request.node), **parameters}
        before = given.pop("baseline", None) if baseline is None else baseline
        given.pop("baseline", None)
        gate = Gate(**given)
        result = gate.check(_loaded(report), None if before is None else _loaded(before))
        request.node.user_properties.extend(_properties(result))
        _act(result, request.config.getoption(_OPTION))
        return result

    return check


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a marked test that ended without checking any report: it would pass unseen."""
    outcome = yield
    if item.get_closest_marker(_PROPERTY) is not None and not item.stash.get(_CALLED, False):
        pytest.fail(
            f"{item.name} is marked recall_gate, but checked no report: call the fixture "
            "recall_gate(report) in it",
            pytrace=False,
        )
    return outcome


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """List every check of the run, whichever process made it."""
    lines = [
        (verdict.partition(":")[0], f"{report.nodeid}: {verdict}")
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, verdict in getattr(report, "user_properties", ())
        if name == _PROPERTY
    ]
    if not lines:
        return
    colours = {"pass": "green", "fail": "red"}
    terminalreporter.section("recall gates")
    for verdict, line in lines:
        terminalreporter.line(line, **{colours.get(verdict, "yellow"): True})


def _marked(item: pytest.Item) -> dict[str, Any]:
    """Return what the markers of a test say, the nearest one winning."""
    given: dict[str, Any] = {}
    for marker in item.iter_markers(_PROPERTY):
        if marker.args:
            raise pytest.UsageError(
                f"recall_gate takes its parameters by name, such as min_recall={marker.args[0]!r}"
            )
        given = {**marker.kwargs, **given}
    return given


def _properties(result: GateResult) -> Iterator[tuple[str, object]]:
    """Yield what `record_property` would be given; that warns with --junitxml's own default."""
    for check in result.checks:
        yield _PROPERTY, f"{check.verdict}: {check.reason}"
        for name in ("value", "lower", "upper", "samples"):
            value = getattr(check, name)
            if value is not None:
                yield f"{_PROPERTY}.{name}", value


def _loaded(report: Report | str | Path) -> Report:
    from fullrecall.report import Report

    return report if isinstance(report, Report) else Report.load(report)


def _act(result: GateResult, on_cannot_tell: str) -> None:
    if result.verdict == "pass":
        return
    if result.verdict == "cannot_tell" and on_cannot_tell == "warn":
        import warnings

        warnings.warn(RecallGateWarning(str(result)), stacklevel=3)
        return
    if result.verdict == "cannot_tell" and on_cannot_tell == "skip":
        pytest.skip(str(result))
    pytest.fail(str(result), pytrace=False)
