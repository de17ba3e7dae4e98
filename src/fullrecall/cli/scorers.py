"""Which scorers `fullrecall evaluate` runs: those asked for, else one, by the first sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from fullrecall.cli.exits import wrong
from fullrecall.cli.judge import judge_of
from fullrecall.cli.problems import as_options
from fullrecall.context import Context
from fullrecall.errors import InputError, ParameterError
from fullrecall.sample import Sample

if TYPE_CHECKING:
    from fullrecall.scorers import FindingScorer


class ScorerName(StrEnum):
    """What `--scorer` takes: the names of the scores, as in every report."""

    ID = "id_recall"
    TEXT = "text_recall"
    SPAN = "span_recall"
    ENTITY = "entity_recall"
    CLAIM = "claim_recall"


def scorer_name(text: str) -> ScorerName:
    """Read the name of a scorer; `typer.BadParameter` names the nearest one."""
    if text in list(ScorerName):
        return ScorerName(text)
    near = get_close_matches(text, [*ScorerName, *(name.partition("_")[0] for name in ScorerName)])
    meant = next((name for name in ScorerName if near and name.startswith(near[0])), None)
    choices = f"choose one of {', '.join(ScorerName)}"
    raise typer.BadParameter(
        f"no scorer {text!r}: did you mean {meant}?" if meant else f"no scorer {text!r}: {choices}"
    )


_NEEDS = {
    ScorerName.ID: "retrieved_context_ids and reference_context_ids",
    ScorerName.TEXT: "retrieved_contexts, with texts, and reference_contexts",
    ScorerName.SPAN: "the same as text_recall",
    ScorerName.ENTITY: "retrieved_contexts, with texts, and reference or reference_entities",
    ScorerName.CLAIM: "retrieved_contexts, with texts, and reference_claims or reference",
}


@dataclass(frozen=True)
class Settings:
    """The options that scorers take, as they stand on the command line; None where they do not."""

    text: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    judge: str | None = None
    base_url: str | None = None

    def asking(self) -> dict[ScorerName, list[str]]:
        """Return the scorers that options of their own ask for, with these options."""
        judging = {**self.claims, "judge": self.judge, "base_url": self.base_url}
        return {
            name: options
            for name, settings in ((ScorerName.TEXT, self.text), (ScorerName.CLAIM, judging))
            if (options := list(_set(settings)))
        }


def scorers_of(
    names: Sequence[ScorerName], settings: Settings, first: Sample
) -> list[FindingScorer]:
    """Return the scorers that are asked for; without any, the first that `first` has fields for.

    A name asks for a scorer, and so does an option of its own. Raises `typer.BadParameter` for a
    value out of range and for an option that none of the scorers takes, `InputError` where `first`
    allows none.
    """
    asking = settings.asking()
    chosen = list(dict.fromkeys(names)) or list(asking) or possible(first)[:1]
    if not chosen:
        raise InputError(_none_allowed(first))
    for scorer, options in asking.items():
        if scorer not in chosen:
            raise wrong(
                f"--{options[0].replace('_', '-')}",
                f"needs the scorer {scorer}, got {', '.join(chosen)}",
            )
    try:
        return [_scorer(name, settings) for name in chosen]
    except ParameterError as error:
        raise typer.BadParameter(as_options(str(error))) from None


def possible(first: Sample) -> list[ScorerName]:
    """Return each scorer that `first` has the fields for, the one to take by default in front.

    That is the most direct: IDs before passages, passages before claims, claims before names.
    Spans need no threshold and hold for any chunking, so they come before similar texts. By the
    reference answer's claims ragas, deepeval, and LangSmith's evaluators measure recall, too.
    """
    by_rank = (
        ScorerName.ID,
        ScorerName.SPAN,
        ScorerName.TEXT,
        ScorerName.CLAIM,
        ScorerName.ENTITY,
    )
    return [name for name in by_rank if _allowed(name, first)]


def _scorer(name: ScorerName, settings: Settings) -> FindingScorer:
    from fullrecall import scorers  # of which each is loaded when it is named

    match name:
        case ScorerName.ID:
            return scorers.IdRecall()
        case ScorerName.TEXT:
            return scorers.TextRecall(**_set(settings.text))
        case ScorerName.SPAN:
            return scorers.SpanRecall()
        case ScorerName.ENTITY:
            return scorers.EntityRecall()
        case ScorerName.CLAIM:
            judge = judge_of(settings.judge, settings.base_url)
            return scorers.ClaimRecall(judge=judge, **_set(settings.claims))


def _set(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that stand on the command line: the others have Python's defaults."""
    return {
        name: value for name, value in settings.items() if value is not None and value is not False
    }


def _allowed(name: ScorerName, sample: Sample) -> bool:
    """Whether the sample has what a scorer needs; where nothing was retrieved, the references."""
    texts = _has_texts(sample.retrieved_contexts)
    passages = sample.reference_contexts is not None
    ids = sample.retrieved_context_ids
    observed = sample.has_retrieval
    match name:
        case ScorerName.ID:
            has_ids = not observed or not ids or any(known_id is not None for known_id in ids)
            return has_ids and (sample.reference_context_ids is not None or _only_forbids(sample))
        case ScorerName.TEXT | ScorerName.SPAN:
            return (texts or not observed) and passages
        case ScorerName.ENTITY:
            entities = sample.reference_entities is not None or sample.reference is not None
            return (texts or not observed) and entities
        case ScorerName.CLAIM:
            claims = sample.reference_claims is not None or sample.reference is not None
            return (texts or not observed) and claims


def _only_forbids(sample: Sample) -> bool:
    """Whether all that a sample says of its contexts is which must not be there."""
    return sample.forbids and all(
        value is None
        for value in (sample.reference, sample.reference_contexts, sample.reference_claims)
    )


def _has_texts(contexts: Sequence[Context] | None) -> bool:
    if contexts is None:
        return False
    return not contexts or any(context.text is not None for context in contexts)


def _none_allowed(first: Sample) -> str:
    fields = [name for name in Sample.names() if getattr(first, name)]
    needs = [f"{name} needs {wants}" for name, wants in _NEEDS.items()]
    has = f"no scorer can use the fields of the first sample ({', '.join(fields) or 'none'}):"
    ways = ["other names for these fields: --rename OLD=NEW"]
    if not any(name.startswith("reference") for name in fields):
        ways.append("no references yet: fullrecall testset generate writes questions with them")
    return "\n".join([has, *needs, *ways])
