"""Measures as text, for files and the command line: `recall@5`, `ndcg(gain=exponential)@10`."""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from typing import Any

from fullrecall._util.values import shown
from fullrecall.errors import ParameterError
from fullrecall.measures.budgets import Cut, parse_budget
from fullrecall.measures.counts import Leak, Relevant, RelevantRetrieved, Retrieved
from fullrecall.measures.measure import Measure, Threshold
from fullrecall.measures.ranking import AP, RBP, RR, InterpolatedPrecision, RPrecision, nDCG
from fullrecall.measures.recall_measure import Recall
from fullrecall.measures.sets import F1, AllFound, Hit, Precision

MEASURES: dict[str, Measure] = {
    value.text: value
    for module in ("recall_measure", "sets", "ranking", "counts")
    for value in vars(sys.modules[f"fullrecall.measures.{module}"]).values()
    if isinstance(value, Measure)
}
"""Each measure by its name in text form. `parse` also reads measures that users add here."""

SPELLINGS: dict[str, Measure] = {
    # trec_eval and ir_measures: P divides by k, even if fewer contexts were retrieved.
    "p": Precision(denominator="k"),
    "r": Recall,
    "success": Hit,
    "map": AP,
    "map_cut": AP,
    "ndcg_cut": nDCG,
    "recip_rank": RR,
    "rprec": RPrecision,
    "set_p": Precision,
    "set_r": Recall,
    "set_recall": Recall,
    "set_f": F1,
    "num_ret": Retrieved,
    "num_rel": Relevant,
    "num_rel_ret": RelevantRetrieved,
    "map_at": AP,  # mteb, which computes its measures with trec_eval
    "mrr_at": RR,
    # ranx
    "mrr": RR,
    "hit_rate": Hit,
    "hits": RelevantRetrieved,
    "ndcg_burges": nDCG(gain="exponential"),
    # Spark, whose metrics end in At or AtK, such as precisionAt; `_named` ignores the K
    "precision_at": Precision(denominator="k"),
    "recall_at": Recall,
    "ndcg_at": nDCG,
    "mean_average_precision": AP,
    "mean_average_precision_at": AP(denominator="k"),
    # Common words for these measures
    "perfect": AllFound,
    "leak_rate": Leak,
}
"""Measures by the names that they have in other tools."""

# These patterns are strings: programs that never parse a measure need not compile them.
_FORM = r"(?P<name>[\w.-]+)\s*(\((?P<inside>[^()]*)\))?\s*(@\s*(?P<k>\S+))?"

_CUT_NAME = r"(?P<name>.+?)_(?P<k>\d+)"
"""A name with k in trec_eval: `P_5`."""

_LEVEL = r"-l(\d+)$"
"""The lowest grade that counts, as ranx writes it: `recall@5-l2`."""

# A parameter within a name, as in iprec_at_recall_0.1 of trec_eval, and rbp.95 of ranx.
_SHARE = r"(?i)iprec(?:_at_recall_|@)(?P<recall>[\d.]+)|rbp(?P<p>\.\d+)"


def parse(text: str) -> Measure:
    """Return the measure that `text` names, as `Measure.name` or Python writes it.

    It also reads the names of trec_eval, ir_measures, ranx and Spark: `P@5`, `ndcg_cut_10`, `mrr`,
    `precisionAt(5)`. Raises `ParameterError` for another name, parameter or value, naming the
    choices.
    """
    _check_text(text)
    if share := re.fullmatch(_SHARE, text.strip()):
        if share["p"]:
            return RBP(p=_number(share["p"]))
        return InterpolatedPrecision(recall=_number(share["recall"]))
    level = re.search(_LEVEL, text.strip())
    match = re.fullmatch(_FORM, re.sub(_LEVEL, "", text.strip()))
    if match is None:
        raise ParameterError(f"expected a measure such as recall@5, got {text!r}")
    name, inside, k = match["name"], match["inside"] or "", match["k"]
    named, cut = _named(name), re.fullmatch(_CUT_NAME, name)
    if named is None and cut is not None:
        named, k = _named(cut["name"]), k or cut["k"]
    if named is None:
        way = f"choose one of {', '.join(MEASURES)}"
        way = f"write recall@{text.strip()}" if text.strip().isdecimal() else way
        raise ParameterError(f"no measure {name!r}: {way}")
    parameters = {} if level is None else {"min_grade": float(level[1])}
    if inside.isdecimal() and k is None:  # Spark's precisionAt(5)
        inside, k = "", inside
    measure = named(**parameters, **_parameters(named, inside))
    return measure if k is None else measure @ parse_cut(k)


def _named(name: str) -> Measure | None:
    """Return the measure with this name, or None.

    Names of this package precede those of other tools.
    """
    # Read `MEASURES` at each call, since users add their own measures to it.
    for names in (MEASURES, SPELLINGS):
        by_key = {_key(each): measure for each, measure in names.items()}
        key = _key(name)
        if found := by_key.get(key) or by_key.get(key.removesuffix("k")):
            return found
    return None


def _key(name: str) -> str:
    return re.sub("[_-]", "", name.lower())


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise ParameterError(f"expected a text such as recall@10, got {shown(text)}")


def parse_threshold(text: str) -> Threshold:
    """Return the threshold that `text` states, such as `recall@10 >= 0.9` or `leak@10 <= 0.01`.

    Raises `ParameterError` for any other text.
    """
    _check_text(text)
    sign = next((sign for sign in (">=", "<=") if sign in text), None)
    if sign is None:
        raise ParameterError(f"expected a threshold such as recall@10>=0.9, got {text!r}")
    measure, _, bound = text.partition(sign)
    return Threshold(parse(measure), _number(bound.strip()), at_most=sign == "<=")


def _parameters(measure: Measure, inside: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    # An annotation is a type, or its text if annotations are postponed; both contain "float".
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
    """Return the k that a text gives: a number of contexts, or a budget.

    Raises `ParameterError` for any other text.
    """
    budget = parse_budget(text)
    # `int` alone would also accept 1_0, +5, and the digits of other scripts.
    if budget is None and not (text.isascii() and text.isdecimal() and int(text)):
        whole = "a whole number of at least 1"
        raise ParameterError(f"must be {whole}, or a budget such as 3calls, got {text!r}", "k")
    return int(text) if budget is None else budget


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"expected a number, got {text!r}") from None
