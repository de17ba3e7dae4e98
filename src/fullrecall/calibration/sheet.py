"""The claims to label as a file: CSV for a spreadsheet, JSON Lines for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from fullrecall.calibration.draw import ToLabel
from fullrecall.errors import ParameterError
from fullrecall.views.exports import written
from fullrecall.views.spreadsheet import BOM, table

LONGEST_CELL = 32_767
"""Characters that Excel takes in a cell; it tears a longer one apart."""


def check(path: str | Path) -> None:
    """Raise `ParameterError` where `path` has no known ending, or something is there."""
    if Path(path).suffix not in (".csv", ".jsonl"):
        raise ParameterError(f"path must end in .csv or .jsonl, got {Path(path).name!r}")
    if Path(path).exists():
        raise ParameterError(f"{path} exists and may hold labels: name another file")


def write(drawn: Sequence[ToLabel], path: str | Path) -> None:
    """Write the claims to a new file, as its ending says."""
    check(path)
    written(as_csv(drawn) if Path(path).suffix == ".csv" else as_jsonl(drawn), path)


def as_jsonl(drawn: Sequence[ToLabel]) -> str:
    """Return one JSON object a line."""
    return "".join(json.dumps(claim.to_dict()) + "\n" for claim in drawn)


def as_csv(drawn: Sequence[ToLabel]) -> str:
    """Return a head and one line for each claim, each context in a column of its own.

    With a byte order mark, without which Excel misreads what is not ASCII.
    """
    contexts = [f"context_{rank + 1}" for rank in range(most_contexts(drawn))]
    verdict = ["verdict"] if any(claim.verdict for claim in drawn) else []
    names = ["rater", "sample", "score", "item", "probability"]
    rows: list[list[object]] = [["label", "claim", "question", *contexts, *verdict, *names]]
    for claim in drawn:
        missing = [""] * (len(contexts) - len(claim.contexts))
        cells = [claim.label, claim.claim, claim.question, *claim.contexts, *missing]
        cells += [claim.verdict] if verdict else []
        cells += [claim.rater, claim.sample, claim.score, claim.item]
        rows.append([*cells, claim.probability])
    return f"{BOM}{table(rows)}"


def most_contexts(drawn: Sequence[ToLabel]) -> int:
    """Return how many contexts the claim has that has the most."""
    return max((len(claim.contexts) for claim in drawn), default=0)


def too_long(drawn: Sequence[ToLabel]) -> int:
    """Return how many claims have a text that does not fit into a cell of Excel."""
    return sum(
        any(len(text) >= LONGEST_CELL for text in (claim.claim, *claim.contexts)) for claim in drawn
    )
