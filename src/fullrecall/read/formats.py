"""The formats of other tools, one row of a table each: for reading, and for writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from fullrecall.corpus import texts_in
from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.read.export_set import ExportSet
from fullrecall.read.llama_index import (
    embedding_qa,
    labelled_rag,
    rows_of_embedding_qa,
    rows_of_labelled_rag,
)
from fullrecall.read.strict_json import parsed
from fullrecall.sample import Sample

Row: TypeAlias = Mapping[str, Any]
LabeledRows: TypeAlias = Iterator[tuple[str, object]]
"""Rows, each with what names it in an error."""


class Format(NamedTuple):
    """How a tool has samples. Only what it needs is set.

    - `fields`: the names of ours, with theirs: the first of them is written, the first that a row
      has is read.
    - `recognizes`: whether a row is of this format, by its columns; of several the first counts.
    - `read`: the fields of a row that names alone do not give, by our names.
    - `rows_within`: the rows of a data set that is one object; None for any other object.
    - `write`: what it makes of a set: rows, one object, a text, or the files of a folder by name.
      Default: rows of `fields`.
    - `container`: what it is written into, of `writing.CONTAINERS`; None where it is only read.
    - `keeps`: the fields of a sample that it keeps; "grades", "alternatives" and "several" are of
      the references.
    - `note`: what else to say of what was written.
    - `own`: columns of its own that a sample has by the same name. All other fields of a sample
      that stand beside the format's are the user's, such as what was retrieved.
    """

    fields: Mapping[str, Sequence[str]] = MappingProxyType({})
    recognizes: Callable[[AbstractSet[str]], bool] = lambda _: False
    read: Callable[[Row], dict[str, Any]] | None = None
    rows_within: Callable[[object], LabeledRows | None] = lambda _: None
    write: Callable[[ExportSet, list[dict[str, Any]]], Any] = lambda _, rows: rows
    container: str | None = None
    keeps: frozenset[str] = frozenset()
    note: str = ""
    own: frozenset[str] = frozenset()

    def fields_of(self, row: Row) -> dict[str, Any]:
        """Return the fields of a row by our names."""
        fields = {}
        for own, names in self.fields.items():
            name = next((name for name in names if row.get(name) is not None), None)
            if name is not None:
                fields[own] = row[name]
        if self.read is not None:
            fields |= self.read(row)
        taken = self.own.union(*self.fields.values())
        beside = {
            name: value
            for name, value in row.items()
            if name in _SAMPLE_NAMES - taken and value is not None
        }
        if isinstance(beside.get("metadata"), Mapping) and "metadata" in fields:
            beside["metadata"] = {**beside["metadata"], **fields["metadata"]}
        return fields | beside

    def value_of(self, samples: ExportSet) -> Any:
        """Return what this format makes of a set."""
        return self.write(samples, samples.rows(self.fields))


IDS, CONTEXTS = "reference_context_ids", "reference_contexts"
_JUDGED = frozenset({"user_input", IDS, "grades", "several"})
_ANSWERED = frozenset({"user_input", "reference", "several"})
_EVERYTHING = frozenset({*Sample.names(), "grades", "alternatives", "several"})
_ANSWERS = frozenset({"answer", "output", "response", "expected", "expected_output", "result"})
_SAMPLE_NAMES = frozenset(
    {name for field, others in Sample.names().items() for name in (field, *others)}
) - {"id"}


def _with_columns(*columns: str) -> Callable[[AbstractSet[str]], bool]:
    """Return what recognizes rows that have all of these columns."""
    return lambda names: names >= set(columns)


_PARTS = {
    "inputs": ("input_", "inputs."),
    "outputs": ("output_", "outputs."),
    "metadata": ("metadata_", "metadata."),
}
"""The parts of LangSmith's examples, and how the columns of its CSV begin: one for each key."""


def _is_langsmith(names: AbstractSet[str]) -> bool:
    return all(
        part in names or any(str(name).startswith(_PARTS[part]) for name in names)
        for part in ("inputs", "outputs")
    )


