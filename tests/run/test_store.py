"""A store: a request that was paid for is not sent again."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.ledgers import answers_in, keep, kept
from tests.run.stored import CALLS, SAMPLES, answers, ask, run, saved

from fullrecall import ClaimRecall, LLMJudge, Report, evaluate
from fullrecall.errors import ParameterError, RunStopped, StoreError
from fullrecall.judge import Ask, OpenAIChatModel, Prompts
from fullrecall.judge.models import ChatRequest, Completion, Failure, Message
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.run.request import Door, completion_key
from fullrecall.run.sqlite import SQLiteLedger
from fullrecall.run.work import Run
from fullrecall.scorers.result import Status


def test_the_second_run_sends_no_request(tmp_path: Path) -> None:
    """The second run reads its answers from the store, with their original usage."""
    store = tmp_path / "runs.sqlite"
    first, second = run(store), run(store)
    assert saved(first, tmp_path) == saved(second, tmp_path) == saved(run(None), tmp_path)
    assert first.spent is not None
    assert second.spent is not None
    assert (first.spent.calls, first.spent.reused) == (CALLS, 3)
    assert (second.spent.calls, second.spent.reused) == (0, CALLS + 3)


def test_without_a_store_a_run_asks_each_thing_once() -> None:
    """Without a store, two scorers of one judge share its answers, and samples their claims."""
    model = ScriptedChatModel(answers)
    scorers = [ClaimRecall(judge=LLMJudge(model)), ClaimRecall(judge=LLMJudge(model), name="other")]
    report = evaluate(SAMPLES, scorers, progress=False)
    assert len(model.requests) == CALLS
    assert {result.usage.calls for row in report.rows for result in row.results} == {2}


def test_claims_are_fixed_for_every_retriever(tmp_path: Path) -> None:
    """The store fixes the claims: a second run judges the same claims without a new split."""
    store = tmp_path / "runs.sqlite"
    run(store)

    def otherwise(request: ChatRequest) -> str:
        assert request.schema_name != "items"
        return answers(request)

    other = [
        sample.with_retrieval([f"what another brought {n}"]) for n, sample in enumerate(SAMPLES)
    ]
    report = run(store, otherwise, other)
    assert {f.target.label for row in report.rows for f in row.results[0].findings} == {
        "A stands.",
        "B stands.",
    }
    assert report.spent is not None
    assert report.spent.calls == len(SAMPLES)


def test_a_split_known_before_is_kept_too(tmp_path: Path) -> None:
    """A split from a run without a store is written to the store of the next run."""
    model = ScriptedChatModel(answers)
    scorer = ClaimRecall(judge=LLMJudge(model))
    evaluate(SAMPLES, scorer, progress=False)
    evaluate(SAMPLES, scorer, store=tmp_path / "s", progress=False)
    assert len(answers_in(tmp_path / "s")) == CALLS


@pytest.mark.parametrize(
    "bad",
    [
        "no JSON at all",
        '{"items": []}',
        "",
        Completion("", failure=Failure.REFUSED),
        Completion('{"items": ["cut o', failure=Failure.CUT_OFF),
        TimeoutError("down"),
    ],
)
def test_a_malformed_reply_is_never_kept(tmp_path: Path, bad: Any) -> None:
    """Malformed replies are not stored, so the next run asks anew and measures everything."""
    store = tmp_path / "runs.sqlite"
    try:
        broken = run(store, lambda _: bad)
    except RunStopped as stopped:  # A model that never answers ends the run.
        broken = stopped.report or Report([])
    assert {row.results[0].status for row in broken.rows} == {Status.UNSCORED}
    assert len(answers_in(store)) == 0
    assert saved(run(store), tmp_path) == saved(run(None), tmp_path)


def test_part_of_an_answer_is_kept_and_only_the_rest_asked(tmp_path: Path) -> None:
    """A reply without one verdict answers the other claims; the next run asks for the rest."""
    store = tmp_path / "runs.sqlite"

    def half(request: ChatRequest) -> Any:
        if request.schema_name == "items":
            return answers(request)
        if "1 " in request.messages[1].content.split("claims:\n")[1]:
            plain = json.loads(answers(request))
            return json.dumps({"verdicts": plain["verdicts"][:1]})
        return OSError("down")

    few = SAMPLES[:4]  # Five failures in a row would end the run.
    assert {row.results[0].status for row in run(store, half, few).rows} == {Status.UNSCORED}
    report = run(store, samples=few)
    assert report.spent is not None
    assert report.spent.calls == len(few)  # The missing verdict of each sample.
    assert [row.results[0].score for row in report.rows] == [0.5] * len(few)


def test_unmeasured_claims_are_asked_for_by_the_next_run(tmp_path: Path) -> None:
    """Claims that `min_measured` allowed to be unmeasured are asked for by the next run."""
    store = tmp_path / "s"

    def half(request: ChatRequest) -> Any:
        if request.schema_name == "items":
            return answers(request)
        return json.dumps({"verdicts": json.loads(answers(request))["verdicts"][:1]})

    for script, unmeasured in ((half, 1), (answers, 0)):
        scorer = ClaimRecall(judge=LLMJudge(ScriptedChatModel(script), reasks=0), min_measured=0.5)
        report = evaluate(SAMPLES[:1], scorer, store=store, progress=False)
        assert len(report.rows[0].results[0].unmeasured) == (
            1 if script is half else 1 - unmeasured
        )


def test_other_words_in_the_prompt_are_another_judge(tmp_path: Path) -> None:
    """Reworded prompts of the same version are sent anew."""
    store = tmp_path / "s"
    run(store)
    reworded = Prompts(split_claims=Prompts().split_claims + " Be brief.")
    report = run(store, prompts=reworded)
    assert report.spent is not None
    assert report.spent.calls > 0


# --- keys


@pytest.mark.parametrize(
    "other",
    [
        ask("n"),
        ask(messages=(Message("system", "s"), Message("user", "u "))),
        ask(messages=(Message("user", "s"), Message("user", "u"))),
        ask(messages=(Message("system", "su"), Message("user", ""))),
        ask(schema={"a": 2}),
        ask(schema=None),
        ask(schema_name="other"),
        ask(sample=1),
        ask(again=1),
    ],
)
def test_everything_that_decides_an_answer_is_in_its_key(other: Ask) -> None:
    """Any change of model, messages, schema or number changes the key of an answer."""
    assert completion_key(other) != completion_key(ask())
    assert completion_key(ask()) == completion_key(ask())


def test_who_accepts_an_answer_does_not_change_its_key() -> None:
    """The key depends on the request, not on its sender."""
    assert completion_key(ask()) == completion_key(ask()._replace(accepts=bool))


@given(st.lists(st.text(), min_size=2, max_size=4), st.lists(st.text(), min_size=2, max_size=4))
def test_keys_differ_exactly_where_the_texts_do(ours: list[str], theirs: list[str]) -> None:
    """Different messages have different keys, even if their joined texts are equal."""
    keys = [
        completion_key(ask(messages=tuple(Message("user", text) for text in texts)))
        for texts in (ours, theirs)
    ]
    assert (keys[0] == keys[1]) == (ours == theirs)


# --- the answers of a store


@settings(deadline=None, max_examples=20)  # Each example syncs a disk.
@given(text=st.text(), detail=st.text(), tokens=st.integers(0, 2**40), failed=st.booleans())
def test_a_completion_comes_back_as_it_was(
    text: str, detail: str, tokens: int, *, failed: bool
) -> None:
    """A completion is read back with any text, lone surrogates and NUL included."""
    failure = Failure.CUT_OFF if failed else None
    completion = Completion(text, tokens, 3, failure, detail)
    with tempfile.TemporaryDirectory() as folder, SQLiteLedger(Path(folder) / "s") as store:
        keep(store, "k", completion).result(60)
        assert kept(store, "k") == completion
        assert kept(store, "other") is None


def test_two_that_ask_the_same_go_on_with_the_same_answer(tmp_path: Path) -> None:
    """Both processes use the answer that was kept first, even if their models disagree."""
    with SQLiteLedger(tmp_path / "s") as ours, SQLiteLedger(tmp_path / "s") as theirs:

        class Late(ScriptedChatModel):
            async def acomplete(self, request: ChatRequest) -> Completion:
                # Another process, whose claim had expired, is answered first.
                await asyncio.wrap_future(keep(theirs, completion_key(ask()), FIRST))
                return Completion("second")

        async def second() -> Completion:
            late = ask()._replace(model=Late(["second"], name="m"))
            return await Door(Run(()), ours).answer(late)

        assert asyncio.run(second()) == FIRST


FIRST = Completion("first", 3, 4)


def test_a_store_object_serves_several_runs(tmp_path: Path) -> None:
    """A store object serves several runs until it is closed, and raises afterwards."""
    with SQLiteLedger(tmp_path / "s") as store:
        assert [run(store).spent.calls for _ in range(2)] == [CALLS, 0]  # type: ignore[union-attr]
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        run(store)
    with pytest.raises(ParameterError, match="store must be a path"):
        run(7)


def test_options_of_the_body_are_in_the_models_name() -> None:
    """A model's name has its `options`, which decide the answer, without `extra_headers`."""
    names = [
        OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1", options=options).name
        for options in (
            {},
            {"extra_headers": {"X-Auth": "secret"}},
            {"thinking": True},
            {"thinking": False},
        )
    ]
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert "secret" not in "".join(names)
