"""A race asks each question once, in the order of digests, and forgets earlier calls' values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fullrecall.errors import ReportError
from fullrecall.run.race import LOOKS, QuestionValue, Race, RaceRecord
from fullrecall.stats.accounts import Accounts


def race_of(*names: str) -> Race:
    """Return a new race of these retrievers."""
    records = {name: RaceRecord(f"{name} 1") for name in names}
    return Race({"measure": "recall"}, records, Accounts.open(len(names), 0.05, 0.0))


def answered(race: Race, values: dict[str, list[QuestionValue | None]]) -> None:
    """Let each retriever answer the questions of the plan that are left, in order."""
    keys = race.plan[race.position :]
    for name, own in values.items():
        race.records[name].pending = dict(zip(keys, own, strict=True))
    race.learn(keys)


def value(number: float) -> QuestionValue:
    """Return the value of a scored question."""
    return QuestionValue(number, number, [number])


def test_a_call_asks_new_questions_only() -> None:
    """Questions come in the order of their digests; asked ones, and repetitions, are left out."""
    race = race_of("a", "b")
    race.begin(["k3", "k1", "k2", "k1"])
    assert (race.plan, race.position, race.calls) == (["k1", "k2", "k3"], 0, 1)
    answered(race, {name: [value(0.5)] * 3 for name in "ab"})
    assert race.position == 3
    race.begin(["k2", "k1"])
    assert (race.plan, race.position, race.calls) == (["k1", "k2", "k3"], 3, 1)
    assert race.records["a"].low == [0.5] * 3
    race.begin(["k2", "k0", "k4"])
    assert (race.plan, race.position, race.calls) == (["k0", "k4"], 0, 2)
    assert race.done == ["k1", "k2", "k3"]
    for record in race.records.values():
        assert (record.low, record.high, record.means, record.pending) == ([], [], [], {})
        assert record.questions == 3


@pytest.mark.parametrize(("count", "first"), [(1, 1), (LOOKS, 1), (LOOKS + 1, 2), (160, 10)])
def test_a_call_has_sixteen_looks(count: int, first: int) -> None:
    """Each batch has a sixteenth of the questions, rounded up."""
    race = race_of("a", "b")
    race.begin([f"k{n:03}" for n in range(count)])
    assert race.batch(dict.fromkeys(race.plan)) == race.plan[:first]


def test_questions_that_are_not_available_leave_the_plan() -> None:
    """Of the questions that are left, only available ones stay."""
    race = race_of("a", "b")
    race.begin(["k1", "k2", "k3", "k4"])
    race.position = 1
    assert race.batch({"k1": 1, "k3": 1}) == ["k3"]
    assert race.plan == ["k1", "k3"]
    assert race.batch({}) == []


def test_answers_of_a_question() -> None:
    """A question without targets for all is left out; for some it counts as unscored there."""
    race = race_of("a", "b")
    race.begin(["k1", "k2", "k3"])
    unscored = QuestionValue(0.0, 1.0)
    answered(race, {"a": [None, value(1.0), value(0.0)], "b": [None, None, unscored]})
    a, b = race.records.values()
    assert (a.questions, a.means, a.low, a.high) == (2, [1.0, 0.0], [1.0, 0.0], [1.0, 0.0])
    assert (b.questions, b.means, b.low, b.high) == (2, [], [0.0, 0.0], [1.0, 1.0])
    assert race.position == 3
    record = RaceRecord("x")
    record.add(QuestionValue(0.25, 0.75, [0.0, 1.0]))
    assert (record.means, record.low, record.high) == ([0.5], [0.25], [0.75])


def test_the_standings() -> None:
    """The loser is dropped and has no interval; the winner's mean is that of its questions."""
    race = race_of("a", "b")
    race.records["a"].unscored, race.records["a"].reason = 3, "down"
    race.records["b"].tokens, race.records["b"].with_tokens = 30.0, 2
    race.begin([f"k{n:03}" for n in range(200)])
    answered(race, {"a": [value(1.0)] * 200, "b": [value(0.0)] * 200})
    assert race.surviving == ["a"]
    choice = race.choice("recall", ["a note"])
    first, second = choice.standings
    assert (first.name, first.mean, first.is_dropped, first.tokens) == ("a", 1.0, False, None)
    assert (second.name, second.mean, second.is_dropped, second.tokens) == ("b", 0.0, True, 15.0)
    assert first.interval is not None
    assert second.interval is None
    assert choice.notes == ("3 unscored of a, for or against which nothing counts: down", "a note")
    race.begin(["z"])
    answered(race, {"a": [value(0.5)]})
    assert race.records["a"].questions == 201
    assert race.records["b"].questions == 200


def test_a_race_comes_back_from_its_file(tmp_path: Path) -> None:
    """All of its state is saved; another file is refused, and a missing one is no race."""
    race = race_of("a", "b")
    race.begin(["k1", "k2"])
    race.records["a"].pending = {"k1": value(1.0), "k2": None}
    path = tmp_path / "race.json"
    assert Race.load(path) is None
    race.save(path)
    back = Race.load(path)
    assert back is not None
    plain: Any = lambda own: {**vars(own), "accounts": None}  # noqa: E731
    assert plain(back) == plain(race)
    assert back.accounts.logs.tolist() == race.accounts.logs.tolist()
    for text, why in [("{}", "damaged one"), ("[]", "damaged one"), ("x", "damaged one")]:
        path.write_text(text)
        with pytest.raises(ReportError, match=why):
            Race.load(path)
    race.format = "fullrecall choice 4"
    race.save(path)
    with pytest.raises(ReportError, match="of another version"):
        Race.load(path)
