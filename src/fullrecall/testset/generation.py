"""`generate`: documents in, questions with references out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from math import ceil, floor
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fullrecall.errors import InputError, JudgeError, ParameterError
from fullrecall.identifiers import shown
from fullrecall.judges.evidence import Folded, verbatim
from fullrecall.judges.judge import Flow
from fullrecall.judges.replies import json_values
from fullrecall.models.chat import ChatModel
from fullrecall.read.documents import Document, Documents, DocumentsLike, documents_of, is_page
from fullrecall.sample import Sample
from fullrecall.testset import instructions
from fullrecall.testset.draft import (
    DIFFICULTIES,
    KINDS,
    Backed,
    Defect,
    Difficulty,
    Draft,
    QuestionKind,
    Quote,
    Rejection,
    Yield,
)
from fullrecall.testset.duplicates import Questions
from fullrecall.testset.execution import (
    ModelOptions,
    Outcome,
    Plan,
    Unpack,
    acarried_out,
    carried_out,
    check_options,
)
from fullrecall.testset.following import anchor
from fullrecall.testset.inspection import inspected
from fullrecall.testset.ranking import Ranking
from fullrecall.testset.seeds import FEWEST_WORDS, Collection, Seed
from fullrecall.testset.verification import Check, items_in, reply, same_verdicts, values_by_number
from fullrecall.testset.vocabulary import content_words, words
from fullrecall.usage import Spent

DEFAULT_KINDS: Mapping[QuestionKind, float] = {
    "one_fact": 0.7,
    "several_facts": 0.2,
    "across_documents": 0.1,
}
PER_SEED = 2
"""Questions that one request asks for; both may be kept."""

_FIRST_SEEDS = 3
"""Seeds of the first batch: if nothing of it is accepted, something is wrong."""

_SEEDS_TO_JUDGE = 20
_LEAST_YIELD = 1 / 8
"""Fewer accepted drafts of all, after 20 seeds, end the run, too."""

_TOKEN = 4
"""Characters of a token, about."""

_REPLY_TOKENS = 180
"""Of one question, written and checked, about."""

_POOL = 12
_EXAMPLES = 10
_MOST_PLACES = 8
"""Other places of one quote that are asked about; a quote in more is no evidence of its own."""

_AROUND = 600
"""Characters on each side of a quote that say what it is about."""

_CLOSED_TOGETHER = 20
_TOLD = 0.6


class Forecast(NamedTuple):
    """What a run is going to send, about: if every draft is accepted, and no reply asked again."""

    calls: int
    tokens: int

    def __str__(self) -> str:
        return f"about {self.calls:,} calls and {self.tokens:,} tokens, if all drafts are accepted"


OnPlan: TypeAlias = Callable[[Forecast], object]
"""Called before the first request; what it raises ends the run before anything is spent."""


@dataclass(frozen=True)
class TestSet:
    """The questions that `generate` accepted, and all that it did not.

    `drafts` are all that were written, in the order of their seeds. `stopped` says why there are
    fewer than were wanted; empty where there are as many. `forecast` is what the run was going to
    send, `spent` what it sent and paid. `texts` are the documents that the references name.
    """

    __test__ = False  # no test of pytest's

    drafts: Sequence[Draft]
    made_by: Mapping[str, Any] = field(default_factory=dict)
    stopped: str = ""
    problems: Mapping[str, int] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)
    forecast: Forecast | None = None
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def samples(self) -> list[Sample]:
        """The accepted questions as samples, with quotes, offsets and how they were made."""
        good = [draft.sample(self.made_by) for draft in self.drafts if draft.rejection is None]
        return anchor(good, self.texts)

    @property
    def rejected(self) -> list[Draft]:
        """The drafts that a check rejected, each with its reason."""
        return [draft for draft in self.drafts if draft.rejection is not None]

    def __len__(self) -> int:
        """The number of accepted questions."""
        return sum(draft.rejection is None for draft in self.drafts)

    def __str__(self) -> str:
        lines = [str(Yield.of(self.drafts))]
        lines += [f"  {count:>6,}  requests failed: {why}" for why, count in self.problems.items()]
        if self.stopped:
            lines.append(f"Stopped early: {self.stopped}")
        lines += [self.spent.sentence()] if self.spent.sentence() else []
        return "\n".join(lines)

    def save(self, path: str | Path, *, rejected: str | Path | None = None) -> int:
        """Write the accepted samples as JSON Lines; return how many.

        `rejected` is a second file, one draft a line with the reason. Where references name HTML
        pages, their offsets are those of the extracted text: that is saved beside the set, as
        `set.documents.jsonl`.
        """
        from fullrecall.read import write_jsonl
        from fullrecall.views.exports import written

        if rejected is not None:
            lines = (json.dumps(draft.to_dict()) + "\n" for draft in self.rejected)
            written("".join(lines), rejected)
        pages = {name: text for name, text in self.texts.items() if is_page(name)}
        if pages:
            lines = (json.dumps({"id": name, "text": text}) + "\n" for name, text in pages.items())
            written("".join(lines), Path(path).with_suffix(".documents.jsonl"))
        return write_jsonl(self.samples, path)


def generate(
    documents: DocumentsLike | Documents,
    model: ChatModel,
    n: int = 100,
    *,
    kinds: Mapping[QuestionKind, float] | Sequence[QuestionKind] = DEFAULT_KINDS,
    checker: ChatModel | None = None,
    queries: Sequence[str] = (),
    difficulty: Difficulty | None = None,
    closed_book: bool = False,
    seed: int = 0,
    on_plan: OnPlan | None = None,
    **options: Unpack[ModelOptions],
) -> TestSet:
    """Write `n` questions about documents, with references that were checked.

    Passages are drawn from all over the collection. For each, one request asks for two questions
    with answers, claims and a quote for each claim; machine checks reject what they can; a second
    request checks the rest without seeing the answers. Where a quote also stands elsewhere, one
    more asks whether it answers the question there. If nothing of the first three passages is
    accepted, the run stops. The same seed and the same replies give the same set.

    - `documents`: whatever `documents_of` takes: a folder, texts, documents of a framework.
    - `kinds`: the share of each kind, or kinds in equal shares; `draft.KINDS` lists them.
    - `checker`: the model that checks; another than the one that writes is better.
    - `queries`: what your users ask, as many as you have: passages that these find come first, and
      their style is followed.
    - `difficulty`: keep only questions whose passage BM25 ranks first ("easy"), to 10 ("medium"),
      or below ("hard"). Of such a set compare no lexical retriever: it chose the questions.
    - `on_plan`: called with the `Forecast` before anything is sent.
    - `closed_book`: ask the checker for each answer without the documents; a label, no filter.
    - `options`: those of `evaluate`: `store`, `budget`, `max_concurrency`, `deadline`, …

    Raises `ParameterError` for arguments out of range, and `InputError` for documents that
    cannot be read or hold no passage of at least 15 words.
    """
    run = _Generation(
        documents, model, n, kinds, checker, queries, difficulty, closed_book, seed, on_plan
    )
    check_options(options)
    outcomes, spent = carried_out(run.plan(), [run.model, run.checker], options)
    return replace(outcomes, spent=spent)


async def agenerate(
    documents: DocumentsLike | Documents,
    model: ChatModel,
    n: int = 100,
    *,
    kinds: Mapping[QuestionKind, float] | Sequence[QuestionKind] = DEFAULT_KINDS,
    checker: ChatModel | None = None,
    queries: Sequence[str] = (),
    difficulty: Difficulty | None = None,
    closed_book: bool = False,
    seed: int = 0,
    on_plan: OnPlan | None = None,
    **options: Unpack[ModelOptions],
) -> TestSet:
    """Return what `generate` does, without blocking the event loop."""
    run = _Generation(
        documents, model, n, kinds, checker, queries, difficulty, closed_book, seed, on_plan
    )
    check_options(options)
    outcomes, spent = await acarried_out(run.plan(), [run.model, run.checker], options)
    return replace(outcomes, spent=spent)


def _shares(
    kinds: Mapping[QuestionKind, float] | Sequence[QuestionKind],
) -> dict[QuestionKind, float]:
    """Return the share of each kind, adding up to 1; raise `ParameterError` for what is none."""
    if isinstance(kinds, str):
        raise ParameterError(f"kinds: expected a list, got the str {kinds!r}: pass [{kinds!r}]")
    shares = dict(kinds) if isinstance(kinds, Mapping) else dict.fromkeys(kinds, 1.0)
    for kind, share in shares.items():
        if kind not in KINDS:
            raise ParameterError(f"unknown kind {kind!r}: choose one of {', '.join(KINDS)}")
        if not isinstance(share, (int, float)) or isinstance(share, bool) or not 0 <= share < 1e9:  # noqa: PLR2004
            raise ParameterError(f"the share of {kind} must be at least 0, got {share!r}")
    total = sum(shares.values())
    if total <= 0:
        raise ParameterError("kinds must have one with a share above 0")
    return {kind: share / total for kind, share in shares.items() if share > 0}


@dataclass
class _Generation:
    """One run of `generate`: what it was asked for, and what it has so far."""

    origin: DocumentsLike | Documents
    model: ChatModel
    n: int
    kinds: Mapping[QuestionKind, float] | Sequence[QuestionKind]
    checked_by: ChatModel | None
    queries: Sequence[str]
    difficulty: Difficulty | None
    closed_book: bool
    seed: int
    on_plan: OnPlan | None
    drafts: list[Draft] = field(default_factory=list)
    accepted: Counter[QuestionKind] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    earlier_questions: Questions = field(default_factory=Questions)

    def __post_init__(self) -> None:
        """Raise `ParameterError` for an argument out of its range."""
        n, queries, difficulty = self.n, self.queries, self.difficulty
        if not isinstance(n, int) or isinstance(n, bool) or n < 1:
            raise ParameterError(f"n must be a whole number of at least 1, got {n!r}")
        self.checker = self.checked_by or self.model
        for name, value in (("model", self.model), ("checker", self.checker)):
            if not isinstance(value, ChatModel):
                raise ParameterError(f"{name}: expected a ChatModel, got {type(value).__name__}")
        if isinstance(queries, str) or not all(isinstance(query, str) for query in queries):
            raise ParameterError(f"queries: expected a list of questions, got {shown(queries)}")
        if difficulty is not None and difficulty not in DIFFICULTIES:
            choices = ", ".join(DIFFICULTIES)
            raise ParameterError(f"difficulty: choose one of {choices}, got {difficulty!r}")
        self.documents, self.shares = documents_of(self.origin), _shares(self.kinds)

    def plan(self) -> Plan[Any, TestSet]:
        """Ask for drafts until there are enough; then label what was accepted."""
        collection = Collection.of(self.documents, n=self.n, seed=self.seed)
        if not collection.passages:
            raise InputError(
                f"{collection.documents:,} documents hold no passage of {FEWEST_WORDS} words"
            )
        self._ranking = Ranking(passage.text for passage in collection.passages)
        self._collection = collection
        forecast = self._forecast()
        if self.on_plan is not None:
            self.on_plan(forecast)
        order = _Order(collection, self._ranking, self.shares, self.n, self.queries, self.seed)
        stopped = yield from self._written(order)
        yield from self._elsewhere()
        if self.closed_book:
            yield from self._answered_alone()
        return TestSet(
            tuple(self.drafts),
            self._made_by(),
            stopped,
            dict(self.problems),
            forecast=forecast,
            texts=self._texts(),
        )

    def _forecast(self) -> Forecast:
        """Return what the run sends if every draft is accepted: two requests for two questions."""
        seeds = ceil(self.n / PER_SEED)
        passages = self._collection.passages
        mean = sum(len(passage.text) for passage in passages) / len(passages)
        question_tokens = 2 * (mean + instructions.LENGTH / 2)
        closed = ceil(self.n / _CLOSED_TOGETHER) if self.closed_book else 0
        tokens = seeds * round(question_tokens / _TOKEN) + self.n * _REPLY_TOKENS
        return Forecast(2 * seeds + closed, tokens)

    def _texts(self) -> dict[str, str]:
        """Return the documents that the accepted drafts' references name."""
        named = {
            quote.source
            for draft in self.drafts
            if draft.rejection is None
            for backed in draft.claims
            for quote in (backed.quote, *backed.elsewhere)
        }
        return {document.id: document.text for document in self.documents if document.id in named}

    def _written(self, order: _Order) -> Plan[Any, str]:
        """Ask seed after seed; return why there are too few, or an empty text."""
        used = 0
        while self.accepted.total() < self.n:
            batch = order.next(self._batch(used))
            if not batch:
                return f"no passages are left after {used:,}"
            outcomes = yield [self._draft(seed, kinds) for seed, kinds in batch]
            used += len(batch)
            before = self.problems.total()
            for outcome in outcomes:
                self._take(outcome)
            if self._yields_little(used):
                return self._little()
            if self.problems.total() - before == len(batch):
                return self.problems.most_common(1)[0][0]
        return ""

    def _batch(self, used: int) -> int:
        missing = self.n - self.accepted.total()
        if not used:
            return min(_FIRST_SEEDS, ceil(missing / PER_SEED))
        per_seed = min(PER_SEED, max(_LEAST_YIELD, self.accepted.total() / used))
        return min(ceil(missing / per_seed), _SEEDS_TO_JUDGE if used < _SEEDS_TO_JUDGE else missing)

    def _yields_little(self, used: int) -> bool:
        if not self.accepted:
            return True
        few = self.accepted.total() < _LEAST_YIELD * used * PER_SEED
        return used >= _SEEDS_TO_JUDGE and few

    def _little(self) -> str:
        counts = Yield.of(self.drafts)
        if not counts.rejected:
            return self.problems.most_common(1)[0][0]
        worst = max(counts.rejected, key=lambda defect: counts.rejected[defect])
        return (
            f"only {counts.accepted:,} of {counts.drafts:,} drafts were accepted, most are "
            f"rejected for: {worst}"
        )

    def _draft(self, seed: Seed, kinds: Sequence[QuestionKind]) -> Flow[list[Draft]]:
        """Ask for drafts of one seed, and for the check of those that the machine leaves."""
        request = instructions.writing(
            [passage.text for passage in seed.passages],
            kinds,
            seed.examples,
            seed.term,
            self.difficulty or "",
        )
        text, problem = yield from reply(self.model, request, lambda text: bool(_questions(text)))
        if problem or not _questions(text):
            raise JudgeError(problem or "the model's reply holds no question")
        drafts = inspected(_questions(text)[: len(kinds)], kinds, seed)
        drafts = [self._ranked(draft) for draft in drafts]
        left = [draft for draft in drafts if draft.rejection is None]
        checked: list[Draft] = []
        unanswerable = [draft for draft in left if draft.kind == "unanswerable"]
        answerable = [draft for draft in left if draft.kind != "unanswerable"]
        if answerable:
            checked += yield from self._checked(Check.of(answerable, seed.passages))
        for draft in unanswerable:  # whether nothing answers it takes more than its own passage
            near = self._ranking.best(draft.question, _POOL)
            around = list(
                dict.fromkeys((*seed.passages, *map(self._collection.passages.__getitem__, near)))
            )
            checked += yield from self._checked(Check.of([draft], around))
        by_question = {draft.question: draft for draft in checked}
        return [
            by_question.get(draft.question, draft) if draft.rejection is None else draft
            for draft in drafts
        ]

    def _checked(self, check: Check) -> Flow[list[Draft]]:
        text, problem = yield from reply(
            self.checker, check.request, lambda text: check.missing(text) == 0
        )
        if problem:
            rejection = Rejection(Defect.UNCHECKED, problem)
            return [replace(draft, rejection=rejection) for draft in check.drafts]
        return check.verdicts(text)

    def _take(self, outcome: Outcome[list[Draft]]) -> None:
        """Take the drafts of a seed: no question twice, two at most, what is most wanted first."""
        if outcome.value is None:
            self.problems[outcome.problem] += 1
            return
        drafts = list(outcome.value)
        good = [at for at, draft in enumerate(drafts) if draft.rejection is None]
        good.sort(key=lambda at: (self._filled(drafts[at].kind), at))
        kept = 0
        for at in good:
            if kept >= PER_SEED or self.accepted.total() >= self.n:
                drafts[at] = replace(drafts[at], rejection=Rejection(Defect.SURPLUS))
            elif (same := self.earlier_questions.match(drafts[at].question)) is not None:
                drafts[at] = replace(drafts[at], rejection=Rejection(Defect.DUPLICATE, same))
            else:
                kept += 1
                self.accepted[drafts[at].kind] += 1
        self.drafts += drafts

    def _filled(self, kind: QuestionKind) -> float:
        return self.accepted[kind] / self.shares.get(kind, 1e-9)

    def _ranked(self, draft: Draft) -> Draft:
        if draft.rejection is not None or not draft.claims:
            return draft
        own = [
            number
            for number, passage in enumerate(self._collection.passages)
            for backed in draft.claims
            if passage.source == backed.quote.source
            and passage.start <= backed.quote.start < passage.end
        ]
        rank = self._ranking.rank(draft.question, own)
        ranked = replace(draft, rank=rank, ranked=len(self._ranking))
        if self.difficulty not in (None, ranked.difficulty):
            detail = f"{ranked.difficulty}, not {self.difficulty}"
            return replace(ranked, rejection=Rejection(Defect.DIFFICULTY, detail))
        return ranked

    def _elsewhere(self) -> Plan[Any, None]:
        """Ask of each other place of a quote whether it answers the question there."""
        good = [
            at for at, draft in enumerate(self.drafts) if draft.rejection is None and draft.claims
        ]
        places_of = _occurrences(
            {b.quote for at in good for b in self.drafts[at].claims}, self.documents
        )
        elsewhere = [at for at in good if any(places_of[b.quote] for b in self.drafts[at].claims)]
        outcomes = yield [self._confirmed(self.drafts[at], places_of) for at in elsewhere]
        for at, outcome in zip(elsewhere, outcomes, strict=True):
            draft, kept = self.drafts[at], outcome.value or {}
            claims = (Backed(b.claim, b.quote, kept.get(b, ())) for b in draft.claims)
            many = max(len(places_of[b.quote]) for b in draft.claims)
            flag = (f"its quote stands in {many + 1} places",) if many else ()
            self.drafts[at] = replace(draft, claims=tuple(claims), flags=(*draft.flags, *flag))

    def _confirmed(
        self, draft: Draft, places_of: Mapping[Quote, Sequence[Place]]
    ) -> Flow[dict[Backed, tuple[Quote, ...]]]:
        """Return the other places that state a draft's claims about what its question asks."""
        pairs = [
            (b, occurrence)
            for b in draft.claims
            for occurrence in places_of[b.quote][:_MOST_PLACES]
        ]
        statements = [(b.claim, occurrence.around) for b, occurrence in pairs]
        request = instructions.elsewhere(draft.question, statements)
        text, problem = yield from reply(
            self.checker, request, lambda text: len(same_verdicts(text)) == len(pairs)
        )
        verdicts = {} if problem else same_verdicts(text)
        kept: dict[Backed, tuple[Quote, ...]] = {}
        for number, (backed, occurrence) in enumerate(pairs, start=1):
            if verdicts.get(number):
                kept[backed] = (*kept.get(backed, ()), occurrence.quote)
        return kept

    def _answered_alone(self) -> Plan[Any, None]:
        good = [
            at for at, draft in enumerate(self.drafts) if draft.rejection is None and draft.claims
        ]
        parts = [good[at : at + _CLOSED_TOGETHER] for at in range(0, len(good), _CLOSED_TOGETHER)]
        outcomes = yield [self._closed([self.drafts[at] for at in part]) for part in parts]
        for part, outcome in zip(parts, outcomes, strict=True):
            for at, answer in zip(part, outcome.value or [None] * len(part), strict=True):
                self.drafts[at] = replace(self.drafts[at], known_without=answer)

    def _closed(self, drafts: Sequence[Draft]) -> Flow[list[bool | None]]:
        request = instructions.closed_book([draft.question for draft in drafts])
        text, problem = yield from reply(self.checker, request, lambda text: bool(_answers(text)))
        if problem:
            raise JudgeError(problem)
        answers = _answers(text)
        return [_tells(answers.get(n), draft) for n, draft in enumerate(drafts, start=1)]

    def _made_by(self) -> dict[str, Any]:
        origin = {"model": self.model.name, "instructions": instructions.VERSION, "seed": self.seed}
        return origin if self.checker is self.model else {**origin, "checker": self.checker.name}


