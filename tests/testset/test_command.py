"""`fullrecall testset …`: the steps by command, with files between them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli import command_line

from fullrecall import IdRecall, evaluate
from fullrecall.cli import testset as command
from fullrecall.read import read


def run(*arguments: object, code: int = 0) -> str:
    """Return the output of a command; fail unless it exits with `code`."""
    outcome = command_line.run("testset", *arguments)
    assert outcome.exit_code == code, outcome.output
    return outcome.output


@pytest.fixture
def folder(tmp_path: Path, documents: dict[str, str]) -> Path:
    """Return a folder of sixty documents."""
    where = tmp_path / "docs"
    where.mkdir()
    for name in list(documents)[:60]:
        (where / f"{name}.txt").write_text(documents[name], "utf-8")
    return where


def test_from_a_folder_to_a_reviewed_set(
    folder: Path, tmp_path: Path, author: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generate, check, review, and apply each read the file of the command before."""
    monkeypatch.setattr(command, "model_of", lambda *_: author.model)
    made, rejected = tmp_path / "set.jsonl", tmp_path / "rejected.jsonl"
    said = run(
        "generate",
        folder,
        "--model",
        "openai:m",
        "-n",
        10,
        "-o",
        made,
        "--rejected",
        rejected,
        "--store",
        tmp_path / "s.sqlite",
    )
    assert "10 of" in said
    assert len(list(read(made))) == 10
    assert all(json.loads(line)["rejected"] for line in rejected.read_text().splitlines())
    assert "no problem found" in run("check", made, folder)
    audit = json.loads(run("check", made, folder, "--json"))
    assert (audit["valid"], audit["samples"], audit["documents"]) == (True, 10, 60)
    page, reviewed = tmp_path / "review.html", tmp_path / "reviewed.jsonl"
    assert "10 questions to review" in run("review", made, "-o", page, "--documents", folder)
    index = json.loads(page.read_text("utf-8").split('id="index">', 1)[1].split("</script>", 1)[0])
    index["decisions"] = [{"id": one["id"], "decision": "good"} for one in index.pop("samples")]
    saved = tmp_path / "review.json"
    saved.write_text(json.dumps({"kind": "fullrecall review", **index}))
    assert "PASS: at least 100.0%" in run("review", made, "--apply", saved, "-o", reviewed)
    assert list(read(reviewed)) == list(read(made))


