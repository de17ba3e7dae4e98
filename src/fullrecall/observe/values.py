"""Copy documents and texts from any value: lists, mappings, messages, models, dataclasses."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from sys import getsizeof
from typing import Any, NamedTuple

from fullrecall._util.dataframes import is_frame
from fullrecall.observe.messages import hands_over, message_of
from fullrecall.observe.step import HITS, ITEM, ROWS, DocumentCopy, DocumentList, Path, Step
from fullrecall.observe.tools import hits_in, is_empty_list
from fullrecall.samples.context import CONTEXT_NAMES, Context, as_context
from fullrecall.samples.hits import contexts_of

_DEPTH = 12
"""The greatest depth to which a value is searched."""

_NO_CONTENT = (type(None), bool, int, float, complex, bytes, bytearray)

COPY = 1000
"""The measured size of a document and its copy in bytes, without the text."""

_LOG = "tool_calls"
"""The key of tool calls in messages and agents' answers; the calls are steps of their own."""

Fields = Iterable[tuple[Hashable, Any]]


_IDS = "retrieved_context_ids"
"""The sample field under which an answer may list the IDs of its documents."""


class Contents(NamedTuple):
    """The contents of a value: its lists of documents, and all its text, in pieces."""

    lists: tuple[DocumentList, ...]
    texts: tuple[str, ...]


def are_equal(first: object, second: object) -> bool:
    """Return whether two values are certainly equal; False if their comparison fails."""
    try:
        return bool(first == second)
    except Exception:  # noqa: BLE001 - metadata may hold objects of any class
        return False


def copy_of(context: Context, token: int = 0) -> DocumentCopy:
    """Return a copy of a context; `token` is the identity of the object that it was read from."""
    return DocumentCopy(token, context.id, context.text or "", context)


def joined(parts: Sequence[Any]) -> Any:
    """Return the parts of a stream as one text if all are texts; else the parts unchanged.

    A single part is returned as it is, without its list.
    """
    if len(parts) == 1:
        return parts[0]
    return "".join(parts) if parts and all(isinstance(part, str) for part in parts) else parts


