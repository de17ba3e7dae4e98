"""Test sets in the forms of other tools; each says what it could not keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from fullrecall.context import Context, ContextLike, as_context
from fullrecall.errors import InputError, MissingExtraError, ParameterError
from fullrecall.read.documents import Document
from fullrecall.read.forms import FORMS, Form, set_at
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

    def numbered(self) -> Iterator[tuple[str, Sample]]:
        """Yield samples with their IDs, or numbers."""
        for number, sample in enumerate(self.samples, start=1):
            yield sample.id or f"q{number}", sample

    def judged(self) -> Iterator[tuple[str, str, float]]:
        """Yield the IDs of a sample and of a reference, and its grade."""
        for name, sample in self.numbered():
            for document_id, grade in self.ids(sample).items():
                yield name, document_id, grade

    def rows(self, form: Form) -> list[dict[str, Any]]:
        """Return the rows of a form, by the table of fields that also reads them."""
        rows = []
        for name, sample in self.numbered():
            values = {
                "id": name,
                "group": sample.group,
                "user_input": sample.user_input,
                "reference": sample.reference,
                "reference_contexts": self.contexts(sample),
                "reference_context_ids": list(self.ids(sample)),
            }
            row: dict[str, Any] = {}
            for ours, path in form.fields.items():
                if ours in values:
                    set_at(row, path, values[ours])
            rows.append(row)
        return rows


def _notes(testset: _Set, keeps: Collection[str]) -> Iterator[str]:
    """Yield what is lost of a set by a format that keeps these fields of a sample."""
    samples = testset.samples
    ids = [r for s in samples for r in s.reference_context_ids or ()]
    alternatives = sum(
        any(len(r.any_of) > 1 for r in s.reference_context_ids or () if _IDS in keeps)
        or any(len(group) > 1 for group in s.reference_contexts or () if _CONTEXTS in keeps)
        for s in samples
    )
    if alternatives and "alternatives" not in keeps:
        did = (
            "each alternative becomes a separate target there: recall falls"
            if testset.alternatives == "all"
            else "only the first alternative is there: the others count as not relevant"
        )
        have = "1 sample has" if alternatives == 1 else f"{alternatives:,} samples have"
        yield f"{have} any-of groups, which this format lacks; {did}"
    if _IDS in keeps and "grades" not in keeps and any(r.grade != 1 for r in ids):
        yield "grades are left out: every reference counts alike"
    if _IDS not in keeps and ids:
        yield "reference IDs are left out: recall is by text there"
    if "several" not in keeps and any(len(testset.ids(s)) > 1 for s in samples):
        several = sum(len(testset.ids(sample)) > 1 for sample in samples)
        yield f"{several:,} samples have several references: the first alone is there"
    for field, called in _LEFT_OUT.items():
        if field not in keeps and any(getattr(sample, field) for sample in samples):
            yield f"{called} are left out"


_IDS, _CONTEXTS = "reference_context_ids", "reference_contexts"
_LEFT_OUT = {
    "user_input": "questions",
    "reference": "reference answers",
    "reference_claims": "claims",
}


def _ragas(testset: _Set) -> Any:
    return testset.rows(FORMS["ragas"])


def _embedding_qa(testset: _Set) -> Any:
    corpus = dict(testset.texts)
    corpus |= {document: testset.text(document, name) for name, document, _ in testset.judged()}
    return {
        "queries": {name: sample.user_input for name, sample in testset.numbered()},
        "corpus": corpus,
        "relevant_docs": {name: list(testset.ids(sample)) for name, sample in testset.numbered()},
        "mode": "text",
    }


def _labelled_rag(testset: _Set) -> Any:
    by = {"model_name": "", "type": "ai"}
    rows = testset.rows(FORMS["labelled_rag"])
    for row, sample in zip(rows, testset.samples, strict=True):
        row["reference_answer"] = row["reference_answer"] or ""
        row |= {"query_by": _writer(sample) or by, "reference_answer_by": _writer(sample) or by}
    return {"examples": rows}


def _writer(sample: Sample) -> dict[str, str] | None:
    origin = sample.metadata.get("testset")
    model = origin.get("model") if isinstance(origin, Mapping) else None
    return {"model_name": str(model), "type": "ai"} if model else None


def _langsmith(testset: _Set) -> Any:
    rows = []
    for name, sample in testset.numbered():
        kept = {n: v for n, v in sample.to_dict().items() if n.startswith("reference")}
        extra = {"id": name, "group": sample.group, **sample.metadata}
        metadata = {key: value for key, value in extra.items() if value is not None}
        rows.append(
            {"inputs": {"question": sample.user_input}, "outputs": kept, "metadata": metadata}
        )
    return rows


def _deepeval(testset: _Set) -> Any:
    rows = testset.rows(FORMS["deepeval"])
    for row, (name, sample) in zip(rows, testset.numbered(), strict=True):
        del row["name"]
        row["source_file"] = next(iter(testset.ids(sample)), None)
        row["additional_metadata"] = {"id": name, **sample.metadata}
    return rows


def _hotpotqa(testset: _Set) -> Any:
    """Return questions with their documents as pages of one sentence each."""
    rows = testset.rows(FORMS["hotpotqa"])
    for row, (name, sample) in zip(rows, testset.numbered(), strict=True):
        titles = list(testset.ids(sample))
        row["supporting_facts"] = [[title, 0] for title in titles]
        row["context"] = [[title, [testset.text(title, name)]] for title in titles]
    return rows


def _squad(testset: _Set) -> Any:
    """Return a question with its paragraph, and where its answers stand in it.

    Without an answer that stands there, the quote is the answer, or the paragraph.
    """
    rows = testset.rows(FORMS["squad"])
    for row, (name, sample) in zip(rows, testset.numbered(), strict=True):
        ids, quotes = list(testset.ids(sample)), testset.contexts(sample)
        paragraph = testset.text(ids[0], name) if ids else next(iter(quotes), "")
        stated = [sample.reference or "", *(sample.metadata.get("answers") or ())]
        answers = [text for text in dict.fromkeys(stated) if text and text in paragraph]
        instead = [] if answers or not paragraph else quotes[:1] or [paragraph]
        starts = [paragraph.find(answer) for answer in answers] or [0] * len(instead)
        row["context"] = paragraph
        row["answers"] = {"text": answers or instead, "answer_start": starts}
    return rows


def _beir(testset: _Set) -> Any:
    lines = ["query-id\tcorpus-id\tscore"]
    lines += [f"{name}\t{document}\t{grade:g}" for name, document, grade in testset.judged()]
    return {
        "corpus": [{"_id": name, "title": "", "text": t} for name, t in testset.texts.items()],
        "queries": [
            {"_id": name, "text": sample.user_input} for name, sample in testset.numbered()
        ],
        "qrels": "\n".join(lines) + "\n",
    }


def _mteb(testset: _Set) -> Any:
    judged = [
        {"query-id": name, "corpus-id": document_id, "score": grade}
        for name, document_id, grade in testset.judged()
    ]
    return {**_beir(testset), "qrels": judged}


def _trec(testset: _Set) -> Any:
    for name, document_id, _ in testset.judged():
        if any(c.isspace() for c in name + document_id):
            raise InputError(f"TREC's files cannot hold the whitespace in {document_id or name!r}")
    return "".join(f"{name} 0 {document} {grade:g}\n" for name, document, grade in testset.judged())


def _own_rows(testset: _Set) -> Any:
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
    return [{key: row.get(key) for key in names} for row in rows]


class _Format(NamedTuple):
    """How a format is made of a set, which fields of a sample it keeps, and what else to say."""

    value_of: Callable[[_Set], Any]
    keeps: frozenset[str]
    note: str = ""


_JUDGED = frozenset({"user_input", _IDS, "grades", "several"})
_ANSWERED = frozenset({"user_input", "reference", "several"})
_EVERYTHING = frozenset({*Sample.names(), "grades", "alternatives", "several"})

_FORMATS: Mapping[str, _Format] = {
    "ragas": _Format(_ragas, _ANSWERED | {_IDS, _CONTEXTS}),
    "embedding_qa": _Format(_embedding_qa, _JUDGED - {"grades"}),
    "labelled_rag": _Format(_labelled_rag, _ANSWERED | {_CONTEXTS}),
    "langsmith": _Format(_langsmith, _EVERYTHING),
    "deepeval": _Format(_deepeval, _ANSWERED | {_CONTEXTS}),
    "hotpotqa": _Format(_hotpotqa, _ANSWERED | {_IDS}, "each document is one page of one sentence"),
    "squad": _Format(_squad, _ANSWERED - {"several"} | {_IDS}),
    "beir": _Format(_beir, _JUDGED),
    "mteb": _Format(_mteb, _JUDGED),
    "trec": _Format(_trec, _JUDGED - {"user_input"}),
    "hugging_face": _Format(_own_rows, _EVERYTHING),
    "parquet": _Format(_own_rows, _EVERYTHING),
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
    testset, form = _Set(list(from_rows(samples)), alternatives, texts), _FORMATS[format]
    value, notes = form.value_of(testset), [*_notes(testset, form.keeps)]
    if format == "hugging_face":
        value = _dataset(value)
    if format in ("beir", "mteb") and not texts:
        notes.append("corpus.jsonl is empty: pass documents= to fill it")
    exported = Written(format, value, (*notes, *filter(None, (form.note,))))
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
