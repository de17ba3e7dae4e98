"""`check`: what is wrong with a test set, anybody's, found with a model or without."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple, Unpack

from fullrecall.context import Context
from fullrecall.errors import ParameterError
from fullrecall.evaluation.run import SampleLike, as_samples
from fullrecall.judges.judge import Judge
from fullrecall.models.chat import ChatModel
from fullrecall.read.documents import Document, Documents, DocumentsLike, documents_of
from fullrecall.run.budget import models_of
from fullrecall.sample import Sample
from fullrecall.testset import content, duplicates, leak, reading
from fullrecall.testset.acceptance import at_least_by_chance
from fullrecall.testset.alignment import letters_of
from fullrecall.testset.content import Problem
from fullrecall.testset.draft import difficulty_of
from fullrecall.testset.execution import ModelOptions, carried_out, check_options
from fullrecall.testset.ranking import Ranking
from fullrecall.testset.seeds import Passage
from fullrecall.testset.vocabulary import words

_AROUND = 1_000
"""Characters on each side of a quote that its question may have been written from."""

_MOST_READ = 20_000
"""Characters of a whole document that a model reads."""

_CROWDED = 0.1
_FEWEST_TO_CROWD = 20
_FEWEST_TO_LEAK = 10
_DEVIATES = 1.959963984540054
_SURPRISING = 0.05


INVALID = frozenset({Problem.UNKNOWN_ID, Problem.LEVEL, Problem.SPAN})
"""What makes scores wrong whatever the retriever does."""


class Issue(NamedTuple):
    """One problem: of a sample, or of the set where `sample` is empty."""

    problem: Problem
    sample: str
    detail: str


class Wording(NamedTuple):
    """How near questions are to their sources, and how BM25 ranks these.

    Shares are of the questions, in [0, 1]: those with every content word in the source, with a
    copied run of six words or more, and with a source at BM25's rank 1 and within 10.
    """

    name: str
    questions: int
    coverage: float
    covered: float
    long_runs: float
    rank_1: float
    rank_10: float


PEOPLES: tuple[Wording, ...] = (
    Wording("CLAPNQ, people", 300, 0.619, 0.140, 0.033, 0.837, 0.943),
    Wording("Cranfield, people", 183, 0.575, 0.055, 0.038, 0.180, 0.672),
)
"""The same of people's questions, measured with bench/testset_leak.py."""


@dataclass(frozen=True)
class Audit:
    """What `check` found. `wording` is None where no source of a question has a text."""

    samples: int
    documents: int
    issues: Sequence[Issue]
    wording: Wording | None
    difficulty: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        """Whether reference IDs exist, on the right level, and texts stand at their offsets."""
        return not any(issue.problem in INVALID for issue in self.issues)

    @cached_property
    def counts(self) -> dict[Problem, int]:
        """How often each problem was found."""
        counts = Counter(issue.problem for issue in self.issues)
        return {problem: counts[problem] for problem in Problem if counts[problem]}

    def __str__(self) -> str:
        lines = [f"{self.samples:,} questions, {self.documents:,} documents"]
        lines += [f"  {count:>6,}  {problem}" for problem, count in self.counts.items()]
        lines += [f"  {issue.problem}: {issue.detail}" for issue in self.issues if not issue.sample]
        if not self.issues:
            lines.append("  no problem found")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "samples": self.samples,
            "documents": self.documents,
            "valid": self.is_valid,
            "counts": {str(problem): count for problem, count in self.counts.items()},
            "wording": None if self.wording is None else self.wording._asdict(),
            "difficulty": dict(self.difficulty),
            "issues": [
                {"problem": str(i.problem), "sample": i.sample, "detail": i.detail}
                for i in self.issues
            ],
        }


