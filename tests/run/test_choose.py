"""`choose` names the best retriever and its cost, over any number of calls."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fullrecall import Context, IdRecall, Retrieval, Sample, TextRecall, choose
from fullrecall.errors import InputError, ParameterError, ReportError
from fullrecall.measures import Precision, Recall
from fullrecall.measures.costs import tokens_of
from fullrecall.run.contest import identity_of
from fullrecall.run.race import Race

Search = Callable[[str], list[Any]]


def questions(count: int, start: int = 0) -> list[Sample]:
    """Return questions, each with two targets."""
    return [
        Sample(id=f"q{n}", user_input=f"question {n}", reference_context_ids=[f"d{n}", f"e{n}"])
        for n in range(start, start + count)
    ]


def search_of(share: float, seed: str, asked: Counter[str] | None = None) -> Search:
    """Return a retriever that finds each target with this probability, always the same ones."""

    def search(question: str) -> list[Any]:
        number = question.split()[1]
        if asked is not None:
            asked[question] += 1
        rng = Random(f"{seed} {number}")
        hits = [kind + number for kind in "de" if rng.random() < share]
        return [{"id": each, "text": "four " * 4} for each in hits] + [
            {"id": "x", "text": "x" * 40}
        ]

    return search


def test_the_better_one_is_named_with_its_recall_and_cost() -> None:
    """The winner is asked every question; the loser is not asked any further."""
    asked = {name: Counter[str]() for name in ("good", "bad")}
    found = choose(
        questions(200),
        IdRecall(),
        {"bad": search_of(0.4, "b", asked["bad"]), "good": search_of(0.9, "g", asked["good"])},
        Recall @ 5,
        progress=False,
    )
    assert found.winner == "good"
    assert len(asked["good"]) == 200
    assert len(asked["bad"]) < 100
    best, worse = found["good"], found["bad"]
    assert best.interval is not None
    assert best.interval.low < 0.9 < best.interval.high
    assert best.interval.confidence == pytest.approx(1 - 0.05 / 2)
    assert (worse.is_dropped, worse.interval) == (True, None)
    assert best.tokens == pytest.approx(10 + 2 * 5 * best.mean, rel=0.01)  # type: ignore[operator]
    assert best.seconds is not None
    assert found.sentence.startswith("good: no other has a better id_recall@5 (95% confidence")
    assert "questions" in str(found)
    assert "<table>" in found._repr_html_()
    plain = json.loads(json.dumps(found.to_dict()))
    assert (plain["outcome"], plain["winner"]) == ("chosen", "good")


def test_without_questions_the_reason_names_them() -> None:
    """The sentence says that no question was asked, not that none would decide."""
    choice = choose([], IdRecall(), {"a": search_of(0.7, "a"), "b": search_of(0.7, "b")})
    assert choice.winner is None
    assert choice.sentence.endswith("after 0 questions: there was none to ask")


def test_equal_retrievers_cannot_be_told_apart() -> None:
    """Equal retrievers give CANNOT TELL, with intervals and the number of questions needed."""
    found = choose(
        questions(40),
        IdRecall(),
        {"a": search_of(0.7, "a"), "b": search_of(0.72, "b")},
        progress=False,
    )
    assert found.winner is None
    assert found.to_dict()["outcome"] == "cannot_tell"
    assert found.sentence.startswith("CANNOT TELL which has the best id_recall after 40 questions")
    assert all(each.interval is not None for each in found.standings)
    assert found.needed is None or found.needed > 40


def test_several_within_a_tolerance_are_named_the_cheapest_first(tmp_path: Path) -> None:
    """Two equal retrievers are named, the cheapest first, and one far behind is not."""

    def dear(question: str) -> list[Any]:
        return [*search_of(0.8, "a")(question), {"id": "y", "text": "y" * 400}]

    retrievers = {"dear": dear, "cheap": search_of(0.8, "b"), "bad": search_of(0.3, "c")}
    file = tmp_path / "race.json"
    found = choose(questions(400), IdRecall(), retrievers, within=0.1, file=file, progress=False)
    assert found.winners == ("cheap", "dear")
    assert (found.winner, found.needed, found["bad"].is_dropped) == ("cheap", None, True)
    assert found.sentence.startswith(
        "cheap, dear: no other is better by more than 0.1 in id_recall (95% confidence, "
        "400 questions, at however many looks); the cheapest, cheap: id_recall "
    )
    assert found["bad"].questions < 400
    with pytest.raises(
        ParameterError, match=r"within of the file is 0\.1, now 0\.0: name another file$"
    ):
        choose(questions(400), IdRecall(), retrievers, file=file, progress=False)
    few = choose(questions(10), IdRecall(), retrievers, within=0.01, progress=False)
    assert few.winners == ()
    assert few.sentence.startswith("CANNOT TELL which has the best id_recall within 0.01 after 10")


def test_async_functions_and_retrievers_are_asked_too() -> None:
    """A function, a coroutine function, and a `Retriever` take part side by side."""

    async def awaited(question: str) -> list[Any]:
        await asyncio.sleep(0)
        return search_of(0.95, "a")(question)

    class Index:
        def retrieve(self, sample: Sample) -> Retrieval:
            found = search_of(0.3, "i")(str(sample.user_input))
            return Retrieval([hit["id"] for hit in found] and found)

        async def aretrieve(self, sample: Sample) -> Retrieval:
            return self.retrieve(sample)

    found = choose(
        questions(120),
        IdRecall(),
        {"awaited": awaited, "index": Index(), "partial": functools.partial(search_of(0.3, "p"))},
        progress=False,
    )
    assert found.winner == "awaited"
    assert all(each.seconds is not None for each in found.standings)


def test_it_goes_on_from_its_file_with_new_questions(tmp_path: Path) -> None:
    """With new questions, `choose` resumes from its file and asks only these."""
    asked = Counter[str]()
    file = tmp_path / "race.json"
    retrievers = {"a": search_of(0.7, "a", asked), "b": search_of(0.8, "b")}
    first = choose(questions(30), IdRecall(), retrievers, file=file, progress=False)
    assert first.winner is None
    second = choose(questions(600), IdRecall(), retrievers, file=file, progress=False)
    assert max(asked.values()) == 1
    assert (second.winner, second.calls) == ("b", 2)
    again = choose(questions(600), IdRecall(), retrievers, file=file, progress=False)
    assert again.winner == "b"
    assert max(asked.values()) == 1


def test_the_order_of_samples_does_not_matter() -> None:
    """A sorted file and a shuffled one give the same answer: the IDs decide the order."""
    samples = questions(80)
    retrievers = {"a": search_of(0.6, "a"), "b": search_of(0.8, "b"), "c": search_of(0.5, "c")}
    plain = choose(samples, IdRecall(), retrievers, progress=False).to_dict()
    mixed = choose(
        Random(1).sample(samples, 80),
        IdRecall(),
        retrievers,
        progress=False,
    ).to_dict()
    for found in (plain, mixed):
        del found["sentence"]
        for standing in found["standings"]:
            standing.update(seconds=None)
    assert plain == mixed


def test_samples_of_a_group_and_of_one_id_are_one_question() -> None:
    """Each group counts once, by its mean."""
    samples = [
        Sample(user_input=f"question {n}", reference_context_ids=[f"d{n}"], group=f"g{n // 4}")
        for n in range(40)
    ]
    doubled = [*questions(5), *questions(5)]
    retrievers = {"a": search_of(0.5, "a"), "b": search_of(0.5, "b")}
    assert choose(samples, IdRecall(), retrievers, progress=False).questions == 10
    assert choose(doubled, IdRecall(), retrievers, progress=False).questions == 5
    named = questions(2)
    grouped = [replace(named[0], group="g")]
    # A single sample returns the group for its ID.
    for mixed in (named + grouped, grouped + named):
        assert choose(mixed, IdRecall(), retrievers, progress=False).questions == 2


def test_questions_without_targets_or_text_count_for_nobody() -> None:
    """Undefined samples, and those without a question, are left out."""
    undefined = [
        Sample(id=f"u{n}", user_input="question 0", reference_context_ids=[]) for n in "ab"
    ]
    unasked = [Sample(id="n", reference_context_ids=["d1"])]
    retrievers = {"a": search_of(0.5, "a"), "b": search_of(0.5, "b")}
    found = choose([*questions(7), *undefined, *unasked], IdRecall(), retrievers, progress=False)
    assert [each.questions for each in found.standings] == [7, 7]


def test_a_failing_retriever_is_neither_dropped_nor_hides_its_failures() -> None:
    """Unscored questions are no losses of a retriever, and the reason is below the table."""

    def broken(question: str) -> list[Any]:
        raise ConnectionError(f"no index for {question!r}")

    found = choose(
        questions(60), IdRecall(), {"broken": broken, "b": search_of(0.9, "b")}, progress=False
    )
    assert found.winner is None
    assert (found["broken"].unscored, found["broken"].mean) == (60, None)
    assert "60 unscored of broken" in found.notes[0]
    assert "ConnectionError" in str(found)


def test_tokens_are_what_a_contexts_metadata_tell() -> None:
    """Tokens are the retriever's count in the metadata, or a quarter of the characters."""
    contexts = [Context("a" * 40, id="d0", metadata={"tokens": 7}), Context("abcd", id="x")]
    retrievers = {"a": lambda _: contexts, "b": lambda _: contexts}
    choice = choose(questions(5), IdRecall(), retrievers, progress=False)
    assert [each.tokens for each in choice.standings] == [8.0, 8.0]


