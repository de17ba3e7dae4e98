"""Options are declared once, with Python's defaults, and messages name them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.command_line import SAMPLES, TEXTS, run

import fullrecall
from fullrecall import Budget, IdRecall, Report, evaluate
from fullrecall._util.naming import parameter
from fullrecall.calibration import calibrate
from fullrecall.cli.overview import COMMANDS
from fullrecall.diagnosis import diagnose
from fullrecall.testset import CompletedSet, check, complete, follow, generate, to_review

if TYPE_CHECKING:
    from fullrecall.cli.overview import CommandTable


def below(table: CommandTable, above: str = "") -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each command, by the words that call it, with its source and its summary."""
    for name, (source, summary) in table.items():
        if isinstance(source, str):
            yield f"{above}{name}", (source, summary)
        else:
            yield from below(source, f"{name} ")


ENTRIES = dict(below(COMMANDS))


def function_of(name: str) -> Callable[..., Any]:
    """Return the function of a command."""
    module, _, function = ENTRIES[name][0].partition(":")
    found: Callable[..., Any] = getattr(import_module(f"fullrecall.cli.{module}"), function)
    return found


@pytest.mark.parametrize("name", ENTRIES)
def test_the_summary_is_the_first_line_of_the_help(name: str) -> None:
    """A command's summary in the list of commands is the first line of its help."""
    assert (inspect.getdoc(function_of(name)) or "").partition("\n\n")[0] == ENTRIES[name][1]


IN_PYTHON: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "evaluate": (fullrecall.evaluate,),
    "compare": (fullrecall.compare,),
    "choose": (fullrecall.choose,),
    "gate": (fullrecall.Gate,),
    "diagnose": (diagnose,),
    "judge label": (Report.to_label,),
    "judge calibrate": (calibrate,),
    "testset generate": (generate,),
    "testset check": (check,),
    "testset complete": (complete, CompletedSet.with_labels),
    "testset review": (to_review,),
    "testset follow": (follow,),
}


@pytest.mark.parametrize("name", IN_PYTHON)
def test_defaults_are_those_of_python(name: str) -> None:
    """An option with the name of a Python parameter has the parameter's default."""
    options = inspect.signature(function_of(name)).parameters
    shared = 0
    for function in IN_PYTHON[name]:
        for own, same in inspect.signature(function).parameters.items():
            if own in options and inspect.Parameter.empty not in (
                same.default,
                options[own].default,
            ):
                shared += 1
                assert (options[own].default or None) == (same.default or None), own
    assert shared


SHOWN = {
    "compare": {"flips": 5},
    "demo": {"k": 5, "missed": 3},
    "diagnose": {"misses": 3},
    "evaluate": {"missed": 5},
    "smallest-k": {"confidence": 0.95},
    "testset check": {"issues": 20},
    "testset complete": {"n": 300},
}
"""Numbers that options have by default, besides those that Python's functions have."""


def test_commands_show_as_much_as_their_help_says() -> None:
    """Every option with a number has the promised default; no switch is on by default."""
    own: dict[str, dict[str, object]] = {}
    for name in ENTRIES:
        shared = {o for each in IN_PYTHON.get(name, ()) for o in inspect.signature(each).parameters}
        for each in inspect.signature(function_of(name)).parameters.values():
            assert each.default is not True
            if type(each.default) in (int, float) and each.name not in shared:
                own.setdefault(name, {})[each.name] = each.default
    assert own == SHOWN


class Reached(Exception):  # noqa: N818 - a signal to the test
    """The function behind a command was called."""


