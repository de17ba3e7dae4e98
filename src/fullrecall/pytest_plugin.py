"""The gate in a pytest run: the fixture and the marker `recall_gate`.

    @pytest.mark.recall_gate(Recall @ 10 >= 0.9, RR >= 0.7)
    def test_recall(recall_gate):
        recall_gate(evaluate(samples, IdRecall()))

Rules may be text: "recall@10>=0.9". The fixture takes what `fullrecall.results.Gate` takes, too;
what a call names wins over the marker. It fails the test where the gate fails, and where it cannot
tell: the option `--recall-cannot-tell` makes that a warning or a skip. Every check is listed at the
end of the run and in JUnit's properties.

pytest loads this module in every run: it imports the rest when a gate is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from fullrecall.report import Report
    from fullrecall.results import GateResult
    from fullrecall.results.gate import Rule

_OPTION = "--recall-cannot-tell"
_CHOICES = ("fail", "warn", "skip")
_PROPERTY = "recall_gate"
_CALLED = pytest.StashKey[bool]()

RecallGate = Callable[..., "GateResult"]
"""Called with a `Report`, or the path of one, then rules and parameters of a gate."""


class RecallGateWarning(UserWarning):
    """A gate could not tell, in a run in which that is no failure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for gates that cannot tell."""
    parser.getgroup("fullrecall").addoption(
        _OPTION,
        choices=_CHOICES,
        default="fail",
        help="outcome when a gate cannot tell: fail (default), warn, skip",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "recall_gate(*rules, margin=None, baseline=None, …): the gate of this test's recall_gate "
        'fixture, with rules such as Recall @ 10 >= 0.9 or "recall@10>=0.9"',
    )


@pytest.fixture
def recall_gate(request: pytest.FixtureRequest) -> RecallGate:
    """Return what checks a report by a gate, and fails the test unless it passes.

    `recall_gate(report, Recall @ 10 >= 0.9)`; with `margin=` also `baseline=`. Reports are
    `Report`s or paths of saved ones. Returns the `GateResult` where the test goes on.
    """

    def check(report: Report | str | Path, *rules: Rule | str, **parameters: Any) -> GateResult:
        request.node.stash[_CALLED] = True
        result = _answered(report, request.node, rules, parameters)
        if isinstance(result, str):  # failed here: pytest would show an error behind it, too
            pytest.fail(f"recall_gate: {result}", pytrace=False)
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
        (outcome_line.partition(":")[0], f"{report.nodeid}: {outcome_line}")
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, outcome_line in getattr(report, "user_properties", ())
        if name == _PROPERTY
    ]
    if not lines:
        return
    colors = {"PASS": "green", "FAIL": "red"}
    terminalreporter.section("recall gates")
    for outcome, line in lines:
        terminalreporter.line(line, **{colors.get(outcome, "yellow"): True})


def _answered(
    report: Report | str | Path,
    item: pytest.Item,
    rules: tuple[Rule | str, ...],
    parameters: dict[str, Any],
) -> GateResult | str:
    """Return what the gate decides, or in one line what is wrong with its arguments."""
    from fullrecall.errors import FullrecallError

    try:
        return _checked(report, *_with_markers(item, rules, parameters))
    except FileNotFoundError as error:
        return f"no such file: {error.filename}"
    except (FullrecallError, OSError) as error:
        return str(error)


def _with_markers(
    item: pytest.Item, rules: tuple[Rule | str, ...], parameters: dict[str, Any]
) -> tuple[tuple[Rule | str, ...], dict[str, Any]]:
    """Return rules and parameters: a call's, then those of the markers, the nearest first."""
    merged = dict(parameters)
    for marker in item.iter_markers(_PROPERTY):
        rules = rules or marker.args
        merged = {**marker.kwargs, **merged}
    return rules, merged


def _checked(
    report: Report | str | Path, rules: tuple[Rule | str, ...], parameters: dict[str, Any]
) -> GateResult:
    from fullrecall.results import Gate

    baseline = parameters.pop("baseline", None)
    gate = Gate(*map(_rule, rules), **parameters)
    return gate.check(_loaded(report), None if baseline is None else _loaded(baseline))


def _rule(rule: Rule | str) -> Rule:
    from fullrecall.errors import ParameterError
    from fullrecall.measures import parse, parse_threshold

    if not isinstance(rule, str):
        return rule
    is_threshold = ">" in rule or "<" in rule
    if not is_threshold and "=" in rule.rpartition(")")[2]:
        raise ParameterError(f"expected a rule such as 'recall@10>=0.9', got {rule!r}")
    return parse_threshold(rule) if is_threshold else parse(rule)


def _properties(result: GateResult) -> Iterator[tuple[str, object]]:
    """Yield what `record_property` would be given; that warns with --junitxml's own default."""
    for check in result.checks:
        yield _PROPERTY, f"{check.outcome.words}: {check.reason}"
        for name in ("value", "lower", "upper", "samples"):
            value = getattr(check, name)
            if value is not None:
                yield f"{_PROPERTY}.{name}", value


def _loaded(report: Report | str | Path) -> Report:
    from fullrecall.errors import ParameterError
    from fullrecall.report import Report

    if isinstance(report, Report):
        return report
    if not isinstance(report, (str, Path)):
        raise ParameterError(f"expected a Report or the path of one, got {type(report).__name__}")
    return Report.load(report)


def _act(result: GateResult, on_cannot_tell: str) -> None:
    if result.outcome == "pass":
        return
    if result.outcome == "cannot_tell" and on_cannot_tell == "warn":
        import warnings

        warnings.warn(RecallGateWarning(str(result)), stacklevel=3)
        return
    if result.outcome == "cannot_tell" and on_cannot_tell == "skip":
        pytest.skip(str(result))
    pytest.fail(str(result), pytrace=False)
