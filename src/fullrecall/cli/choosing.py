"""Which scorers `fullrecall evaluate` runs, by the options given and the first sample's fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import typer

from fullrecall.cli.judging import JudgeOptions, judge_of
from fullrecall.cli.problems import as_options
from fullrecall.context import Context
from fullrecall.errors import InputError, ParameterError
from fullrecall.sample import Sample
from fullrecall.scorers import (
    ClaimRecall,
    ContextPrecision,
    EntityRecall,
    FindingScorer,
    IdRecall,
    SpanRecall,
    TextRecall,
)


class ScorerName(StrEnum):
    """What `--scorer` takes."""

    ID = "id"
    TEXT = "text"
    SPAN = "span"
    ENTITY = "entity"
    PRECISION = "precision"
    CLAIM = "claim"


_NEEDS = {
    ScorerName.ID: "retrieved_context_ids and reference_context_ids",
    ScorerName.TEXT: "retrieved_contexts, with texts, and reference_contexts",
    ScorerName.SPAN: "the same as text",
    ScorerName.ENTITY: "retrieved_contexts, with texts, and reference or reference_entities",
    ScorerName.PRECISION: "what id or text needs",
    ScorerName.CLAIM: "retrieved_contexts, with texts, and reference_claims or reference",
}


@dataclass(frozen=True)
class Settings:
    """The options that scorers take, as they stand on the command line."""

    k: int | None = None
    ks: str = "1,3,5,10"
    threshold: float | None = None
    similarity: str | None = None
    min_grade: float | None = None
    zero_division: float | None = None
    judging: JudgeOptions = JudgeOptions()  # noqa: RUF009 - frozen


def chosen(names: Sequence[ScorerName], settings: Settings, first: Sample) -> list[FindingScorer]:
    """Return the scorers named, or without names each one that `first` has the fields for.

    Raises `typer.BadParameter` for a value out of range and for an option that none of the
    scorers takes, `InputError` where `first` allows none.
    """
    wanted = list(dict.fromkeys(names)) or _by_default(settings, first)
    if not wanted:
        raise InputError(_none_allowed(first))
    # Precision goes by what one of these two finds.
    found = [_relevance(first) if name is ScorerName.PRECISION else name for name in wanted]
    if ScorerName.TEXT not in found:
        _refuse(("--threshold", settings.threshold), "text", wanted)
        _refuse(("--similarity", settings.similarity), "text", wanted)
    if ScorerName.ID not in found:
        _refuse(("--min-grade", settings.min_grade), "id", wanted)
    for option, value in (
        ("--judge", settings.judging.judge),
        ("--base-url", settings.judging.base_url),
        ("--require-evidence", settings.judging.require_evidence or None),
    ):
        if ScorerName.CLAIM not in wanted:
            _refuse((option, value), "claim", wanted)
    try:
        return [_scorer(name, settings, first) for name in wanted]
    except ParameterError as error:
        raise typer.BadParameter(as_options(str(error))) from None


def is_left_unjudged(names: Sequence[ScorerName], settings: Settings, first: Sample) -> bool:
    """Return whether `first` has a reference answer that no scorer asked for would judge."""
    return (
        not names
        and _allowed(ScorerName.CLAIM, first)
        and ScorerName.CLAIM not in _by_default(settings, first)
    )


def cut_offs(text: str) -> tuple[int, ...]:
    """Return "1,3,5" as numbers; raise `typer.BadParameter` for anything else."""
    try:
        ks = {int(part) for part in text.split(",") if part.strip()}
    except ValueError:
        ks = set()
    if not ks or min(ks) < 1:
        raise typer.BadParameter(
            f"whole numbers from 1 up are meant, with commas between them, got {text!r}",
            param_hint="--ks",
        )
    return tuple(sorted(ks))


def _scorer(name: ScorerName, settings: Settings, first: Sample) -> FindingScorer:
    shared: dict[str, Any] = {
        "k": settings.k,
        "ks": cut_offs(settings.ks),
        "zero_division": settings.zero_division,
    }
    by_id = _given(min_grade=settings.min_grade)
    by_text = _given(threshold=settings.threshold, similarity=settings.similarity)
    match name:
        case ScorerName.ID:
            return IdRecall(**shared, **by_id)
        case ScorerName.TEXT:
            return TextRecall(**shared, **by_text)
        case ScorerName.SPAN:
            return SpanRecall(**shared)
        case ScorerName.ENTITY:
            return EntityRecall(**shared)
        case ScorerName.PRECISION:
            # Fixed for the whole file: a mean over both kinds would be a mean of two things.
            by_ids = _relevance(first) is ScorerName.ID
            by = IdRecall(**by_id) if by_ids else TextRecall(**by_text)
            return ContextPrecision(**shared, by=by)
        case ScorerName.CLAIM:
            return ClaimRecall(
                **shared,
                judge=judge_of(settings.judging),
                require_evidence=settings.judging.require_evidence,
            )


def _by_default(settings: Settings, first: Sample) -> list[ScorerName]:
    """Return each scorer that the sample has the fields for.

    Judging takes longer than counting, and may cost: it is done where there are claims to judge,
    or a judge is named, and not for every reference answer.
    """
    asked_for = first.reference_claims is not None or settings.judging.given
    return [
        name
        for name in ScorerName
        if _allowed(name, first) and (name is not ScorerName.CLAIM or asked_for)
    ]


def _relevance(first: Sample) -> ScorerName:
    """Return the scorer that tells which contexts are relevant, for precision."""
    return ScorerName.ID if _allowed(ScorerName.ID, first) else ScorerName.TEXT


def _given(**parameters: Any) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def _refuse(option: tuple[str, object], needs: str, wanted: Sequence[ScorerName]) -> None:
    name, value = option
    if value is not None:
        raise typer.BadParameter(
            f"only the scorer {needs} takes it, and these run: {', '.join(wanted)}",
            param_hint=name,
        )


def _allowed(name: ScorerName, sample: Sample) -> bool:
    """Whether the sample has what a scorer needs; where nothing was retrieved, the references."""
    texts = _has_texts(sample.retrieved_contexts)
    passages = sample.reference_contexts is not None
    ids = sample.retrieved_context_ids
    observed = sample.has_retrieval
    match name:
        case ScorerName.ID:
            has_ids = not observed or not ids or any(given is not None for given in ids)
            return has_ids and sample.reference_context_ids is not None
        case ScorerName.TEXT | ScorerName.SPAN:
            return (texts or not observed) and passages
        case ScorerName.ENTITY:
            entities = sample.reference_entities is not None or sample.reference is not None
            return (texts or not observed) and entities
        case ScorerName.PRECISION:
            return _allowed(ScorerName.ID, sample) or _allowed(ScorerName.TEXT, sample)
        case ScorerName.CLAIM:
            claims = sample.reference_claims is not None or sample.reference is not None
            return (texts or not observed) and claims


def _has_texts(contexts: Sequence[Context] | None) -> bool:
    if contexts is None:
        return False
    return not contexts or any(context.text is not None for context in contexts)


def _none_allowed(first: Sample) -> str:
    fields = [name for name in Sample.names() if getattr(first, name)]
    needs = [f"{name} needs {wanted}" for name, wanted in _NEEDS.items()]
    has = f"the first sample has {', '.join(fields) or 'no field'}, which no scorer can go by:"
    return "\n".join([has, *needs, "other names for these fields: --rename OLD=NEW"])
