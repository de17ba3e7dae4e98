"""`evaluate(view=…)` scores the chosen list of a record."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fullrecall import (
    ClaimRecall,
    Context,
    IdRecall,
    Report,
    Sample,
    TextRecall,
    aevaluate,
    evaluate,
)
from fullrecall.errors import ParameterError
from fullrecall.samples.calls import Call
from fullrecall.samples.retrieval import Retrieval
from fullrecall.scorers.result import Status

TEXTS = {name: f"The text of {name} is about {name * 3}." for name in "abcd"}


def contexts(names: str) -> list[Context]:
    """Return contexts that are named by letters."""
    return [Context(id=name, text=TEXTS[name]) for name in names]


def recorded(retrieved: str | None, kept: str, read: str | None, wanted: str = "abcd") -> Sample:
    """Return a sample with a record; None is a list that was not observed."""
    record = Retrieval(
        contexts(kept),
        calls=[Call("search", contexts=tuple(contexts(retrieved)))] if retrieved else (),
        retrieved=None if retrieved is None else contexts(retrieved),
        read=None if read is None else ["yes" if name in read else "no" for name in kept],
    )
    return Sample(
        retrieval=record,
        reference_context_ids=list(wanted),
        reference_contexts=[TEXTS[name] for name in wanted],
        reference_claims=[TEXTS[name] for name in wanted],
    )


FULL = recorded("abcd", "ab", "b")
VIEWS = {"retrieved": 1.0, "contexts": 0.5, "read": 0.25}


@pytest.mark.rooms
@pytest.mark.parametrize(("view", "score"), VIEWS.items())
def test_each_view_scores_its_list(view: Any, score: float) -> None:
    """Each view scores its list, with three scorers, sync and async."""
    scorers = [IdRecall(), TextRecall(threshold=0.99), ClaimRecall()]
    for report in (
        evaluate([FULL], scorers, view=view),
        evaluate([FULL.to_dict()], scorers, view=view, sink=lambda _: None),
        asyncio.run(aevaluate([FULL], scorers, view=view)),
        evaluate([FULL], scorers, view=view, deadline=60.0),
    ):
        assert [result.score for result in report.rows[0].results] == [score] * 3
        assert not report.summary().united


@pytest.mark.parametrize(
    ("sample", "view", "reason"),
    [
        (recorded(None, "ab", "b"), "retrieved", "no record of all that was retrieved"),
        (recorded("abcd", "ab", None), "read", "no prompt of a model was seen"),
        (Sample(retrieved_context_ids=["a"], reference_context_ids=["a"]), "read", "no prompt"),
        (
            Sample(retrieval=Retrieval(error="timed out"), reference_context_ids=["a"]),
            "retrieved",
            "timed out",
        ),
    ],
)
def test_what_the_record_does_not_tell_is_unscored(sample: Sample, view: Any, reason: str) -> None:
    """A list that was not observed leaves the sample unscored; it is not an empty list."""
    result = evaluate([sample], IdRecall(), view=view).rows[0].results[0]
    assert result.status is Status.UNSCORED
    assert reason in (result.reason or "")


def test_an_unknown_view_is_an_error() -> None:
    """An unknown view is an error that lists the names of `Retrieval.view`."""
    with pytest.raises(ParameterError, match="'contexts' or 'retrieved' or 'read', got 'kept'"):
        evaluate([], IdRecall(), view="kept")  # type: ignore[arg-type]


def test_what_a_retriever_returns_is_seen_in_a_view(tmp_path: Path) -> None:
    """A view applies to the record that the retriever returned, in a saved report too."""

    class Recording:
        """A retriever that keeps half of the contexts that it found."""

        def retrieve(self, sample: Sample) -> Retrieval:
            """Return the record of a fixed retrieval."""
            assert FULL.retrieval is not None
            return FULL.retrieval

        async def aretrieve(self, sample: Sample) -> Retrieval:
            """Return the record of a fixed retrieval."""
            return self.retrieve(sample)

    asked = [{"user_input": "Where?", "reference_context_ids": list("abcd")}]
    for view, score in VIEWS.items():
        path = tmp_path / f"{view}.jsonl"
        options: Any = {"retriever": Recording(), "view": view, "output": path}
        evaluate(asked, IdRecall(), **options)
        loaded = Report.load(path)
        assert (loaded.rows[0].results[0].score, loaded.origin.view) == (score, view)


@pytest.mark.rooms
def test_the_command_takes_a_view(tmp_path: Path) -> None:
    """`--view read` scores the contexts in the prompt."""
    from fullrecall.cli import app

    file, output = tmp_path / "samples.jsonl", tmp_path / "report.jsonl"
    file.write_text(json.dumps(FULL.to_dict()) + "\n")
    arguments = ["evaluate", str(file), "-s", "id_recall", "-o", str(output)]
    ran = CliRunner().invoke(app, [*arguments, "--view", "read"])
    assert ran.exit_code == 0, ran.output
    assert Report.load(output).rows[0].results[0].score == 0.25
    assert CliRunner().invoke(app, [*arguments, "--view", "kept"]).exit_code == 2


@pytest.mark.parametrize("name", ["report.jsonl", "report.parquet"])
def test_the_summary_says_how_many_references_each_list_lost(name: str, tmp_path: Path) -> None:
    """The summary has the references that each list lost, over the samples with these lists."""
    samples = [FULL, recorded("ab", "ab", "a", "ab"), Sample(retrieved_context_ids=["a"])]
    report = evaluate(samples, IdRecall())
    report.save(tmp_path / name)
    for one in (report, Report.load(tmp_path / name)):
        funnel = one.summary().to_dict()["funnel"]
        found = {"retrieved": 6, "kept": 4, "read": 2}
        assert funnel == {"samples": 2, "references": 6, "found": found}
        line = "recall of 6 references by ID, in 2 samples: retrieved 1.00 → kept 0.67 → read 0.33"
        assert line in " ".join(str(one.summary()).split())
        assert line.split(": ")[1] in one.to_markdown()


def test_a_funnel_that_loses_nothing_is_not_shown() -> None:
    """The funnel is not shown if it loses nothing, or if records have one list only."""
    for sample in (recorded("ab", "ab", "ab"), recorded(None, "ab", None)):
        assert evaluate([sample], IdRecall()).summary().funnel is None
