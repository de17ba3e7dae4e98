"""The values of options: what each reader takes, and how it refuses another value."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from fullrecall.cli import options
from fullrecall.measures import AllFound, Recall, calls, tokens


@pytest.mark.parametrize(
    ("limits", "value", "refusal"),
    [
        ((0,), None, ""),
        ((0,), 0, ""),
        ((0,), -1, "must be at least 0, got -1"),
        ((1,), 10**9, ""),
        ((0, 1), 1, ""),
        ((0, 1), 1.5, "must be from 0 to 1, got 1.5"),
        ((0, 1), -0.5, "must be from 0 to 1, got -0.5"),
    ],
)
def test_a_number_is_within_its_range(
    limits: tuple[float, ...], value: float | None, refusal: str
) -> None:
    """Both ends are within the range; without a value there is nothing to refuse."""
    check = options.within(*limits)
    if not refusal:
        assert check(value) == value
        return
    with pytest.raises(typer.BadParameter, match=refusal):
        check(value)


@pytest.mark.parametrize(
    ("reader", "text", "value"),
    [
        (options.read_share, "0", 0.0),
        (options.read_share, "1", 1.0),
        (options.read_share, "0.5", 0.5),
        (options.read_cuts, "5", (5,)),
        (options.read_cuts, "5, 1,5", (1, 5)),
        (options.read_cuts, "3calls,10,2", (2, 10, calls(3))),
        (options.read_cuts, "40tokens,3calls", (tokens(40), calls(3))),
        (options.read_cut, "5,5", 5),
        (options.read_cut, "3calls", calls(3)),
        (options.read_measure, "recall@5", Recall @ 5),
    ],
)
def test_a_value_is_read(reader: Callable[[str], Any], text: str, value: object) -> None:
    """Repeated ks are one; numbers come before budgets."""
    assert reader(text) == value


@pytest.mark.parametrize(
    ("reader", "text", "refusal"),
    [
        (options.read_share, "1.01", r"from 0 to 1, such as 0\.9, got 1\.01"),
        (options.read_share, "-0.01", "from 0 to 1"),
        (options.read_share, "nan", "from 0 to 1"),
        (options.read_share, "half", "from 0 to 1"),
        (options.read_cut, "1,2", "must be one k, got '1,2'"),
        (options.read_cuts, "0", "k"),
        (options.read_measure, "recal", "recall"),
        (options.read_threshold, "recall@5", "recall@5"),
        (options.retriever_of, "app", "expected MODULE:NAME"),
        (options.retriever_of, ":search", "expected MODULE:NAME"),
        (options.retriever_of, "app:", "expected MODULE:NAME"),
        (options.retriever_of, "absent.py:search", "no file absent.py"),
        (options.retriever_of, "no_such_module:search", "No module named"),
        (options.retriever_of, "math:search", "no attribute 'search'"),
        (options.judge_of, "gpt-5", "did you mean openai:gpt-5"),
        (options.judge_of, "openai:", "name a model of it, openai:MODEL"),
        (options.judge_of, "ollama:x", "openai:x and --base-url http://localhost:11434/v1"),
        (options.judge_of, "vllm:x", "openai:x and --base-url and its address"),
        (options.judge_of, "nli:", "expected lexical, nli:FOLDER, openai:MODEL"),
    ],
)
def test_a_wrong_value_is_refused(reader: Callable[[str], Any], text: str, refusal: str) -> None:
    """The error shows the value, or the nearest right one."""
    with pytest.raises(typer.BadParameter, match=refusal):
        reader(text)


def test_measures_are_shown_once() -> None:
    """Recall at each k comes first, then the named measures, each once."""
    assert options.measures_of(None, None) == ()
    assert options.measures_of([1, 5], [Recall @ 5, AllFound]) == (Recall @ 1, Recall @ 5, AllFound)


def test_a_file_is_loaded_like_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It imports modules beside it, and its prints go to standard error."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_it_here.py").write_text("found = ['a']")
    (tmp_path / "other").mkdir()  # A module of the same name elsewhere on the path is not meant.
    (tmp_path / "other" / "beside_it_here.py").write_text("found = ['b']")
    sys.path.insert(0, str(tmp_path / "other"))
    own = tmp_path / "own_search_here.py"
    own.write_text(
        "import beside_it_here\nfrom fullrecall.measures import Measure\nprint('hello')\n"
        "class Box:\n    found = beside_it_here.found\nnumber = 7\nraise_later = None\n"
    )
    assert options.loaded(f"{own}:Box.found", "--retriever") == ["a"]
    assert capsys.readouterr() == ("", "hello\n")
    assert sys.modules["own_search_here"].Box.__module__ == "own_search_here"
    with pytest.raises(typer.BadParameter, match="is not a measure: derive it from Measure"):
        options.read_measure(f"{own}:number@5")
    own.write_text("import sys; sys.exit(3)")
    with pytest.raises(typer.BadParameter, match="SystemExit: 3"):
        options.loaded(f"{own}:Box", "--retriever")
    for name in ("beside_it_here", "own_search_here"):
        sys.modules.pop(name, None)