TO_EVALUATE = ("evaluate", "{samples}", "--scorer", "id_recall")
TO_CHOOSE = ("choose", "{samples}", "-r", "a=math:sqrt", "-r", "b=math:exp")
TO_GENERATE = ("testset", "generate", "{corpus}", "-o", "{new}", "--model", "openai:m")
TO_COMPLETE = ("testset", "complete", "{samples}", "--retrieved", "{samples}")
REACHING: list[tuple[str, tuple[object, ...], dict[str, object]]] = [
    # the function, the command, the arguments that it gets
    ("job.evaluate", TO_EVALUATE, {"progress": True, "view": "contexts", "replace": False}),
    ("job.evaluate", (*TO_EVALUATE, "--quiet"), {"progress": False}),
    ("job.evaluate", (*TO_EVALUATE, "--json"), {"progress": False}),
    ("job.evaluate", (*TO_EVALUATE, "--view", "read"), {"view": "read"}),
    ("job.evaluate", (*TO_EVALUATE, "--collapse"), {"collapse": True}),
    ("job.evaluate", (*TO_EVALUATE, "--max-concurrency", 3), {"max_concurrency": 3}),
    ("job.evaluate", (*TO_EVALUATE, "--timeout", 5), {"timeout": 5.0}),
    ("job.evaluate", (*TO_EVALUATE, "--deadline", 9), {"deadline": 9.0}),
    ("job.evaluate", (*TO_EVALUATE, "--store", "{new}"), {"store": "{new}"}),
    ("job.evaluate", (*TO_EVALUATE, "--corpus", "{corpus}"), {"corpus": Path("{corpus}")}),
    (
        "job.evaluate",
        (*TO_EVALUATE, "--output", "{new}", "--replace"),
        {"output": Path("{new}"), "replace": True},
    ),
    (
        "job.evaluate",
        (*TO_EVALUATE, "--retriever", "math:sqrt", "--id-key", "x"),
        {"retriever": math.sqrt, "id_key": "x"},
    ),
    ("choice.choice_of", TO_CHOOSE, {"file": None, "progress": True}),
    ("choice.choice_of", (*TO_CHOOSE, "-q"), {"progress": False}),
    ("choice.choice_of", (*TO_CHOOSE, "--json"), {"progress": False}),
    ("choice.choice_of", (*TO_CHOOSE, "--within", 0.1), {"within": 0.1}),
    ("choice.choice_of", (*TO_CHOOSE, "--confidence", 0.9), {"confidence": 0.9}),
    ("choice.choice_of", (*TO_CHOOSE, "--max-concurrency", 1), {"max_concurrency": 1}),
    ("choice.choice_of", (*TO_CHOOSE, "--state", "{new}"), {"file": Path("{new}")}),
    ("testset.test_set_of", (*TO_GENERATE, "--seed", 3), {"seed": 3}),
    ("testset.test_set_of", (*TO_GENERATE, "--budget-calls", 4), {"budget": Budget(calls=4)}),
    ("testset.test_set_of", (*TO_GENERATE, "--store", "{new}"), {"store": "{new}"}),
    ("testset.test_set_of", (*TO_GENERATE, "--max-concurrency", 2), {"max_concurrency": 2}),
    ("testset.test_set_of", (*TO_GENERATE, "--queries", "{asked}"), {"queries": ["one"]}),
    ("testset.completion_of", (*TO_COMPLETE, "--depth", 7), {"depth": 7}),
    ("testset.completion_of", (*TO_COMPLETE, "--seed", 3), {"seed": 3}),
    ("testset.completion_of", (*TO_COMPLETE, "--budget-calls", 4), {"budget": Budget(calls=4)}),
    ("testset.completion_of", (*TO_COMPLETE, "--store", "{new}"), {"store": "{new}"}),
    ("testset.completion_of", (*TO_COMPLETE, "--max-concurrency", 2), {"max_concurrency": 2}),
    (
        "testset.audit_of",
        ("testset", "check", "{samples}", "{corpus}", "--budget-calls", 4, "--store", "{new}"),
        {"judge": None, "budget": Budget(calls=4), "store": "{new}", "max_concurrency": 16},
    ),
    (
        "testset.followed_of",
        ("testset", "follow", "{samples}", "--corpus", "{corpus}", "-o", "{new}", "--old", "o"),
        {"old": Path("o"), "accept_changed": False},
    ),
    (
        "testset.to_review",
        ("testset", "review", "{samples}", "-o", "{page}", "-n", 4, "--seed", 3),
        {"n": 4, "seed": 3, "documents": None},
    ),
    (
        "reports.comparison_of",
        ("compare", "{report}", "{report}", "--confidence", 0.9, "--slices", "kind"),
        {"confidence": 0.9, "slices": "kind"},
    ),
    (
        "reports.Gate",
        ("gate", "{report}", "--min-recall", 0.5, "--confidence", 0.9, "--slices", "kind"),
        {"margin": None, "scores": (), "slices": "kind", "confidence": 0.9},
    ),
    (
        "calibration.calibration_of",
        ("judge", "calibrate", "{report}", "{labels}", "--score", "s", "--confidence", 0.9),
        {"score": "s", "confidence": 0.9},
    ),
]