def check(
    samples: Iterable[SampleLike],
    documents: DocumentsLike | Documents,
    *,
    judge: ChatModel | Judge | None = None,
    margin: float = 0.05,
    **options: Unpack[ModelOptions],
) -> Audit:
    """Return what is wrong with a test set.

    Without a judge: what a machine can tell. With one, a model reads each question beside its
    references, as `generate` checks what it wrote: does it stand alone, is it answered, by one
    answer, does each claim follow; and is it the same as an earlier one in other words.

    `documents` are what the retriever searches: whole documents or chunks, as `documents_of`
    takes them. `margin` is how far off the mean recall may be: half the width of its 95 %
    interval. Near-duplicates are texts that share 80 % of their runs of three words. `options` are
    those of `evaluate`: `store`, `budget`, `max_concurrency`, …

    Raises `InputError` for samples or documents that cannot be read, and `ParameterError` for a
    margin outside of 0 to 0.5.
    """
    is_number = isinstance(margin, (int, float)) and not isinstance(margin, bool)
    if not is_number or not 0 < margin <= 0.5:  # noqa: PLR2004 - half of the whole range
        raise ParameterError(f"margin must be above 0 and at most 0.5, got {margin!r}")
    parsed_samples = list(as_samples(samples))
    corpus = _Corpus(list(documents_of(documents)))
    issues: list[Issue] = []
    measured = _Measured()
    earlier_questions = duplicates.Questions()
    for number, sample in enumerate(parsed_samples, start=1):
        label = sample.id or f"#{number}"
        issues += (
            Issue(problem, label, why)
            for problem, why in _of_sample(sample, corpus, earlier_questions)
        )
        issues += (Issue(problem, label, why) for problem, why in measured.add(sample, corpus))
    if judge is not None:
        texts = [list(_passages(sample, corpus)) for sample in parsed_samples]
        issues += _judged(parsed_samples, texts, judge, options)
    issues += (
        Issue(problem, "", why) for problem, why in _of_set(parsed_samples, measured, margin)
    )
    order = list(Problem)
    issues.sort(key=lambda issue: order.index(issue.problem))
    return Audit(
        len(parsed_samples),
        len(corpus.documents),
        tuple(issues),
        measured.wording("this set"),
        dict(measured.difficulty),
    )


class _Corpus:
    """Documents by ID, by source and by rank, with their near-duplicates."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self.texts = {document.id: document.text for document in documents}
        self.numbers = {document.id: n for n, document in enumerate(documents)}
        self.sources = {d.source for d in documents if d.source is not None} - self.texts.keys()
        self.folded = {name.casefold().strip(): name for name in self.texts}

    @cached_property
    def ranking(self) -> Ranking:
        """All documents, to be ranked by a question's words."""
        return Ranking(document.text for document in self.documents)

    @cached_property
    def twins(self) -> dict[str, frozenset[str]]:
        """The IDs of documents that are nearly equal to one."""
        twins: dict[str, frozenset[str]] = {}
        for group in duplicates.groups([document.text for document in self.documents]):
            names = frozenset(self.documents[number].id for number in group)
            twins |= {name: names - {name} for name in names}
        return twins

    def has_outside(self, run: Sequence[str], names: Container[str]) -> bool:
        """Return whether a run of words stands in other documents too: then it is a term.

        Of people's questions on Cranfield's abstracts, 8 of 225 share seven words with a
        reference, 5 of them a term such as "the boundary layer on a flat plate".
        """
        phrase, longest = f" {' '.join(run)} ", max(run, key=len)
        return any(
            longest in text.casefold() and phrase in f" {' '.join(words(text))} "
            for name, text in self.texts.items()
            if name not in names
        )

    def unknown(self, name: str) -> tuple[Problem, str]:
        """Return what is wrong with an ID that no document has."""
        if name in self.sources:
            why = f"{name!r} is a document; the corpus has its chunks: derive chunk IDs from spans"
            return Problem.LEVEL, why
        alike = self.folded.get(name.casefold().strip())
        if alike is not None:
            return Problem.UNKNOWN_ID, f"{name!r}; there is {alike!r}"
        stem = next((n for n in _stems(name) if n in self.texts), None)
        if stem is not None and not self._has_below(name[: len(stem) + 1]):
            return Problem.LEVEL, f"{name!r} looks like a chunk of the document {stem!r}"
        return Problem.UNKNOWN_ID, repr(name)

    @cached_property
    def _ordered(self) -> list[str]:
        return sorted(self.texts)

    def _has_below(self, beginning: str) -> bool:
        """Return whether the corpus has IDs that begin so: then it has that level itself."""
        at = bisect_left(self._ordered, beginning)
        return at < len(self._ordered) and self._ordered[at].startswith(beginning)