def _questions(text: str) -> list[Mapping[str, Any]]:
    items = items_in(text, "questions")
    if not items:  # some models send the list alone
        lists = [value for value in json_values(text) if isinstance(value, list)]
        items = [item for item in (lists or [[]])[-1] if isinstance(item, Mapping)]
    return [item for item in items if item.get("question")]


def _answers(text: str) -> dict[int, str]:
    return values_by_number(text, "answers", "answer", str)


def _tells(answer: str | None, draft: Draft) -> bool | None:
    """Whether an answer has most of what the claims add to the question; None without one."""
    if answer is None:
        return None
    new: set[str] = {word for backed in draft.claims for word in content_words(backed.claim)}
    new &= set(content_words(draft.answer)) or new
    new -= set(content_words(draft.question))
    there = set(content_words(answer))
    return bool(new) and len(new & there) >= _TOLD * len(new)


class _Order:
    """The seeds in the order in which they are used, each with the kinds that are asked for."""

    def __init__(  # noqa: PLR0917 - made in one place
        self,
        collection: Collection,
        ranking: Ranking,
        shares: Mapping[QuestionKind, float],
        n: int,
        queries: Sequence[str],
        seed: int,
    ) -> None:
        self._across = shares.get("across_documents", 0.0)
        self._shares = {kind: s for kind, s in shares.items() if kind != "across_documents"}
        singles = collection.singles(ceil(n / PER_SEED), seed=seed)
        self._singles = collection.questioned(queries, ranking, singles, seed=seed)
        self._pairs = collection.pairs(seed=seed)
        self._queries = queries[:_EXAMPLES]
        self._turn = 0
        self._kind_counts: Counter[QuestionKind] = Counter()

    def next(self, count: int) -> list[tuple[Seed, list[QuestionKind]]]:
        """Return the next seeds; fewer where the collection has no more."""
        batch: list[tuple[Seed, list[QuestionKind]]] = []
        while len(batch) < count:
            pair = floor((self._turn + 1) * self._across) > floor(self._turn * self._across)
            self._turn += 1
            seed = self._pair() if pair else self._single()
            seed = seed or (self._single() if pair else None)
            if seed is None:
                break
            batch.append(seed)
        return batch

    def _pair(self) -> tuple[Seed, list[QuestionKind]] | None:
        seed = next(self._pairs, None)
        if seed is None:
            return None
        return replace(seed, examples=tuple(self._queries)), ["across_documents"] * PER_SEED

    def _single(self) -> tuple[Seed, list[QuestionKind]] | None:
        if not self._shares:
            return None
        seed = next(self._singles, None)
        return None if seed is None else (seed, [self._kind() for _ in range(PER_SEED)])

    def _kind(self) -> QuestionKind:
        """Return the kind that was asked for least, by its share."""
        kind = min(
            self._shares, key=lambda kind: (self._kind_counts[kind] + 1) / self._shares[kind]
        )
        self._kind_counts[kind] += 1
        return kind


class Place(NamedTuple):
    """Another place where the words of a quote stand, and what stands around them."""

    quote: Quote
    around: str


def _occurrences(quotes: AbstractSet[Quote], documents: Documents) -> dict[Quote, list[Place]]:
    """Return all other places where each quote stands word for word: each may serve as well."""
    probes = {quote: sorted(set(words(quote.text)), key=len, reverse=True) for quote in quotes}
    occurrences: dict[Quote, list[Place]] = {quote: [] for quote in quotes}
    for document in documents if quotes else ():
        folded_text = document.text.casefold()
        candidates = [
            quote for quote, of in probes.items() if all(word in folded_text for word in of)
        ]
        if candidates:
            folded = Folded(document.text)
            for quote in candidates:
                occurrences[quote] += _others(quote, document, folded)
    return occurrences


def _others(quote: Quote, document: Document, folded: Folded) -> Iterator[Place]:
    for span in verbatim(quote.text, folded):
        apart = document.id != quote.source or span.start >= quote.end or span.end <= quote.start
        if apart:
            text = document.text[span.start : span.end]
            around = document.text[max(0, span.start - _AROUND) : span.end + _AROUND]
            yield Place(Quote(document.id, span.start, span.end, text), f"{document.id}: {around}")
