"""What other tools read of a test set gives the same recall, or the loss is announced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fullrecall import IdRecall, Sample, TextRecall
from fullrecall.errors import InputError, ParameterError
from fullrecall.read import from_rows, read, read_trec, write
from fullrecall.read.writing import WRITABLE

TEXTS = {f"d{n}": f"Document {n} is about the topic with the number {n}." for n in range(8)}
DOCUMENTS = [{"id": name, "text": text} for name, text in TEXTS.items()]


def samples(groups: list[list[list[str]]]) -> list[Sample]:
    """Return one sample for each list of any-of groups."""
    return [
        Sample(
            id=f"q{n}",
            user_input=f"What is asked, number {n}?",
            reference=f"Answer {n}.",
            reference_claims=[f"Claim {n}-{m}." for m, _ in enumerate(of)],
            reference_context_ids=of,
            reference_contexts=[[TEXTS[name] for name in group] for group in of],
            metadata={"testset": {"model": "m"}},
        )
        for n, of in enumerate(groups)
    ]


PLAIN = samples([[["d0"]], [["d1"], ["d2"]], [["d5"]]])
GROUPED = samples([[["d0", "d3"]], [["d1"], ["d2", "d4"]]])
FOUND = ["d0", "d1", "d4", "d7"]


def read_back(name: str, made: Any, path: Path, tmp_path: Path) -> list[Sample]:
    """Return what was written as `read` has it."""
    if name == "trec":
        return from_trec(path, tmp_path / "run")
    if name == "hugging_face":
        return list(from_rows(made.value))
    return list(read(path))


def from_trec(qrels: Path, run: Path) -> list[Sample]:
    """Return qrels as samples, with a run that found nothing."""
    names = {
        line.split()[0]
        for line in qrels.read_text().splitlines()
        if line[0] == "q" and not line.startswith("query-id")
    }
    run.write_text("".join(f"{name} Q0 none 1 1 x\n" for name in names))
    return sorted(read_trec(qrels, run), key=lambda sample: sample.id or "")


def recall(sample: Sample) -> float | None:
    """Return recall of the same retrieval, by ID where there are IDs, else by text."""
    found = [{"id": name, "text": TEXTS[name]} for name in FOUND]
    asked = sample.with_retrieval(found)
    if sample.reference_context_ids:
        return IdRecall().score(asked).score
    return TextRecall(threshold=0.99).score(asked).score


@pytest.mark.parametrize("name", WRITABLE)
def test_without_alternatives_every_format_gives_the_same_recall(name: str, tmp_path: Path) -> None:
    """Written, read back by our readers of that format, and scored."""
    path = tmp_path / ("set.parquet" if name == "parquet" else "set.json")
    made = write(PLAIN, name, path, documents=DOCUMENTS)
    back = read_back(name, made, path, tmp_path)
    if name in FIRST:
        assert any("the first alone is there" in note for note in made.notes)
        assert [recall(sample) for sample in back] == [1.0, 1.0, 0.0]
        return
    assert [recall(sample) for sample in back] == [recall(s) for s in PLAIN] == [1.0, 0.5, 0.0]
    assert not any("any-of" in note for note in made.notes)


KEEP = {"langsmith", "hugging_face", "parquet"}
FIRST = {"squad"}
"""Formats that have one reference each."""


@pytest.mark.parametrize("name", WRITABLE)
def test_alternatives_are_kept_or_the_loss_is_told(name: str, tmp_path: Path) -> None:
    """Alternatives become demands, and recall falls: the export says so and what it did."""
    path = tmp_path / ("set.parquet" if name == "parquet" else "set.json")
    made = write(GROUPED, name, path, documents=DOCUMENTS)
    back = [recall(sample) for sample in read_back(name, made, path, tmp_path)]
    assert [recall(s) for s in GROUPED] == [1.0, 1.0]
    if name in KEEP:
        assert back == [1.0, 1.0]
        assert made.notes == ()
    else:
        assert back == ([1.0, 1.0] if name in FIRST else [0.5, pytest.approx(2 / 3)])
        assert any("2 samples have any-of groups" in n and "recall falls" in n for n in made.notes)
        first = write(GROUPED, name, documents=DOCUMENTS, alternatives="first")
        assert any("only the first alternative is there" in note for note in first.notes)


def test_what_a_format_cannot_hold_is_an_error() -> None:
    """An unknown format, a corpus without a referenced text, white space in TREC's IDs."""
    with pytest.raises(ParameterError, match="unknown format 'xml': choose one of ragas"):
        write(PLAIN, "xml")
    with pytest.raises(ParameterError, match="alternatives"):
        write(PLAIN, "ragas", alternatives="some")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no text of 'd0'"):
        write(PLAIN, "embedding_qa")
    with pytest.raises(InputError, match="whitespace"):
        write([Sample(id="a", user_input="q", reference_context_ids=["a b"])], "trec")


def test_json_lines_by_the_ending(tmp_path: Path) -> None:
    """Rows go one to a line where the file's name asks for it."""
    write(PLAIN, "ragas", tmp_path / "set.jsonl")
    lines = (tmp_path / "set.jsonl").read_text().splitlines()
    assert [json.loads(line)["user_input"] for line in lines] == [s.user_input for s in PLAIN]


@pytest.mark.parametrize("odd", [3, True, "text", [1], {"model": [1]}, None])
@pytest.mark.parametrize("name", WRITABLE)
def test_metadata_of_any_form_is_no_hindrance(name: str, odd: Any) -> None:
    """Users keep what they like under the names that this library and other tools use."""
    sample = Sample(
        id="q",
        user_input="q?",
        reference="r",
        reference_context_ids=["d0"],
        metadata={"testset": odd, "answers": odd},
    )
    assert write([sample], name, documents=DOCUMENTS).format == name
