"""`complete`: unlabeled contexts are judged, and no figure changes without people's labels."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from fullrecall import Context, IdRecall, Sample, SpanRecall
from fullrecall.errors import InputError, ParameterError
from fullrecall.judge import Citation, Verdict
from fullrecall.testset import complete, unjudged

QUESTIONS, DOCUMENTS = 40, 300


@dataclass
class Truth:
    """A judge that knows the truth, errs if told to, and records its requests."""

    relevant: dict[str, set[str]]
    wrong: set[tuple[str, str]] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    asked: list[tuple[str, str]] = field(default_factory=list)
    name: str = "truth"

    def relevance(self, contexts: Any, *, question: str, reference: Any) -> Any:
        """Return a verdict for each context."""
        yield from ()
        verdicts = []
        for number, text in enumerate(contexts):
            self.asked.append((question, text))
            said = (text in self.relevant[question]) != ((question, text) in self.wrong)
            label = None if text in self.silent else "supported" if said else "not_supported"
            verdicts.append(Verdict(label, (Citation(number, text),), problem="silent"))
        return verdicts

    def attribute(self, targets: Any, contexts: Any, *, question: Any = None, **_: Any) -> Any:
        """Return the claims that each context states: those whose words it has."""
        yield from ()
        return [
            Verdict("supported", (Citation(0, target),))
            if target in contexts[0]
            else Verdict("not_supported")
            for target in targets
        ]


@dataclass
class World:
    """Questions with several relevant documents each, one of which is labeled."""

    samples: list[Sample]
    relevant: dict[str, set[str]]
    searches: dict[str, Any]
    judge: Truth


def text_of(number: int) -> str:
    """Return a text that shares no run of words with another."""
    return " ".join(f"word{number}x{n}" for n in range(8))


@pytest.fixture
def world() -> World:
    """Return a world of three independent retrievers that rank most relevant documents high."""
    draw = random.Random(0)
    relevant, samples = {}, []
    lists: dict[str, dict[str, list[int]]] = {"a": {}, "b": {}, "c": {}}
    for n in range(QUESTIONS):
        question = f"question {n}?"
        good = draw.sample(range(DOCUMENTS), 6)
        relevant[question] = {text_of(number) for number in good}
        samples.append(
            Sample(id=f"q{n}", user_input=question, reference_context_ids=[f"d{good[0]}"])
        )
        for ranks in lists.values():
            score = {d: draw.gauss(2.0 if d in good else 0.0, 1.0) for d in range(DOCUMENTS)}
            ranks[question] = sorted(score, key=lambda d: -score[d])

    def search(ranks: dict[str, list[int]]) -> Any:
        return lambda question: [{"id": f"d{d}", "text": text_of(d)} for d in ranks[question][:120]]

    searches = {name: search(ranks) for name, ranks in lists.items()}
    return World(samples, relevant, searches, Truth(relevant))


def done(world: World, **options: Any) -> Any:
    """Return a completion of the world at a small size."""
    sizes = {"depth": 10, "progress": False, **options}
    return complete(world.samples, world.searches, world.judge, **sizes)


def labels_of(world: World, completion: Any, n: int = 10**6) -> dict[str, bool]:
    """Return correct labels for the pairs that are drawn."""
    return {
        pair.item: pair.context in world.relevant[pair.question] for pair in completion.to_label(n)
    }


def in_truth(world: World, completion: Any) -> float:
    """Return the share of the frame's relevant contexts that the completed references have."""
    held = found = 0
    for sample, pairs in zip(completion.samples, completion.pool.pairs, strict=True):
        names = {name for r in sample.reference_context_ids for name in r.any_of}
        for pair in pairs:
            if pair.context.text in world.relevant[sample.user_input]:
                found += 1
                held += pair.context.id in names
    return held / found


def test_without_labels_nothing_is_added_and_nothing_claimed(world: World) -> None:
    """Without labels no reference or number changes; the report says how many are needed."""
    alone = done(world)
    assert [s.reference_context_ids for s in alone.samples] == [
        s.reference_context_ids for s in world.samples
    ]
    assert alone.estimate.complete is None
    assert "not known: no pair is labeled; about" in str(alone)
    assert "labels make the interval 0.2 wide" in str(alone)


def in_frame(world: World, completion: Any) -> float:
    """Return the share of the frame's relevant contexts that the given references have."""
    pairs = [pair for of in completion.pool.pairs for pair in of if pair.context.text]
    asked = [sample.user_input for sample in world.samples]
    good = [p for p in pairs if p.context.text in world.relevant[asked[p.question]]]
    return sum(bool(pair.named) for pair in good) / len(good)