class ValueReader:
    """Copies the documents and texts in values; adapters add the types of their frameworks.

    One reader belongs to one record. It holds a reference to each object that it has read, up to
    `limit` bytes, so that no other object gets the same identity. Beyond the limit, `is_full` is
    True, and no more values are copied. `limit` must be above 0. `size` is an estimate of the bytes
    that these objects take.
    """

    def __init__(self, limit: int = 64_000_000) -> None:
        self.is_full = False
        self.size = 0
        self._limit = limit
        self._copies: dict[int, tuple[object, DocumentCopy]] = {}
        self._messages: dict[tuple[int, Path], tuple[object, Contents]] = {}
        self._kept: dict[int, object] = {}

    # Hooks that an adapter may override

    def document(self, value: Any) -> DocumentCopy | None:  # noqa: ARG002 - a hook
        """Return a copy of a document of the framework; None for any other value.

        The copy has the identity of the document.
        """
        return None

    def message(self, value: Any) -> Fields | None:  # noqa: ARG002 - a hook
        """Return the keys and values of a message, which is then cached; None for other values."""
        return None

    def opened(self, value: Any) -> Fields | None:  # noqa: ARG002 - a hook
        """Return the keys and values of a framework's object, except a message; else None."""
        return None

    def listed(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return the items of a list; an adapter may replace an answer by the answer's sources."""
        return items

    def result_of(self, output: Any) -> Any:
        """Return a tool's own result from the output that the framework wraps around it."""
        message = message_of(output)
        if message is not None:
            return message.text
        is_content = isinstance(output, Mapping) and output.keys() == {"content", "artifact"}
        return output["content"] if is_content else output

    # Methods for all callers

    def end(self, step: Step, output: Any, *, ends_call: bool) -> None:
        """Write a step's output into the step, or the failure that a tool's message reports.

        `ends_call` is True for the output of a whole call, which `read_result` reads.
        """
        if step.kind == "tool" and hands_over(output):
            step.kind = "chain"  # The tool starts another agent or node, and does not search.
        message = message_of(output) if step.kind == "tool" else None
        if message is not None and message.failed:
            step.error = message.failure
            return
        step.outputs = self.identities(output)
        is_mapping = isinstance(output, Mapping)
        if is_mapping and message is not None and message.role == "tool":
            output = {"content": message.text, "artifact": message.artifact}
        elif is_mapping and {"update", "goto"} <= output.keys():
            output = output["update"]  # LangGraph's Command: the node's update of the state
        contents = self.read_result(output) if ends_call else self.read(output)
        if step.kind == "tool":
            step.result = self.result_of(output)
            contents = self._with_hits(contents, step)
        step.returned, step.texts = contents

    def read(self, value: object) -> Contents:
        """Return the contents of a value, copied now."""
        return self._read_all([((), value)])

    def read_result(self, value: object) -> Contents:
        """Return the contents of the output of a whole call.

        If the output has no documents, its IDs, tuples or mappings are read as rows, in an
        uncertain list with the path `ROWS`. That list counts only if each row is a known document.
        """
        contents = self.read(value)
        if any(each.certain for each in contents.lists):
            return contents
        if not (isinstance(value, (list, tuple, Mapping)) or is_frame(value)):
            return contents
        try:
            rows = contexts_of(value.get(_IDS, value) if isinstance(value, Mapping) else value)
        except Exception:  # noqa: BLE001 - objects of any class, of which few are rows
            return contents
        copies = tuple(map(copy_of, rows))
        self.spend(sum(COPY + getsizeof(copy.text) for copy in copies))
        return Contents(
            (DocumentList(ROWS, copies, certain=False), *contents.lists), contents.texts
        )

    def _with_hits(self, contents: Contents, step: Step) -> Contents:
        """Return the contents of a tool's result; search hits in the result become documents.

        The contents are unchanged if documents with IDs were read already, or if the result has no
        hits and is not an empty search.
        """
        certain = (each for each in contents.lists if each.certain)
        if any(copy.id is not None for listed in certain for copy in listed.documents):
            return contents
        found = [hits_in(step.result)]
        if found == [None]:
            found = [hits_in(text) for text in contents.texts]
        hits = {(each.id, each.text): each for part in found for each in part or ()}
        # An empty list means an empty search only if the tool got a query: other tools may return
        # empty lists of anything.
        is_search = bool(step.query) and is_empty_list(step.result)
        if not (hits or () in found or is_search):
            return contents
        copies = tuple(map(copy_of, hits.values()))
        return Contents((DocumentList(HITS, copies),), contents.texts)

    def read_documents(self, value: object) -> DocumentList:
        """Return the documents of a value that has only retrieved documents, in any known form.

        Raises `InputError` for values that cannot be read as documents.
        """
        copies = _whole(self.copies(value)) if isinstance(value, (list, tuple)) else ()
        return DocumentList(
            (), copies or tuple(map(copy_of, contexts_of(value, strings_are_ids=True)))
        )

    def identities(self, value: object) -> tuple[int, ...]:
        """Return the identity of a mapping, list or other object; () for empty or plain values."""
        # Strings have no identity here: Python may use one object for equal strings.
        if not value or isinstance(value, (str, *_NO_CONTENT)):
            return ()
        self._kept[id(value)] = value
        return (id(value),)

    def is_unchanged(self, value: Any, copy: DocumentCopy) -> bool:
        """Return whether a document equals its copy; an adapter may know a faster check."""
        new = self._document(value)
        return new is not None and new.id == copy.id and new.text == copy.text

    def copy(self, value: object) -> DocumentCopy | None:
        """Return a copy of a value that is a document, with the object's identity; else None."""
        return self._copied((value,))[0]

    def copies(self, items: Sequence[Any]) -> list[DocumentCopy | None]:
        """Return a copy of the document in each item; None for an item without one.

        An item is a document, or a pair of a document and a score.
        """
        return self._copied([_without_score(i) if type(i) is tuple else i for i in items])

    def _copied(self, values: Sequence[object]) -> list[DocumentCopy | None]:
        copies: list[DocumentCopy | None] = []
        size = 0
        for value in values:
            # A retriever may change an object that it returned before: copy it again.
            cached = self._copies.get(id(value))
            if cached is not None and self.is_unchanged(value, cached[1]):
                copies.append(cached[1])
                continue
            copy = self._document(value)
            copies.append(copy)
            if copy is not None:
                size += COPY + getsizeof(copy.text)
                self._copies[id(value)] = (value, copy)
        self.spend(size)
        return copies

    def _document(self, value: object) -> DocumentCopy | None:
        document = self.document(value)
        if document is not None:
            return document
        context = _context_of(value)
        return None if context is None else copy_of(context, id(value))

    def forget(self) -> None:
        """Release the objects that were read, once no more values are to be read."""
        self._copies, self._messages, self._kept = {}, {}, {}

    def spend(self, size: int) -> None:
        """Add to the size of the kept objects, in bytes."""
        self.size += size
        self.is_full = self.size > self._limit

    def _read_all(self, values: Iterable[tuple[Path, Any]]) -> Contents:
        lists: list[DocumentList] = []
        texts: list[str] = []
        for path, value in values:
            self._walk(value, path, lists, texts)
        return Contents(tuple(lists), tuple(texts))

    def _walk(self, value: Any, path: Path, lists: list[DocumentList], texts: list[str]) -> None:
        if isinstance(value, _NO_CONTENT) or self.is_full or len(path) > _DEPTH:
            return
        if isinstance(value, str):
            if value and id(value) not in self._kept:
                self._kept[id(value)] = value
                self.spend(getsizeof(value))
            texts += [value] if value else []
        elif isinstance(value, (list, tuple)):
            self._items(value, path, lists, texts)
        elif (copy := self.copy(value)) is not None:
            lists.append(DocumentList(path, (copy,)))
        elif not isinstance(value, Mapping) and (inside := self.message(value)) is not None:
            contents = self._message(value, inside, path)
            lists += contents.lists
            texts += contents.texts
        else:
            # A mapping of several documents, such as documents by ID, is one list of documents.
            is_several = isinstance(value, Mapping) and len(value) > 1
            by_key = _whole(map(self.copy, value.values())) if is_several else ()
            if by_key:
                lists.append(DocumentList(path, by_key))
                lists = []
            for key, item in self._fields(value):
                if key != _LOG:
                    self._walk(item, (*path, key), lists, texts)

    def _items(
        self, value: Sequence[Any], path: Path, lists: list[DocumentList], texts: list[str]
    ) -> None:
        if value and isinstance(value[0], (int, float)) and isinstance(value[-1], (int, float)):
            return  # The list is a vector: checking its two ends is enough.
        value = self.listed(value)
        copies = self.copies(value)
        documents = tuple([copy for copy in copies if copy is not None])
        if documents or not value:
            lists.append(DocumentList(path, documents))
        if len(documents) == len(value):
            return
        if not documents and all(isinstance(item, str) for item in value):
            perhaps = tuple(DocumentCopy(0, None, text) for text in value)
            lists.append(DocumentList(path, perhaps, certain=False))
        # Each item may hold one document beside a score or a note: put these documents in one list.
        hits = () if documents else _whole(map(self._hit, value))
        if hits:
            lists.append(DocumentList(path, hits, hits=True))
            lists = []  # discard lists inside the hits, and read only their texts
        for item, copy in zip(value, copies, strict=True):
            if copy is None:
                self._walk(item, (*path, ITEM), lists, texts)

    def _hit(self, item: Any, depth: int = 3) -> DocumentCopy | None:
        """Return the only document in an item such as `{"doc": D, "score": 1}`, or None."""
        if isinstance(item, (str, *_NO_CONTENT)) or depth == 0:
            return None
        if isinstance(item, (list, tuple)):
            found = [copy for copy in self.copies(item) if copy is not None]
            return found[0] if len(found) == 1 else None
        if message_of(item) is not None:
            return None
        found = []
        for _, value in self._fields(item):
            # A list of documents in an item is the result of a call, so the item is not a hit.
            if isinstance(value, (list, tuple)):
                if value and self.copy(value[0]) is not None:
                    return None
                continue
            copy = self.copy(value) or self._hit(value, depth - 1)
            found += [] if copy is None else [copy]
        return found[0] if len(found) == 1 else None

    def _message(self, value: object, inside: Fields, path: Path) -> Contents:
        # An agent sends each message again at every turn; reading all of them again would take
        # quadratic time.
        cached = self._messages.get((id(value), path))
        if cached is None:
            contents = self._read_all(((*path, key), item) for key, item in inside)
            cached = self._messages[id(value), path] = (value, contents)
        return cached[1]

    def _fields(self, value: Any) -> Fields:
        """Return the keys and values of a mapping, a framework's object, or a Pydantic model."""
        if isinstance(value, Mapping):
            return value.items()
        opened = self.opened(value)
        return _fields(value) if opened is None else opened


def _whole(copies: Iterable[DocumentCopy | None]) -> tuple[DocumentCopy, ...]:
    """Return the copies, or an empty tuple if one of them is None."""
    found: list[DocumentCopy] = []
    for copy in copies:
        if copy is None:
            return ()
        found.append(copy)
    return tuple(found)


def _context_of(value: object) -> Context | None:
    """Return a `Context` unchanged; convert a mapping of its fields; return None for other values.

    A mapping with only a text is not a document.
    """
    if isinstance(value, Context):
        return value
    if not isinstance(value, Mapping) or not value.keys() <= CONTEXT_NAMES:
        return None
    if value.get("type", "Document") != "Document":
        return None  # a message
    if value.keys() <= {"type", "text", "content"}:
        return None
    try:
        return as_context(value)
    except ValueError:
        return None


def _without_score(item: tuple[Any, ...]) -> Any:
    """Return the document in a pair of a document and a score; any other value unchanged."""
    if len(item) == 2:  # noqa: PLR2004
        first, second = item
        if isinstance(second, (int, float)):
            return first
        if isinstance(first, (int, float)):
            return second
    return item


def _fields(value: Any) -> Fields:
    """Return the fields of a dataclass or Pydantic model, or a set's items; () for other values."""
    if isinstance(value, (set, frozenset)):
        return ((ITEM, item) for item in value)
    if isinstance(value, type):
        return ()
    if is_dataclass(value):
        return ((each.name, getattr(value, each.name, None)) for each in fields(value))
    names = getattr(type(value), "model_fields", None)
    if isinstance(names, Mapping):
        return ((name, getattr(value, name, None)) for name in names)
    return ()
