"""Recall by the claims of a reference answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from fullrecall._util.parameters import check_choice
from fullrecall.judge.judge import Flow
from fullrecall.judge.language import language
from fullrecall.measures.findings import Target
from fullrecall.samples.sample import Claim, Sample
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.scorer import Found, require, require_retrieval

Split = Literal["judge", "sentences"]

_SHOWN = 40  # The shown characters of a part of the reference that is not a claim.
_MOST_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class ClaimRecall(JudgedScorer):
    """The share of the reference answer's claims that the retrieved contexts support.

    Targets are the sample's `reference_claims`; without them, `reference` is split:
    `split="judge"` asks the judge for atomic claims, "sentences" takes its sentences. The claims
    are fixed before any is judged, and the judge must return one verdict for each: a claim without
    a verdict is asked for again, and is unmeasured if it still has none. The denominator never
    moves.

    A vital claim has grade 1, an "okay" one (`Claim(text, vital=False)`) 0.5, so that
    `Recall(min_grade=1)` counts the vital ones only. With `partial_credit` 0.0 or 0.5 this gives
    the strict and the partial scores, vital and all, of TREC RAG's nuggets (Pradeep et al., "The
    Great Nugget Recall", SIGIR 2025).

    With nothing retrieved the score is 0.0 and no judge is asked.
    """

    split: Split = "judge"

    kind: ClassVar[str] = "claim_recall"
    labels: ClassVar[Collection[str]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.split, "split", get_args(Split))

    def _judged(self, sample: Sample) -> Flow[Found]:
        require_retrieval(sample)
        claims = yield from self._claims(sample)
        targets = [Target((claim.text,), grade=1.0 if claim.vital else 0.5) for claim in claims]
        judged = yield from self._attributed(targets, sample, question=sample.user_input)
        note = "; ".join(filter(None, (judged.note, self._omitted(sample))))
        return judged._replace(note=note)

    def _omitted(self, sample: Sample) -> str:
        """Return a note on the parts of a reference, split by its form, that are not claims."""
        is_split_by_form = self.split == "sentences" or self.judge is None
        if sample.reference_claims is not None or not is_split_by_form:
            return ""
        parts = language().omitted(sample.reference or "")
        shown = [f"{part.role} {part.text[:_SHOWN]!r}" for part in parts[:_MOST_SHOWN]]
        more = len(parts) - len(shown)
        if more:
            shown.append(f"{more} more")
        return f"not claims: {', '.join(shown)}" if shown else ""

    def _claims(self, sample: Sample) -> Flow[Sequence[Claim]]:
        if sample.reference_claims is not None:
            return sample.reference_claims
        reference = require(sample.reference, "reference_claims or reference")
        if not reference.strip():
            return ()
        # Without a context the score is 0.0 for any claims: do not ask a model to split them.
        if self.split == "sentences" or not self._contexts(sample).unique:
            parts: Sequence[str] = language().statements(reference)
        else:
            parts = yield from self._asked_judge.split(
                reference, kind="claims", question=sample.user_input
            )
        # A claim that the judge lists twice would weigh twice.
        return [Claim(part) for part in dict.fromkeys(parts)]
