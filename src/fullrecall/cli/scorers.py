"""The scorers that `fullrecall evaluate` runs: as requested, or chosen by the first sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

import typer

from fullrecall._util.naming import parameter
from fullrecall.cli.options import bad_option
from fullrecall.errors import InputError
from fullrecall.samples.sample import Sample
from fullrecall.scorers import FindingScorer


class ScorerName(StrEnum):
    """The values of `--scorer`: the names of the scores, in the default order of preference.

    The most direct is first: IDs before passages, passages before claims, claims before names.
    Spans need no threshold and hold for any chunking, so they come before similar texts. Ragas,
    deepeval, and LangSmith's evaluators measure recall by the reference answer's claims, too.
    """

    ID = "id_recall"
    SPAN = "span_recall"
    TEXT = "text_recall"
    CLAIM = "claim_recall"
    ENTITY = "entity_recall"


def read_scorer_name(text: str) -> ScorerName:
    """Read the name of a scorer."""
    if text not in list(ScorerName):
        letters = text.lower().replace("_", "")
        near = next((each for each in ScorerName if each.replace("_", "") == letters), None)
        way = f"did you mean {near}?" if near else f"choose one of {', '.join(ScorerName)}"
        raise typer.BadParameter(f"no scorer {text!r}: {way}")
    return ScorerName(text)


scorer_option = partial(typer.Option, "--scorer", "-s", metavar="NAME", parser=read_scorer_name)

_REFERENCES: Mapping[ScorerName, tuple[str, ...]] = {
    ScorerName.ID: ("reference_context_ids",),
    ScorerName.SPAN: ("reference_contexts",),
    ScorerName.TEXT: ("reference_contexts",),
    ScorerName.CLAIM: ("reference_claims", "reference"),
    ScorerName.ENTITY: ("reference_entities",),
}
"""The fields for each scorer, which needs one of them."""


def scorers_of(
    names: Sequence[ScorerName], options: Mapping[ScorerName, Mapping[str, Any]], first: Sample
) -> list[FindingScorer]:
    """Return the requested scorers; without any, the first one that `first` has fields for.

    A scorer is requested by name, or by an option of its own that is not None or False. Raises
    `ParameterError` for a value out of range, `typer.BadParameter` for an option that none of the
    scorers takes, `InputError` if `first` allows no scorer.
    """
    asking = {
        scorer: {name: value for name, value in own.items() if value not in (None, False)}
        for scorer, own in options.items()
    }
    implied = [scorer for scorer, own in asking.items() if own]
    chosen = list(dict.fromkeys(names)) or implied or possible(first)[:1]
    if not chosen:
        raise InputError(_none_allowed(first))
    # An option for a scorer that does not run would be ignored silently.
    for scorer in implied:
        if scorer not in chosen:
            name = next(iter(asking[scorer]))
            raise bad_option(parameter(name), f"needs the scorer {scorer}, got {', '.join(chosen)}")
    return [_scorer(name, asking.get(name, {})) for name in chosen]


def possible(first: Sample) -> list[ScorerName]:
    """Return each scorer that `first` has fields for; without a retrieval, by its references."""
    ids, contexts = first.retrieved_context_ids, first.retrieved_contexts
    has_ids = not first.has_retrieval or not ids or any(known is not None for known in ids)
    has_texts = not first.has_retrieval or (
        contexts is not None
        and (not contexts or any(context.text is not None for context in contexts))
    )
    names = [
        name
        for name, fields in _REFERENCES.items()
        if any(getattr(first, field) is not None for field in fields)
        and (has_ids if name is ScorerName.ID else has_texts)
    ]
    return names or [ScorerName.ID] * (first.forbids and has_ids)


def _scorer(name: ScorerName, options: dict[str, Any]) -> FindingScorer:
    from fullrecall import scorers  # This module loads each scorer when it is named.

    kind = getattr(scorers, name.title().replace("_", ""))
    scorer: FindingScorer = kind(**options)
    return scorer


def _none_allowed(first: Sample) -> str:
    fields = [name for name in Sample.names() if getattr(first, name)]
    lines = [f"no scorer can use the fields of the first sample ({', '.join(fields) or 'none'}):"]
    for name, references in _REFERENCES.items():
        retrieved = "retrieved_context_ids" if name is ScorerName.ID else "retrieved_contexts"
        lines.append(f"{name} needs {retrieved} and {' or '.join(references)}")
    lines.append("other names for these fields: --rename OLD=NEW")
    if not any(name.startswith("reference") for name in fields):
        lines.append("no references yet: fullrecall testset generate writes questions with them")
    return "\n".join(lines)
