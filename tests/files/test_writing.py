"""An exported test set gives the same recall in other tools, or the loss is announced."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fullrecall import IdRecall, Sample, TextRecall
from fullrecall.errors import ParameterError
from fullrecall.files.writing import LEFT_OUT, WRITTEN
from fullrecall.read import read, write

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
NO_IDS = {"ragas_0.1", "bedrock", "trulens", "promptfoo", "deepeval", "legalbench_rag"}
ID_FORMATS = [name for name in WRITTEN if name not in NO_IDS]
FOUND = ["d0", "d1", "d4", "d7"]


def recall(sample: Sample) -> float | None:
    """Return the recall of a fixed retrieval: by ID if the references have IDs, else by text."""
    asked = sample.with_retrieval([{"id": name, "text": TEXTS[name]} for name in FOUND])
    if sample.reference_context_ids:
        return IdRecall().score(asked).score
    return TextRecall(threshold=0.99).score(asked).score


@pytest.mark.parametrize("name", ID_FORMATS)
def test_without_alternatives_every_format_gives_the_same_recall(name: str, tmp_path: Path) -> None:
    """Without alternatives, a set written and read back in any format has the same recall."""
    path = tmp_path / "set.json"
    made = write(PLAIN, name, path, documents=DOCUMENTS)
    back = list(read(path))
    assert [recall(sample) for sample in back] == [recall(s) for s in PLAIN] == [1.0, 0.5, 0.0]
    assert not any("any-of" in note for note in made.notes)


@pytest.mark.parametrize("name", ID_FORMATS)
def test_alternatives_are_kept_or_the_loss_is_told(name: str, tmp_path: Path) -> None:
    """If alternatives become separate targets, and recall falls, the export says so."""
    path = tmp_path / "set.json"
    made = write(GROUPED, name, path, documents=DOCUMENTS)
    back = [recall(sample) for sample in read(path)]
    assert [recall(s) for s in GROUPED] == [1.0, 1.0]
    if name in ("langsmith", "langfuse", "autorag"):
        assert back == [1.0, 1.0]
        assert not any("any-of" in note for note in made.notes)
    else:
        assert back == [0.5, pytest.approx(2 / 3)]
        assert any("any-of groups" in n and "recall falls" in n for n in made.notes)


def test_what_a_format_does_not_keep_is_told() -> None:
    """The export names the fields and grades that it drops, and a missing corpus."""
    graded = [Sample(user_input="q", reference="r", reference_context_ids={"a": 2})]
    for name, notes in {
        "ragas": ["grades are left out: every reference counts alike"],
        "deepeval": ["reference IDs are left out"],
        "qrels": ["questions are left out", "reference answers are left out"],
        "beir": [
            "reference answers are left out",
            "the corpus is empty: pass documents= to fill it",
        ],
    }.items():
        assert list(write(graded, name).notes) == notes
    unanswerable = [Sample(user_input="q", reference="r", answerable=False)]
    notes = write(unanswerable, "ragas").notes
    assert list(notes) == ["whether a question is answerable is left out"]


@pytest.mark.parametrize("name", ["qrels", "mteb", "beir"])
def test_whole_grades_are_written_as_whole_numbers(name: str, tmp_path: Path) -> None:
    """Evaluators of judgments read whole numbers; a fraction is kept."""
    graded = Sample(id="q", user_input="?", reference_context_ids={"a": 2, "b": 0.5, "c": 1.0})
    path = tmp_path / FILES.get(name, "set.json")
    for _ in range(2):  # An older set is replaced.
        write([graded], name, path, documents=DOCUMENTS)
    files = [path] if path.is_file() else [*path.rglob("*.tsv")]
    written = " ".join(file.read_text() for file in files)
    assert re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", written) == ["2", "0.5", "1"]


def test_an_unknown_format_is_an_error() -> None:
    """The error names the unknown format and the known ones."""
    with pytest.raises(ParameterError, match=r"unknown format 'xml': choose one of .*ragas"):
        write(PLAIN, "xml")


def test_values_that_other_tools_read() -> None:
    """IDs and texts are written plain where a format has no grades and no spans."""
    (row, *_) = write(PLAIN, "ragas").value
    assert (row["reference_context_ids"], row["reference_contexts"]) == (["d0"], [TEXTS["d0"]])


def test_json_lines_by_the_ending(tmp_path: Path) -> None:
    """Rows are written one a line if the file's ending asks for it."""
    write(PLAIN, "ragas", tmp_path / "set.jsonl")
    lines = (tmp_path / "set.jsonl").read_text().splitlines()
    assert [json.loads(line)["user_input"] for line in lines] == [s.user_input for s in PLAIN]


