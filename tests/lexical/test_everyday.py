"""Everyday English that was written before the room was tuned: what it gets right, case by case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fullrecall.lexical.clauses import facts_of

GOLDEN = Path(__file__).parents[1] / "golden"
_MARKER = re.compile(r"^(?:\(?\d+[.)]|[-*•]) ")


def _cases(name: str, failing: frozenset[int] = frozenset()) -> list[Any]:
    """Return the cases of a file, those that are known to fail by their line, from 1."""
    rows = map(json.loads, (GOLDEN / name).read_text(encoding="utf-8").splitlines())
    return [
        pytest.param(
            row,
            id=f"{number}: {row['about']}",
            marks=pytest.mark.xfail(strict=True) if number in failing else (),
        )
        for number, row in enumerate(rows, start=1)
    ]


def _bare(fact: str) -> str:
    return _MARKER.sub("", fact).rstrip(".").replace("`", "").lower()


@pytest.mark.parametrize("row", _cases("reference_answers.jsonl", frozenset({40})))
def test_reference_answers_are_split(row: dict[str, Any]) -> None:
    """Each answer gives its facts, each with its subject, in order."""
    assert list(map(_bare, facts_of(row["answer"]))) == list(map(_bare, row["facts"]))
