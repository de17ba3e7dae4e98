"""`check`: find problems in any test set, with or without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from fullrecall._util.truth import NoTruth
from fullrecall._util.vocabulary import words
from fullrecall.errors import ParameterError
from fullrecall.files.documents import Documents, DocumentsLike, documents_of
from fullrecall.judge.judge import Flow, Judge
from fullrecall.judge.models.chat import ChatModel
from fullrecall.judge.models.retries import Retries
from fullrecall.judge.usage import MOST
from fullrecall.lexical import difference
from fullrecall.run.address import StoreLike
from fullrecall.run.budget import Budget, models_of
from fullrecall.run.evaluate import EvaluateOptions, as_samples
from fullrecall.run.limits import Limits
from fullrecall.samples.context import Context
from fullrecall.samples.corpus import Document
from fullrecall.samples.sample import Sample, SampleLike
from fullrecall.testset import content, duplicates
from fullrecall.testset.alignment import letters_of
from fullrecall.testset.content import Problem, ProblemsFound, contexts_in, names_in
from fullrecall.testset.draft import Backed, Draft, Rejection
from fullrecall.testset.execution import Plan, carried_out
from fullrecall.testset.seeds import SeedPassage
from fullrecall.testset.verification import checked

_AROUND = 1_000
"""A question may have been written from this many characters on each side of its quote."""

_MOST_READ = 20_000
"""The most characters of a whole document that a model reads."""

_FIRST_READ = 5
"""The number of samples that a model checks first; if it gives no verdict on any, the check ends.
"""


INVALID = frozenset({Problem.UNKNOWN_ID, Problem.LEVEL, Problem.SPAN})
"""Problems that make the scores of any retriever wrong."""


class Issue(NamedTuple):
    """One problem of one sample."""

    problem: Problem
    sample: str
    detail: str


@dataclass(frozen=True)
class Audit(NoTruth):
    """The problems that `check` found."""

    read: ClassVar[str] = ".is_valid"

    samples: int
    documents: int
    issues: Sequence[Issue]

    @property
    def is_valid(self) -> bool:
        """Whether all reference IDs are documents' IDs, and texts are at their offsets."""
        return not any(issue.problem in INVALID for issue in self.issues)

    @cached_property
    def counts(self) -> dict[Problem, int]:
        """The number of issues of each problem."""
        counts = Counter(issue.problem for issue in self.issues)
        return {problem: counts[problem] for problem in Problem if counts[problem]}

    def __str__(self) -> str:
        lines = [f"{self.samples:,} questions, {self.documents:,} documents"]
        lines += [f"  {count:>6,}  {problem}" for problem, count in self.counts.items()]
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
            "issues": [issue._asdict() for issue in self.issues],
        }


def check(
    samples: Iterable[SampleLike],
    documents: DocumentsLike | Documents,
    *,
    judge: ChatModel | Judge | None = None,
    max_concurrency: int = 16,
    timeout: float | None = 60.0,
    deadline: float | None = None,
    retries: Retries | int = MOST,
    store: StoreLike | None = None,
    budget: Budget | None = None,
    progress: bool = True,
) -> Audit:
    """Return the problems of a test set.

    Without a judge, only machine checks run. With one, a model also checks each question with its
    references, as `generate` checks its drafts: whether the question is clear by itself, whether
    the references give exactly one answer, and whether each claim follows from them.

    `documents` are the texts that the retriever searches: whole documents or chunks, as
    `documents_of` takes them. Documents are near-duplicates if they share at least 80 % of their
    runs of three words. `max_concurrency`, `timeout`, `deadline`, `retries`, `store`, `budget`, and
    `progress` are those of `evaluate`.

    Raises `InputError` for samples or documents that cannot be read, and `ParameterError` for a
    judge without a model.
    """
    limits = Limits(max_concurrency, timeout, deadline, retries, store, budget)
    options = EvaluateOptions(limits, progress=progress)
    parsed_samples = list(as_samples(samples))
    corpus = _AuditedCorpus(list(documents_of(documents)))
    earlier_questions = duplicates.Questions()
    issues: list[Issue] = []
    for number, sample in enumerate(parsed_samples, start=1):
        problems = [*_of_sample(sample, corpus, earlier_questions)]
        if sources := corpus.sources_of(sample):
            run = content.longest_run(sample.user_input or "", sources)
            # Compare runs of words, not shares: of the questions that people wrote for CLAPNQ,
            # one in seven has all of its words in its source.
            if len(run) >= content.REJECTED_RUN and not corpus.has_outside(run, sample):
                problems.append((Problem.COPIED, " ".join(run)))
        issues += [Issue(problem, sample.id or f"#{number}", why) for problem, why in problems]
    if judge is not None:
        issues += _rejected(parsed_samples, corpus, judge, options)
    issues.sort(key=lambda issue: list(Problem).index(issue.problem))
    return Audit(len(parsed_samples), len(corpus.documents), tuple(issues))