@pytest.mark.parametrize("odd", [3, "text", {"model": [1]}, None])
@pytest.mark.parametrize("name", ID_FORMATS)
def test_metadata_of_any_form_is_no_hindrance(name: str, odd: Any) -> None:
    """Metadata may have keys that this library or other tools use."""
    sample = Sample(
        id="q", user_input="q?", reference_context_ids=["d0"], metadata={"answers": odd}
    )
    assert write([sample], name, documents=DOCUMENTS).format == name


FILES = {"beir": "set", "autorag": "set.parquet", "bedrock": "set.jsonl", "promptfoo": "set.yaml"}


@pytest.mark.parametrize("name", WRITTEN)
def test_each_format_is_read_back_equal_but_for_the_losses_that_it_states(
    name: str, tmp_path: Path
) -> None:
    """Every field is read back equal, unless a note names it."""
    spans = [{"text": "Nine meters deep.", "source": "d1", "start": 3, "end": 20}]
    first = Sample(
        id="q1",
        user_input="How deep is the harbor?",
        reference="Nine meters at low water.",
        reference_claims=["The harbor is deep."],
        reference_context_ids={"d1": 2, "d2": 1},
        reference_contexts=spans if name == "legalbench_rag" else ["It is nine meters deep there."],
        retrieved_context_ids=["d3", "d1"],
        response="Deep enough.",
        metadata={"kind": "x"},
    )
    path = tmp_path / FILES.get(name, "set.json")
    made = write([first], name, path, documents=DOCUMENTS)
    (back,) = read(path)
    lost = [field for field, called in LEFT_OUT.items() if f"{called} are left out" in made.notes]
    for field in LEFT_OUT:
        ours, theirs = getattr(first, field), getattr(back, field)
        if field == "reference_context_ids" and any("grades" in note for note in made.notes):
            ours, theirs = ([one.any_of for one in each or ()] for each in (ours, theirs))
        assert (theirs == ours) != (field in lost and ours is not None), field


@pytest.mark.parametrize("name", WRITTEN)
def test_a_sample_of_two_fields_is_read_back(name: str, tmp_path: Path) -> None:
    """A format is known although most of its columns are not written."""
    contexts = [{"text": "Nine.", "source": "d1", "start": 3, "end": 8}]
    target: dict[str, Any] = {"reference_context_ids": ["d1"]}
    if name in NO_IDS:
        target = {"reference": "Nine meters."}
    if name == "legalbench_rag":
        target = {"reference_contexts": contexts}
    path = tmp_path / FILES.get(name, "set.json")
    write([Sample(id="q1", user_input="How deep is it?", **target)], name, path)
    (back,) = read(path)
    assert all(getattr(back, key) == getattr(Sample(**target), key) for key in target)


def test_samples_without_an_id_are_numbered(tmp_path: Path) -> None:
    """The numbers begin at 1, and count all samples."""
    bare = Sample(user_input="?", reference_context_ids=["a"])
    named = Sample(id="own", user_input="?", reference_context_ids=["a"])
    path = tmp_path / "set.json"
    write([bare, named, bare], "qrels", path)
    assert list(json.loads(path.read_text())) == ["q1", "own", "q3"]
