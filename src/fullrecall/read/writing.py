"""Test sets in the forms of other tools; each says what it could not keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fullrecall.context import Context, ContextLike, as_context
from fullrecall.errors import InputError, MissingExtraError, ParameterError
from fullrecall.read.documents import Document
from fullrecall.read.forms import FORMS, set_at
from fullrecall.read.frames import from_rows
from fullrecall.sample import Sample
from fullrecall.views.exports import written

Alternatives: TypeAlias = Literal["all", "first"]
"""What becomes of an any-of group: every alternative a demand of its own, or the first alone."""


@dataclass(frozen=True)
class Written:
    """What was made, and what of the test set it does not say.

    `value` is the plain data: rows, or one object. `notes` are empty where nothing was lost.
    """

    format: str
    value: Any
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((f"format {self.format}", *self.notes))


@dataclass(frozen=True)
class _Set:
    """The samples, and how their any-of groups are to be taken apart."""

    samples: Sequence[Sample]
    alternatives: Alternatives
    texts: Mapping[str, str]

    def contexts(self, sample: Sample) -> list[str]:
        """Return the texts of the references, as demands."""
        groups = sample.reference_contexts or ()
        return [context.text for group in groups for context in self._kept(group) if context.text]

    def ids(self, sample: Sample) -> dict[str, float]:
        """Return the IDs of the references with their grades, as demands."""
        references = sample.reference_context_ids or ()
        grades: dict[str, float] = {}
        for reference in references:
            for name in self._kept(reference.any_of):
                grades[name] = max(reference.grade, grades.get(name, reference.grade))
        return grades

    def _kept(self, group: Sequence[Any]) -> Sequence[Any]:
        return group if self.alternatives == "all" else group[:1]

    def text(self, name: str, sample: str) -> str:
        """Return the text of a document; raise `InputError` where there is none."""
        if name not in self.texts:
            raise InputError(f"sample {sample}: no text of {name!r}: pass documents=, with all")
        return self.texts[name]

    def name(self, number: int, sample: Sample) -> str:
        """Return the sample's ID, or its number."""
        return sample.id or f"q{number}"

    def numbered(self) -> Iterator[tuple[str, Sample]]:
        """Yield samples with their names."""
        for number, sample in enumerate(self.samples, start=1):
            yield self.name(number, sample), sample

    def notes(
        self, *, ids: bool, contexts: bool, claims: bool = False, grades: bool = False
    ) -> list[str]:
        """Return what a format loses that has these of a sample, and no more."""
        notes = []
        alternatives = sum(
            any(len(r.any_of) > 1 for r in (s.reference_context_ids or ()) if ids)
            or any(len(group) > 1 for group in (s.reference_contexts or ()) if contexts)
            for s in self.samples
        )
        if alternatives:
            did = (
                "each alternative becomes a separate target there: recall falls"
                if self.alternatives == "all"
                else "only the first alternative is there: the others count as not relevant"
            )
            have = "1 sample has" if alternatives == 1 else f"{alternatives:,} samples have"
            notes.append(f"{have} any-of groups, which this format lacks; {did}")
        graded = any(r.grade != 1 for s in self.samples for r in s.reference_context_ids or ())
        if ids and graded and not grades:
            notes.append("grades are left out: every reference counts alike")
        if not claims and any(s.reference_claims for s in self.samples):
            notes.append("claims are left out")
        return notes


def _rows(name: str) -> Callable[[_Set], tuple[Any, list[str]]]:
    """Return what writes the rows of a form, by the table of fields that also reads them."""
    form = FORMS[name]

    def written(testset: _Set) -> tuple[Any, list[str]]:
        rows = []
        for number, sample in testset.numbered():
            values = {
                "id": number,
                "group": sample.group,
                "user_input": sample.user_input,
                "reference": sample.reference,
                "reference_contexts": testset.contexts(sample),
                "reference_context_ids": list(testset.ids(sample)),
            }
            row: dict[str, Any] = {}
            for ours, path in form.fields.items():
                if ours in values:
                    set_at(row, path, values[ours])
            rows.append(row)
        return rows, testset.notes(ids="reference_context_ids" in form.fields, contexts=True)

    return written


def _embedding_qa(testset: _Set) -> tuple[Any, list[str]]:
    queries, relevant, corpus = {}, {}, dict(testset.texts)
    for name, sample in testset.numbered():
        queries[name] = sample.user_input
        relevant[name] = list(testset.ids(sample))
        corpus |= {
            document_id: testset.text(document_id, name) for document_id in testset.ids(sample)
        }
    value = {"queries": queries, "corpus": corpus, "relevant_docs": relevant, "mode": "text"}
    return value, [*testset.notes(ids=True, contexts=False), *_answers_left_out(testset)]