class StopError(Exception):
    """Ends a run from within."""


@pytest.mark.parametrize("stop", [StopError, KeyboardInterrupt])
@pytest.mark.parametrize("after", [1, 30, 90])
def test_an_interrupted_call_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException], after: int
) -> None:
    """The exception has the choice so far; the resumed call ends as an uninterrupted one."""
    counted = Counter[str]()

    def counting(context: Context) -> float:
        counted["texts"] += 1
        if counted["texts"] == after:
            raise stop
        return tokens_of(context)

    monkeypatch.setattr("fullrecall.run.contest.tokens_of", counting)

    retrievers = {"a": search_of(0.6, "a"), "b": search_of(0.8, "b")}
    file = tmp_path / "race.json"
    with pytest.raises(stop) as caught:
        choose(questions(50), IdRecall(), retrievers, file=file, progress=False)
    assert "not all questions were asked" in caught.value.choice.notes[-1]  # type: ignore[attr-defined]
    resumed = choose(questions(50), IdRecall(), retrievers, file=file, progress=False)
    straight = choose(questions(50), IdRecall(), retrievers, progress=False)
    assert (resumed.winner, resumed.questions, resumed.calls) == (
        straight.winner,
        straight.questions,
        1,
    )
    assert resumed["b"].mean == pytest.approx(straight["b"].mean)


