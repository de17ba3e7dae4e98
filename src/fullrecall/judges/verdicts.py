"""The verdict contract: exactly the asked targets, each once, with labels that exist.

Whatever breaks it is a problem of that target alone, to be asked for again; nothing is guessed,
nothing is dropped. Where every target has a verdict and others that were not asked have one too,
all are in doubt: a judge that cuts a target in two numbers what follows anew.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from fullrecall.judges.protocols import Citation, Label, Verdict

_LONGEST_NUMBER = 10
"""More digits than any number of targets has; Python refuses thousands of them."""

_LABELS: Mapping[str, Label] = {label: label for label in get_args(Label)}


def checked(
    objects: Iterable[Mapping[str, Any]],
    asked: Collection[int],
    contexts: Collection[int],
    *,
    on_itself: bool = False,
) -> dict[int, Verdict]:
    """Return one verdict for each number in `asked`; those without a valid one have a `problem`.

    `contexts` are the numbers that a citation may name, with `on_itself` only the target's own;
    citations come out 0-based.
    """
    given: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for item in objects:
        number = _number(item.get("id"))
        if number is not None:
            given[number].append(item)
    if len(given) > len(asked) and given.keys() >= set(asked):
        problem = f"the judge gave {len(given)} verdicts for {len(asked)} targets"
        return {number: Verdict(None, problem=problem) for number in asked}
    verdicts = {}
    for number in asked:
        items = given.get(number, [])
        if len(items) == 1:
            verdicts[number] = _verdict(items[0], {number} if on_itself else contexts)
        else:
            found = "no verdict" if not items else f"{len(items)} verdicts"
            verdicts[number] = Verdict(None, problem=f"the judge gave {found}")
    return verdicts


def merged(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of several windows: the best label, with the others that help.

    Which of them counts, and from which rank on, is decided when their evidence is checked. A
    window that was not judged leaves the target open, unless another supports it.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    helping = [verdict for verdict in verdicts if verdict.label in ("supported", "partial")]
    helping.sort(key=lambda verdict: verdict.label != "supported")
    if not helping or helping[0].label == "partial":
        for verdict in verdicts:
            if verdict.label is None:
                return verdict
    if not helping:
        return Verdict("not_supported")
    return replace(helping[0], others=tuple(helping[1:]))


def _verdict(item: Mapping[str, Any], contexts: Collection[int]) -> Verdict:
    word = item.get("verdict")
    label = _LABELS.get(str(word)) or _LABELS.get(
        re.sub(r"[\s-]+", "_", str(word).strip().strip(".").lower())
    )
    if label is None:
        return Verdict(
            None, problem=f"the judge's verdict {str(word)[:40]!r} is none of {', '.join(_LABELS)}"
        )
    if label == "not_supported":
        return Verdict(label)
    citations = []
    cited = item.get("citations")
    for citation in cited if isinstance(cited, list) else []:
        number = _number(citation.get("context")) if isinstance(citation, dict) else None
        if number is None or number not in contexts:
            shown = citation.get("context") if isinstance(citation, dict) else citation
            return Verdict(None, problem=f"the judge cites context {shown!r}, which is not there")
        quote = citation.get("quote")
        citations.append(Citation(number - 1, quote if isinstance(quote, str) else ""))
    if not citations:
        return Verdict(None, problem="the judge cites no context for its verdict")
    return Verdict(label, tuple(citations), together=item.get("together") is True)


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and len(value) < _LONGEST_NUMBER and value.strip().isdecimal():
        return int(value)
    return None
