"""The formats of other tools: one table, of how each has its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from fullrecall.context import Context
from fullrecall.errors import InputError
from fullrecall.identifiers import as_id, as_list, shown
from fullrecall.read.strict_json import parsed
from fullrecall.sample import Sample

Row: TypeAlias = Mapping[str, Any]
LabeledRows: TypeAlias = Iterator[tuple[str, object]]
"""Rows, each with what names it in an error."""


class Format(NamedTuple):
    """How a tool has samples. Only what it needs is set.

    - `fields`: the names of ours, with theirs: the first that a row has is read.
    - `recognizes`: whether a row is of this format, by its columns; of several the first counts.
    - `read`: the fields of a row that names alone do not give, by our names.
    - `rows_within`: the rows of a data set that is one object; None for any other object.
    - `own`: columns of its own that a sample has by the same name. All other fields of a sample
      that stand beside the format's are the user's, such as what was retrieved.
    """

    fields: Mapping[str, Sequence[str]] = MappingProxyType({})
    recognizes: Callable[[AbstractSet[str]], bool] = lambda _: False
    read: Callable[[Row], dict[str, Any]] | None = None
    rows_within: Callable[[object], LabeledRows | None] = lambda _: None
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
        beside = _SAMPLE_NAMES.difference(self.own, *self.fields.values())
        users = {name: row[name] for name in row if name in beside and row[name] is not None}
        if isinstance(users.get("metadata"), Mapping) and "metadata" in fields:
            users["metadata"] = {**users["metadata"], **fields["metadata"]}
        return fields | users


IDS = "reference_context_ids"
_ANSWERS = frozenset({"answer", "output", "response", "expected", "expected_output", "result"})
_SAMPLE_NAMES = frozenset(
    {name for field, others in Sample.names().items() for name in (field, *others)}
) - {"id"}


# --- LangSmith

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
    fields: dict[str, Any] = {"id": metadata.pop("id", None) or row.get("id")}
    if len(inputs) == 1:
        fields["user_input"] = next(iter(inputs.values()))
    else:
        fields |= inputs
    for name, value in outputs.items():
        fields["reference" if name in _ANSWERS else name] = value
    fields["group"] = metadata.pop("group", None)
    if metadata:
        fields["metadata"] = metadata
    return {name: value for name, value in fields.items() if value is not None}


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


# --- deepeval

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
_KNOWN_TO_DEEPEVAL = frozenset(
    "source_file tools_called expected_tools comments custom_column_key_values".split()
).union(*_DEEPEVAL.values())


def _is_deepeval(names: AbstractSet[str]) -> bool:
    return "input" in names and names <= _KNOWN_TO_DEEPEVAL and not _OF_DEEPEVAL.isdisjoint(names)


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


# --- LlamaIndex: the classes are not in llama-index-core any more (removed in 0.14.21), but the
# files of its two data sets live on, each one object.


def _embedding_qa(dataset: object) -> LabeledRows | None:
    """Return the rows of an EmbeddingQA; None for anything else.

    It has `queries` ({id: question}), `corpus` ({id: text}) and `relevant_docs` ({query id:
    [ids]}). A query without relevant documents has empty lists: its recall is undefined. The IDs
    are those of nodes, or of documents where it was generated from these.
    """
    parts = [_attribute(dataset, name) for name in ("queries", "corpus", "relevant_docs")]
    if not all(isinstance(part, Mapping) for part in parts):
        return None
    questions, corpus, relevant = parts
    texts = {str(key): text for key, text in corpus.items()}
    return (
        (f"query {name!r}", {"id": name, "user_input": question, **_nodes(relevant, name, texts)})
        for name, question in questions.items()
    )


def _attribute(dataset: object, name: str) -> Any:
    return dataset.get(name) if isinstance(dataset, Mapping) else getattr(dataset, name, None)


def _nodes(relevant: Row, query: Any, texts: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the IDs of a query's relevant nodes, and their texts."""
    try:
        ids = [as_id(own_id) for own_id in as_list(relevant.get(query) or (), ordered=False)]
        return {IDS: ids, "reference_contexts": [Context(texts[name], id=name) for name in ids]}
    except KeyError as error:
        problem = f"relevant_docs names {error}, which has no text in the corpus of {len(texts)}"
    except ValueError as error:
        problem = f"relevant_docs: {error}"
    raise InputError(f"query {query!r}: {problem}", field="relevant_docs")


def _labelled_rag(dataset: object) -> LabeledRows | None:
    """Return the rows of a LabelledRag, which has no IDs; None for anything else."""
    examples = _attribute(dataset, "examples")
    if not isinstance(examples, list):
        return None
    return ((f"example {number}", row) for number, row in enumerate(examples, start=1))


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "embedding_qa": Format(rows_within=_embedding_qa),
        "labelled_rag": Format(rows_within=_labelled_rag),
        "langsmith": Format(recognizes=_is_langsmith, read=_langsmith, own=frozenset(_PARTS)),
        "deepeval": Format(_DEEPEVAL, _is_deepeval),
    }
)
"""The formats by name, in the order in which a row is looked at."""


def fields_of(row: Row) -> Row:
    """Return a row under the names that `Sample` takes, where it is of a known format."""
    for name, form in FORMATS.items():
        if form.recognizes(row.keys()):
            try:
                return _with_question(form.fields_of(row))
            except InputError:
                raise
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                # Of a stranger's nesting.
                problem = f"the row has the columns of {name}, and not its form ({error})"
                raise InputError(f"{problem}: rename them") from None
    return _with_question(row)


def rows_within(dataset: object) -> LabeledRows | None:
    """Return the rows of a data set that is one object; None for anything else."""
    for form in FORMATS.values():
        rows = form.rows_within(dataset)
        if rows is not None:
            return rows
    return None


# --- conversations

_QUESTIONS = ("user_input", "question", "query", "input", "messages", "turns")
_USERS = ("user", "human")


def _with_question(row: Row) -> Row:
    """Return a row of a conversation with its last question; the history goes into metadata."""
    name = next((n for n in _QUESTIONS if _is_conversation(row.get(n))), None)
    if name is None:
        return row
    messages = [
        {
            "role": str(message.get("role") or message.get("type") or "").lower(),
            "content": str(message["content"] or ""),
        }
        for message in row[name]
    ]
    user_turns = [at for at, message in enumerate(messages) if message["role"] in _USERS]
    if not user_turns:
        raise InputError(f"{name} has no message of a user", field=name)
    last = user_turns[-1]
    fields = {key: value for key, value in row.items() if key != name}
    metadata = fields.get("metadata") or {}
    if isinstance(metadata, Mapping) and last:
        fields["metadata"] = {**metadata, "history": messages[:last]}
    return {**fields, "user_input": messages[last]["content"]}


def _is_conversation(value: object) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return False
    return all(isinstance(message, Mapping) and "content" in message for message in value)