@pytest.mark.parametrize(("function", "arguments", "expected"), REACHING)
def test_options_reach_the_function_behind_the_command(
    *,
    function: str,
    arguments: tuple[object, ...],
    expected: dict[str, object],
    file: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The value of an option is the argument of the function behind its command."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    places = {
        "samples": file(SAMPLES[:2]),
        "asked": file("one\n\n", "asked.txt"),
        "corpus": file([], "corpus.jsonl"),
        "labels": file("sample,score,item,target,claim,label\n", "labels.csv"),
        "report": tmp_path / "report.jsonl",
        "new": tmp_path / "new.jsonl",
        "page": tmp_path / "page.html",
    }
    evaluate(SAMPLES[:2], IdRecall(), progress=False).save(places["report"])

    def spy(*_: object, **given: object) -> None:
        raise Reached(given)

    monkeypatch.setattr(f"fullrecall.cli.{function}", spy)
    with pytest.raises(Reached) as reached:
        run(*(str(each).format(**places) for each in arguments))
    (given,) = reached.value.args
    for name, value in expected.items():
        is_path = isinstance(value, (str, Path))
        assert given[name] == (type(value)(str(value).format(**places)) if is_path else value)


def test_errors_of_python_name_the_option(file: Callable[..., Path], tmp_path: Path) -> None:
    """A `ParameterError` is shown with the option of its parameter, and exits with 2."""
    samples, texts = file(SAMPLES), file([TEXTS], "texts.jsonl")
    report, corpus = tmp_path / "report.jsonl", file([{"id": "a", "text": "b"}], "corpus.jsonl")
    run("evaluate", samples, "--output", report, "--scorer", "id_recall")
    wrong: dict[str, list[object]] = {
        "--view must be": ["evaluate", samples, "--view", "all"],
        "--max-concurrency must be": ["evaluate", samples, "--max-concurrency", 0],
        "--timeout must be": ["evaluate", samples, "--timeout", 0],
        "--split must be": ["evaluate", texts, "-s", "claim_recall", "--split", "x"],
        "--similarity must be": ["evaluate", texts, "-s", "text_recall", "--similarity", "x"],
        "--format must be": ["evaluate", samples, "--format", "xml"],
        "--rename names 'b', which is not": ["evaluate", samples, "--rename", "a=b"],
        "--deep-k must be": ["diagnose", report, "--deep-k", 0],
        "--depth must be": ["testset", "complete", texts, "--retrieved", texts, "--depth", 0],
        "--number must be": ["testset", "review", samples, "-n", 0, "-o", tmp_path / "r.html"],
        "--base-url must begin": [
            *("testset", "generate", corpus, "-o", tmp_path / "set.jsonl"),
            *("--model", "openai:m", "--base-url", "nowhere"),
        ],
    }
    for said, arguments in wrong.items():
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"Error: {said}"), result.stderr
    assert parameter("view") == "view="
