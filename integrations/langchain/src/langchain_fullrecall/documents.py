"""Read LangChain's documents, in each of their forms, as fullrecall's contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from langchain_core.documents import Document
from pydantic import BaseModel

from fullrecall import Context
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.samples.context import ID, finite
from fullrecall.samples.hit_fields import at_path
from fullrecall.samples.id_keys import IdKey, check_id_key, id_by
from fullrecall.samples.identifiers import as_id, as_list
from fullrecall.samples.retrieval import by_id

DocumentIdKey: TypeAlias = IdKey | None
"""The place of a document's ID. None means `Document.id`; a `str` is a key of its metadata, or a
dotted path there; several keys are joined by ":" (`("source", "start_index")` gives "a.md:120"); a
function returns the ID of a `Document`. With the key of the source, all chunks of one source share
an ID.
"""

DocumentLike: TypeAlias = Document | Context | str | Mapping[str, Any] | tuple[Any, float]
"""A `Document`; `(document, score)`; a document as a mapping, as `dumpd`, `model_dump` and
LangSmith write it; a `Context`; or a bare text."""

_TEXT_KEYS = ("page_content", "text", "content")
_PLACE = ("source", "start", "end")
_EMPTY: Mapping[str, Any] = {}


class Original(NamedTuple):
    """The ID, score, metadata and place of a document.

    `place` has its `source`, `start` and `end`; it is empty for a document without a place.
    """

    id: Any
    score: float | None = None
    metadata: Mapping[str, Any] = _EMPTY
    place: Mapping[str, Any] = _EMPTY


@dataclass(frozen=True)
class DocumentReader:
    """How documents are read as contexts: the parameters of `contexts`, checked once.

    Raises `ParameterError` for an `id_key` that is not a `DocumentIdKey`.
    """

    id_key: DocumentIdKey = None
    collapse: bool = False

    def __post_init__(self) -> None:
        check_id_key(self.id_key)

    def contexts(self, documents: Iterable[DocumentLike]) -> list[Context]:
        """Return `documents` as contexts, in their order; see the function `contexts`."""
        return self.collapsed(self.read(documents))

    def collapsed(self, contexts: Sequence[Context]) -> list[Context]:
        """Return contexts as a list; with `collapse`, contexts of one ID are joined."""
        return by_id(contexts) if self.collapse else list(contexts)

    def read(self, documents: Iterable[DocumentLike]) -> list[Context]:
        """Return `documents` as contexts, one for each, without collapsing them.

        Raises `InputError`, naming the position, for anything but a document.
        """
        if isinstance(documents, BaseModel):  # A model iterates over its own fields.
            raise InputError(
                f"expected a list of documents, got one {type(documents).__name__}: wrap it in []",
                field="retrieved_contexts",
            )
        try:
            items = as_list(documents, ordered=True)
        except ValueError as error:
            raise InputError(f"documents: {error}", field="retrieved_contexts") from None
        contexts = []
        for position, item in enumerate(items):
            try:
                text, own = parts_of(item)
                contexts.append(self.context(text, self._id(text, own), own))
            except ValueError as error:
                message = f"document {position}: {error}"
                raise InputError(message, field="retrieved_contexts") from error.__cause__
        return contexts

    def context(self, text: str | None, own_id: ID | None, own: Original) -> Context:
        """Return a context with this text and ID, and a document's score, metadata and place."""
        return Context(text, id=own_id, score=own.score, metadata=own.metadata, **own.place)

    def id_of(self, text: str, own: Original) -> str | None:
        """Return the ID that `id_key` names, or None; raise `InputError` for an invalid ID."""
        try:
            own_id = self._id(text, own)
            return None if own_id is None else as_id(own_id) or None
        except ValueError as error:
            raise InputError(str(error), field="retrieved_contexts") from error.__cause__

    def _id(self, text: str | None, own: Original) -> Any:
        if self.id_key is None:
            return own.id
        document = None
        if callable(self.id_key):
            own_id = None if own.id is None else as_id(own.id)
            document = Document(page_content=text or "", metadata=dict(own.metadata), id=own_id)
        return id_by(self.id_key, document, lambda path: at_path(own.metadata, path))


def contexts(
    documents: Iterable[DocumentLike],
    *,
    id_key: DocumentIdKey = None,
    collapse: bool = False,
) -> list[Context]:
    """Return documents as contexts, in their order, which is the rank.

    Each item is a `Document`, one dumped to a mapping, a `(document, score)` pair, a `Context`,
    or a bare text. A context holds copies, because the application may change its documents.
    `id_key` names the place of the ID (see `DocumentIdKey`); a document without it has no ID.

    With `collapse`, documents of one ID become one context, at the rank of the first of them: the
    chunks of a source count once, and k counts sources. The text of such a context joins the
    documents' texts with blank lines. The context has the score and metadata of the first document,
    and no place. Without `collapse` k counts chunks, and a repeated ID scores only once. Documents
    without an ID stay separate.

    Raises `InputError`, naming the position, for anything but a document; `ParameterError` for an
    `id_key` that is not a `DocumentIdKey`.
    """
    return DocumentReader(id_key, collapse).contexts(documents)


def is_document(item: object) -> bool:
    """Return whether `item` is certainly a document: not a text, nor some other mapping."""
    item, _ = _scored(item)
    if isinstance(item, Mapping):
        return "page_content" in item or ("lc" in item and "page_content" in _kwargs(item))
    return isinstance(item, (Document, Context))


def _scored(item: object) -> tuple[object, float | None]:
    """Return the parts of a (document, score) pair; for any other item, the item and None."""
    if isinstance(item, (tuple, list)) and len(item) == 2:  # noqa: PLR2004 - a pair
        document, score = item
        if isinstance(score, Real):
            return document, finite(score)
    return item, None


def parts_of(item: object) -> tuple[str | None, Original]:
    """Return the text of a document in any form, and its other data.

    Raises `ValueError` for an item that is not a document.
    """
    item, score = _scored(item)
    if isinstance(item, Document):
        return item.page_content, Original(item.id, score, item.metadata)
    if isinstance(item, str):
        return item, Original(None, score)
    if isinstance(item, Context):
        item = item.to_dict()
    if not isinstance(item, Mapping):
        raise ValueError(
            f"expected a Document, a mapping, a (document, score) pair or a text, got {shown(item)}"
        )
    fields = _kwargs(item) if "lc" in item else dict(item)
    if fields.get("type") == "Document":
        del fields["type"]
    text = next((fields.pop(key) for key in _TEXT_KEYS if key in fields), None)
    own_id, own_score = fields.pop("id", None), finite(fields.pop("score", None))
    metadata = fields.pop("metadata", None) or {}
    if not isinstance(metadata, Mapping):
        raise ValueError(f"metadata must be a mapping, got {shown(metadata)}")
    placed = fields.get("start") is not None and fields.get("end") is not None
    span = {name: fields.pop(name, None) for name in _PLACE} if placed else {}
    # A plain mapping may have fields beside its metadata. Add them to the metadata, which `id_key`
    # searches.
    own_score = score if own_score is None else own_score
    return text, Original(own_id, own_score, {**fields, **metadata}, span)


def _kwargs(dumped: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's fields from the form that `langchain_core.load.dumpd` writes."""
    kwargs = dumped.get("kwargs")
    return dict(kwargs) if isinstance(kwargs, Mapping) else {}
