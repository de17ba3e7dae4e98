"""Traces joined with references, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.observe.spans import SPANS, TRACE, otlp, read, retriever
from typer.testing import CliRunner

from fullrecall import Report, Sample
from fullrecall import read as datasets
from fullrecall.errors import InputError
from fullrecall.observe.span import Span


class TestReferences:
    """Samples are joined with references by ID or question."""

    def test_the_same_question_twice_is_one_group(self) -> None:
        """Two traces of one question are one group, since they are not independent."""
        asked = [Sample(id=n, user_input="q", retrieved_context_ids=[n]) for n in "12"]
        joined = list(
            datasets.with_references(asked, [Sample(user_input="q", reference_context_ids=["1"])])
        )
        assert [(each.id, each.group) for each in joined] == [("1", "q"), ("2", "q")]

    def test_an_id_goes_before_the_question(self) -> None:
        """Of two references, the one with the sample's ID is joined."""
        references = [Sample(id=n, user_input="q", reference_context_ids=[n]) for n in "12"]
        (first, missing) = datasets.with_references(
            [Sample(id="2", user_input="q", retrieved_context_ids=["2"])], references
        )
        assert (first.id, first.reference_context_ids[0].any_of) == ("2", ("2",))  # type: ignore[index]
        assert (missing.id, missing.retrieval_error) == ("1", "no trace asks this question")

    def test_what_is_ambiguous(self) -> None:
        """A question that two references share joins neither."""
        references = [Sample(id=n, user_input="q", reference_context_ids=[n]) for n in "12"]
        with pytest.raises(InputError, match="2 references ask 'q'"):
            list(datasets.with_references([Sample(id="3", user_input="q")], references))
        with pytest.raises(InputError, match="two references have the id '1'"):
            list(datasets.with_references([], [references[0], references[0]]))

    def test_what_was_retrieved_stays_as_it_was(self) -> None:
        """The joined sample keeps the record, the answer, and the metadata of both."""
        trace = read(*SPANS)
        reference = Sample(user_input="q", reference_context_ids=["a"], metadata={"lang": "en"})
        joined = datasets.with_references([trace, Sample(retrieved_context_ids=[])], [reference])
        (sample,) = joined
        assert sample.retrieval == trace.retrieval
        assert sample.response == "42"
        assert sample.metadata == {
            "trace_id": TRACE,
            "started": "1970-01-01T00:00:00+00:00",
            "lang": "en",
        }
        assert (joined.left_out, joined.unasked) == (1, 1)


@pytest.mark.rooms
def test_the_command_line_joins_traces_with_labels(tmp_path: Path) -> None:
    """`evaluate traces.json --references labels.jsonl` scores the samples with labels."""
    from fullrecall.cli import app

    traces, labels = tmp_path / "traces.json", tmp_path / "labels.jsonl"
    other = Span(trace_id="ff" * 16, span_id="f" * 16, name="other", start=500)
    traces.write_text("\n".join(json.dumps(otlp(each)) for each in [*SPANS, other]), "utf-8")
    rows = [{"user_input": each, "reference_ids": ["a", "c"]} for each in ("q", "never asked")]
    labels.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    runner = CliRunner()
    given = ["evaluate", str(traces), "--references", str(labels), "-o", str(tmp_path / "r.jsonl")]
    done = runner.invoke(app, given)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "Left out, since no reference fits: 1 sample, 1 of them without a question." in said
    assert "no trace asks this question" in said
    report = Report.load(tmp_path / "r.jsonl")
    assert [row.results[0].score for row in report.rows] == [0.5, None]
    refused = runner.invoke(app, ["evaluate", str(labels), "--run", str(labels), "--id-key", "x"])
    assert refused.exit_code == 2
    assert "--id-key" in refused.output


@pytest.mark.rooms
def test_the_command_line_takes_ids_from_metadata(tmp_path: Path) -> None:
    """`--id-key` reads IDs from metadata, as `id_key` does in Python."""
    from fullrecall.cli import app

    traces, labels = tmp_path / "traces.json", tmp_path / "labels.jsonl"
    held = {"retrieval.documents.0.document.metadata": '{"source": "s"}'}
    each = retriever(1, None, "a", attributes=held)
    traces.write_text(json.dumps(otlp(each)), "utf-8")
    labels.write_text('{"user_input": "q", "reference_ids": ["s"]}', "utf-8")
    given = ["evaluate", str(traces), "--references", str(labels), "--id-key", "source", "--json"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    (score,) = json.loads(done.stdout)["scores"]
    assert score["measures"]["recall"]["mean"] == 1.0
