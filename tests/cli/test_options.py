"""Options are declared once, with Python's defaults, and messages name them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import SAMPLES, TEXTS, run

import fullrecall
from fullrecall import Report
from fullrecall._util.naming import parameter
from fullrecall.calibration import calibrate
from fullrecall.cli.overview import COMMANDS, CommandTable
from fullrecall.diagnosis import diagnose
from fullrecall.testset import CompletedSet, check, complete, follow, generate, to_review


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