def _langsmith(row: Row) -> dict[str, Any]:
    """Return the fields of an example: its outputs are what is expected."""
    inputs, outputs, metadata = (_part(row, name) for name in _PARTS)
    fields: dict[str, Any] = {"id": metadata.get("id") or row.get("id")}
    if len(inputs) == 1:
        fields["user_input"] = next(iter(inputs.values()))
    else:
        fields |= inputs
    for name, value in outputs.items():
        fields["reference" if name in _ANSWERS else name] = value
    if metadata.get("group") is not None:
        fields["group"] = metadata["group"]
    more = {name: value for name, value in metadata.items() if name not in ("id", "group")}
    return {**fields, "metadata": more} if more else fields


def _part(row: Row, name: str) -> dict[str, Any]:
    """Return a part of an example: an object, its JSON, or what the columns of CSV make up."""
    value = row.get(name)
    if value is None:
        return {
            column.removeprefix(beginning): cell
            for column, cell in row.items()
            for beginning in _PARTS[name]
            if column.startswith(beginning) and cell is not None
        }
    value = parsed(value) if isinstance(value, str) and value.strip() else value or {}
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be an object, got {shown(value)}", field=name)
    return dict(value)


def _as_langsmith(samples: ExportSet, _: object) -> Any:
    rows = []
    for name, sample in samples.numbered():
        kept = {n: v for n, v in sample.to_dict().items() if n.startswith("reference")}
        extra = {"id": name, "group": sample.group, **sample.metadata}
        metadata = {key: value for key, value in extra.items() if value is not None}
        rows.append(
            {"inputs": {"question": sample.user_input}, "outputs": kept, "metadata": metadata}
        )
    return rows


_DEEPEVAL = {
    "user_input": ("input",),
    "reference": ("expected_output",),
    "reference_contexts": ("context",),
    "response": ("actual_output",),
    "retrieved_contexts": ("retrieval_context",),
    "id": ("name",),
    "metadata": ("metadata", "additional_metadata"),
}
_OF_DEEPEVAL = frozenset({"expected_output", "actual_output", "retrieval_context"})
_BESIDE = frozenset(
    {
        "source_file",
        "tools_called",
        "expected_tools",
        "comments",
        "custom_column_key_values",
    }
)
"""What deepeval has beside the fields of a sample."""


def _is_deepeval(names: AbstractSet[str]) -> bool:
    known = {name for names in _DEEPEVAL.values() for name in names} | _BESIDE
    return "input" in names and names <= known and not _OF_DEEPEVAL.isdisjoint(names)


def _as_deepeval(samples: ExportSet, rows: list[dict[str, Any]]) -> Any:
    for row, (name, sample) in zip(rows, samples.numbered(), strict=True):
        del row["name"]
        row["source_file"] = next(iter(samples.ids(sample)), None)
        row["additional_metadata"] = {"id": name, **sample.metadata}
    return rows


def attributes_of(row: object) -> Row | None:
    """Return the fields of a test case or golden of deepeval by its names; None for any other.

    It is not dumped: that would make one text of a retrieved context and its source.
    """
    if type(row).__module__.partition(".")[0] != "deepeval":
        return None
    names = [name for names in _DEEPEVAL.values() for name in names]
    values = {name: getattr(row, name, None) for name in names}
    if values["retrieval_context"] is not None:
        values["retrieval_context"] = [
            {"text": item.context, "source": item.source} if hasattr(item, "source") else item
            for item in values["retrieval_context"]
        ]
    return {name: value for name, value in values.items() if value is not None}


def _hotpotqa(row: Row) -> dict[str, Any]:
    """Return the pages of a question's supporting facts, and their sentences."""
    facts, context = row["supporting_facts"], row["context"]
    if isinstance(facts, Mapping):  # as Hugging Face has it, by columns
        facts = list(zip(facts["title"], facts["sent_id"], strict=True))
        context = list(zip(context["title"], context["sentences"], strict=True))
    pages = dict(context)
    groups = [
        [{"text": pages[title][number].strip(), "source": title}]
        for title, number in facts
        if title in pages and 0 <= number < len(pages[title])
    ]
    titles = list(dict.fromkeys(title for title, _ in facts))
    return {IDS: titles, CONTEXTS: groups}


