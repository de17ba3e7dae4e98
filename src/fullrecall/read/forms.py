"""Rows as other tools have them: one table of fields, for reading and for writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, NamedTuple

from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.read.strict_json import parsed
from fullrecall.sample import Sample

Row = Mapping[str, Any]


class Form(NamedTuple):
    """How a tool names a sample's fields: ours, and theirs as a dotted path.

    `recognizes` tells by a row's columns whether it is of this form; of several the first counts.
    `read` makes fields of a row where names alone do not.
    """

    fields: Mapping[str, str]
    recognizes: Callable[[AbstractSet[str]], bool] = lambda _: False
    read: Callable[[Row], dict[str, Any]] | None = None


def _with_columns(*columns: str) -> Callable[[AbstractSet[str]], bool]:
    """Return what recognizes rows that have all of these columns."""
    return lambda names: names >= set(columns)


_SAMPLE_NAMES = frozenset(
    {name for field, others in Sample.names().items() for name in (field, *others)}
) - {"id"}
_ANSWERS = frozenset({"answer", "output", "response", "expected", "expected_output", "result"})


def _langsmith(row: Row) -> dict[str, Any]:
    """Return the fields of an example: its outputs are what is expected."""
    parts = {name: _object(row, name) for name in ("inputs", "outputs", "metadata")}
    inputs, outputs, metadata = parts.values()
    fields: dict[str, Any] = {"id": metadata.get("id") or row.get("id")}
    if len(inputs) == 1:
        fields["user_input"] = next(iter(inputs.values()))
    else:
        fields |= inputs
    for name, value in outputs.items():
        fields["reference" if name in _ANSWERS else name] = value
    if metadata.get("group") is not None:
        fields["group"] = metadata["group"]
    # Beside them a user may have put what was retrieved; of an export's own columns none is known.
    fields |= {name: value for name, value in row.items() if name in _SAMPLE_NAMES - {"metadata"}}
    more = {name: value for name, value in metadata.items() if name not in ("id", "group")}
    return {**fields, "metadata": more} if more else fields


def _object(row: Row, name: str) -> dict[str, Any]:
    value = row.get(name)
    value = parsed(value) if isinstance(value, str) and value.strip() else value or {}
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be an object, got {shown(value)}", field=name)
    return dict(value)


def _langsmith_columns(row: Row) -> dict[str, Any]:
    """Return the fields of an example as LangSmith's CSV has it: a column for each key."""

    def under(*beginnings: str) -> dict[str, Any]:
        return {
            name.removeprefix(beginning): value
            for name, value in row.items()
            for beginning in beginnings
            if name.startswith(beginning) and value is not None
        }

    return _langsmith({
        **{name: value for name, value in row.items() if name in _SAMPLE_NAMES},
        "id": row.get("id"),
        "inputs": under("input_", "inputs."),
        "outputs": under("output_", "outputs."),
        "metadata": under("metadata_", "metadata."),
    })  # fmt: skip


def _hotpotqa(row: Row) -> dict[str, Any]:
    """Return the fields of a question: the pages of its supporting facts, and their sentences."""
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
    return {
        "id": row.get("_id") or row.get("id"),
        "user_input": row["question"],
        "reference": row.get("answer"),
        "reference_context_ids": list(dict.fromkeys(title for title, _ in facts)),
        "reference_contexts": groups,
    }


def _squad(row: Row) -> dict[str, Any]:
    """Return the fields of a question: its paragraph is the reference, if it is answerable.

    A sample has one reference answer, the first; all that differ are in its metadata.
    """
    answers = row.get("answers") or {}
    texts = (
        answers.get("text", ()) if isinstance(answers, Mapping) else [a["text"] for a in answers]
    )
    texts = list(dict.fromkeys(texts))
    fields: dict[str, Any] = {"metadata": {"answers": texts}} if len(texts) > 1 else {}
    return fields | {
        "id": row.get("id"),
        "user_input": row["question"],
        "reference": texts[0] if texts else None,
        "reference_contexts": [row["context"]] if texts else [],
        "group": row.get("title"),
    }


