"""`generate`: write questions with references from documents."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import ceil, inf
from pathlib import Path
from typing import Any, TypeAlias

from fullrecall._util.parameters import check_k
from fullrecall._util.values import shown
from fullrecall._util.vocabulary import words
from fullrecall.errors import InputError, JudgeError, ParameterError
from fullrecall.files.documents import Documents, DocumentsLike, documents_of, is_page
from fullrecall.judge.evidence import Folded, verbatim
from fullrecall.judge.judge import Flow
from fullrecall.judge.models.chat import ChatModel
from fullrecall.judge.models.retries import Retries
from fullrecall.judge.usage import MOST, Spent
from fullrecall.run.address import StoreLike
from fullrecall.run.budget import Budget
from fullrecall.run.evaluate import EvaluateOptions
from fullrecall.run.limits import Limits
from fullrecall.samples.sample import Sample
from fullrecall.testset import instructions, seeds
from fullrecall.testset.content import Problem, texts_named
from fullrecall.testset.draft import KINDS, Draft, QuestionKind, Rejection
from fullrecall.testset.duplicates import Questions
from fullrecall.testset.execution import FlowOutcome, Plan, carried_out
from fullrecall.testset.following import anchor
from fullrecall.testset.seeds import Seed, SeedPassage
from fullrecall.testset.verification import checked, inspected, items_in, reply, same_verdicts

DEFAULT_KINDS: Mapping[QuestionKind, float] = {
    "one_fact": 0.7,
    "several_facts": 0.2,
    "across_documents": 0.1,
}
PER_SEED = 2
"""The number of questions that one request asks for from its seed, which is one passage or two. All
of them may be kept.
"""

_FIRST_SEEDS, _GROWTH = 3, 4
"""The most seeds in the first batch, and in a later batch as a multiple of the seeds used so far.
"""

_LEAST_YIELD = 1 / 8
"""The run stops if, after a batch, less than this share of the requested questions was accepted;
after the first batch, if none was.
"""

_TOKEN = 4
"""The approximate number of characters of a token."""

_REPLY_TOKENS = 180
"""The approximate number of tokens to write and check one question."""

_EXAMPLES = 10
"""The most questions of users that a request shows as examples of their style."""

_MOST_PLACES = 8
"""The most other places of a quote that a model is asked about; further places are ignored."""

_AROUND = 600
"""The characters on each side of a quote that show its subject."""

_Occurrences: TypeAlias = dict[SeedPassage, list[tuple[SeedPassage, str]]]
"""For each quote, the other places that have its words, each with the text around it."""


OnPlan: TypeAlias = Callable[[str], object]
"""Called before the first request with a sentence on the expected requests. If it raises, the run
ends without cost.
"""


@dataclass(frozen=True)
class TestSet:
    """The questions that `generate` wrote, accepted or rejected.

    `drafts` are all written questions, in the order of their seeds. `samples` are the accepted
    questions, with quotes and offsets; metadata names the kind, the model and the seed. `stopped`
    is the reason why there are fewer than requested, else "". `problems` counts the failed requests
    by reason. `spent` is the run's cost. `texts` are the documents that the references name.
    """

    __test__ = False  # This is not a pytest test class.

    drafts: Sequence[Draft]
    samples: Sequence[Sample]
    stopped: str = ""
    problems: Mapping[str, int] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def rejected(self) -> list[Draft]:
        """The drafts that a check rejected, each with its `rejection`."""
        return [draft for draft in self.drafts if draft.rejection is not None]

    def __len__(self) -> int:
        """The number of accepted questions."""
        return len(self.samples)

    def __str__(self) -> str:
        lines = [f"{len(self):,} of {len(self.drafts):,} drafts accepted"]
        counts = _defects(self.drafts)
        lines += [f"  {counts[problem]:>6,}  {problem}" for problem in Problem if counts[problem]]
        lines += [f"  {count:>6,}  requests failed: {why}" for why, count in self.problems.items()]
        if self.stopped:
            lines.append(f"Stopped early: {self.stopped}")
        return "\n".join([*lines, self.spent.sentence()]).rstrip()

    def save(self, path: str | Path, *, rejected: str | Path | None = None) -> int:
        """Write the accepted samples as JSON Lines; return their number.

        `rejected` is a second file, with one rejected draft and its reason on each line. If
        references name HTML pages, the offsets refer to the extracted text of the pages. This text
        is saved beside the set: beside `set.jsonl` as `set.documents.jsonl`.
        """
        from fullrecall.files.writing import save_rows, write_jsonl

        if rejected is not None:
            save_rows((draft.to_dict() for draft in self.rejected), rejected)
        pages = [{"id": name, "text": text} for name, text in self.texts.items() if is_page(name)]
        if pages:
            save_rows(pages, Path(path).with_suffix(".documents.jsonl"))
        return write_jsonl(self.samples, path)


def generate(
    documents: DocumentsLike | Documents,
    model: ChatModel,
    n: int = 100,
    *,
    kinds: Mapping[QuestionKind, float] | Sequence[QuestionKind] = DEFAULT_KINDS,
    checker: ChatModel | None = None,
    queries: Sequence[str] = (),
    seed: int = 0,
    on_plan: OnPlan | None = None,
    max_concurrency: int = 16,
    timeout: float | None = 60.0,
    deadline: float | None = None,
    retries: Retries | int = MOST,
    store: StoreLike | None = None,
    budget: Budget | None = None,
    progress: bool = True,
) -> TestSet:
    """Write `n` questions about documents, with references that were checked.

    Passages are drawn at random from the whole collection. For each, one request asks for two
    questions, each with an answer, its claims, and a quote for each claim. Machine checks reject
    some drafts; a second request checks the rest without seeing the answers. If a quote also occurs
    elsewhere, one more request asks whether it answers the question there. The run stops early if
    the first three passages give no accepted draft, or later if fewer than one draft in eight is
    accepted. The same seed and the same replies give the same set.

    - `documents`: the types that `documents_of` takes: a folder, texts, documents of a framework.
    - `kinds`: the share of each kind, or kinds in equal shares; `draft.KINDS` lists them.
    - `checker`: the model that checks, preferably another one than `model`, which writes.
    - `queries`: your users' questions, as many as you have. The passages that match them are used
      first, and drafts follow their style.
    - `on_plan`: called before the first request, with a sentence on the expected calls and tokens.
    - `max_concurrency`, `timeout`, `deadline`, `retries`, `store`, `budget`, `progress`: those of
      `evaluate`.

    Raises `ParameterError` for arguments out of range, and `InputError` for documents that
    cannot be read or hold no passage of at least 15 words.
    """
    limits = Limits(max_concurrency, timeout, deadline, retries, store, budget)
    options = EvaluateOptions(limits, progress=progress)
    check_k(n, "n")
    checker = checker or model
    for name, value in (("model", model), ("checker", checker)):
        if not isinstance(value, ChatModel):
            raise ParameterError(f"{name}: expected a ChatModel, got {type(value).__name__}")
    if isinstance(queries, str) or not all(isinstance(query, str) for query in queries):
        raise ParameterError(f"queries: expected a list of questions, got {shown(queries)}")
    shares, read = _shares(kinds), documents_of(documents)
    # Shuffle the queries: the first ten, which are shown as examples of style, are then a random
    # sample, and frequent topics come early.
    order = random.Random(f"{seed}:queries")  # noqa: S311 - a sample, no secret
    shuffled = order.sample(list(queries), len(queries))
    run = _Generation(read, model, checker, n, shares, shuffled, seed)
    testset, spent = carried_out(run.plan(on_plan), [model, checker], options)
    return replace(testset, spent=spent)


def _shares(
    kinds: Mapping[QuestionKind, float] | Sequence[QuestionKind],
) -> dict[QuestionKind, float]:
    """Return the share of each kind; raise `ParameterError` for anything but kinds and shares."""
    shares = dict(kinds) if isinstance(kinds, Mapping) else dict.fromkeys(kinds, 1.0)
    for kind, share in shares.items():
        if kind not in KINDS:
            raise ParameterError(f"unknown kind {kind!r}: choose one of {', '.join(KINDS)}")
        if not 0 <= share < inf:
            raise ParameterError(f"the share of {kind} must be at least 0, got {share!r}")
    if not any(shares.values()):
        raise ParameterError("must have one with a share above 0", "kinds")
    return {kind: share for kind, share in shares.items() if share > 0}


def _defects(drafts: Sequence[Draft]) -> Counter[Problem]:
    return Counter(draft.rejection.problem for draft in drafts if draft.rejection is not None)


@dataclass
class _Generation:
    """One run of `generate`: its arguments, and its drafts so far."""

    documents: Documents
    model: ChatModel
    checker: ChatModel
    n: int
    shares: Mapping[QuestionKind, float]
    queries: Sequence[str]
    seed: int
    drafts: list[Draft] = field(default_factory=list)
    accepted: Counter[QuestionKind] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    earlier_questions: Questions = field(default_factory=Questions)

    def plan(self, on_plan: OnPlan | None) -> Plan[Any, TestSet]:
        """Ask for drafts until enough are accepted, and return the test set.

        Then search the documents for other places at which the accepted drafts' quotes occur.
        """
        self._passages = seeds.sampled(self.documents, self.n, seed=self.seed)
        if not self._passages:
            raise InputError(f"the documents hold no passage of {seeds.FEWEST_WORDS} words")
        if on_plan is not None:
            on_plan(self._forecast())
        stopped = yield from self._written()
        # Search for other places last, so that quotes of rejected drafts cost no call.
        yield from self._elsewhere()
        made_by: dict[str, Any] = {"model": self.model.name}
        made_by |= {"instructions": instructions.VERSION, "seed": self.seed}
        if self.checker is not self.model:
            made_by["checker"] = self.checker.name
        good = [draft.sample(made_by) for draft in self.drafts if draft.rejection is None]
        texts = texts_named(good, self.documents)
        problems = dict(self.problems)
        return TestSet(self.drafts, anchor(good, texts), stopped, problems, texts=texts)

    def _forecast(self) -> str:
        """Return a sentence on the expected calls and tokens, without retries.

        Each request for two questions takes one call to write them and one to check them.
        """
        requests = ceil(self.n / PER_SEED)
        mean = sum(len(passage.text) for passage in self._passages) / len(self._passages)
        question_tokens = 2 * (mean + instructions.LENGTH / 2)
        tokens = requests * round(question_tokens / _TOKEN) + self.n * _REPLY_TOKENS
        return f"about {2 * requests:,} calls and {tokens:,} tokens, if all drafts are accepted"

    def _written(self) -> Plan[Any, str]:
        """Ask for drafts, seed after seed; return why too few were accepted, or ""."""
        # Begin with small batches: a checker that refused everything once cost 965 calls; now it
        # costs ten.
        used, order = 0, self._order()
        while (missing := self.n - self.accepted.total()) > 0:
            size = min(ceil(missing / PER_SEED), max(_FIRST_SEEDS, _GROWTH * used))
            batch = list(islice(order, size))
            if not batch:
                return f"no passages are left after {used:,}"
            outcomes = yield [self._draft(seed, kind) for seed, kind in batch]
            used += len(batch)
            for outcome in outcomes:
                self._take(outcome)
            if all(outcome.value is None for outcome in outcomes):
                return outcomes[-1].problem
            if self.accepted.total() < _LEAST_YIELD * used * PER_SEED:
                reasons = self.problems + _defects(self.drafts)
                return (
                    f"only {self.accepted.total():,} of {len(self.drafts):,} drafts were accepted, "
                    f"most others failed for: {reasons.most_common(1)[0][0]}"
                )
        return ""

    def _order(self) -> Iterator[tuple[Seed, QuestionKind]]:
        """Yield the seeds in the order of their use, each with the kind of question to ask for."""
        pairs = seeds.pairs(self._passages, seed=self.seed)
        drawn = seeds.singles(self._passages, ceil(self.n / PER_SEED), seed=self.seed)
        passages = seeds.questioned(self._passages, self.queries, drawn)
        singles = (Seed((passage,)) for passage in passages)
        shares, counts = {**self.shares}, Counter[QuestionKind]()
        while shares:  # ask next for the kind that is furthest below its share
            kind = min(shares, key=lambda kind: (counts[kind] + 1) / shares[kind])
            seed = next(pairs if kind == "across_documents" else singles, None)
            if seed is not None:
                counts[kind] += 1
                yield seed, kind
            # No further documents share a name, so ask for the other kinds instead.
            elif kind == "across_documents":
                del shares[kind]
            else:
                return

    def _draft(self, seed: Seed, kind: QuestionKind) -> Flow[list[Draft]]:
        """Ask for the drafts of one seed; have a model check those that pass the machine checks."""
        texts = [passage.text for passage in seed.passages]
        request = instructions.writing(texts, PER_SEED, kind, self.queries[:_EXAMPLES], seed.term)
        text, problem = yield from reply(self.model, request, lambda text: bool(_questions(text)))
        if problem or not _questions(text):
            raise JudgeError(problem or "the model's reply holds no question")
        drafts = [inspected(written, kind, seed) for written in _questions(text)[:PER_SEED]]
        left = [draft for draft in drafts if draft.rejection is None]
        if left:
            left = yield from checked(left, seed.passages, self.checker)
        verified = iter(left)
        return [next(verified) if draft.rejection is None else draft for draft in drafts]

    def _take(self, outcome: FlowOutcome[list[Draft]]) -> None:
        """Add the drafts of a seed; reject repeated questions, and those beyond `n`."""
        if outcome.value is None:
            self.problems[outcome.problem] += 1
            return
        drafts = list(outcome.value)
        for at in [at for at, draft in enumerate(drafts) if draft.rejection is None]:
            if self.accepted.total() >= self.n:
                drafts[at] = replace(drafts[at], rejection=Rejection(Problem.SURPLUS))
            elif (earlier := self.earlier_questions.match(drafts[at].question)) is not None:
                drafts[at] = replace(drafts[at], rejection=Rejection(Problem.DUPLICATE, earlier))
            else:
                self.accepted[drafts[at].kind] += 1
        self.drafts += drafts

    def _elsewhere(self) -> Plan[Any, None]:
        """Ask whether the other places at which a quote occurs also answer the question."""
        # Equal words do not prove that a place answers the question. 1.9 % of the quotes of
        # CLAPNQ's answers, and 12 % of those from Python's docstrings, occur in several documents,
        # such as the same warranty for another product.
        good = [draft for draft in self.drafts if draft.rejection is None]
        quotes = {backed.quote for draft in good for backed in draft.claims}
        places_of = _occurrences(quotes, self.documents)
        outcomes = yield [self._confirmed(draft, places_of) for draft in good]
        confirmed = iter(outcomes)
        self.drafts = [
            next(confirmed).value or draft if draft.rejection is None else draft
            for draft in self.drafts
        ]

    def _confirmed(self, draft: Draft, places_of: _Occurrences) -> Flow[Draft]:
        """Return a draft with the other places that state its claims and answer its question."""
        pairs = [(b, place) for b in draft.claims for place in places_of[b.quote][:_MOST_PLACES]]
        if not pairs:
            return draft
        statements = [(backed.claim, around) for backed, (_, around) in pairs]
        request = instructions.elsewhere(draft.question, statements)
        verdicts = yield from same_verdicts(self.checker, request, len(pairs))
        same = [pairs[number] for number, verdict in sorted(verdicts.items()) if verdict["same"]]
        claims = [
            backed._replace(elsewhere=tuple(quote for b, (quote, _) in same if b == backed))
            for backed in draft.claims
        ]
        return replace(draft, claims=tuple(claims))


def _questions(text: str) -> list[Mapping[str, Any]]:
    return [item for item in items_in(text, "questions") if item.get("question")]


def _occurrences(quotes: set[SeedPassage], documents: Documents) -> _Occurrences:
    """Return the other places at which each quote occurs; they may also answer the question."""
    # Fold a text only if it has all words of a quote. Look for long words first, which are rare.
    probes = {quote: sorted(set(words(quote.text)), key=len, reverse=True) for quote in quotes}
    occurrences: _Occurrences = {quote: [] for quote in quotes}
    for document in documents if quotes else ():
        folded_text = document.text.casefold()
        candidates = [
            quote for quote, probe in probes.items() if all(word in folded_text for word in probe)
        ]
        if not candidates:
            continue
        folded = Folded(document.text)
        for quote in candidates:
            for span in verbatim(quote.text, folded):
                text = document.text[span.start : span.end]
                passage = SeedPassage(document.id, span.start, text)
                if not passage.meets(quote):
                    around = document.text[max(0, span.start - _AROUND) : span.end + _AROUND]
                    occurrences[quote].append((passage, f"{document.id}: {around}"))
    return occurrences