class _AuditedCorpus:
    """The documents, with their texts by ID, the names of their sources, and near-duplicates."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self.texts = {document.id: document.text for document in documents}
        self.sources = {d.source for d in documents if d.source is not None} - self.texts.keys()

    @cached_property
    def twins(self) -> dict[str, frozenset[str]]:
        """The IDs of the near-duplicates of each document."""
        twins: dict[str, frozenset[str]] = {}
        for group in duplicates.groups([document.text for document in self.documents]):
            names = frozenset(self.documents[number].id for number in group)
            twins |= {name: names - {name} for name in names}
        return twins

    def has_outside(self, run: Sequence[str], sample: Sample) -> bool:
        """Return whether a run of words also occurs in a document that the sample does not name.

        Such a run is probably a term.

        Of 225 questions by people on Cranfield's abstracts, 8 share seven words with a reference;
        in 5 of them the words are a term such as "the boundary layer on a flat plate".
        """
        phrase, longest, names = f" {' '.join(run)} ", max(run, key=len), set(names_in(sample))
        # Search for one word as a string first, so that most texts need not be split into words.
        return any(
            longest in text.casefold() and phrase in f" {' '.join(words(text))} "
            for name, text in self.texts.items()
            if name not in names
        )

    def unknown(self, name: str) -> tuple[Problem, str]:
        """Return the problem of an ID that no document has, with its detail."""
        if name in self.sources:
            why = f"{name!r} is a document; the corpus has its chunks: derive chunk IDs from spans"
            return Problem.LEVEL, why
        return Problem.UNKNOWN_ID, repr(name)

    def passages(self, sample: Sample, most: int | None = None) -> list[SeedPassage]:
        """Return the text around each reference context, or else the texts of its named documents.

        `most` limits the characters of a text that is read from its beginning; None for no limit.
        """
        passages = [
            _around(context, self.texts[context.source], most)
            for context in contexts_in(sample)
            if context.source in self.texts
        ]
        names = () if passages else names_in(sample)
        passages += [
            SeedPassage(name, 0, self.texts[name][:most]) for name in names if name in self.texts
        ]
        return list(dict.fromkeys(passages))

    def sources_of(self, sample: Sample) -> list[str]:
        """Return the texts from which a question may have been written."""
        texts = [passage.text for passage in self.passages(sample)]
        return texts or [context.text for context in contexts_in(sample) if context.text]


def _around(context: Context, text: str, most: int | None) -> SeedPassage:
    """Return the text around a reference in its source, or the source's beginning if not found."""
    start, end = context.start, context.end
    if start is None and (quote := letters_of(context.text or "").text):
        source = letters_of(text)
        for position in source.positions(quote)[:1]:
            start, end = source.location(position, position + len(quote))
    if start is None or end is None:
        return SeedPassage(str(context.source), 0, text[:most])
    begin = max(0, start - _AROUND)
    return SeedPassage(str(context.source), begin, text[begin : end + _AROUND])


