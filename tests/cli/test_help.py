"""What `--help` prints, of the command line and of each command."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.command_line import run

import fullrecall
from fullrecall.cli import app, evaluation


def test_version_is_the_package_s() -> None:
    """`--version` prints the package's version."""
    assert run("--version").stdout == f"fullrecall {fullrecall.__version__}\n"


def test_importing_the_command_line_is_light() -> None:
    """A command's modules are loaded when the command runs, so that `--help` is fast."""
    heavy = "numpy pandas rapidfuzz tqdm langchain_core llama_index bm25s".split()
    heavy += ["fullrecall.read", "fullrecall.demo", "fullrecall.demo.demonstration"]
    code = f"import sys, fullrecall.cli; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_help_of_all_commands_needs_no_other_module() -> None:
    """The help is printed without typer's own group, equal to it, and names each option."""
    code = "import sys, fullrecall.cli; fullrecall.cli.main(); print('typer' in sys.modules)"
    for flag in ("-h", "--help"):
        argv = [sys.executable, "-c", code, flag]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        assert done.stdout == run(flag).stdout + "False\n"
    group: Any = typer.main.get_command(app)
    flags = {flag for parameter in group.params for flag in parameter.opts}
    assert {"--version", "--install-completion", "--show-completion"} == flags
    assert all(f"  {flag} " in run("--help").stdout for flag in flags)


@cache
def commands() -> dict[str, Any]:
    """Return each command by the words that call it."""
    group: Any = typer.main.get_command(app)
    found = {"": group}
    for name, command in group.commands.items():
        found[name] = command if hasattr(command, "commands") else command.loaded()
        for below, one in getattr(command, "commands", {}).items():
            found[f"{name} {below}"] = one.loaded()
    return found


@pytest.mark.parametrize("name", commands())
def test_help_fits_into_80_columns_and_breaks_no_example(name: str) -> None:
    """Every line of help fits 80 columns, no example is broken, and no type looks like input."""
    result = run(*name.split(), "--help")
    assert result.exit_code == 0
    shown = result.stdout.splitlines()
    assert max(map(len, shown)) <= 80
    examples = re.findall(r"^ {2,}(.+)$", commands()[name].help or "", re.MULTILINE)
    assert examples or name in {"doctor", "judge", "testset"}
    for example in examples:
        assert example.strip() in [line.strip() for line in shown]
    assert not re.search(r"<\w+(\[\w+\])?>|\{[A-Z]+\}", result.stdout)


def examples_of(name: str) -> list[str]:
    """Return the command lines that a help text shows, each in one line."""
    text = (commands()[name].help or "").replace("\\\n", " ")
    return re.findall(r"^  fullrecall (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("example", [each for name in commands() for each in examples_of(name)])
def test_examples_in_help_are_valid(example: str, tmp_path: Path) -> None:
    """The options that the help texts use exist and take these values."""
    name, *arguments = shlex.split(example)
    found = commands()
    if name in ("judge", "testset"):
        name, arguments = f"{name} {arguments[0]}", arguments[1:]
    # Parse the options without running the command.
    arguments = [
        tmp_path.as_posix() if one.startswith("/") or one.endswith("/") else one
        for one in arguments
    ]
    found[name].make_context(name, arguments)


def test_the_first_example_is_scored_as_it_stands(file: Callable[..., Path]) -> None:
    """The example line of a .jsonl file that the help shows is a sample."""
    shown = (evaluation.evaluate.__doc__ or "").split(".jsonl file:\n")[1].partition("\n\n")[0]
    result = run("evaluate", file(json.dumps(json.loads(shown))), "--json")
    assert json.loads(result.stdout)["scores"][0]["measures"]["recall"]["mean"] == 0.5


def test_options_without_a_section_come_last() -> None:
    """Named sections of options come first, then the remaining options and --help."""
    heads = [line for line in run("evaluate", "--help").stdout.splitlines() if line[:1].isalpha()]
    sections = [head for head in heads if head.endswith(":") and " " not in head.strip()]
    assert sections[0] == "Arguments:"
    assert sections[-1] == "Options:"
