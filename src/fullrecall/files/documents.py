"""Documents of a test set, each with an ID, from texts, files or frameworks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from fullrecall._util.extras import imported
from fullrecall._util.parameters import as_path
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.containers import json_lines
from fullrecall.files.rows import each_row, in_file
from fullrecall.files.text_files import FilePath, existing_file
from fullrecall.samples.context import Context
from fullrecall.samples.corpus import Document
from fullrecall.samples.hits import context_of
from fullrecall.samples.identifiers import as_id, bounded

DocumentsLike: TypeAlias = "str | Path | Iterable[Any] | Mapping[Any, str]"
"""A folder, a file, a mapping from IDs to texts, or any iterable of documents."""

_BLOCKS = (
    "address article aside blockquote body br dd div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tbody td th thead tr ul".split()
)
_BLANK_LINES = re.compile(r"\n{2,}")

_NAMES = {
    "_id": "id",
    "doc_id": "id",
    "docid": "id",
    "chunk_id": "id",
    "page_content": "text",
    "content": "text",
    "contents": "text",
    "start_index": "start",
}
"""Names that BEIR, LangChain, Pyserini and other tools use for a context's fields."""

_FIELDS = frozenset({"text", "id", "score", "metadata", "source", "start", "end"})

ENDINGS = (".txt", ".md", ".markdown", ".rst", ".html", ".htm", ".jsonl")
"""The endings of the files that are read from a folder.

Each line of a `.jsonl` file is one document, any other file is one document.
"""


@dataclass(frozen=True)
class Documents:
    """Documents that can be iterated over many times, one document at a time.

    Only one file of a folder is in memory at a time. Iteration raises `InputError` for an item that
    is not a document, and for an ID that names two texts.
    """

    origin: Any

    def __iter__(self) -> Iterator[Document]:
        # Keep fingerprints instead of texts, since a corpus may be larger than memory.
        fingerprints: dict[str, int] = {}
        for document in _read(self.origin):
            fingerprint = hash(document.text)
            if document.id not in fingerprints:
                fingerprints[document.id] = fingerprint
                yield document
            elif fingerprints[document.id] != fingerprint:
                raise InputError(f"the ID {document.id!r} names two texts: use unique IDs")


def documents_of(origin: DocumentsLike | Documents) -> Documents:
    """Return `Documents` read from a folder, a file, a mapping or an iterable.

    - A folder: its `.txt`, `.md`, `.markdown`, `.rst`, `.html`, `.htm` and `.jsonl` files, also in
      folders below it. A file's path within the folder is its ID; the ID of a single file is its
      name. Each line of a `.jsonl` file is a document.
    - A mapping from IDs to texts.
    - An iterable of texts, mappings, `Context`s, LangChain or LlamaIndex documents, or anything
      with an `id` and a `text`. Without an ID, a document's ID is its source, or a digest of its
      text. The documents of an iterator are kept in memory.

    Raises `InputError` for a path that does not exist or has no documents, and for any other
    value.
    """
    if isinstance(origin, Documents):
        return origin
    if isinstance(origin, (str, os.PathLike)):
        path = as_path(origin, "documents")
        if not path.exists():
            raise InputError("no such file or folder", path=str(path))
        if path.is_dir() and not any(_files(path)):
            raise InputError(f"has no file that ends in {', '.join(ENDINGS)}", path=str(path))
        return Documents(path)
    if not isinstance(origin, Iterable) or isinstance(origin, (bytes, Context)):
        raise InputError(f"documents: expected a folder or an iterable, got {shown(origin)}")
    if not isinstance(origin, Iterator):
        return Documents(origin)
    try:
        return Documents(bounded(origin))
    except ValueError as error:
        raise InputError(f"documents: {error}") from None


def _read(origin: Any) -> Iterator[Document]:
    if isinstance(origin, Path):
        paths = _files(origin) if origin.is_dir() else [origin]
        folder = origin if origin.is_dir() else origin.parent
        for path in paths:
            yield from _in_file(path, path.relative_to(folder).as_posix())
    elif isinstance(origin, Mapping):
        for name, entry in origin.items():
            text = entry if isinstance(entry, str) else _document(entry, repr(name)).text
            yield Document(as_id(name), text)
    else:
        for position, entry in enumerate(origin):
            yield _document(entry, str(position))


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in ENDINGS and not hidden and path.is_file():
            yield path


def _in_file(path: Path, name: str) -> Iterator[Document]:
    if path.suffix.lower() == ".jsonl":
        for line, context in enumerate(read_contexts(path), start=1):
            yield _document(context, f"{name}:{line}")
        return
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8: convert it, or leave it out", path=str(path)) from None
    yield Document(name, html_text(text) if is_page(name) else text)


def is_page(name: str) -> bool:
    """Return whether a file's name says that it is HTML."""
    return name.lower().endswith((".html", ".htm"))


def html_text(page: str) -> str:
    """Return the visible text of an HTML page, with a blank line between blocks.

    Scripts, styles and the head are left out. Raises `MissingExtraError` without beautifulsoup4.
    """
    soups = imported("bs4", "beautifulsoup4", "html", "Reading HTML")
    whole = soups.BeautifulSoup(page, "html.parser")
    # Begin at the body: a head that is never closed contains it, and heads are removed.
    soup = whole.body or whole
    for element in soup(("script", "style", "template", "noscript", "head")):
        element.decompose()
    for element in soup(_BLOCKS):
        element.insert_before("\n\n")
        element.insert_after("\n\n")
    lines = (" ".join(line.split()) for line in soup.get_text().split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def _document(entry: Any, position: str) -> Document:
    """Return an entry as a document.

    The ID of an entry without one is its source, with the page if there is one, or else a digest of
    its text.
    """
    try:
        context = context_of(entry)
        own = entry.get("source") if isinstance(entry, Mapping) else getattr(entry, "source", None)
        source = context.source or context.metadata.get("source") or own
        source = None if source is None else as_id(source)
    except ValueError as error:
        raise InputError(f"documents, item {position}: {error}") from None
    if context.text is None:
        raise InputError(f"documents, item {position}: expected a text, got {shown(entry)}")
    if context.id is not None:
        return Document(context.id, context.text, source)
    if source is None:
        digest = sha256(context.text.encode("utf-8", "surrogatepass")).hexdigest()
        return Document(f"text-{digest[:12]}", context.text)
    page = context.metadata.get("page")
    return Document(source if page is None else f"{source}#page={page}", context.text)


def read_contexts(path: FilePath) -> Iterator[Context]:
    """Return the contexts of a JSON Lines file: one object per line, blank lines skipped.

    An object has a `text`, an `id` or both, under these names or those of BEIR, LangChain and
    Pyserini; all other keys go into the context's metadata. Raises `InputError` with the line's
    number for a line that is not a context.
    """
    name = existing_file(path)
    return in_file(name, each_row(json_lines(name), _context), kind="")


def _context(row: Mapping[str, object]) -> Context:
    fields: dict[str, Any] = {}
    more: dict[str, object] = {}
    for key, value in row.items():
        own = key if key in _FIELDS else _NAMES.get(key)
        if own is None or own in fields:
            more[key] = value
        elif value is not None:
            fields[own] = value
    metadata = fields.get("metadata") or {}
    if more and isinstance(metadata, dict):
        fields["metadata"] = {**more, **metadata}
    return Context(**fields)