def _as_hotpotqa(samples: ExportSet, rows: list[dict[str, Any]]) -> Any:
    """Return questions with their documents as pages of one sentence each."""
    for row, (name, sample) in zip(rows, samples.numbered(), strict=True):
        titles = list(samples.ids(sample))
        row["supporting_facts"] = [[title, 0] for title in titles]
        row["context"] = [[title, [samples.text(title, name)]] for title in titles]
    return rows


def _squad(row: Row) -> dict[str, Any]:
    """Return a question's paragraph, which is the reference if it is answerable, and its answer.

    A sample has one reference answer, the first; all that differ are in its metadata.
    """
    answers = row.get("answers") or {}
    texts = (
        answers.get("text", ()) if isinstance(answers, Mapping) else [a["text"] for a in answers]
    )
    texts = list(dict.fromkeys(texts))
    fields: dict[str, Any] = {"metadata": {"answers": texts}} if len(texts) > 1 else {}
    fields["reference"] = texts[0] if texts else None
    return fields | {CONTEXTS: [row["context"]] if texts else []}


def _as_squad(samples: ExportSet, rows: list[dict[str, Any]]) -> Any:
    """Return a question with its paragraph, and where its answers stand in it.

    Without an answer that stands there, the quote is the answer, or the paragraph.
    """
    for row, (name, sample) in zip(rows, samples.numbered(), strict=True):
        ids, quotes = list(samples.ids(sample)), samples.contexts(sample)
        paragraph = samples.text(ids[0], name) if ids else next(iter(quotes), "")
        stated = [sample.reference or "", *texts_in(sample.metadata, "answers")]
        answers = [text for text in dict.fromkeys(stated) if text and text in paragraph]
        instead = [] if answers or not paragraph else quotes[:1] or [paragraph]
        starts = [paragraph.find(answer) for answer in answers] or [0] * len(instead)
        row["context"] = paragraph
        row["answers"] = {"text": answers or instead, "answer_start": starts}
    return rows


def _squad_questions(dataset: object) -> LabeledRows | None:
    """Return the questions of SQuAD's file, each with its paragraph."""
    articles = _mappings(dataset.get("data")) if isinstance(dataset, Mapping) else []
    if not any("paragraphs" in article for article in articles):
        return None
    return (
        (
            f"question {question.get('id')!r}",
            {**question, "context": paragraph.get("context"), "title": article.get("title")},
        )
        for article in articles
        for paragraph in _mappings(article.get("paragraphs"))
        for question in _mappings(paragraph.get("qas"))
    )


def _mappings(items: object) -> list[Row]:
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _as_mteb(samples: ExportSet, _: object) -> Any:
    return {
        "corpus": [{"_id": name, "title": "", "text": t} for name, t in samples.texts.items()],
        "queries": [
            {"_id": name, "text": sample.user_input} for name, sample in samples.numbered()
        ],
        "qrels": [
            {"query-id": name, "corpus-id": document_id, "score": grade}
            for name, document_id, grade in samples.judged()
        ],
    }


def _as_beir(samples: ExportSet, _: object) -> Any:
    lines = ["query-id\tcorpus-id\tscore"]
    lines += [f"{name}\t{document}\t{grade:g}" for name, document, grade in samples.judged()]
    return {**_as_mteb(samples, _), "qrels": "\n".join(lines) + "\n"}


def _as_trec(samples: ExportSet, _: object) -> Any:
    for name, document_id, _grade in samples.judged():
        if any(c.isspace() for c in name + document_id):
            raise InputError(f"TREC's files cannot hold the whitespace in {document_id or name!r}")
    return "".join(f"{name} 0 {document} {grade:g}\n" for name, document, grade in samples.judged())