def test_a_killed_process_loses_nothing_that_was_looked_at(tmp_path: Path) -> None:
    """After a kill in the middle of a call, the next call asks only the missing questions."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import os, sys
from fullrecall import IdRecall, Sample, choose
asked = []
def search(share):
    def f(question):
        with open("asked.txt", "a") as log:
            log.write(f"{share} {question}\\n")
        asked.append(question)
        if sys.argv[1] == "kill" and len(asked) == 70:
            os._exit(9)
        n = int(question)
        return [f"d{n}"] if n % 2 else []
    return f
samples = [Sample(id=str(n), user_input=str(n), reference_context_ids=[f"d{n}"]) for n in range(64)]
both = {"a": search(5), "b": search(6)}
print(choose(samples, IdRecall(), both, file="race.json", progress=False, max_concurrency=1))
""",
        "utf-8",
    )

    def run(how: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(program), how],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("kill").returncode == 9
    done = run("go on")
    assert done.returncode == 0, done.stderr
    asked = Counter((tmp_path / "asked.txt").read_text("utf-8").splitlines())
    assert len(asked) == 2 * 64
    # One retriever's questions since the last interim analysis are asked again.
    assert sum(asked.values()) <= 2 * 64 + 4
    assert "after 64 questions" in done.stdout


def test_a_kill_within_a_long_look_loses_few_answers(tmp_path: Path) -> None:
    """After a kill, the file has the answers since the last analysis, of up to 125 questions."""
    asked: Counter[str] = Counter()

    class Killed(BaseException):
        pass

    def search(question: str) -> list[str]:
        asked[question] += 1
        if asked.total() == 100:
            raise Killed
        return [f"d{question}"]

    retrievers = {"a": search, "b": lambda _: ["other"]}
    options = {"file": tmp_path / "race.json", "progress": False, "max_concurrency": 1}
    with pytest.raises(Killed):
        choose(questions(2_000), IdRecall(), retrievers, versions={"b": "1"}, **options)
    held = json.loads((tmp_path / "race.json").read_text("utf-8"))
    assert len(held["records"]["a"]["pending"]) == 96