def _labelled_rag(testset: _Set) -> tuple[Any, list[str]]:
    by = {"model_name": "", "type": "ai"}
    rows, notes = _rows("labelled_rag")(testset)
    for row, sample in zip(rows, testset.samples, strict=True):
        row["reference_answer"] = row["reference_answer"] or ""
        row |= {"query_by": _writer(sample) or by, "reference_answer_by": _writer(sample) or by}
    if any(sample.reference_context_ids for sample in testset.samples):
        notes.append("reference IDs are left out: recall is by text there")
    return {"examples": rows}, notes


def _writer(sample: Sample) -> dict[str, str] | None:
    origin = sample.metadata.get("testset")
    model = origin.get("model") if isinstance(origin, Mapping) else None
    return {"model_name": str(model), "type": "ai"} if model else None


def _langsmith(testset: _Set) -> tuple[Any, list[str]]:
    rows = []
    for name, sample in testset.numbered():
        kept = {n: v for n, v in sample.to_dict().items() if n.startswith("reference")}
        extra = {"id": name, "group": sample.group, **sample.metadata}
        metadata = {key: value for key, value in extra.items() if value is not None}
        rows.append(
            {"inputs": {"question": sample.user_input}, "outputs": kept, "metadata": metadata}
        )
    return rows, []


def _deepeval(testset: _Set) -> tuple[Any, list[str]]:
    rows, notes = _rows("deepeval")(testset)
    for row, (name, sample) in zip(rows, testset.numbered(), strict=True):
        del row["name"]
        row["source_file"] = next(iter(testset.ids(sample)), None)
        row["additional_metadata"] = {"id": name, **sample.metadata}
    return rows, notes


def _hotpotqa(testset: _Set) -> tuple[Any, list[str]]:
    """Return questions with their documents as pages of one sentence each."""
    rows, _ = _rows("hotpotqa")(testset)
    for row, (name, sample) in zip(rows, testset.numbered(), strict=True):
        titles = list(testset.ids(sample))
        row["supporting_facts"] = [[title, 0] for title in titles]
        row["context"] = [[title, [testset.text(title, name)]] for title in titles]
    notes = testset.notes(ids=True, contexts=False)
    return rows, [*notes, "each document is one page of one sentence"]


def _squad(testset: _Set) -> tuple[Any, list[str]]:
    """Return a question with its paragraph, and where the quote stands in it."""
    rows, _ = _rows("squad")(testset)
    several = 0
    for row, (name, sample) in zip(rows, testset.numbered(), strict=True):
        ids, quotes = list(testset.ids(sample)), testset.contexts(sample)
        several += len(ids) > 1
        paragraph = testset.text(ids[0], name) if ids else next(iter(quotes), "")
        answer = sample.reference or ""
        at = max(0, paragraph.find(answer))
        is_there = bool(answer) and answer in paragraph
        row["context"] = paragraph
        row["answers"] = {"text": [answer], "answer_start": [at]} if is_there else (
            {"text": quotes[:1] or [paragraph], "answer_start": [0]} if paragraph else
            {"text": [], "answer_start": []}
        )  # fmt: skip
    notes = testset.notes(ids=True, contexts=False)
    if several:
        notes.append(f"{several:,} samples have several references: the first alone is there")
    return rows, notes


def _beir(testset: _Set) -> tuple[Any, list[str]]:
    corpus = [{"_id": name, "title": "", "text": text} for name, text in testset.texts.items()]
    queries = [{"_id": name, "text": sample.user_input} for name, sample in testset.numbered()]
    lines = ["query-id\tcorpus-id\tscore"]
    lines += [f"{name}\t{document_id}\t{grade:g}" for name, document_id, grade in _judged(testset)]
    value = {"corpus": corpus, "queries": queries, "qrels": "\n".join(lines) + "\n"}
    notes = testset.notes(ids=True, contexts=False, grades=True)
    if not corpus:
        notes.append("corpus.jsonl is empty: pass documents= to fill it")
    return value, [*notes, *_answers_left_out(testset)]


def _mteb(testset: _Set) -> tuple[Any, list[str]]:
    value, notes = _beir(testset)
    judged = [
        {"query-id": name, "corpus-id": document_id, "score": grade}
        for name, document_id, grade in _judged(testset)
    ]
    return {**value, "qrels": judged}, notes


def _trec(testset: _Set) -> tuple[Any, list[str]]:
    for name, document_id, _ in _judged(testset):
        if any(c.isspace() for c in name + document_id):
            raise InputError(f"TREC's files cannot hold the whitespace in {document_id or name!r}")
    lines = [f"{name} 0 {document_id} {grade:g}\n" for name, document_id, grade in _judged(testset)]
    notes = testset.notes(ids=True, contexts=False, grades=True)
    return "".join(lines), [*notes, "questions are left out", *_answers_left_out(testset)]


def _judged(testset: _Set) -> Iterator[tuple[str, str, float]]:
    for name, sample in testset.numbered():
        for document_id, grade in testset.ids(sample).items():
            yield name, document_id, grade


def _answers_left_out(testset: _Set) -> list[str]:
    answers = any(sample.reference for sample in testset.samples)
    return ["reference answers are left out"] if answers else []


