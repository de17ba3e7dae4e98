"""Row: the judge omits, repeats, invents or mislabels a verdict, or answers for another numbering.

An honest reply to four claims, changed in each way that models deviate, gives the true score or no
score.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judge.scripted import quoting

from fullrecall import ClaimRecall, Sample
from fullrecall.judge import Citation, Flow, LLMJudge, Verdict
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.judge.verdicts import label_of
from fullrecall.measures import Recall
from fullrecall.scorers.result import Status

CONTEXTS = [
    "The bridge was opened in May 1932 by the mayor.",
    "It is 512 metres long and carries two lanes.",
    "Tolls were abolished in 1978 after a vote.",
]
CLAIMS = [
    "The bridge was opened in 1932.",
    "The bridge is 512 metres long.",
    "The bridge has been painted green.",
    "Tolls were abolished in 1978.",
]
QUOTES = {1: (1, "was opened in May 1932"), 2: (2, "It is 512 metres long"),
          4: (3, "Tolls were abolished in 1978")}  # fmt: skip
TRUTH = {None: 0.75, 1: 0.25, 2: 0.5, 3: 0.75}

Verdicts = list[dict[str, Any]]


def honest() -> Verdicts:
    """Return the true verdicts in the requested form."""
    return [
        quoting(number, "supported", QUOTES[number], begins=claim)
        if number in QUOTES
        else quoting(number, "not_supported", begins=claim)
        for number, claim in enumerate(CLAIMS, start=1)
    ]


def shifted(by: int) -> Verdicts:
    """Return the verdicts with numbers shifted by `by`."""
    return [{**one, "id": one["id"] + by} for one in honest()]


def ids(*numbers: Any) -> Verdicts:
    """Return the verdicts with these numbers."""
    return [{**one, "id": number} for one, number in zip(honest(), numbers, strict=True)]


def bodies(*order: int) -> Verdicts:
    """Return the verdicts in this order, numbered from 1, each with its echo of the claim."""
    told = honest()
    return [{**told[n - 1], "id": at} for at, n in enumerate(order, start=1)]


def each(**changed: Any) -> Verdicts:
    """Return the verdicts with the same change in each."""
    return [{**one, **changed} for one in honest()]


def without(field: str) -> Verdicts:
    """Return the verdicts without a field."""
    return [{key: value for key, value in one.items() if key != field} for one in honest()]


def contexts_off(by: int) -> Verdicts:
    """Return the verdicts with each cited context number moved by `by`."""
    return [
        {**one, "citations": [{**c, "context": c["context"] + by} for c in one["citations"]]}
        for one in honest()
    ]


def written(verdicts: Verdicts) -> str:
    """Return verdicts as a model writes them."""
    return json.dumps({"verdicts": verdicts})


def merged() -> Verdicts:
    """Return one verdict for the first two claims, the rest numbered without a gap."""
    first, second, third, fourth = honest()
    joined = {**first, "citations": first["citations"] + second["citations"], "together": True}
    return [joined, {**third, "id": 2}, {**fourth, "id": 3}]


def cut_in_two() -> Verdicts:
    """Return two verdicts for the first claim, the rest numbered after them."""
    first, second, third, fourth = honest()
    return [first, {**first, "id": 2}, {**second, "id": 3}, {**third, "id": 4}, {**fourth, "id": 5}]


GOOD = written(honest())
BENT: dict[str, str] = {
    "from zero": written(shifted(-1)),
    "from two": written(shifted(1)),
    "from ten": written(shifted(9)),
    "from zero, cut": written(shifted(-1))[: -len(GOOD) // 4],
    "from zero without the first": written(shifted(-1)[1:]),
    "from two without the last": written(shifted(1)[:-1]),
    "contexts from zero": written(contexts_off(-1)),
    "contexts from two": written(contexts_off(1)),
    "first two swapped": written(ids(2, 1, 3, 4)),
    "last two swapped": written(ids(1, 2, 4, 3)),
    "ends swapped": written(ids(4, 2, 3, 1)),
    "reversed numbers": written(ids(4, 3, 2, 1)),
    "rotated": written(ids(2, 3, 4, 1)),
    "rotated back": written(ids(4, 1, 2, 3)),
    "bodies swapped": written(bodies(3, 2, 1, 4)),
    "bodies rotated": written(bodies(2, 3, 4, 1)),
    "merged": written(merged()),
    "cut in two": written(cut_in_two()),
    "cut in two, last dropped": written(cut_in_two()[:-1]),
    "reordered": written(list(reversed(honest()))),
    "first omitted": written(honest()[1:]),
    "third omitted": written([*honest()[:2], honest()[3]]),
    "third omitted and renumbered": written([*honest()[:2], {**honest()[3], "id": 3}]),
    "none": written([]),
    "one repeated": written([*honest(), honest()[0]]),
    "one repeated otherwise": written(
        [*honest(), {**honest()[2], "verdict": "supported", "citations": honest()[0]["citations"]}]
    ),
    "invented fifth": written([*honest(), {**honest()[0], "id": 5}]),
    "invented word": written([*honest(), {**honest()[0], "id": "overall"}]),
    "no number": written([*honest(), {**honest()[0], "id": None}]),
    "number true": written([{**one, "id": one["id"] == 1 or one["id"]} for one in honest()]),
    "number 1.5": written(ids(1.5, 2, 3, 4)),
    "numbers as words": written(ids("one", "two", "three", "four")),
    "numbers as text": written(ids("1", "2", "3", "4")),
    "no echo": written(without("begins")),
    "empty echo": written(each(begins="")),
    "the same echo for all": written(each(begins="The bridge")),
    "echo too short": written(each(begins="T")),
    "no citations": written(without("citations")),
    "citations of nothing": written(each(citations=[])),
    "unknown label": written(each(verdict="ok")),
    "label false": written(each(verdict="false")),
    "no label": written(without("verdict")),
    "two labels": GOOD.replace(
        '"verdict": "not_supported"', '"verdict": "not_supported", "verdict": "supported"'
    ),
    "cut in the middle": GOOD[: len(GOOD) // 2],
    "cut before the end": GOOD[:-3],
    "cut in a number": GOOD[: GOOD.index('"id": 3') + 6],
    "twice, the same": GOOD + GOOD,
    "twice, otherwise": GOOD + written(bodies(2, 3, 4, 1)),
    "a draft of other numbers before": written(shifted(-1)) + GOOD,
    "prose": "Claims 1, 2 and 4 are supported.",
    "json in a string": json.dumps(GOOD),
    "contexts that are not there": written(contexts_off(90)),
    "one bad citation beside a good one": written(
        [
            {**one, "citations": [*one["citations"], {"context": 9, "quote": "x"}]}
            if one["citations"]
            else one
            for one in honest()
        ]
    ),
    "labels in words": GOOD.replace('"supported"', '"Fully supported"').replace(
        '"not_supported"', '"Unsupported"'
    ),
}
COUNT = 40


def result_of(reply: Callable[[Any], str], **parameters: Any) -> Any:
    """Return the result of a judge with this reply."""
    judge = LLMJudge(ScriptedChatModel(reply, echo=False), **parameters)
    sample = Sample(user_input="q", retrieved_contexts=CONTEXTS, reference_claims=CLAIMS)
    return ClaimRecall(judge=judge).score(sample)


def assert_true(result: Any) -> None:
    """Fail unless the score is the true one at every k, and each claim has its own verdict."""
    assert {k: result[Recall @ k] if k else result.score for k in TRUTH} == TRUTH
    verdicts = [finding.verdict for finding in result.findings]
    assert verdicts == ["supported", "supported", "not_supported", "supported"]


def test_the_honest_reply_is_scored() -> None:
    """The requested form gives the true score at every k."""
    result = result_of(lambda _: GOOD)
    assert_true(result)
    assert len(BENT) >= COUNT


@pytest.mark.parametrize("bent", BENT.values(), ids=BENT)
@pytest.mark.parametrize("reasks", [0, 2])
def test_a_changed_reply_never_gives_a_wrong_score(bent: str, reasks: int) -> None:
    """Shifted, swapped, merged and cut replies give the true score at every k, or no score."""
    result = result_of(lambda _: bent, reasks=reasks)
    if result.status is Status.SCORED:
        assert_true(result)
    else:
        assert result.score is None
        assert result.reason


def _renumbered(verdicts: Verdicts, drawn: random.Random) -> Verdicts:
    """Return the verdicts with their numbers shuffled, or replaced by another sequence."""
    numbers = [one["id"] for one in verdicts]
    drawn.shuffle(numbers)
    start, step = drawn.choice([(0, 1), (1, 1), (2, 1), (1, 2), (-1, 1), (4, -1)])
    run = [start + step * at for at in range(len(verdicts))]
    chosen = drawn.choice([numbers, run])
    return [{**one, "id": number} for one, number in zip(verdicts, chosen, strict=True)]


def _thinned(verdicts: Verdicts, drawn: random.Random) -> Verdicts:
    return drawn.sample(verdicts, drawn.randint(0, len(verdicts)))


def _doubled(verdicts: Verdicts, drawn: random.Random) -> Verdicts:
    """Return the verdicts and a copy of one of them, with a random number."""
    if not verdicts:
        return verdicts
    again = {**drawn.choice(verdicts), "id": drawn.randint(0, 6)}
    return [*verdicts[: (at := drawn.randint(0, len(verdicts)))], again, *verdicts[at:]]


def _merged(verdicts: Verdicts, drawn: random.Random) -> Verdicts:
    """Return the verdicts with one in place of two neighbors, with the evidence of both."""
    if len(verdicts) < 2:
        return verdicts
    at = drawn.randrange(len(verdicts) - 1)
    one, other = verdicts[at : at + 2]
    both = {
        **drawn.choice([one, other]),
        "citations": [*(one["citations"] or []), *(other["citations"] or [])],
    }
    both["begins"] = drawn.choice([f"{one['begins']} {other['begins']}", str(one["begins"])[:10]])
    return [*verdicts[:at], both, *verdicts[at + 2 :]]


def _shortened(verdicts: Verdicts, drawn: random.Random) -> Verdicts:
    """Return the verdicts with a random number of letters of each echo."""
    letters = drawn.randint(0, 25)
    return [{**one, "begins": str(one["begins"])[:letters]} for one in verdicts]


def _typed(verdicts: Verdicts, drawn: random.Random) -> Verdicts:
    """Return the verdicts with numbers in another type."""
    kind = drawn.choice([str, float, lambda n: [n], lambda n: f"#{n}", lambda n: n == 1, hex])
    return [{**one, "id": kind(one["id"]) if type(one["id"]) is int else None} for one in verdicts]


def _lettered(verdicts: Verdicts, drawn: random.Random) -> Verdicts:
    """Return the verdicts with a field of at most one of them replaced by an empty value."""
    field = drawn.choice(["id", "begins", "citations", "verdict"])
    chosen = drawn.randrange(len(verdicts) + 1)
    value = drawn.choice([None, "", [], {}])
    return [{**one, field: value} if at == chosen else one for at, one in enumerate(verdicts)]


def _wrapped(text: str, drawn: random.Random) -> str:
    """Return a reply cut off, repeated, fenced, or behind thoughts and drafts."""
    draft = written(_renumbered(honest(), drawn))
    return drawn.choice(
        [
            text,
            text[: drawn.randint(0, len(text))],
            text[drawn.randint(0, len(text)) :],
            f"```json\n{text}\n```",
            f"<think>{draft}</think>{text}",
            f"{draft}\n{text}",
            f"{text}\n{draft}",
            text.replace("{", "{ ", 1),
            text.replace('"', "'"),
            text.replace(", ", ",\n  "),
            text[:-2] + ",]}",
            f"\ufeff{text}",
            text.replace("id", "ID"),
        ]
    )


BENDS = (_renumbered, _thinned, _doubled, _merged, _shortened, _typed, _lettered)


@given(seed=st.integers(min_value=0), bends=st.lists(st.sampled_from(BENDS), max_size=4))
@settings(max_examples=int(os.environ.get("FULLRECALL_RUNS", "1")) * 20, deadline=None)
def test_several_changes_of_a_reply_never_give_a_wrong_score(
    seed: int, bends: list[Callable[[Verdicts, random.Random], Verdicts]]
) -> None:
    """Several changes to verdicts and to the text around them give the true score or no score."""
    drawn = random.Random(seed)
    verdicts = honest()
    for bend in bends:
        verdicts = bend(verdicts, drawn)
    result = result_of(lambda _: _wrapped(written(verdicts), random.Random(seed)), reasks=0)
    if result.status is Status.SCORED:
        assert_true(result)
    else:
        assert result.score is None


@pytest.mark.parametrize("bent", BENT.values(), ids=BENT)
def test_a_wrong_reply_is_corrected_by_the_next(bent: str) -> None:
    """A model that corrects its form after the problem is named is scored as the honest one."""

    def reply(request: Any) -> str:
        if not request.again:
            return bent
        told = request.messages[1].content
        assert "Your last answer was not valid" in told
        asked = {int(line.split(" ")[0]) for line in told.rpartition("claims:\n")[2].splitlines()}
        return written([one for one in honest() if one["id"] in asked])

    result = result_of(reply)
    assert_true(result)


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("unsupported", "not_supported"), ("Fully Supported.", "supported"),
        ("partially_supported", "partial"), ("NOT-SUPPORTED", "not_supported"),
        ("refuted", "contradicted"), ("nicht unterstützt", "not_supported"),
        ("partiellement soutenu", "partial"), ("支持", "supported"), ("不支持", "not_supported"),
        ("支持されていない", "not_supported"), ("не подтверждено", "not_supported"),
        ("widerlegt", "contradicted"), ("false", None), ("maybe", None), ("", None), (None, None),
        (3, None), ("supported or not", None),
    ],
)  # fmt: skip
def test_labels_in_the_words_that_models_use(word: object, label: str | None) -> None:
    """A word is read as a label if it can mean only one label."""
    assert label_of(word) == label


def test_contradicted_is_a_label_of_its_own() -> None:
    """A contradicted claim earns no credit, keeps its citations, and is labeled in the finding."""
    denied = honest()
    denied[2] = {
        **denied[2],
        "verdict": "contradicted",
        "citations": [{"context": 2, "quote": "carries two lanes"}],
    }
    finding = result_of(lambda _: written(denied)).findings[2]
    assert (finding.verdict, finding.steps, finding.ranks) == ("contradicted", (), ())
    assert finding.evidence[0].rank == 2


@dataclass(frozen=True)
class Fixed:
    """A user's judge that gives each claim the same verdict."""

    verdict: Verdict
    name: str = "fixed"

    def split(self, text: str, *, kind: str, question: str | None = None) -> Flow[list[str]]:
        """Return the text as one claim."""
        yield from ()
        return [text]

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        **_: Any,
    ) -> Flow[list[Verdict]]:
        """Return the verdict for each target."""
        yield from ()
        return [self.verdict] * len(targets)

    def relevance(self, contexts: Sequence[str], **_: Any) -> Flow[list[Verdict]]:
        """Return the verdict for each context."""
        yield from ()
        return [self.verdict] * len(contexts)


