"""Cheaper judging: what one judge can settle for nothing is not asked of the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judges.evidence import Folded, verbatim
from fullrecall.judges.judge import Citation, Flow, Judge, Kind, Relation, Verdict, requiring_quotes
from fullrecall.judges.sentences import sentences

_ENDS = ".!…。！।"  # noqa: RUF001 - they are full-width stops
_ASKS = "?？؟"  # noqa: RUF001 - likewise
_MARKS = " \t\r\n\u00a0\"'“”‘’«»()[]*#>|-"  # noqa: RUF001 - quotation marks, bullets, markup


@dataclass(frozen=True)
class VerbatimJudge:
    """Finds what stands in a context word for word; a first judge for `Cascade`.

    A claim is supported by each context in which it is a whole sentence: within a longer one
    ("It is a myth that …") the same words may say something else. An entity is supported where
    it occurs as whole words. Letter case, white space, typographic quotes and dashes are no
    difference. What it does not find is not thereby unsupported: alone it judges far too
    strictly.
    """

    @property
    def name(self) -> str:
        """The judge."""
        return "verbatim"

    def split(
        self,
        text: str,
        *,
        kind: Kind,
        question: str | None = None,  # noqa: ARG002 - the protocol's
    ) -> Flow[Sequence[str]]:
        """Return the sentences of the text; raises `JudgeError` for entities."""
        yield from ()
        if kind == "entities":
            raise JudgeError("VerbatimJudge lists no entities: pass reference_entities")
        return sentences(text)

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,  # noqa: ARG002 - the protocol's
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order; raises `JudgeError` for questions."""
        yield from ()
        if relation == "question":
            raise JudgeError("VerbatimJudge cannot decide whether a question is answered")
        folded = [Folded(context) for context in contexts]
        return [_verdict(target, contexts, folded, whole=relation == "claim") for target in targets]

    def relevance(
        self,
        contexts: Sequence[str],  # noqa: ARG002 - the protocol's
        *,
        question: str | None,  # noqa: ARG002 - the protocol's
        reference: str | None,  # noqa: ARG002 - the protocol's
    ) -> Flow[Sequence[Verdict]]:
        """Raise `JudgeError`: what helps need not stand there word for word."""
        yield from ()
        raise JudgeError("VerbatimJudge cannot decide what helps: pass another judge")


@dataclass(frozen=True)
class Cascade:
    """Asks judges one after another, each about what those before it did not find supported.

        Cascade([VerbatimJudge(), LLMJudge(model)])
        Cascade([VerbatimJudge(), EmbeddedJudge(threshold=0.95), LLMJudge(model)])

    Each judge but the last settles what it finds supported, and its name stands in the findings
    (`Finding.judge`), so that a report says how much was settled without the last one. What none
    of them finds supported is the last judge's to decide, which also splits texts, judges
    relevance and answers questions. A request is saved where nothing is left to ask about.

    What a first judge wrongly finds supported, nobody corrects: recall can only come out higher
    than the last judge's. It cites the contexts that it found itself, so precision, and recall at
    a small k, may come out lower. `tests/benchmarks/README.md` has how often the embedded judge
    is wrong by threshold: below 0.95 far too often to stand in for a model.
    """

    judges: Sequence[Judge]

    def __post_init__(self) -> None:
        object.__setattr__(self, "judges", tuple(self.judges))
        if len(self.judges) < 2:  # noqa: PLR2004 - one has nobody to hand on to
            raise ParameterError(f"a cascade needs at least two judges, got {len(self.judges)}")

    @property
    def name(self) -> str:
        """The names of all judges, in the order in which they are asked."""
        return f"cascade({', '.join(judge.name for judge in self.judges)})"

    def requiring_quotes(self) -> Cascade:
        """Return the cascade of the same judges, asking once more for quotes where they can."""
        return Cascade([requiring_quotes(judge) for judge in self.judges])

    def split(self, text: str, *, kind: Kind, question: str | None = None) -> Flow[Sequence[str]]:
        """Return what the last judge makes of the text."""
        return self.judges[-1].split(text, kind=kind, question=question)

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order."""
        settled: dict[int, Verdict] = {}
        left = list(range(len(targets)))
        for judge in self.judges:
            if not left:
                break
            asked = [targets[number] for number in left]
            try:
                verdicts = yield from judge.attribute(
                    asked, contexts, question=question, relation=relation
                )
            except JudgeError:
                if judge is self.judges[-1]:
                    raise
                continue  # this judge cannot tell such targets: it settles none
            if len(verdicts) != len(asked):
                raise JudgeError(
                    f"the judge {judge.name} returned {len(verdicts)} verdicts, expected "
                    f"{len(asked)}, one per target in order"
                )
            for number, verdict in zip(left, verdicts, strict=True):
                if judge is self.judges[-1]:
                    settled[number] = verdict
                elif verdict.label == "supported" and verdict.citations:
                    settled[number] = replace(verdict, judge=judge.name)
            left = [number for number in left if number not in settled]
        return [settled[number] for number in range(len(targets))]

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return the last judge's verdicts."""
        return self.judges[-1].relevance(contexts, question=question, reference=reference)


def _verdict(
    target: str, contexts: Sequence[str], folded: Sequence[Folded], *, whole: bool
) -> Verdict:
    citations = [
        Citation(index, context[place.start : place.end])
        for index, context in enumerate(contexts)
        for place in verbatim(target, folded[index])
        if not whole or _is_sentence(context, place.start, place.end)
    ]
    first = {citation.context: citation for citation in reversed(citations)}
    if not first:
        return Verdict("not_supported")
    return Verdict("supported", tuple(first[index] for index in sorted(first)))


def _is_sentence(text: str, start: int, end: int) -> bool:
    """Whether a range of the text is a whole sentence, or several, and no question."""
    if text[start:end].rstrip(_MARKS)[-1:] in tuple(_ASKS):
        return False
    before = text[:start].rstrip(_MARKS)
    between = text[len(before) : start]
    after = text[end:].lstrip(_MARKS)
    begins = not before or before[-1] in _ENDS + _ASKS or "\n" in between
    ended = text[start:end].rstrip(_MARKS)[-1:] in tuple(_ENDS)
    breaks = "\n" in text[end : len(text) - len(after)]
    return begins and (ended or breaks or not after or after[0] in _ENDS)