def _own_rows(samples: ExportSet, _: object) -> Any:
    """Return rows of one form, as columns need it, which `read` reads back."""
    rows = []
    for name, sample in samples.numbered():
        fields = {"id": name, **sample.to_dict()}
        if sample.reference_context_ids is not None:
            fields[IDS] = [
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


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "ragas": Format(
            {name: (name,) for name in ("user_input", "reference", CONTEXTS, IDS)},
            container="json",
            keeps=_ANSWERED | {IDS, CONTEXTS},
        ),
        "embedding_qa": Format(
            rows_within=rows_of_embedding_qa,
            write=embedding_qa,
            container="json",
            keeps=_JUDGED - {"grades"},
        ),
        "labelled_rag": Format(
            {
                "user_input": ("query",),
                "reference": ("reference_answer",),
                CONTEXTS: (CONTEXTS,),
            },
            rows_within=rows_of_labelled_rag,
            write=labelled_rag,
            container="json",
            keeps=_ANSWERED | {CONTEXTS},
        ),
        "langsmith": Format(
            recognizes=_is_langsmith,
            read=_langsmith,
            own=frozenset(_PARTS),
            write=_as_langsmith,
            container="json",
            keeps=_EVERYTHING,
        ),
        "deepeval": Format(
            _DEEPEVAL,
            _is_deepeval,
            write=_as_deepeval,
            container="json",
            keeps=_ANSWERED | {CONTEXTS},
        ),
        "hotpotqa": Format(
            {"id": ("_id", "id"), "user_input": ("question",), "reference": ("answer",)},
            _with_columns("question", "supporting_facts", "context"),
            _hotpotqa,
            write=_as_hotpotqa,
            container="json",
            keeps=_ANSWERED | {IDS},
            note="each document is one page of one sentence",
        ),
        "squad": Format(
            {"id": ("id",), "user_input": ("question",), "group": ("title",)},
            _with_columns("question", "context", "answers"),
            _squad,
            _squad_questions,
            _as_squad,
            container="json",
            keeps=_ANSWERED - {"several"} | {IDS},
        ),
        "beir": Format(write=_as_beir, container="folder", keeps=_JUDGED),
        "mteb": Format(write=_as_mteb, container="folder", keeps=_JUDGED),
        "trec": Format(write=_as_trec, container="text", keeps=_JUDGED - {"user_input"}),
        "hugging_face": Format(write=_own_rows, container="dataset", keeps=_EVERYTHING),
        "parquet": Format(write=_own_rows, container="parquet", keeps=_EVERYTHING),
    }
)
"""The formats by name, in the order in which a row is looked at."""


def fields_of(row: Row) -> Row:
    """Return a row under the names that `Sample` takes, where it is of a known format."""
    names = row.keys()
    form_name = next((name for name, form in FORMATS.items() if form.recognizes(names)), None)
    if form_name is None:
        return _with_question(row)
    try:
        return _with_question(FORMATS[form_name].fields_of(row))
    except InputError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # of a stranger's nesting
        problem = f"has the columns of {form_name}, and not its form ({error}): rename them"
        raise InputError(f"the row {problem}") from None


def rows_within(dataset: object) -> LabeledRows | None:
    """Return the rows of a data set that is one object; None for anything else."""
    for form in FORMATS.values():
        rows = form.rows_within(dataset)
        if rows is not None:
            return rows
    return None


_QUESTIONS = ("user_input", "question", "query", "input", "messages", "turns")
_USERS = ("user", "human")


def _with_question(row: Row) -> Row:
    """Return a row of a conversation with its last question; the history goes into metadata."""
    name = next((n for n in _QUESTIONS if _is_conversation(row.get(n))), None)
    if name is None:
        return row
    messages = [_message(message) for message in row[name]]
    user_turns = [at for at, message in enumerate(messages) if message["role"] in _USERS]
    if not user_turns:
        raise InputError(f"{name} has no message of a user", field=name)
    last = user_turns[-1]
    fields = {key: value for key, value in row.items() if key != name}
    kept = fields.get("metadata") or {}
    if isinstance(kept, Mapping) and last:
        fields["metadata"] = {**kept, "history": messages[:last]}
    return {**fields, "user_input": messages[last]["content"]}


def _is_conversation(value: object) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return False
    return all(isinstance(message, Mapping) and "content" in message for message in value)


def _message(message: Row) -> dict[str, str]:
    role = str(message.get("role") or message.get("type") or "").lower()
    return {"role": role, "content": str(message["content"] or "")}