FIRST, MISSING = Citation(0, CONTEXTS[0]), Citation(3, "no such context")


@pytest.mark.parametrize(
    ("verdict", "problem"),
    [
        (Verdict("yes"), "the judge's verdict 'yes' is none of ("),
        (Verdict(None), "the judge gave no verdict"),
        (Verdict("supported"), "the judge cites no context for its verdict"),
        (Verdict("supported", (MISSING,)), "the judge cites context 3, which is not there"),
        (Verdict("supported", (Citation(-1, "x"),)), "the judge cites context -1, which"),
        (Verdict("supported", (FIRST,), others=(Verdict("no"),)), "'no' is none of ("),
        (Verdict("supported", (FIRST,), votes=(Verdict(None),)), ""),
        (Verdict("not_supported"), ""),
        (Verdict("supported", (Citation(2, CONTEXTS[2]),)), ""),
    ],
)
def test_a_users_judge_is_held_to_the_contract(verdict: Verdict, problem: str) -> None:
    """A claim whose verdict cannot be read is left unmeasured, with a reason, and is not a miss."""
    scorer = ClaimRecall(judge=Fixed(verdict))
    result = scorer.score(retrieved_contexts=CONTEXTS, reference_claims=CLAIMS[:1])
    assert (result.status is Status.UNSCORED) == bool(problem)
    assert problem in (result.reason or "")