def _has_langsmith_columns(names: AbstractSet[str]) -> bool:
    beginnings = (("input_", "inputs."), ("output_", "outputs."))
    return all(any(str(name).startswith(under) for name in names) for under in beginnings)


_DEEPEVAL = {
    "user_input": "input",
    "reference": "expected_output",
    "reference_contexts": "context",
    "response": "actual_output",
    "retrieved_contexts": "retrieval_context",
    "id": "name",
    "metadata": "additional_metadata",
}
_OF_DEEPEVAL = frozenset({"expected_output", "actual_output", "retrieval_context"})
_BESIDE = frozenset({
    "metadata", "source_file", "tools_called", "expected_tools", "comments",
    "custom_column_key_values",
})  # fmt: skip
"""What deepeval has beside the fields of a sample."""


def _is_deepeval(names: AbstractSet[str]) -> bool:
    known = {*_DEEPEVAL.values(), *_BESIDE}
    return "input" in names and names <= known and not _OF_DEEPEVAL.isdisjoint(names)


_OWN = ("user_input", "reference", "reference_contexts", "reference_context_ids")

FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "ragas": Form({name: name for name in _OWN}),
        "deepeval": Form(_DEEPEVAL, _is_deepeval),
        "langsmith": Form(
            {
                "user_input": "inputs.question",
                "reference": "outputs.reference",
                "reference_claims": "outputs.reference_claims",
                "reference_contexts": "outputs.reference_contexts",
                "reference_context_ids": "outputs.reference_context_ids",
                "id": "metadata.id",
                "group": "metadata.group",
            },
            _with_columns("inputs", "outputs"),
            _langsmith,
        ),
        "labelled_rag": Form(
            {
                "user_input": "query",
                "reference": "reference_answer",
                "reference_contexts": "reference_contexts",
            }
        ),
        "hotpotqa": Form(
            {"id": "_id", "user_input": "question", "reference": "answer"},
            _with_columns("question", "supporting_facts", "context"),
            _hotpotqa,
        ),
        "squad": Form(
            {"id": "id", "user_input": "question", "group": "title"},
            _with_columns("question", "context", "answers"),
            _squad,
        ),
        "langsmith_columns": Form({}, _has_langsmith_columns, _langsmith_columns),
    }
)
"""The forms by name, in the order in which a row is looked at.

LlamaIndex's EmbeddingQA, BEIR and TREC are files.
"""


def fields_of(row: Row) -> Row:
    """Return a row under the names that `Sample` takes, where it is of a known form."""
    names = row.keys()
    form = next((form for form in FORMS.values() if form.recognizes(names)), None)
    if form is None:
        return _with_question(row)
    if form.read is not None:
        return _with_question(form.read(row))
    fields = {ours: row[theirs] for ours, theirs in form.fields.items() if theirs in row}
    if row.get("metadata") is not None:
        fields["metadata"] = row["metadata"]
    return _with_question(fields)


def attributes_of(row: object) -> Row | None:
    """Return the fields of a test case or golden of deepeval by its names; None for any other.

    It is not dumped: that would make one text of a retrieved context and its source.
    """
    if type(row).__module__.partition(".")[0] != "deepeval":
        return None
    values = {name: getattr(row, name, None) for name in FORMS["deepeval"].fields.values()}
    values["metadata"] = getattr(row, "metadata", None)
    values["retrieval_context"] = (
        [
            {"text": item.context, "source": item.source} if hasattr(item, "source") else item
            for item in values["retrieval_context"] or ()
        ]
        if values["retrieval_context"] is not None
        else None
    )
    return {name: value for name, value in values.items() if value is not None}


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


def set_at(row: dict[str, Any], path: str, value: Any) -> None:
    """Set a value at a dotted path of a row, making the objects on the way."""
    *parents, last = path.split(".")
    for name in parents:
        row = row.setdefault(name, {})
    row[last] = value
