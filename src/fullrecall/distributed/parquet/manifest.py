"""The manifest of a report's directory: which parts it has, and by what each is known.

Parts are written first, under names of their own; the manifest names them and takes the place of
the one before it at once. What is killed leaves the old manifest, or one that says that it has no
end. A manifest carries a digest of itself and of each part: what was edited is not read.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field

from fullrecall.distributed.parquet.columns import identity
from fullrecall.errors import ReportError
from fullrecall.records import Count, MethodRecord, Record, Text, plain_method
from fullrecall.report.file import as_line, parsed
from fullrecall.report.signature import MANIFEST
from fullrecall.result import Method

VERSION = 1
"""The version of the form: of the manifest and of the columns of a part."""

_KIND = "fullrecall report in parts"

_NO_END = "its manifest has no end: the run was killed or is still running"


class PartRecord(Record):
    """One part: a Parquet file with its rows, bytes, and digest.

    `id` names it among the parts of the report, whoever wrote it and however often; `file` is its
    name in the directory.
    """

    id: Text
    file: Text
    rows: Count
    bytes: Count
    digest: Text


class Manifest(Record):
    """All parts of a report, in the order of their samples.

    `end` is False while parts may still come; `stopped` says why samples are missing.
    """

    kind: str = _KIND
    version: int = VERSION
    methods: Annotated[list[MethodRecord], Field(min_length=1)]
    parts: list[PartRecord]
    samples: Count
    end: bool
    stopped: str | None = None

    @classmethod
    def of(
        cls,
        methods: Sequence[Method],
        parts: Sequence[PartRecord],
        *,
        end: bool = True,
        stopped: str | None = None,
    ) -> Self:
        """Return the manifest of these parts."""
        return cls(
            methods=[MethodRecord.read(plain_method(method)) for method in methods],
            parts=list(parts),
            samples=sum(part.rows for part in parts),
            end=end,
            stopped=stopped,
        )

    @property
    def as_methods(self) -> list[Method]:
        """How the samples were scored; raises `ReportError` for a measure that is not known."""
        return [record.method for record in self.methods]

    @property
    def incomplete(self) -> str | None:
        """Why samples are missing; None where all are there."""
        return self.stopped if self.end else self.stopped or _NO_END

    def write(self, folder: Path) -> None:
        """Put the manifest into its directory, in the place of the one that is there."""
        plain = self.model_dump(mode="json")
        text = as_line({**plain, "digest": _digest(plain)}) + "\n"
        part = folder / f"{MANIFEST}.{os.getpid()}.part"
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(folder / MANIFEST)
        finally:
            part.unlink(missing_ok=True)


def read(folder: Path) -> Manifest:
    """Return the manifest of a directory.

    Raises `ReportError`, naming the file, for a directory without one, for one that was edited,
    and for what no run writes: a part twice, counts that do not add up, a part elsewhere.
    """
    path = folder / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ReportError(
            f"{folder} has no {MANIFEST}: it is not a saved report, or the run that wrote it was "
            "killed before its first part was whole"
        ) from None
    except NotADirectoryError:
        raise ReportError(
            f"{folder} is a file, and its name is that of a report's directory: a report is saved "
            "as one .jsonl file, or as a directory"
        ) from None
    except UnicodeDecodeError as error:
        raise ReportError(f"{path} is not a manifest: it is not UTF-8 text ({error})") from None
    try:
        return _checked(_plain(text))
    except ReportError as error:
        raise ReportError(f"{path}: {error}") from None


def _plain(text: str) -> dict[str, Any]:
    try:
        plain = parsed(text)
    except ReportError:
        raise
    except ValueError as error:
        raise ReportError(f"must be a JSON object, and is cut off or damaged ({error})") from None
    if not isinstance(plain, dict) or plain.get("kind") != _KIND:
        raise ReportError("is not the manifest of a report: Report.save writes one")
    return plain


def _checked(plain: dict[str, Any]) -> Manifest:
    if plain.get("version") != VERSION:
        raise ReportError(
            f"has version {plain.get('version')!r} of the form, this fullrecall reads {VERSION}: "
            "evaluate again, or read it with the fullrecall that wrote it"
        )
    digest = plain.pop("digest", None)
    manifest = Manifest.read(plain)
    if digest != _digest(plain):
        raise ReportError(
            f"digest must be {_digest(plain)}, got {digest!r}: the manifest was edited; save the "
            "report again"
        )
    for field in ("id", "file", "digest"):
        often = Counter(getattr(part, field) for part in manifest.parts)
        for value, times in often.items():
            if times > 1:
                raise ReportError(
                    f"parts must occur once each: {field} {value!r} occurs {times} times"
                )
    for nth, part in enumerate(manifest.parts):
        if Path(part.file).name != part.file:
            raise ReportError(f"parts[{nth}].file must be a name in this directory: {part.file!r}")
    if (total := sum(part.rows for part in manifest.parts)) != manifest.samples:
        raise ReportError(f"samples must be {total}, as the parts have, got {manifest.samples}")
    names = [record.name for record in manifest.methods]
    if len(set(names)) < len(names):
        raise ReportError(f"methods must have distinct names, got {', '.join(names)}")
    identity(manifest.as_methods)
    return manifest


def _digest(plain: dict[str, Any]) -> str:
    text = json.dumps(plain, sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()