def _stems(name: str) -> Iterator[str]:
    """Yield what an ID begins with, cut where something that is no letter or digit stands."""
    for at in range(len(name) - 1, 0, -1):
        if not name[at].isalnum():
            yield name[:at]


def _of_sample(
    sample: Sample, corpus: _Corpus, earlier_questions: duplicates.Questions
) -> Iterator[tuple[Problem, str]]:
    question = sample.user_input or ""
    if not question.strip():
        yield Problem.NO_QUESTION, ""
    elif (same := earlier_questions.match(question)) is not None:
        yield Problem.DUPLICATE, same
    if sample.reference_context_ids is None and sample.reference_contexts is None:
        yield Problem.NO_REFERENCE, ""
    yield from _of_ids(sample, corpus)
    yield from _of_spans(sample, corpus)
    if points := leak.pointing(question):
        yield Problem.POINTS, points
    yield from content.of_wording(sample, list(_sources(sample)), corpus.texts)
    yield from content.of_references(sample, corpus.texts)


def _of_ids(sample: Sample, corpus: _Corpus) -> Iterator[tuple[Problem, str]]:
    reported: set[frozenset[str]] = set()
    for reference in sample.reference_context_ids or ():
        for name in reference.any_of:
            if name not in corpus.texts:
                yield corpus.unknown(name)
            outside = corpus.twins.get(name, frozenset()) - set(reference.any_of)
            pair = outside | {name}
            if outside and pair not in reported:
                reported.add(pair)
                others = ", ".join(map(repr, sorted(outside)))
                yield Problem.TWIN, f"{name!r} is nearly equal to {others}"


def _of_spans(sample: Sample, corpus: _Corpus) -> Iterator[tuple[Problem, str]]:
    for context in (c for group in sample.reference_contexts or () for c in group):
        source, start = context.source, context.start
        if source is None or start is None or context.text is None:
            continue
        there = corpus.texts.get(source)
        if there is None and source not in corpus.sources:
            yield corpus.unknown(source)
        elif there is not None and there[start : context.end] != context.text:
            yield Problem.SPAN, f"{source}[{start}:{context.end}] is not {context.text[:60]!r}"


def _passages(sample: Sample, corpus: _Corpus) -> Iterator[Passage]:
    """Yield what a model reads of a sample's references: around its spans, else whole texts."""
    groups = sample.reference_contexts or ()
    passages = [
        _around(context, corpus.texts[context.source])
        for group in groups
        for context in group
        if context.source in corpus.texts
    ]
    whole = () if passages else dict.fromkeys(_sources(sample))
    yield from dict.fromkeys(passages)
    for name in whole:
        if name in corpus.texts:
            yield Passage(name, 0, corpus.texts[name][:_MOST_READ])


def _around(context: Context, text: str) -> Passage:
    """Return what stands around a reference in its source; its beginning where it is not found."""
    start, end = context.start, context.end
    if start is None and (quote := letters_of(context.text or "").text):
        source = letters_of(text)
        for position in source.positions(quote)[:1]:
            start, end = source.range(position, position + len(quote))
    if start is None or end is None:
        return Passage(str(context.source), 0, text[:_MOST_READ])
    begin = max(0, start - _AROUND)
    return Passage(str(context.source), begin, text[begin : end + _AROUND])


def _judged(
    samples: Sequence[Sample],
    passages: Sequence[Sequence[Passage]],
    judge: ChatModel | Judge,
    options: ModelOptions,
) -> list[Issue]:
    """Return what a model finds wrong with the questions, beside their references."""
    check_options(options)
    models = [judge] if isinstance(judge, ChatModel) else models_of(judge)
    if not models:
        raise ParameterError("judge: expected a model, or a judge with one")
    plan = reading.plan(models[0], samples, passages)
    defects, _ = carried_out(plan, models, options)
    return [
        Issue(Problem[defect.name], samples[at].id or f"#{at + 1}", detail)
        for at, (defect, detail) in defects
    ]


