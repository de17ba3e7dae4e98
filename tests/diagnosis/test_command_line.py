"""`fullrecall diagnose` prints the causes of misses, and reads a corpus."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli import command_line

from fullrecall import Context, IdRecall, Report, Sample, evaluate
from fullrecall._util import naming
from fullrecall.diagnosis import diagnose
from fullrecall.errors import InputError
from fullrecall.read import read_contexts


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Return a saved report that misses two items."""
    sample = Sample(id="s", query="Where?", retrieved_ids=["a", "b"], expected_ids=["b", "c", "d"])
    path = tmp_path / "report.jsonl"
    evaluate([sample], IdRecall(), progress=False).save(path)
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Return a corpus that has three of the four documents."""
    path = tmp_path / "corpus.jsonl"
    rows = [{"_id": name, "title": "T", "text": f"text of {name}"} for name in "abc"]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def run(*arguments: object) -> tuple[int, str]:
    """Return the exit code and the printed text."""
    result = command_line.run("diagnose", *arguments)
    return result.exit_code, result.output


def test_the_causes_are_counted_and_shown(report: Path, corpus: Path) -> None:
    """The command prints a table of causes, their fixes, and a few misses of each."""
    code, output = run(report, "--corpus", corpus)
    assert code == 0
    assert "not in corpus" in output
    assert "1 (50%)" in output
    assert "Index it" in output
    assert "s  id_recall\n  target: d\n  why: no context of the corpus has the ID 'd'" in output


def test_options_are_named_and_not_parameters(report: Path) -> None:
    """Advice names options of the command line, not parameters of Python."""
    code, output = run(report)
    assert code == 0
    assert "Add --corpus, with IDs and texts, or --retriever to find more causes." in output
    assert "to find the cause, pass --corpus and --retriever" in output
    assert not re.search(r"\w=", output)


def test_as_json(report: Path, corpus: Path) -> None:
    """--json prints the diagnosis and nothing else."""
    code, output = run(report, "--corpus", corpus, "--k", 1, "--json")
    assert code == 0
    assert json.loads(output)["causes"] == {
        "beyond_k": 1,
        "never_retrieved": 1,
        "not_in_corpus": 1,
    }


def test_a_retriever_of_a_python_file(report: Path, tmp_path: Path) -> None:
    """--retriever names a function that is searched deeper, to find ranks and gains."""
    file = tmp_path / "app.py"
    file.write_text("def search(question, k):\n    return [{'id': n} for n in 'abxcd'][:k]\n")
    code, output = run(report, "--retriever", f"{file}:search", "--deep-k", 4)
    assert code == 0
    assert "1. retrieve 4 contexts in place of 2: +0.33" in output
    assert "beyond k\n\ns  id_recall\n  target: c\n  why: at rank 4 when retrieving 4" in output
    for wrong in (f"{file}:other", f"{file}", f"{file}:__name__", f"{tmp_path / 'no.py'}:search"):
        code, output = run(report, "--retriever", wrong)
        assert code == 2
        assert "--retriever" in output


def test_exports(report: Path, corpus: Path, tmp_path: Path) -> None:
    """--markdown adds the text of Python's `to_markdown` to a file, with options named."""
    text = tmp_path / "summary.md"
    text.write_text("before\n")
    assert run(report, "--corpus", corpus, "-k", 1, "--markdown", text)[0] == 0
    with naming.options():
        found = diagnose(Report.load(report), k=1, corpus=read_contexts(corpus))
        assert text.read_text("utf-8") == f"before\n{found.to_markdown()}"


def test_wrong_input(report: Path, tmp_path: Path) -> None:
    """An unreadable file exits with 2, and the error names the place."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "a"}\n{"title": "neither"}\n')
    code, output = run(report, "--corpus", bad)
    assert code == 2
    assert "bad.jsonl, line 2" in output.replace("\n", "")
    assert "needs an id or a text" in output
    assert run(bad)[0] == 2
    assert run(report, "--k", 0)[0] == 2


def test_a_corpus_under_other_names(tmp_path: Path) -> None:
    """BEIR's, LangChain's and Pyserini's fields are read; the rest is metadata."""
    path = tmp_path / "corpus.jsonl"
    path.write_text(
        '{"_id": 7, "title": "T", "text": "x"}\n\n'
        '{"id": "b", "page_content": "y", "metadata": {"page": 2}, "kind": "Document"}\n'
        '{"docid": "c", "contents": "z", "start": 4, "end": 5, "source": "d"}\n'
    )
    assert list(read_contexts(path)) == [
        Context("x", id="7", metadata={"title": "T"}),
        Context("y", id="b", metadata={"kind": "Document", "page": 2}),
        Context("z", id="c", source="d", start=4, end=5),
    ]


def test_a_corpus_that_is_none(tmp_path: Path) -> None:
    """A missing corpus is an error at the call, a wrong line when it is read."""
    with pytest.raises(InputError, match="no such file"):
        read_contexts(tmp_path / "none.jsonl")
    path = tmp_path / "corpus.jsonl"
    for line, problem in (
        ('{"id": "a", "start": 3}', "start and end go together"),
        ('{"id": "a", "metadata": "x", "kind": "y"}', "expected a mapping, got 'x'"),
    ):
        path.write_text(f"{line}\n")
        with pytest.raises(InputError, match=problem):
            list(read_contexts(path))


def test_the_corpus_may_be_a_folder(tmp_path: Path) -> None:
    """`--corpus` takes a folder: a document's ID is its path within the folder."""
    (tmp_path / "docs" / "a").mkdir(parents=True)
    for name in ("a/b.md", "c.md"):
        (tmp_path / "docs" / name).write_text(f"text of {name}")
    sample = Sample(id="s", retrieved_ids=["c.md"], expected_ids=["a/b.md", "other.txt"])
    evaluate([sample], IdRecall(), progress=False).save(tmp_path / "report.jsonl")
    code, output = run(tmp_path / "report.jsonl", "--corpus", tmp_path / "docs")
    assert code == 0
    assert "no context of the corpus has the ID 'other.txt'" in output
    assert "target: a/b.md\n  why: in the corpus, and not among the 1 retrieved" in output


def test_a_function_without_k_cannot_search_deeper(report: Path, corpus: Path) -> None:
    """A retriever without `k` cannot search deeper, and the cause says so and how to change it."""
    loaded = Report.load(report)
    with_corpus = diagnose(loaded, corpus=read_contexts(corpus), retriever=lambda _: ["a", "b"])
    details = {miss.target: miss.detail for miss in with_corpus}
    assert details["c"].endswith("the 2 that the retriever returns: it takes no k to search deeper")
    (first, *_) = diagnose(loaded, retriever=lambda _: ["a", "b"])
    assert "retriever= with a function that takes k" in first.detail
    (first, *_) = diagnose(loaded, retriever=lambda _, k: ["a", "b", "c"][:k])
    assert first.rank == 3
