"""Pairs for people to label, as a file: is the context relevant to the question?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fullrecall.errors import InputError, ParameterError
from fullrecall.read.sheets import sheet_rows
from fullrecall.views.exports import written, written_table
from fullrecall.views.spreadsheet import table

RELEVANT, NOT_RELEVANT = "relevant", "not_relevant"
LABELS = (RELEVANT, NOT_RELEVANT)


@dataclass(frozen=True)
class PairToLabel:
    """One question and one context; `label` is to be filled in with `relevant` or `not_relevant`.

    A context is relevant if it states what the question needs, with claims: at least one of them.
    `item` identifies the pair.
    """

    item: str
    question: str
    context: str
    claims: str = ""
    label: str = ""


def write(pairs: Iterable[PairToLabel], path: str | Path) -> None:
    """Write pairs to a new file, `.csv` or `.jsonl`.

    Raises `ParameterError` for another ending, and for a file that exists: it may hold labels.
    """
    listed = list(pairs)
    suffix = Path(path).suffix
    if suffix not in (".csv", ".jsonl"):
        raise ParameterError(f"path must end in .csv or .jsonl, got {Path(path).name!r}")
    if Path(path).exists():
        raise ParameterError(f"{path} exists and may hold labels: name another file")
    if suffix == ".jsonl":
        written("".join(json.dumps(asdict(pair)) + "\n" for pair in listed), path)
        return
    head = ["label", "question", "claims", "context", "item"]
    rows = ([pair.label, pair.question, pair.claims, pair.context, pair.item] for pair in listed)
    written_table(table([head, *rows]), path)


def read(labels: str | Path | Mapping[str, Any] | Iterable[PairToLabel]) -> dict[str, bool]:
    """Return labels by their item: True for relevant. Pairs without a label are left out.

    Takes the file that `write` made, a mapping from items to labels, or pairs. Raises
    `InputError` for a label that is neither, with its line.
    """
    if isinstance(labels, Mapping):
        rows: Iterator[tuple[int, str, Any]] = (
            (n, str(item), label) for n, (item, label) in enumerate(labels.items(), start=1)
        )
    elif isinstance(labels, (str, Path)):
        rows = _rows(Path(labels))
    else:
        rows = ((n, pair.item, pair.label) for n, pair in enumerate(labels, start=1))
    label_by_item: dict[str, bool] = {}
    for line, item, label in rows:
        verdict = _label(label, line)
        if verdict is not None and label_by_item.setdefault(item, verdict) != verdict:
            raise InputError(f"item {item} has two labels: keep one", line=line)
    return label_by_item


def _label(label: Any, line: int) -> bool | None:
    if isinstance(label, bool) or label is None:
        return label
    normalized = str(label).strip().lower().replace(" ", "_")
    if not normalized:
        return None
    if normalized not in LABELS:
        raise InputError(f"unknown label {label!r}: choose one of {', '.join(LABELS)}", line=line)
    return normalized == RELEVANT


def _rows(path: Path) -> Iterator[tuple[int, str, Any]]:
    try:
        for line, row in sheet_rows(path, (("label",), ("item",))):
            yield line, str(row.get("item")), row.get("label")
    except InputError as error:
        raise error.at(path=str(path)) from None


def filled(pairs: Iterable[PairToLabel], labels: Mapping[str, bool]) -> list[PairToLabel]:
    """Return pairs with the labels that are known already."""
    words = {True: RELEVANT, False: NOT_RELEVANT}
    return [
        replace(pair, label=words[labels[pair.item]] if pair.item in labels else pair.label)
        for pair in pairs
    ]
