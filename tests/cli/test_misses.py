"""The list of samples that miss something, and the block of an error, at their limits."""

from __future__ import annotations

import warnings

import pytest
import typer
from rich.console import Console

from fullrecall import IdRecall, Sample, SpanRecall, evaluate
from fullrecall.cli.console import UnfinishedRun, fail, reporting
from fullrecall.cli.misses import missed_lines, slices_dict, slices_of
from fullrecall.errors import InputError, ParameterError
from fullrecall.measures import Precision, Recall


def printed(*samples: Sample, k: int | None = None, limit: int = 9, scorers: object = None) -> str:
    """Return the list of misses as it is printed."""
    report = evaluate(samples, scorers or [IdRecall()], progress=False)  # type: ignore[arg-type]
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        for each in missed_lines(report, limit, k):
            console.print(each)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def asked(name: str, found: str, wanted: str) -> Sample:
    """Return a sample with IDs of one letter."""
    return Sample(
        id=name,
        user_input=f"ask {name}",
        retrieved_context_ids=list(found),
        reference_context_ids=list(wanted),
    )


def test_samples_that_miss_are_listed_up_to_a_limit() -> None:
    """The head counts all of them; with a limit of 0 there is no list."""
    three = [asked("one", "a", "ab"), asked("two", "b", "ab"), asked("three", "a", "a")]
    assert printed(*three).splitlines() == [
        "2 samples miss something:",
        "",
        "one  ask one",
        "  b — not in the first 1",
        "",
        "two  ask two",
        "  a — not in the first 1",
    ]
    assert printed(*three, limit=2).startswith("2 samples miss something:")
    assert printed(*three, limit=1).splitlines()[0] == "2 samples miss something, the first 1:"
    assert "ask two" not in printed(*three, limit=1)
    assert printed(*three, limit=0) == ""
    assert printed(three[0]).startswith("1 sample misses something:")
    assert printed(three[2]) == "No scored sample misses anything.\n"
    assert printed(Sample(id="x", reference_context_ids=["a"])) == ""


def test_where_a_target_was_found() -> None:
    """At a lower rank, in part, not at all, or nothing was retrieved."""
    assert "  b — at rank 2\n" in printed(asked("one", "ab", "b"), k=1)
    assert "No scored sample" in printed(asked("one", "ab", "b"), k=2)
    assert "  b — nothing was retrieved\n" in printed(asked("one", "", "b"))
    text = "The old mill was built by hand near the river."
    half = Sample(id="s", retrieved_contexts=[text[:23]], reference_contexts=[text])
    assert "% of it in the 1 retrieved" in printed(half, scorers=[SpanRecall()])
    both = Sample(
        id="s",
        retrieved_contexts=[{"text": text[:23], "id": "a"}],
        reference_contexts=[text],
        reference_context_ids=["b"],
    )
    lines = printed(both, scorers=[IdRecall(), SpanRecall()])
    assert "— id_recall: not in the first 1" in lines
    assert "— span_recall: " in lines


def test_ten_targets_of_a_sample_are_shown() -> None:
    """The remaining samples are counted."""
    ten, eleven = "abcdefghij", "abcdefghijk"
    assert "more" not in printed(asked("one", "x", ten))
    assert printed(asked("one", "x", eleven)).endswith("… and 1 more\n")


def test_slices_of_each_measure() -> None:
    """Without a field there are none; without measures, the headline is shown."""
    rows = [asked("one", "a", "a"), asked("two", "b", "a")]
    rows = [
        Sample(**{**row.to_dict(), "metadata": {"kind": kind}})
        for row, kind in zip(rows, "xy", strict=True)
    ]
    report = evaluate(rows, IdRecall(), progress=False)
    assert slices_of(report, None, [Recall]) == []
    assert slices_dict([]) == {}
    assert len(slices_of(report, "kind", [])) == 1
    two = slices_of(report, "kind", [Recall, Precision])
    assert slices_dict(two) == {"slices": [part.to_dict() for part in two]}


FLAGS: dict[str | None, str] = {"k": "--k"}


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (InputError("wrong", field="id", line=1_200, path="a.jsonl"), 2,
         ["Error: a.jsonl, line 1,200", "  wrong", "  field: id"]),
        (InputError("wrong\nfix it", path="-"), 2,
         ["Error: standard input", "  wrong", "  fix it"]),
        (InputError("wrong"), 2, ["Error: the input", "  wrong"]),
        (ParameterError("must be 1", "k"), 2, ["Error: --k must be 1"]),
        (FileNotFoundError(2, "No such file", "a.jsonl"), 2, ["Error: a.jsonl: No such file"]),
        (OSError("gone"), 2, ["Error: gone"]),
        (KeyboardInterrupt(), 130, []),
    ],
)  # fmt: skip
def test_an_error_is_one_block(
    error: BaseException, code: int, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The place comes first, then the problem and the fix; an interruption prints nothing."""
    with pytest.raises(typer.Exit) as raised, reporting(FLAGS, []):
        raise error
    assert raised.value.exit_code == code
    assert capsys.readouterr() == ("", "".join(f"{line}\n" for line in lines))


def test_an_unfinished_run_says_what_it_scored(capsys: pytest.CaptureFixture[str]) -> None:
    """Its cause is the title, and an interruption has its own exit code."""
    for cause, code, title in (
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError("gone"), 2, "gone"),
    ):
        with pytest.raises(typer.Exit) as raised, reporting(FLAGS, []):
            raise UnfinishedRun("3 scored") from cause
        assert raised.value.exit_code == code
        assert capsys.readouterr().err == f"Error: {title}\n  3 scored\n"


def test_a_command_is_not_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command stands at the beginning of its line, in one piece; other lines are wrapped."""
    monkeypatch.setenv("COLUMNS", "40")
    command = "fullrecall " + "evaluate " * 9
    with pytest.raises(typer.Exit):
        fail("wrong", command.strip(), "word " * 12)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["Error: wrong", command.strip()]
    assert all(line.startswith("  word") and len(line) <= 40 for line in lines[2:])
    assert len(lines) > 3


def test_warnings_are_notes(capsys: pytest.CaptureFixture[str]) -> None:
    """A user's warning is shown each time; those for developers are not shown."""
    with reporting(FLAGS, []):
        for _ in range(2):
            warnings.warn("look", UserWarning, stacklevel=1)
            warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == "Note: look\nNote: look\n"
