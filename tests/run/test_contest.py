"""`choose` counts answers, costs and failures of retrievers, and says how a call ended early."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tqdm import tqdm

from fullrecall import Context, IdRecall, Retrieval, Sample, choose
from fullrecall.errors import ParameterError
from fullrecall.measures import Recall
from fullrecall.run.race import Race

QUESTIONS = [
    Sample(id="q1", group="g", user_input="one", expected_ids=["a"]),
    Sample(id="q2", group="g", user_input="two", expected_ids=["a", "b"]),
    Sample(id="q3", user_input="three", expected_ids=["c"]),
    Sample(user_input="four", expected_ids=["d"]),
    Sample(user_input="four", expected_ids=["x"]),
    Sample(id="q3", user_input="three again", expected_ids=["c"]),
    Sample(id="no targets", user_input="five", expected_ids=[]),
    Sample(id="not asked", expected_ids=["a"]),
]


def first(_: str) -> list[Context]:
    """Return two contexts: one that the first question needs, one that the second needs."""
    return [Context("1234", id="a"), Context("12345678", id="c")]


def failing(question: str) -> Any:
    """Fail for two questions; return contexts without texts for all other questions."""
    if question in ("one", "four"):
        raise ConnectionError("down")
    return Retrieval([Context(id="c")], seconds=[2.5])


def test_each_retriever_has_its_means_failures_and_costs() -> None:
    """Samples of a group, an ID, or a text are one question; failures count for no retriever."""
    asked = Counter[str]()

    def counted(question: str) -> list[Context]:
        asked[question] += 1
        return first(question)

    found = choose(QUESTIONS, IdRecall(), {"first": counted, "failing": failing}, progress=False)
    assert asked == {"one": 1, "two": 1, "three": 1, "four": 2, "three again": 1, "five": 1}
    assert (found.questions, found.calls, found.winner) == (3, 1, None)
    one, other = found["first"], found["failing"]
    assert (one.questions, one.unscored, one.mean, one.tokens) == (3, 0, (0.75 + 1 + 0) / 3, 3.0)
    assert (other.questions, other.unscored, other.mean) == (3, 3, (0 + 1) / 2)
    assert (other.tokens, other.seconds) == (None, (2.5, 2.5))
    assert one.interval is not None
    assert other.interval is not None
    assert one.interval.high < other.interval.high
    assert found.notes == (
        (
            "3 unscored of failing, for or against which nothing counts: no retrieval: "
            "ConnectionError: down"
        ),
    )


def test_tokens_within_the_measured_list() -> None:
    """The tokens of a question are those within the measure's k."""
    retrievers = {"first": first, "same": first}
    found = choose(QUESTIONS[:3], IdRecall(), retrievers, Recall @ 1, progress=False)
    assert [each.tokens for each in found.standings] == [1.0, 1.0]
    assert found.label == "id_recall@1"


def test_samples_of_one_id_share_their_group() -> None:
    """A sample without a group belongs to the group of any sample with its ID."""
    samples = [
        Sample(id="a", user_input="1", expected_ids=["x"]),
        Sample(id="a", group="g", user_input="2", expected_ids=["x"]),
        Sample(group="g", user_input="3", expected_ids=["x"]),
        Sample(id="b", user_input="4", expected_ids=["x"]),
    ]
    assert choose(samples, IdRecall(), {"1": first, "2": first}, progress=False).questions == 2


def test_one_bar_is_shown_for_all_retrievers(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default a terminal shows one bar, and none of each retriever's runs."""
    shown: list[object] = []

    class Bar(tqdm):  # type: ignore[type-arg]
        def __init__(self, disable: object, **_: Any) -> None:
            shown.append(disable)
            super().__init__(disable=True)

    monkeypatch.setattr("tqdm.tqdm", Bar)
    monkeypatch.setattr("fullrecall.run.progress.Meter.add", lambda *_: shown.append("a run"))
    retrievers = {"first": first, "same": first}
    choose(QUESTIONS[:3], IdRecall(), retrievers)
    choose(QUESTIONS[:3], IdRecall(), retrievers, progress=False)
    assert shown == [None, True]


def test_the_file_is_written_every_32_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed loses at most 32 answers, even if more are asked for at once."""
    samples = [Sample(user_input=f"{n}", expected_ids=["a"]) for n in range(16 * 40)]
    monkeypatch.setattr(Race, "save", lambda race, _: 1 / (32 - len(race.records["1"].pending)))
    with pytest.raises(ZeroDivisionError):
        choose(samples, IdRecall(), {"1": first, "2": first}, file=tmp_path / "f", progress=False)


@pytest.mark.parametrize("named", [True, False])
def test_a_call_that_ends_early(
    named: bool,  # noqa: FBT001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exception has the choice so far, and names the file from which the next call goes on."""
    file = tmp_path / "race.json" if named else None
    learned = Race.learn

    def once(race: Race, keys: Any) -> None:
        learned(race, keys)
        raise RuntimeError("no memory")

    monkeypatch.setattr(Race, "learn", once)
    retrievers = {"first": first, "failing": failing}
    with pytest.raises(RuntimeError) as raised:
        choose(QUESTIONS, IdRecall(), retrievers, file=file, progress=False)
    way_on = f"; {file} goes on from there" if named else ""
    assert raised.value.__notes__ == [f"error.choice has what is known by then{way_on}."]
    so_far = raised.value.choice  # type: ignore[attr-defined]
    assert so_far.questions <= 1
    assert so_far.notes[-1] == "not all questions were asked: the run was stopped: no memory"
    if file is not None:
        monkeypatch.undo()
        versions = dict.fromkeys(retrievers, "1")
        with pytest.raises(ParameterError, match="name another file, or say with versions that it"):
            choose(QUESTIONS, IdRecall(), retrievers, file=file, versions=versions, progress=False)
        assert choose(QUESTIONS, IdRecall(), retrievers, file=file, progress=False).questions == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"retrievers": {"one": first}}, "retrievers must be two or more by name, such as"),
        ({"retrievers": [first, failing]}, "retrievers must be two or more by name, such as"),
        ({"versions": {"third": "1"}}, "version of 'third': choose one of first, failing"),
        ({"within": 1.5}, "within must be a number from 0 to 1"),
        ({"confidence": 1.0}, "confidence must be a number between 0 and 1"),
        ({"scorer": Recall}, "expected a scorer such as IdRecall"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    """Each argument is checked before any retriever is asked."""
    given = {"scorer": IdRecall(), "retrievers": {"first": first, "failing": failing}, **arguments}
    with pytest.raises(ParameterError, match=message):
        choose(QUESTIONS, progress=False, **given)


def test_calls_that_were_not_timed() -> None:
    """A retrieval whose record has no seconds counts as one that took none."""

    def untimed(_: str) -> Retrieval:
        return Retrieval([Context(id="c")], seconds=[None])

    def timed(_: str) -> Retrieval:
        return Retrieval([Context(id="c"), Context(id="d")], seconds=[0.25, 0.5])

    found = choose(QUESTIONS[:3], IdRecall(), {"un": untimed, "timed": timed}, progress=False)
    assert found["un"].seconds == (0.0, 0.0)
    assert found["timed"].seconds == (0.5, 0.5)