def _own_rows(testset: _Set) -> tuple[Any, list[str]]:
    """Return rows of one form, as columns need it, which `read` reads back."""
    rows = []
    for name, sample in testset.numbered():
        fields = {"id": name, **sample.to_dict()}
        if sample.reference_context_ids is not None:
            fields["reference_context_ids"] = [
                {"any_of": list(r.any_of), "grade": r.grade} for r in sample.reference_context_ids
            ]
        if sample.reference_claims is not None:
            fields["reference_claims"] = [
                {"text": claim.text, "importance": "vital" if claim.vital else "okay"}
                for claim in sample.reference_claims
            ]
        rows.append(fields)
    names = dict.fromkeys(key for row in rows for key in row)
    return [{key: row.get(key) for key in names} for row in rows], []


_FORMATS: Mapping[str, Callable[[_Set], tuple[Any, list[str]]]] = {
    "ragas": _rows("ragas"),
    "embedding_qa": _embedding_qa,
    "labelled_rag": _labelled_rag,
    "langsmith": _langsmith,
    "deepeval": _deepeval,
    "hotpotqa": _hotpotqa,
    "squad": _squad,
    "beir": _beir,
    "mteb": _mteb,
    "trec": _trec,
    "hugging_face": _own_rows,
    "parquet": _own_rows,
}

FORMATS = tuple(_FORMATS)
"""The formats that `write` knows."""


def write(
    samples: Iterable[Sample | Mapping[str, Any]],
    format: str,  # noqa: A002 - the format's name
    path: str | Path | None = None,
    *,
    documents: Iterable[ContextLike | Document] = (),
    alternatives: Alternatives = "all",
) -> Written:
    """Return samples as another tool has them, and write them to `path` if there is one.

    `read` reads all of these files back but TREC's, which have no questions.

    - "ragas": rows of `user_input`, `reference`, `reference_contexts`, `reference_context_ids`.
    - "embedding_qa", "labelled_rag": LlamaIndex's two data sets as JSON.
    - "langsmith": rows of `inputs`, `outputs`, `metadata`, with all references.
    - "deepeval": goldens as JSON rows.
    - "hotpotqa", "squad": rows with the documents' texts.
    - "beir", "mteb": a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv or .jsonl.
      "trec": qrels.
    - "hugging_face": a `datasets.Dataset`, saved to the folder `path`. "parquet": a file.

    `documents` are texts by ID: the corpus, where a format holds it. No format but LangSmith's
    rows and the last two has any-of groups: `alternatives` says what becomes of them, and the
    notes say what that does to recall. Raises `ParameterError` for an unknown format,
    `InputError` where a format cannot hold a sample, and `MissingExtraError` without the package
    that it needs.
    """
    if format not in _FORMATS:
        raise ParameterError(f"unknown format {format!r}: choose one of {', '.join(FORMATS)}")
    if alternatives not in ("all", "first"):
        raise ParameterError(f"alternatives: choose one of all, first, got {alternatives!r}")
    texts = {}
    for item in documents:
        context = item if isinstance(item, Context) else _as_context(item)
        texts[str(context.id)] = context.text or ""
    value, notes = _FORMATS[format](_Set(list(from_rows(samples)), alternatives, texts))
    if format == "hugging_face":
        value = _dataset(value)
    exported = Written(format, value, tuple(notes))
    if path is not None:
        _write(exported, Path(path))
    return exported


def _as_context(item: Any) -> Context:
    if isinstance(item, tuple) and len(item) >= 2:  # noqa: PLR2004 - a `Document`
        return Context(item[1], id=item[0])
    return as_context(item)


def _dataset(rows: Sequence[Mapping[str, Any]]) -> Any:
    try:
        from datasets import Dataset
    except ImportError:
        raise MissingExtraError("datasets", "test", "A Hugging Face data set") from None
    return Dataset.from_list(list(rows))


def _write(exported: Written, path: Path) -> None:
    if exported.format == "hugging_face":
        exported.value.save_to_disk(str(path))
    elif exported.format == "parquet":
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError("pyarrow", "parquet", "Writing Parquet") from None
        pq.write_table(pa.Table.from_pylist(exported.value), path)
    elif exported.format in ("beir", "mteb"):
        (path / "qrels").mkdir(parents=True, exist_ok=True)
        for name in ("corpus", "queries"):
            written(_lines(exported.value[name]), path / f"{name}.jsonl")
        qrels = exported.value["qrels"]
        if exported.format == "mteb":
            written(_lines(qrels), path / "qrels" / "test.jsonl")
        else:
            written(qrels, path / "qrels" / "test.tsv")
    elif exported.format == "trec":
        written(exported.value, path)
    elif path.suffix == ".jsonl" and isinstance(exported.value, list):
        written(_lines(exported.value), path)
    else:
        written(json.dumps(exported.value, indent=1) + "\n", path)


def _lines(rows: Iterable[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