def test_with_labels_the_estimate_holds_the_truth(world: World) -> None:
    """The interval of completeness holds the true share."""
    alone = done(world)
    labels = labels_of(world, alone, 300)
    labeled = alone.with_labels(labels, second=labels)
    share = labeled.estimate.complete
    assert share.low <= in_frame(world, labeled) <= share.high
    assert share.width <= 0.3


def test_everything_labeled_is_exact(world: World) -> None:
    """With every pair labeled without error, completeness is exact and has no interval."""
    alone = done(world)
    labels = labels_of(world, alone)
    labeled = alone.with_labels(labels, second=labels, error=0)
    assert labeled.estimate.complete == pytest.approx((in_frame(world, labeled),) * 3)
    assert in_truth(world, labeled) == 1.0


def test_a_relevant_outside_the_yeses_needs_a_second_person(world: World) -> None:
    """A pair labeled by one person widens the interval, and is given to a second person."""
    world.judge.wrong = {(q, text) for q, texts in world.relevant.items() for text in texts}
    alone = done(world)
    labels = labels_of(world, alone, 400)
    once = alone.with_labels(labels)
    lonely = once.to_label(second=True)
    assert {pair.item for pair in lonely} == {item for item, said in labels.items() if said}
    assert "need a second label" in str(once)
    twice = once.with_labels({}, second={pair.item: True for pair in lonely})
    assert twice.estimate.complete.width < once.estimate.complete.width
    refused = once.with_labels({}, second={lonely[0].item: False})
    assert lonely[0].item not in {one.item for one in refused.accepted}
    with pytest.raises(ParameterError, match="error must be from 0"):
        alone.with_labels(labels, error=0.5)


def test_missing_verdicts_are_in_the_interval_and_missing_texts_are_said(world: World) -> None:
    """Contexts without a verdict are a stratum; contexts without text are outside the frame."""
    silent = [text for texts in world.relevant.values() for text in sorted(texts)][::2]
    world.judge.silent = set(silent)
    alone = done(world)
    assert f"{alone.problems['silent']:,} contexts without a verdict: silent" in str(alone)
    retrieved = [s.with_retrieval(world.searches["a"](s.user_input)) for s in alone.samples]
    assert unjudged(retrieved, 10) > 0
    labels = labels_of(world, alone, 300)
    share = alone.with_labels(labels, second=labels).estimate.complete
    assert share.low <= in_frame(world, alone) <= share.high
    world.searches = {
        name: (
            lambda q, of=search: [
                {"id": one["id"]} if int(one["id"][1:]) % 7 == 0 else one for one in of(q)
            ]
        )
        for name, search in world.searches.items()
    }
    blind = done(world)
    assert "no text" in str(blind)
    some = labels_of(world, blind, 300)
    labeled = blind.with_labels(some, second=some)
    assert "among each retriever's first 10 with a text" in str(labeled)
    true = in_frame(world, labeled)
    assert labeled.estimate.complete.low <= true <= labeled.estimate.complete.high


def test_a_frame_without_texts_is_refused(world: World) -> None:
    """Without texts there is nothing to judge: completeness is unknown, not 100 %."""
    world.searches = {
        name: (lambda q, of=search: [{"id": one["id"]} for one in of(q)])
        for name, search in world.searches.items()
    }
    alone = done(world)
    assert alone.estimate.complete is None
    assert "no context has a text that could be judged" in str(alone)


def test_labels_of_a_part_of_the_strata_carry_no_figure(world: World) -> None:
    """If only the judge's finds are labeled, the number of overlooked contexts is unknown."""
    alone = done(world)
    finds = {one.item for one in alone.judged if one.relevant}
    labels = {item: said for item, said in labels_of(world, alone).items() if item in finds}
    some = alone.with_labels(labels)
    assert some.estimate.complete is None
    assert "no pair with the verdict 'no' is labeled" in some.estimate.refused


def test_a_judge_that_is_often_wrong_adds_only_what_is_confirmed(world: World) -> None:
    """If fewer than 80 % of its finds are right, only confirmed finds are added."""
    first = done(world)
    not_relevant = [one for one in first.judged if not one.relevant]
    finds = len(first.judged) - len(not_relevant)
    world.judge.wrong = {
        (world.samples[one.question].user_input, one.context.text) for one in not_relevant[:finds]
    }
    alone = done(world)
    labels = labels_of(world, alone, 200)
    labeled = alone.with_labels(labels, second=labels)
    assert labeled.estimate.right.value < 0.8
    assert {one.item for one in labeled.accepted} == {i for i, said in labels.items() if said}
    assert "only confirmed ones are added" in str(labeled)
    share = labeled.estimate.complete
    assert share.low <= in_frame(world, labeled) <= share.high