def test_what_changed_since_the_last_call_is_refused_by_name(tmp_path: Path) -> None:
    """Another retriever, measure, scorer, or confidence is refused, since it is another race."""
    file = tmp_path / "race.json"
    a, b = search_of(0.6, "a"), search_of(0.65, "b")
    choose(questions(10), IdRecall(), {"a": a, "b": b}, file=file, progress=False)

    def refused(match: str, *arguments: Any, **named: Any) -> None:
        with pytest.raises(ParameterError, match=match):
            choose(questions(20), *arguments, file=file, progress=False, **named)

    other = search_of(0.7, "b")
    refused("retriever 'b' of the file is .*, now ", IdRecall(), {"a": a, "b": other})
    refused("retriever 'b' of the file is .*, now missing", IdRecall(), {"a": a, "c": b})
    refused("measure of the file is recall, now precision", IdRecall(), {"a": a, "b": b}, Precision)
    refused("scorer of the file is id_recall, now text_recall", TextRecall(), {"a": a, "b": b})
    refused("confidence of the file is 0.95, now 0.9", IdRecall(), {"a": a, "b": b}, confidence=0.9)
    refused(
        "retriever 'new' of the file is missing, now ", IdRecall(), {"a": a, "b": b, "new": other}
    )


def test_a_version_says_that_a_retriever_is_the_same(tmp_path: Path) -> None:
    """With versions, the code may change as long as the version stays the same."""
    file = tmp_path / "race.json"
    a = search_of(0.6, "a")
    for seed, version, fits in (("b", "1", True), ("other", "1", True), ("other", "2", False)):
        retrievers = {"a": a, "b": search_of(0.65, seed)}
        met = pytest.raises(ParameterError, match="version 1, now version 2")
        with nullcontext() if fits else met:
            choose(
                questions(10),
                IdRecall(),
                retrievers,
                file=file,
                versions={"b": version},
                progress=False,
            )


def test_an_identity_tells_settings_apart_and_not_what_a_retriever_remembers() -> None:
    """A retriever is identified by code, closed-over numbers and texts, and arguments."""
    log: list[str] = []

    def make(k: int) -> Search:
        def search(question: str) -> list[Any]:
            log.append(question)
            return [question] * k

        return search

    class Index:
        def __init__(self, name: str) -> None:
            self.name = name
            self.cache: dict[str, str] = {}

        def __call__(self, question: str) -> list[Any]:
            return [self.name, question]

    five = identity_of(make(5))
    log.append("asked")
    assert identity_of(make(5)) == five != identity_of(make(6))
    index = Index("v1")
    first = identity_of(index)
    index.cache["x"] = "y"
    assert identity_of(index) == first != identity_of(Index("v2"))
    partial = functools.partial(make, k=5)
    assert identity_of(partial) != identity_of(functools.partial(make, k=6))


def test_a_retriever_whose_code_changed_is_another_one() -> None:
    """Its constants, names, defaults, and inner functions are its identity; its lines are not."""
    texts = [
        "def f(q): return [q][:1]",
        "def f(q): return [q][:2]",
        "def f(q): return list(q)",
        "def f(q): return tuple(q)",
        "def f(q, k=1): return [q]",
        "def f(q, k=2): return [q]",
        "def f(q, *, k=2): return [q]",
        "def f(q): return [(lambda: 1)(), q]",
        "def f(q): return [(lambda: 2)(), q]",
        "def f(q): return q in {'a', 'b'}",
        "def f(q): return q in {'a', 'c'}",
    ]

    def made(text: str) -> Any:
        names: dict[str, Any] = {"__name__": "made"}
        exec(text, names)  # noqa: S102 - the texts above
        return names["f"]

    names = [identity_of(made(text)) for text in texts]
    assert len(set(names)) == len(texts)
    assert names == [identity_of(made(f"# moved\n\n{text}")) for text in texts]


