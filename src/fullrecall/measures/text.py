"""Measures as text, for files and the command line: `recall@5`, `ndcg(gain=exponential)@10`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from fullrecall._util.parameters import check_share
from fullrecall.errors import ParameterError
from fullrecall.measures import leaks, ranking, sets
from fullrecall.measures.budgets import Cut, parse_budget
from fullrecall.measures.measure import Measure, Threshold

MEASURES: dict[str, Measure] = {
    value.text: value
    for module in (sets, ranking, leaks)
    for value in vars(module).values()
    if isinstance(value, Measure)
}
"""Each measure by its name in text form. Add your own to have `parse` read it."""

ALIASES = {
    "mrr": "rr",
    "map": "ap",
    "hit_rate": "hit",
    "hitrate": "hit",
    "perfect": "all_found",
    "success": "hit",
    "leak_rate": "leak",
}
"""Names that others give to a measure, or to its mean, with ours."""

_FORM = re.compile(r"(?P<name>\w+)\s*(\((?P<inside>[^()]*)\))?\s*(@\s*(?P<k>\S+))?")


def as_measures(values: Iterable[object]) -> tuple[Measure, ...]:
    """Return measures, read from their text where they are text.

    Raises `ParameterError` for anything else, and for a text that is not a measure.
    """
    measures = []
    for value in values:
        if not isinstance(value, (str, Measure)):
            raise ParameterError(f"expected a measure such as Recall @ 5, got {value!r}")
        measures.append(parse(value) if isinstance(value, str) else value)
    return tuple(measures)


def parse(text: str) -> Measure:
    """Return the measure that `text` names, as `Measure.name` or Python writes it.

    Raises `ParameterError` for another name, parameter or value, naming the choices.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ParameterError(f"expected a measure such as recall@5, got {text!r}")
    # Read anew each time: `MEASURES` is where users add their own.
    by_name = {name.replace("_", ""): measure for name, measure in MEASURES.items()}
    named = by_name.get(match["name"].lower().replace("_", ""))
    if named is None:
        ours = ALIASES.get(match["name"].lower())
        way = f"choose one of {', '.join(MEASURES)}" if ours is None else f"it is {ours} here"
        way = f"write recall@{text.strip()}" if text.strip().isdecimal() else way
        raise ParameterError(f"no measure {match['name']!r}: {way}")
    measure = named(**_parameters(named, match["inside"] or ""))
    return measure if match["k"] is None else measure @ parse_cut(match["k"])


def unaliased(text: str) -> tuple[str, str | None]:
    """Return a measure's text with our name in place of an alias, and the alias; None without."""
    match = re.match(r"\s*(\w+)", text)
    alias = match[1].lower() if match is not None else ""
    if match is None or alias not in ALIASES or alias in MEASURES:
        return text, None
    return f"{ALIASES[alias]}{text[match.end() :]}", match[1]


def parse_threshold(text: str) -> Threshold:
    """Return the threshold that `text` states, such as `recall@10 >= 0.9` or `leak@10 <= 0.01`.

    Raises `ParameterError` where it states none.
    """
    sign = next((sign for sign in (">=", "<=") if sign in text), None)
    if sign is None:
        raise ParameterError(f"expected a threshold such as recall@10>=0.9, got {text!r}")
    measure, _, bound = text.partition(sign)
    share = check_share(_number(bound.strip()), "a threshold")
    return Threshold(parse(measure), share, at_most=sign == "<=")


def _parameters(measure: Measure, inside: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    # A type is a class, or its text where annotations are postponed: both name the float.
    numeric = {each.name for each in fields(measure) if "float" in str(each.type)}
    for part in filter(None, map(str.strip, inside.split(","))):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or name in parameters:
            raise ParameterError(
                f"expected name=value once each in {measure.text}(…), got {part!r}"
            )
        parameters[name] = _number(value) if name in numeric else value.strip("'\"")
    return parameters


def parse_cut(text: str) -> Cut:
    """Return the k that `text` names: a number of contexts, or a budget.

    Raises `ParameterError` for another text.
    """
    budget = parse_budget(text)
    # `int` alone would read 1_0, +5, and the digits of other scripts, too.
    if budget is None and not (text.isascii() and text.isdecimal() and int(text)):
        whole = "a whole number of at least 1"
        raise ParameterError(f"must be {whole}, or a budget such as 3calls, got {text!r}", "k")
    return int(text) if budget is None else budget


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"expected a number, got {text!r}") from None