def test_a_judge_that_is_right_is_trusted_with_the_rest(world: World) -> None:
    """All finds of a judge that is right are added, except those that people refuse."""
    alone = done(world)
    finds = {one.item for one in alone.judged if one.relevant}
    labels = labels_of(world, alone, 200)
    refused = next(item for item in labels if item in finds)
    labeled = alone.with_labels({**labels, refused: False}, second=labels)
    assert finds - {refused} <= {one.item for one in labeled.accepted}


def test_supporting_contexts_join_the_claims_group() -> None:
    """Contexts that support a claim become its alternatives, and add no target."""
    claims = ["The mill dates from 1502", "The mill burned in 1688"]
    first, second = f"{claims[0]}, says the survey.", f"The annals: {claims[1]}."
    other = f"An old map has it that {claims[0]} or so people hold."
    sample = Sample(
        id="mill",
        user_input="What is known of the mill?",
        reference_claims=claims,
        reference_contexts=[
            Context(claims[0], source="survey", start=0, end=len(claims[0])),
            Context(claims[1], source="annals", start=12, end=12 + len(claims[1])),
        ],
        reference_context_ids=[["survey"], ["annals"]],
    )
    found = {
        "old": [Context(other, id="map#1", source="map", start=0, end=len(other))],
        "new": [
            Context(first, id="survey#1", source="survey", start=0, end=len(first)),
            Context(second, id="annals#1", source="annals", start=0, end=len(second)),
        ],
    }
    searches = {name: (lambda _, of=name: found[of]) for name in found}
    alone = complete(
        [sample], searches, Truth({sample.user_input: {other}}), depth=5, progress=False
    )
    assert [one.context.id for one in alone.judged] == ["map#1"]
    labeled = alone.with_labels({alone.judged[0].item: "relevant"})
    (completed,) = labeled.samples
    assert [r.any_of for r in completed.reference_context_ids] == [("survey", "map"), ("annals",)]
    assert [len(group) for group in completed.reference_contexts] == [2, 1]
    retrieved = completed.with_retrieval(found["old"])
    assert SpanRecall().score(retrieved).score == 0.5
    assert IdRecall().score(replace_ids(retrieved)).score == 0.5


def test_a_context_is_added_by_its_id_beside_a_reference_that_nothing_returned() -> None:
    """References that no retriever returns may be of any level; a context has its own ID."""
    sample = Sample(user_input="q?", reference_context_ids=["lost"])
    search = {"r": lambda _: [{"id": "x", "text": "a text"}]}
    alone = complete([sample], search, Truth({"q?": {"a text"}}), progress=False)
    (added,) = alone.with_labels({alone.judged[0].item: True}).samples
    assert [each.any_of for each in added.reference_context_ids] == [("lost",), ("x",)]


def replace_ids(sample: Sample) -> Sample:
    """Return the sample with each context under its document's ID."""
    contexts = [Context(c.text, id=c.source) for c in sample.retrieved_contexts]
    return sample.with_retrieval(contexts)


def test_near_equal_texts_are_judged_apart_and_are_one_target(world: World) -> None:
    """A copy of a relevant document is its alternative if the judge finds it relevant, too."""

    def doubled(search: Any) -> Any:
        return lambda question: [
            {"id": f"{item['id']}{copy}", "text": item["text"] + copy.replace("-", " ")}
            for item in search(question)[:60]
            for copy in ("", "-copy", "-2019")
        ]

    world.searches = {name: doubled(search) for name, search in world.searches.items()}
    for texts in world.relevant.values():
        texts |= {f"{text} copy" for text in texts}
    alone = done(world, depth=30)
    assert any(text.endswith("2019") for _, text in world.judge.asked)
    labels = labels_of(world, alone)
    labeled = alone.with_labels(labels, second=labels)
    sizes = []
    for sample in labeled.samples:
        for reference in sample.reference_context_ids:
            assert not any(name.endswith("2019") for name in reference.any_of)
            assert len({name.removesuffix("-copy") for name in reference.any_of}) == 1
            sizes.append(len(reference.any_of))
    assert sizes.count(2) >= 0.8 * len(sizes)


def test_labeled_contexts_are_not_judged(world: World) -> None:
    """Contexts that the references name are not sent to the judge."""
    done(world)
    for sample in world.samples:
        known = sample.reference_context_ids[0].any_of[0]
        assert (sample.user_input, text_of(int(known[1:]))) not in world.judge.asked