class _Measured:
    """The wording of the questions so far, and how often each document is a reference."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, int, int | None]] = []
        self.difficulty: Counter[str] = Counter()
        self.referred: Counter[str] = Counter()

    def add(self, sample: Sample, corpus: _Corpus) -> Iterator[tuple[Problem, str]]:
        """Measure one sample; yield what is wrong with its wording."""
        names = dict.fromkeys(_sources(sample))
        self.referred.update(list(names))
        texts, question = _source_texts(sample, corpus.texts), sample.user_input or ""
        covered = leak.coverage(question, texts) if texts else None
        if covered is None:
            return
        run = leak.longest_run(question, texts)
        numbers = [corpus.numbers[name] for name in names if name in corpus.numbers]
        rank = corpus.ranking.rank(question, numbers)
        self.rows.append((covered, len(run), rank))
        self.difficulty[difficulty_of(rank)] += 1
        if len(run) >= leak.REJECTED_RUN and not corpus.has_outside(run, names):
            yield Problem.COPIED, " ".join(run)

    @property
    def long_runs(self) -> int:
        """How many questions copy six words or more."""
        return sum(run >= leak.LONG_RUN for _, run, _ in self.rows)

    def wording(self, name: str) -> Wording | None:
        """Return the shares of all questions; None where nothing was measured."""
        count = len(self.rows)
        if not count:
            return None
        ranks = [rank for _, _, rank in self.rows if rank is not None]
        return Wording(
            name,
            count,
            sum(covered for covered, _, _ in self.rows) / count,
            sum(covered == 1 for covered, _, _ in self.rows) / count,
            self.long_runs / count,
            sum(rank == 1 for rank in ranks) / count,
            sum(rank <= 10 for rank in ranks) / count,  # noqa: PLR2004 - as it is named
        )


def _sources(sample: Sample) -> Iterator[str]:
    for reference in sample.reference_context_ids or ():
        yield from reference.any_of
    for group in sample.reference_contexts or ():
        yield from (c.source for c in group if c.source is not None)


def _source_texts(sample: Sample, texts: Mapping[str, str]) -> list[str]:
    """Return what the question may have been written from: around its spans, else whole texts."""
    groups = sample.reference_contexts or ()
    spans = [c for group in groups for c in group if c.source in texts and c.start is not None]
    if spans:
        return [_around(context, texts[str(context.source)]).text for context in spans]
    names = (n for reference in sample.reference_context_ids or () for n in reference.any_of)
    source_texts = [texts[name] for name in names if name in texts]
    return source_texts or [c.text for group in groups for c in group if c.text]


def _of_set(
    samples: Sequence[Sample], measured: _Measured, margin: float
) -> Iterator[tuple[Problem, str]]:
    count = len(measured.rows)
    by_chance = at_least_by_chance(measured.long_runs, count, leak.PEOPLES_SHARE) if count else 1
    if count >= _FEWEST_TO_LEAK and by_chance < _SURPRISING:
        yield (
            Problem.LEAK,
            (
                f"{measured.long_runs:,} of {count:,} copy six words or more in a row, of people's "
                f"at most {leak.PEOPLES_SHARE:.0%} do: lexical retrieval looks better than it is"
            ),
        )
    yield from _crowding(measured.referred)
    groups = len({s.group or s.id or f"#{n}" for n, s in enumerate(samples)})
    needed = ceil(0.25 * (_DEVIATES / margin) ** 2)
    if groups < needed:
        at_nine = ceil(0.09 * (_DEVIATES / margin) ** 2)
        yield (
            Problem.FEW,
            (
                f"{groups:,} independent ones; mean recall to ±{margin:g} (95%) takes up to "
                f"{needed:,}, and {at_nine:,} where it is 0.9"
            ),
        )


def _crowding(referred: Counter[str]) -> Iterator[tuple[Problem, str]]:
    total = referred.total()
    if total < _FEWEST_TO_CROWD or len(referred) < 2:  # noqa: PLR2004 - one document is the corpus
        return
    name, most = referred.most_common(1)[0]
    if most / total > max(_CROWDED, 2 / len(referred)):
        yield Problem.CROWDED, f"{most:,} of {total:,} are in {name!r}"