def test_a_model_that_writes_nothing_fails(
    folder: Path, tmp_path: Path, author: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty set exits with code 1 and a reason, after few calls, so that a script stops."""
    author.reply = lambda _: "{}"
    monkeypatch.setattr(command, "model_of", lambda *_: author.model)
    said = run("generate", folder, "--model", "openai:m", "-o", tmp_path / "set.jsonl", code=1)
    assert "Stopped early" in said
    assert "No question was accepted" in said
    assert not (tmp_path / "set.jsonl").exists()  # An empty set would block the next run.


def test_an_invalid_reference_fails(tmp_path: Path, folder: Path) -> None:
    """An invalid reference exits with code 1, and names the sample and the ID."""
    path = tmp_path / "set.jsonl"
    path.write_text('{"id": "q", "user_input": "Who?", "reference_context_ids": ["[red]x"]}\n')
    said = run("check", path, folder, code=1)
    assert "q: ID not in the documents: '[red]x'" in said


def test_references_are_completed_from_files(tmp_path: Path) -> None:
    """References are completed from two retrievers' files and a sheet of labels."""
    question = {"id": "q", "user_input": "fee?", "reference": "The fee is ten euros.",
                "reference_context_ids": ["a"]}  # fmt: skip
    contexts = {"a": "The fee is ten euros.", "b": "For all guests the fee is ten euros. Pay now.",
                "c": "Dogs stay out."}  # fmt: skip

    def write(name: str, ids: str) -> Path:
        path = tmp_path / f"{name}.jsonl"
        given = [{"id": one, "text": contexts[one]} for one in ids]
        path.write_text(json.dumps({**question, "retrieved_contexts": given}) + "\n")
        return path

    samples = tmp_path / "set.jsonl"
    samples.write_text(json.dumps(question) + "\n")
    labels, out = tmp_path / "labels.csv", tmp_path / "completed.jsonl"
    options = [
        "--retrieved",
        write("one", "ac"),
        "--retrieved",
        write("two", "bc"),
        "--depth",
        2,
        "--label-error",
        0,
    ]
    said = run("complete", samples, *options, "--to-label", labels)
    assert "2 contexts to label" in said
    assert "nothing is added without labels" in said
    lines = labels.read_text("utf-8-sig").splitlines()
    filled = [("relevant" if "guests" in line else "not_relevant") + line for line in lines[1:]]
    labels.write_text("\n".join([lines[0], *filled]) + "\n", "utf-8")
    said = run("complete", samples, *options, "--labels", labels, "-o", out)
    assert "1 added, 1 of them confirmed by people" in said
    (completed,) = read(out)
    assert [reference.any_of for reference in completed.reference_context_ids] == [("a",), ("b",)]


def test_a_judge_that_decides_nothing_shows_no_completeness(tmp_path: Path) -> None:
    """A set without verdicts is not called "100% complete": its completeness is unknown.

    The retrieved contexts of each retriever are read from its saved report.
    """
    samples = tmp_path / "set.jsonl"
    samples.write_text('{"id": "q", "user_input": "fee?", "reference_context_ids": ["a"]}\n')
    contexts = [{"id": one, "text": f"text {one}"} for one in "abc"]
    report = evaluate(read(samples), IdRecall(), retriever=lambda _: contexts, progress=False)
    report.save(tmp_path / "report.jsonl")
    said = run("complete", samples, "--retrieved", tmp_path / "report.jsonl", "--depth", 2)
    assert "completeness: not known: no pair is labeled" in said
    assert "--judge openai:MODEL" in said
    assert "complete [" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "none.jsonl", "none"], "none.jsonl"),
        (["generate", "none", "--model", "gpt", "-o", "a.jsonl"], "expected openai:MODEL"),
        (["generate", "none", "--model", "openai:m", "-o", "a.csv"], "must end in .jsonl"),
        (["review", "none.jsonl", "-o", "a.pdf"], "must end in .html"),
    ],
)
def test_wrong_arguments_are_one_block(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong arguments exit with code 2, in one block without a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    output = run(*arguments, code=2)
    assert said in output
    assert "Traceback" not in output


def test_labels_follow_their_corpus_from_the_command_line(tmp_path: Path) -> None:
    """The command writes the new set and the table; a set without quotes is an error."""
    texts = {
        f"d{n}": f"Page {n} tells of the {n}th bridge and its {n * 7} arches." for n in range(9)
    }
    old, new, samples = (tmp_path / name for name in ("old.jsonl", "new.jsonl", "set.jsonl"))
    old.write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in texts.items()))
    new.write_text("".join(json.dumps({"id": f"x{k}", "text": v}) + "\n" for k, v in texts.items()))
    rows = [{"id": f"q{n}", "user_input": "?", "reference_ids": [f"d{n}"]} for n in range(9)]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    output, table = tmp_path / "out.jsonl", tmp_path / "labels.csv"
    refused = run("follow", samples, "--corpus", new, "-o", output, code=2)
    assert "pass --old" in " ".join(refused.split())
    said = run("follow", samples, "--old", old, "--corpus", new, "-o", output, "--table", table)
    assert "9  moved" in said
    assert [ids for s in read(output) for ids in s.reference_context_ids[0].any_of] == [
        f"xd{n}" for n in range(9)
    ]
    assert table.read_text("utf-8-sig").count("moved") == 9
    again = tmp_path / "again.jsonl"
    assert "9  same" in run("follow", output, "--corpus", new, "-o", again)


def test_a_set_is_exported_and_read_back(tmp_path: Path) -> None:
    """`testset export` prints the losses of the exported form."""
    samples = tmp_path / "set.jsonl"
    samples.write_text('{"id": "q", "user_input": "fee?", "reference_ids": [["a", "b"]]}\n')
    said = run("export", samples, "--format", "beir", "-o", tmp_path / "beir")
    assert "any-of groups are taken apart" in said
    (sample,) = read(tmp_path / "beir")
    assert (sample.id, sample.user_input) == ("q", "fee?")
