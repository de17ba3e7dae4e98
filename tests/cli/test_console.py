"""What a command writes: values as JSON, warnings as notes, and an error as one block."""

from __future__ import annotations

import warnings
from datetime import date
from types import SimpleNamespace

import pytest
import typer

from fullrecall.cli.console import UnfinishedRun, fail, reporting, write_json
from fullrecall.cli.evaluation import _notes
from fullrecall.errors import InputError, MissingExtraError, ParameterError
from fullrecall.files.traces import Joined


def after(cause: BaseException) -> UnfinishedRun:
    """Return an unfinished run that an error ended."""
    run = UnfinishedRun("3 samples were scored")
    run.__cause__ = cause
    return run


def test_values_are_written_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON is indented by two, and other values are texts."""
    write_json({"a": [1], "day": date(2026, 1, 2)})
    assert capsys.readouterr().out == ('{\n  "a": [\n    1\n  ],\n  "day": "2026-01-02"\n}\n')


@pytest.mark.parametrize(
    ("error", "code", "printed"),
    [
        (InputError("holds nothing"), 2, "Error: the input\n  holds nothing\n"),
        (InputError("is wrong\nfix it", path="-", line=1234), 2,
         "Error: standard input, line 1,234\n  is wrong\n  fix it\n"),
        (InputError("is wrong", path="a.csv", line=2, field="id"), 2,
         "Error: a.csv, line 2\n  is wrong\n  field: id\n"),
        (ParameterError("must be above 0", "k"), 2, "Error: --k must be above 0\n"),
        (ParameterError("must be above 0", "other"), 2, "Error: other must be above 0\n"),
        (MissingExtraError("pandas", "pandas", "a table"), 2,
         ("Error: a table needs pandas (extra pandas), not installed here\n"
          "  pip install pandas\n")),
        (FileNotFoundError(2, "No such file", "a.csv"), 2, "Error: a.csv: No such file\n"),
        (OSError("the disk is full"), 2, "Error: the disk is full\n"),
        (after(InputError("is wrong", path="a.csv")), 2,
         "Error: a.csv\n  is wrong\n  3 samples were scored\n"),
        (after(KeyboardInterrupt()), 130, "Error: interrupted\n  3 samples were scored\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)  # fmt: skip
def test_an_error_is_one_block(
    error: BaseException, code: int, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The title has the place, the lines below it the problem and the fix."""
    with pytest.raises(typer.Exit) as raised, reporting({"k": "--k"}, []):
        raise error
    assert raised.value.exit_code == code
    assert capsys.readouterr().err == printed


def test_warnings_are_notes(capsys: pytest.CaptureFixture[str]) -> None:
    """A user's warning is a note each time; warnings for developers are not shown."""

    def warn(kind: type[Warning]) -> None:
        warnings.warn("take care", kind, stacklevel=1)

    with reporting({}, []):
        for kind in (UserWarning, UserWarning, DeprecationWarning):
            warn(kind)
    assert capsys.readouterr().err == "Note: take care\nNote: take care\n"


def test_a_command_in_an_error_is_not_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long line is wrapped and indented, and a command is neither."""
    monkeypatch.setenv("COLUMNS", "30")
    command, line = f"fullrecall {'x' * 40} y", "one two three four five six seven"
    with pytest.raises(typer.Exit) as raised:
        fail("no", command, line, code=3)
    assert raised.value.exit_code == 3
    assert capsys.readouterr().err == (
        f"Error: no\n{command}\n  one two three four five six\n  seven\n"
    )


@pytest.mark.parametrize(
    ("left_out", "unasked", "spent", "notes"),
    [
        (None, 0, None, []),
        (0, 0, "", []),
        (0, 0, "It cost 1 USD.", ["It cost 1 USD."]),
        (1, 0, None, ["Left out, since no reference fits: 1 sample."]),
        (
            1200,
            1100,
            "It cost 1 USD.",
            [
                (
                    "Left out, since no reference fits: 1,200 samples, 1,100 of them without a "
                    "question."
                ),
                "It cost 1 USD.",
            ],
        ),
    ],
)
def test_notes_on_an_evaluation(
    left_out: int | None, unasked: int, spent: str | None, notes: list[str]
) -> None:
    """The command notes the samples that were left out, and the cost if there was one."""
    joined = None if left_out is None else Joined()
    if joined is not None:
        joined.left_out, joined.unasked = left_out or 0, unasked
    cost = None if spent is None else SimpleNamespace(sentence=lambda: spent)
    assert list(_notes(SimpleNamespace(spent=cost), joined)) == notes  # type: ignore[arg-type]