def _of_sample(
    sample: Sample, corpus: _AuditedCorpus, earlier_questions: duplicates.Questions
) -> ProblemsFound:
    question = sample.user_input or ""
    if not question.strip():
        yield Problem.NO_QUESTION, ""
    elif (earlier := earlier_questions.match(question)) is not None:
        yield Problem.DUPLICATE, earlier
    if sample.reference_context_ids is None and sample.reference_contexts is None:
        yield Problem.NO_REFERENCE, ""
    yield from _of_ids(sample, corpus)
    yield from _of_spans(sample, corpus)
    if points := content.pointing(question):
        yield Problem.POINTS, points
    yield from content.of_references(sample, corpus.texts)


def _of_ids(sample: Sample, corpus: _AuditedCorpus) -> ProblemsFound:
    reported: set[frozenset[str]] = set()
    for reference in sample.reference_context_ids or ():
        for name in reference.any_of:
            if name not in corpus.texts:
                yield corpus.unknown(name)
            outside = corpus.twins.get(name, frozenset()) - set(reference.any_of)
            pair = outside | {name}
            if not outside or pair in reported:
                continue
            reported.add(pair)
            told = {other: difference(corpus.texts[name], corpus.texts[other]) for other in outside}
            equal = ", ".join(repr(other) for other in sorted(told) if not told[other])
            if equal:
                yield Problem.TWIN, f"{name!r} is nearly equal to {equal}"
            for other in sorted(filter(told.get, told)):
                yield Problem.RIVAL, f"{name!r} looks like {other!r}; {told[other]}"


def _of_spans(sample: Sample, corpus: _AuditedCorpus) -> ProblemsFound:
    for context in contexts_in(sample):
        source, start = context.source, context.start
        if source is None or start is None or context.text is None:
            continue
        text = corpus.texts.get(source)
        if text is None and source not in corpus.sources:
            yield corpus.unknown(source)
        elif text is not None and text[start : context.end] != context.text:
            yield Problem.SPAN, f"{source}[{start}:{context.end}] is not {context.text[:60]!r}"


def _rejected(
    samples: Sequence[Sample],
    corpus: _AuditedCorpus,
    judge: ChatModel | Judge,
    options: EvaluateOptions,
) -> list[Issue]:
    """Return an issue for each sample whose question or references a model rejects."""
    models = models_of(judge)
    if not models:
        raise ParameterError("judge: expected a model, or a judge with one")
    return carried_out(_rejections(models[0], samples, corpus), models, options)[0]


def _rejections(
    model: ChatModel, samples: Sequence[Sample], corpus: _AuditedCorpus
) -> Plan[Rejection | None, list[Issue]]:
    """Ask a model about each sample that has a question and a text; return the issues it finds."""
    passages = [corpus.passages(sample, _MOST_READ) for sample in samples]
    numbers = [at for at, sample in enumerate(samples) if sample.user_input and passages[at]]
    issues: list[Issue] = []
    for batch in (numbers[:_FIRST_READ], numbers[_FIRST_READ:]):
        outcomes = yield [_reading_of(model, samples[at], passages[at]) for at in batch]
        rejections = [
            Rejection(Problem.UNCHECKED, outcome.problem) if outcome.problem else outcome.value
            for outcome in outcomes
        ]
        issues += [
            Issue(rejection.problem, samples[at].id or f"#{at + 1}", rejection.detail)
            for at, rejection in zip(batch, rejections, strict=True)
            if rejection is not None
        ]
        if all(r is not None and r.problem is Problem.UNCHECKED for r in rejections):
            break
    return issues


def _reading_of(
    model: ChatModel, sample: Sample, passages: Sequence[SeedPassage]
) -> Flow[Rejection | None]:
    """Ask a model to check a sample; return the reason if the model rejects it, else None."""
    groups, claims = sample.reference_contexts or (), sample.reference_claims or ()
    backed = [
        Backed(claim.text, SeedPassage(first.source or "", first.start or 0, first.text))
        for claim, (first, *_) in zip(claims, groups, strict=False)
        if first.text and len(groups) == len(claims)
    ]
    draft = Draft(sample.user_input or "", "one_fact", sample.reference or "", tuple(backed))
    (read,) = yield from checked([draft], passages, model)
    return read.rejection