def test_the_same_call_draws_the_same_and_takes_its_labels(world: World, tmp_path: Path) -> None:
    """The same call draws the same pairs and takes their labels; other labels are refused."""
    path = tmp_path / "labels.csv"
    pairs = done(world).to_label(50, path)
    assert pairs == done(world).to_label(50)
    assert not {"supported", "not_supported"} & set(path.read_text("utf-8-sig").split(","))
    lines = path.read_text("utf-8-sig").splitlines()
    filled = [lines[0], *("relevant" + line for line in lines[1:])]
    path.write_text("\ufeff" + "\n".join(filled) + "\n", "utf-8")
    assert len(done(world).with_labels(path).labels) == len(pairs)
    with pytest.raises(InputError, match="labels are of pairs that this completion does not have"):
        done(world, depth=1).with_labels(path)
    with pytest.raises(ParameterError, match="may hold labels"):
        done(world).to_label(50, path)
    path.write_text(path.read_text().replace("relevant", "maybe", 1))
    with pytest.raises(InputError, match="unknown label 'maybe': choose one of relevant"):
        done(world).with_labels(path)


def test_an_error_out_of_range_is_refused(world: World) -> None:
    """At most 30 % of the labels may be wrong."""
    completion = done(world)
    wrong: list[Any] = [-0.01, 0.31, "0.1", None]
    for error in wrong:
        with pytest.raises(ParameterError, match=r"must be from 0 to 0\.3"):
            completion.with_labels({}, error=error)


def test_labels_are_read_in_each_form(world: World) -> None:
    """Labels are words or truth values in any case; an empty one is none, and two must agree."""
    completion = done(world)
    names = [pair.item for pair in completion.judged[:6]]
    words = [True, "Not relevant", " RELEVANT ", False, "", None]
    labeled = completion.with_labels(dict(zip(names, words, strict=True)), error=0.3)
    assert labeled.labels == dict(zip(names[:4], [True, False, True, False], strict=True))
    assert (labeled.error, labeled.second, completion.with_labels({}, error=0).error) == (
        0.3,
        {},
        0,
    )
    # Later labels replace earlier ones, and others stay.
    again = labeled.with_labels({names[0]: False}, second={names[1]: True})
    assert again.labels == {**labeled.labels, names[0]: False}
    assert again.second == {names[1]: True}


def test_an_item_has_one_label(world: World, tmp_path: Path) -> None:
    """Equal labels of one item are one; two that differ are an error with the line."""
    completion = done(world)
    item = completion.judged[0].item
    path = tmp_path / "labels.csv"
    path.write_text(f"label,item\nrelevant,{item}\n,{item}\ntrue,{item}\n")
    assert completion.with_labels(path).labels == {item: True}
    path.write_text(f"label,item\nrelevant,{item}\nfalse,{item}\n")
    with pytest.raises(InputError, match=f"csv:3: item {item} has two labels: keep one"):
        completion.with_labels(path)


def test_labels_are_drawn_by_stratum(world: World) -> None:
    """At least ten pairs of each stratum are drawn, in blind order; a larger draw extends it."""
    alone = done(world)
    verdicts = {one.item: one for one in alone.judged}
    drawn = [verdicts[pair.item] for pair in alone.to_label(150)]
    assert sum(one.relevant for one in drawn) >= 20
    assert [one.item for one in drawn] == sorted(one.item for one in drawn)
    more = {pair.item for pair in alone.to_label(300)}
    assert {one.item for one in drawn} <= more


def test_holes_are_counted(world: World) -> None:
    """A pooled retriever has no unjudged contexts to the depth; another one's are counted."""
    alone = done(world)
    other = [
        sample.with_retrieval([{"id": f"x{n}", "text": f"unseen {n}"} for n in range(5)])
        for sample in alone.samples
    ]
    assert unjudged(other, 5) == 1.0
    same = [s.with_retrieval(world.searches["a"](s.user_input)) for s in alone.samples]
    assert unjudged(same, 10) == 0.0
    assert unjudged(world.samples, 10) is None


def test_a_retriever_that_fails_leaves_what_the_others_returned(world: World) -> None:
    """The other retrievers' contexts stay in the frame, and the question is counted."""
    search = world.searches["a"]

    def failing(question: str) -> Any:
        if question == "question 3?":
            raise ConnectionError("down")
        return search(question)

    world.searches["a"] = failing
    alone = done(world)
    assert list(alone.pool.problems) == [3]
    assert "1 questions on which a retriever failed" in str(alone)
    assert any(one.question == 3 for one in alone.judged)


def test_arguments_out_of_range_are_named(world: World) -> None:
    """Wrong arguments are errors before any retrieval or request."""
    with pytest.raises(ParameterError, match="depth must be"):
        done(world, depth=0)
    with pytest.raises(ParameterError, match="retrievers: expected a mapping"):
        done(replace(world, searches={}))
    with pytest.raises(ParameterError, match="expected a Judge, got str"):
        done(replace(world, judge="gpt"))
    assert world.judge.asked == []
