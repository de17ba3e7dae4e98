"""Pairs for people to label, as a file: is the context relevant to the question?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fullrecall.calibration import sheet
from fullrecall.errors import InputError
from fullrecall.read.sheets import sheet_rows

_WORDS = {"relevant": True, "not_relevant": False}


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


PairLabels: TypeAlias = str | Path | Mapping[str, Any] | Iterable[PairToLabel]
"""The file that `CompletedSet.to_label` wrote, a mapping from items to labels, or pairs."""


def write(pairs: Sequence[PairToLabel], path: str | Path) -> None:
    """Write pairs to a new file, `.csv` or `.jsonl`.

    Raises `ParameterError` for another ending, and for a file that exists: it may hold labels.
    """
    head = ("label", "question", "claims", "context", "item")
    cells = ([getattr(pair, name) for name in head] for pair in pairs)
    sheet.write(path, [head, *cells], map(asdict, pairs))


def word_of(label: bool | None) -> str:  # noqa: FBT001 - a label
    """Return a label as people write it; None is one that is not filled in."""
    return next((word for word, relevant in _WORDS.items() if relevant is label), "")


def read(labels: PairLabels) -> dict[str, bool]:
    """Return labels by their item: True for relevant. Pairs without a label are left out.

    Raises `InputError` for a label that is neither, with its line.
    """
    label_by_item: dict[str, bool] = {}
    for line, item, label in _rows(labels):
        verdict = _label(label, line)
        if verdict is not None and label_by_item.setdefault(item, verdict) != verdict:
            raise InputError(f"item {item} has two labels: keep one", line=line)
    return label_by_item


def _rows(labels: PairLabels) -> Iterator[tuple[int, str, Any]]:
    if isinstance(labels, Mapping):
        for line, (item, label) in enumerate(labels.items(), start=1):
            yield line, str(item), label
    elif isinstance(labels, (str, Path)):
        try:
            for line, row in sheet_rows(labels, (("label",), ("item",))):
                yield line, str(row.get("item")), row.get("label")
        except InputError as error:
            raise error.at(path=str(labels)) from None
    else:
        for line, pair in enumerate(labels, start=1):
            yield line, pair.item, pair.label


def _label(label: Any, line: int) -> bool | None:
    if isinstance(label, bool) or label is None:
        return label
    normalized = str(label).strip().lower().replace(" ", "_")
    if not normalized:
        return None
    if normalized not in _WORDS:
        raise InputError(f"unknown label {label!r}: choose one of {', '.join(_WORDS)}", line=line)
    return _WORDS[normalized]