def test_a_file_that_is_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    """A damaged file, or one of another kind, is refused by name and not changed."""
    retrievers = {"a": search_of(0.6, "a"), "b": search_of(0.65, "b")}
    for text in ("{", "[]", '{"format": "else"}'):
        file = tmp_path / "race.json"
        file.write_text(text, "utf-8")
        with pytest.raises(ReportError, match="name another file"):
            choose(questions(3), IdRecall(), retrievers, file=file, progress=False)
        assert file.read_text("utf-8") == text


def test_bad_arguments_are_refused_before_anything_is_asked() -> None:
    """Each message names the bad argument and the right ones."""
    asked = Counter[str]()
    a, b = search_of(0.5, "a", asked), search_of(0.5, "b", asked)
    for match, retrievers, named in (
        ("two or more", {"a": a}, {}),
        ("retriever must be", {"a": a, "b": 3}, {}),
        ("confidence", {"a": a, "b": b}, {"confidence": 1}),
        ("version of 'c'", {"a": a, "b": b}, {"versions": {"c": "1"}}),
    ):
        with pytest.raises(ParameterError, match=match):
            choose(questions(3), IdRecall(), retrievers, progress=False, **named)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a Sample"):
        choose([3], IdRecall(), {"a": a, "b": b}, progress=False)  # type: ignore[list-item]
    assert not asked


class Crashes(RuleBasedStateMachine):
    """Two equal races: one whose process dies at any moment, and one without interruption."""

    @initialize(shares=st.lists(st.sampled_from([0.3, 0.6, 0.65, 0.9]), min_size=2, max_size=4))
    def start(self, shares: list[float]) -> None:
        """Make retrievers, and a file for each of the two."""
        self.folder = TemporaryDirectory()
        self.crashed, self.straight = (Path(self.folder.name, name) for name in ("c", "s"))
        self.retrievers = {f"r{n}": search_of(p, f"r{n}") for n, p in enumerate(shares)}
        self.count = 0

    @rule(more=st.integers(1, 30), crashes=st.lists(st.integers(1, 12), max_size=3))
    def ask(self, more: int, crashes: list[int]) -> None:
        """Ask more questions; crash at each of these moments, and resume."""
        self.count += more
        for moment in crashes:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Race, "save", dying(Race.save, moment))
                try:
                    self.choose(self.crashed)
                except StopError:
                    continue
        self.choose(self.crashed)
        self.choose(self.straight)

    def choose(self, file: Path) -> None:
        """Call `choose` with all questions so far."""
        choose(questions(self.count), IdRecall(), self.retrievers, file=file, progress=False)

    @invariant()
    def both_are_equal(self) -> None:
        """Both races have the same accounts, answers, and calls."""
        if not getattr(self, "count", 0):
            return
        crashed, straight = (
            json.loads(f.read_text("utf-8")) for f in (self.crashed, self.straight)
        )
        for plain in (crashed, straight):
            for record in plain["records"].values():
                del record["seconds"]
        assert crashed == straight

    def teardown(self) -> None:
        """Delete the files."""
        if hasattr(self, "folder"):
            self.folder.cleanup()


def dying(save: Callable[[Race, Path], None], moment: int) -> Callable[[Race, Path], None]:
    """Return a `save` that raises in its call `moment`: before writing if odd, else after."""
    calls: Iterator[int] = iter(range(1, 10_000))

    def die(race: Race, path: Path) -> None:
        call = next(calls)
        if call == moment and moment % 2:
            raise StopError
        save(race, path)
        if call == moment:
            raise StopError

    return die


Crashes.TestCase.settings = settings(max_examples=6, stateful_step_count=3, deadline=None)
TestCrashes = Crashes.TestCase
