"""The store: what it keeps, under which keys, and what it does with files that are none."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall import (
    ClaimRecall,
    ContextPrecision,
    IdRecall,
    LLMJudge,
    Report,
    Sample,
    aevaluate,
    evaluate,
)
from fullrecall.errors import ParameterError, RunStopped, StoreError
from fullrecall.evaluation.cache import Cache
from fullrecall.evaluation.contents import read_contents
from fullrecall.evaluation.keys import completion_key, result_key
from fullrecall.evaluation.store import Store
from fullrecall.evaluation.store_file import writing
from fullrecall.judges import Ask, EmbeddedJudge, LexicalJudge, Panel, Prompts
from fullrecall.models import ChatRequest, Completion, Failure, Message
from fullrecall.models.openai import OpenAIChatModel
from fullrecall.result import Status
from fullrecall.testing import ContainmentJudge, ScriptedChatModel
from fullrecall.usage import Spent

SAMPLES = [
    Sample(
        user_input=f"q{n // 2}",
        reference=f"reference {n // 2}",
        retrieved_contexts=[f"context {n} says"],
    )
    for n in range(6)
]
CALLS = 9  # three splits and six judgings


def answers(request: ChatRequest) -> str:
    """Split into two claims; support the first by the whole first context."""
    user = request.messages[1].content
    if request.schema_name == "items":
        return json.dumps({"items": ["A stands.", "B stands."]})
    quote = json.loads(user.splitlines()[1].split(" ", 1)[1])
    numbers = [int(n) for n in re.findall(r"^(\d+) ", user.split("claims:\n")[1], re.MULTILINE)]
    return json.dumps({"verdicts": [
        {"id": n, "verdict": "supported" if n == 1 else "not_supported", "together": False,
         "citations": [{"context": 1, "quote": quote}] if n == 1 else []} for n in numbers
    ]})  # fmt: skip


def run(store: Any, script: Any = answers, samples: Any = SAMPLES, **options: Any) -> Report:
    """Evaluate with a new judge, so that nothing but the store remembers."""
    scorer = ClaimRecall(judge=LLMJudge(ScriptedChatModel(script), **options))
    return evaluate(samples, scorer, store=store, retries=0, progress=False)


def saved(report: Report, folder: Path) -> bytes:
    """Return a report as it is saved."""
    report.save(folder / "saved.jsonl")
    return (folder / "saved.jsonl").read_bytes()


def test_the_second_run_asks_nobody(tmp_path: Path) -> None:
    """Results come from the store, with the usage that they had when they were made."""
    store = tmp_path / "runs.sqlite"
    first, second = run(store), run(store)
    assert saved(first, tmp_path) == saved(second, tmp_path) == saved(run(None), tmp_path)
    assert first.spent is not None
    assert second.spent is not None
    assert (first.spent.calls, first.spent.reused) == (CALLS, 3)
    assert (second.spent.calls, second.spent.results_reused) == (0, len(SAMPLES))


def test_without_a_store_a_run_asks_each_thing_once() -> None:
    """Two scorers of the same judge share what it answers, and samples their reference's claims."""
    model = ScriptedChatModel(answers)
    scorers = [ClaimRecall(judge=LLMJudge(model)), ClaimRecall(judge=LLMJudge(model), name="other")]
    report = evaluate(SAMPLES, scorers, progress=False)
    assert len(model.requests) == CALLS
    assert {result.usage.calls for row in report.rows for result in row.results} == {2}


def test_claims_are_fixed_for_every_retriever(tmp_path: Path) -> None:
    """A model that would split otherwise today is not asked: two runs judge the same claims."""
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
        "A stands.", "B stands.",
    }  # fmt: skip
    assert report.spent is not None
    assert report.spent.calls == len(SAMPLES)


def test_what_a_judge_knew_before_is_kept_too(tmp_path: Path) -> None:
    """A split from a run without a store is in the store of the next one."""
    model = ScriptedChatModel(answers)
    scorer = ClaimRecall(judge=LLMJudge(model))
    evaluate(SAMPLES, scorer, progress=False)
    evaluate(SAMPLES, scorer, store=tmp_path / "s", progress=False)
    assert read_contents(tmp_path / "s").completions == CALLS


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
def test_what_is_no_answer_is_never_kept(tmp_path: Path, bad: Any) -> None:
    """After a run of malformed replies the next run asks anew and measures everything."""
    store = tmp_path / "runs.sqlite"
    try:
        broken = run(store, lambda _: bad)
    except RunStopped as stopped:  # a model that answers nobody ends the run
        broken = stopped.report or Report([])
    assert {row.results[0].status for row in broken.rows} == {Status.UNSCORED}
    contents = read_contents(store)
    assert (contents.completions, contents.results) == (0, 0)
    assert saved(run(store), tmp_path) == saved(run(None), tmp_path)


def test_part_of_an_answer_is_kept_and_only_the_rest_asked(tmp_path: Path) -> None:
    """A reply that lacks a verdict is an answer to the others; the run that stops there resumes."""
    store = tmp_path / "runs.sqlite"

    def half(request: ChatRequest) -> Any:
        if request.schema_name == "items":
            return answers(request)
        if "1 " in request.messages[1].content.split("claims:\n")[1]:
            plain = json.loads(answers(request))
            return json.dumps({"verdicts": plain["verdicts"][:1]})
        return OSError("down")

    few = SAMPLES[:4]  # five failures in a row would end the run
    assert {row.results[0].status for row in run(store, half, few).rows} == {Status.UNSCORED}
    report = run(store, samples=few)
    assert report.spent is not None
    assert report.spent.calls == len(few)  # the missing verdict of each
    assert [row.results[0].score for row in report.rows] == [0.5] * len(few)


def test_results_that_rest_on_less_than_all_are_not_finished(tmp_path: Path) -> None:
    """Where `min_measured` lets a score stand without some claims, a later run asks for them."""
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
        assert read_contents(store).results == 0


def test_other_words_in_the_prompt_are_another_judge(tmp_path: Path) -> None:
    """Reworded prompts, of the same version, another model and other parameters ask anew."""
    store = tmp_path / "s"
    run(store)
    reworded = Prompts(split_claims=Prompts().split_claims + " Be brief.")
    for options in ({"prompts": reworded}, {"window": 5_000}):
        report = run(store, **options)
        assert report.spent is not None
        assert report.spent.results_reused == 0


# --- keys


def ask(model: str = "m", **changes: Any) -> Ask:
    """Return an ask that differs from the plain one as told."""
    request = ChatRequest((Message("system", "s"), Message("user", "u")), {"a": 1}, "items")
    return Ask(ScriptedChatModel(["x"], name=model), replace(request, **changes))


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
    """Any change of model, messages, schema or number is another key."""
    assert completion_key(other) != completion_key(ask())
    assert completion_key(ask()) == completion_key(ask())


def test_who_accepts_an_answer_does_not_change_its_key() -> None:
    """The key is of what is asked, not of who asks."""
    assert completion_key(ask()) == completion_key(ask()._replace(accepts=bool))


@given(st.lists(st.text(), min_size=2, max_size=4), st.lists(st.text(), min_size=2, max_size=4))
def test_keys_differ_exactly_where_the_texts_do(ours: list[str], theirs: list[str]) -> None:
    """No way of cutting texts into messages makes two requests one; half emoji are texts too."""
    keys = [
        completion_key(ask(messages=tuple(Message("user", text) for text in texts)))
        for texts in (ours, theirs)
    ]
    assert (keys[0] == keys[1]) == (ours == theirs)


JUDGE = LLMJudge(ScriptedChatModel(["x"]))
PLAIN = Sample(
    user_input="q", reference="r", response="a", retrieved_contexts=["one", "two"],
    reference_contexts=["rc"], reference_claims=["c"], reference_entities=["e"],
)  # fmt: skip


@pytest.mark.parametrize(
    "scorer",
    [
        ClaimRecall(judge=LexicalJudge()),
        ClaimRecall(judge=LexicalJudge(threshold=0.7)),
        ClaimRecall(judge=EmbeddedJudge()),
        ClaimRecall(judge=Panel([JUDGE, LexicalJudge()])),
        ClaimRecall(judge=LLMJudge(ScriptedChatModel(["x"], name="other"))),
        ClaimRecall(judge=replace(JUDGE, claims_per_call=3)),
        ClaimRecall(judge=replace(JUDGE, window=1_000)),
        ClaimRecall(judge=replace(JUDGE, reasks=1)),
        ClaimRecall(judge=replace(JUDGE, sample=1)),
        ClaimRecall(judge=replace(JUDGE, prompts=Prompts(version="mine"))),
        ClaimRecall(judge=replace(JUDGE, prompts=Prompts(attribute="Judge {items}."))),
        ClaimRecall(judge=replace(JUDGE, prompts=Prompts(attribute="Rate {items}."))),
        ClaimRecall(judge=JUDGE, partial_credit=0.5),
        ClaimRecall(judge=JUDGE, require_evidence=True),
        ClaimRecall(judge=JUDGE, depth=3),
        ClaimRecall(judge=JUDGE, min_measured=0.5),
        ClaimRecall(judge=JUDGE, split="sentences"),
        ContextPrecision(judge=JUDGE),
    ],
    ids=lambda scorer: json.dumps(scorer.method.parameters, default=str)[-60:],
)
def test_every_parameter_is_in_a_results_key(scorer: Any) -> None:
    """Any other scorer, parameter, judge, model or prompt has results of its own."""
    key = result_key(scorer, PLAIN)
    assert key is not None
    assert key != result_key(ClaimRecall(judge=JUDGE), PLAIN)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("user_input", "other"), ("reference", "other"), ("response", "other"),
        ("retrieved_contexts", ["two", "one"]), ("retrieved_contexts", ["one"]),
        ("retrieved_contexts", []), ("retrieved_contexts", ["onetwo"]),
        ("reference_contexts", ["other"]), ("reference_claims", ["other"]),
        ("reference_claims", [{"text": "c", "importance": "okay"}]),
        ("reference_entities", ["other"]), ("retrieval", {"error": "down"}),
    ],
)  # fmt: skip
def test_every_field_that_is_read_is_in_a_results_key(field: str, value: Any) -> None:
    """A sample that differs in what judged scorers read has a result of its own."""
    other = Sample(**{**PLAIN.to_dict(), field: value})
    scorer = ClaimRecall(judge=JUDGE)
    assert result_key(scorer, other) != result_key(scorer, PLAIN)


def test_what_is_not_read_is_not_in_a_results_key() -> None:
    """IDs, scores and metadata, of samples and of contexts, and a scorer's name cost nothing."""
    other = Sample(**{
        **PLAIN.to_dict(), "id": "7", "group": "g", "metadata": {"when": object()},
        "retrieved_contexts": [
            {"text": "one", "id": "d", "score": 0.3, "metadata": {"a": 1}}, "two",
        ],
    })  # fmt: skip
    key = result_key(ClaimRecall(judge=JUDGE), PLAIN)
    assert result_key(ClaimRecall(judge=JUDGE, name="mine"), other) == key


def test_what_cannot_be_keyed_has_no_key() -> None:
    """Scorers that ask nobody, those of other packages, and judges without a name."""
    nameless = ContainmentJudge(name=None)  # type: ignore[arg-type]

    class Mine(ClaimRecall):
        pass

    for scorer in (
        IdRecall(), ContextPrecision(by=IdRecall()), Mine(judge=JUDGE), ClaimRecall(judge=nameless),
    ):  # fmt: skip
        assert result_key(scorer, PLAIN) is None


# --- what a store gives back


@settings(deadline=None, max_examples=50)  # each syncs a disk
@given(text=st.text(), detail=st.text(), tokens=st.integers(0, 2**40), failed=st.booleans())
def test_a_completion_comes_back_as_it_was(
    text: str, detail: str, tokens: int, *, failed: bool
) -> None:
    """Whatever a model wrote, half emoji and NUL included."""
    failure = Failure.CUT_OFF if failed else None
    completion = Completion(text, tokens, 3, failure, detail)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s") as store:
        store.keep_completion(b"k", "m", completion).result(timeout=10)
        assert store.completion(b"k") == completion
        assert store.completion(b"other") is None


def test_two_that_ask_the_same_go_on_with_the_same_answer(tmp_path: Path) -> None:
    """What one process kept first is what the other one goes by, whatever its model said."""
    with Store(tmp_path / "s") as ours, Store(tmp_path / "s") as theirs:
        told: list[Completion] = []

        async def both() -> None:
            turns = [Cache(store, Spent()).turn(ask()) for store in (ours, theirs)]
            async with turns[0], turns[1]:
                await turns[0].leased()
                ours.release(turns[0]._key, turns[0]._lease or b"")  # as if it had expired
                await turns[1].leased()
                for turn, text in zip(turns, ("first", "second"), strict=True):
                    turn.keep(Completion(text))
                    told.append(await turn.written())

        asyncio.run(both())
        assert [completion.text for completion in told] == ["first", "first"]


def test_a_damaged_row_is_asked_for_again(tmp_path: Path) -> None:
    """A flipped letter in an answer, which SQLite does not see, is no answer; it is replaced."""
    store = tmp_path / "runs.sqlite"
    good = saved(run(store), tmp_path)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE completions SET text = replace(text, 'A stands', 'X stands')")
        connection.execute("UPDATE results SET result = replace(result, 'supported', 'SUPPORTED')")
    assert saved(run(store), tmp_path) == good
    report = run(store)
    assert report.spent is not None
    assert (report.spent.calls, report.spent.results_reused) == (0, len(SAMPLES))


def test_a_store_object_serves_several_runs(tmp_path: Path) -> None:
    """It stays open until it is closed, and says so afterwards; a path is no object."""
    with Store(tmp_path / "s") as store:
        assert [run(store).spent.calls for _ in range(2)] == [CALLS, 0]  # type: ignore[union-attr]
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        run(store)
    with pytest.raises(ParameterError, match="store must be a path"):
        run(7)


# --- files that cannot serve


def other_sqlite(path: Path) -> None:
    """Make somebody else's database."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE completions (theirs)")


def newer(path: Path) -> None:
    """Make a store of a later fullrecall."""
    Store(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 3")


def damaged(path: Path) -> None:
    """Make a store, and overwrite its middle."""
    run(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 2] = b"\xff" * (
        len(content) // 2 - len(content) // 3
    )
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    """Make a store, and lose its second half."""
    run(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.write_text("a report\n" * 100), "nor any SQLite file"),
        (lambda path: path.write_bytes(b"SQLite format 3\x00" + b"junk" * 500), "damaged"),
        (other_sqlite, "not a store of fullrecall's"),
        (newer, "version 3 .* knows 2: upgrade"),
        (damaged, "damaged"),
        (cut_off, "damaged"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_serve_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], Any], problem: str
) -> None:
    """The error says what it is, no model is asked, and not a byte of the file changes."""
    path = tmp_path / "runs.sqlite"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=problem) as told:
        run(path, lambda _: pytest.fail("a model was asked"))
    assert str(path) in str(told.value)
    assert path.read_bytes() == before


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A typing error in a path is said at once."""
    with pytest.raises(StoreError, match="no directory"):
        run(tmp_path / "there" / "runs.sqlite")
    with pytest.raises(StoreError, match="cannot be read"):
        run(tmp_path)


def test_a_bad_path_is_an_error_also_where_nobody_is_asked(tmp_path: Path) -> None:
    """It is said before anything is scored, and a good one serves, whatever the scorers."""
    sample = Sample(retrieved_context_ids=[1], reference_context_ids=[1])

    def drawn() -> Iterator[Sample]:
        pytest.fail("a sample was read")
        yield sample

    bad = tmp_path / "there" / "runs.sqlite"
    with pytest.raises(StoreError, match="no directory"):
        evaluate(drawn(), IdRecall(), store=bad, progress=False)
    with pytest.raises(StoreError, match="no directory"):
        asyncio.run(aevaluate(drawn(), IdRecall(), store=bad, progress=False))
    with pytest.raises(
        ParameterError, match="store must be a path, a redis:// URL, a Store or None, got 3"
    ):
        evaluate(drawn(), IdRecall(), store=3, progress=False)  # type: ignore[arg-type]
    good = tmp_path / "runs.sqlite"
    assert evaluate([sample], IdRecall(), store=good, progress=False).rows[0].results[0].score == 1
    assert good.exists()


def test_what_is_all_stored_needs_no_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished run is repeated from its results alone."""
    first = run(tmp_path / "runs.sqlite")
    monkeypatch.setattr(asyncio, "Runner", None)
    assert saved(run(tmp_path / "runs.sqlite"), tmp_path) == saved(first, tmp_path)


# --- disks that take no more


@contextmanager
def without_privileges(folder: Path) -> Iterator[None]:
    """Be a user whom file modes hold back: root is none."""
    root = os.geteuid() == 0
    if root:
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, 65_534)
        os.seteuid(65_534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a directory that every user can reach."""
    made = Path(tempfile.mkdtemp())
    yield made
    made.chmod(0o700)
    shutil.rmtree(made)


@pytest.mark.parametrize("filled", [True, False], ids=["filled", "new"])
def test_a_read_only_store_serves_what_it_has(folder: Path, *, filled: bool) -> None:
    """One warning, all results, nothing lost of what it holds, and nothing is asked twice."""
    store = folder / "runs.sqlite"
    if filled:
        run(store, samples=SAMPLES[:4])
        store.chmod(0o444)
    folder.chmod(0o555)
    with without_privileges(folder), pytest.warns(UserWarning, match="read-only") as told:
        report = run(store)
    assert len(told) == 1
    assert {row.results[0].status for row in report.rows} == {Status.SCORED}
    assert report.spent is not None
    assert (report.spent.calls, report.spent.results_reused) == ((3, 4) if filled else (CALLS, 0))


def test_a_full_disk_ends_the_keeping_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own "disk is full": one warning, all results, and what was kept before stays."""
    path = tmp_path / "runs.sqlite"
    run(path, samples=SAMPLES[:2])
    kept = read_contents(path).completions

    def limited(path: Path) -> sqlite3.Connection:
        connection = writing(path)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        return connection

    monkeypatch.setattr("fullrecall.evaluation.store.writing", limited)
    with pytest.warns(UserWarning, match="the disk is full") as told:
        report = run(path, padded)
    assert len(told) == 1
    assert {row.results[0].status for row in report.rows} == {Status.SCORED}
    assert read_contents(path).completions >= kept
    monkeypatch.undo()
    assert saved(run(path), tmp_path) == saved(run(None), tmp_path)


def padded(request: ChatRequest) -> str:
    """Answer at length."""
    return json.dumps({**json.loads(answers(request)), "thoughts": "x" * 60_000})


FULL = """
import resource, sys, warnings
sys.path.insert(0, {folder!r})
import test_store
warnings.simplefilter("always")
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
report = test_store.run(sys.argv[1], test_store.padded)
print(report.summary()[0].scored, report.summary()[0].unscored)
"""


def test_a_file_that_may_grow_no_further(tmp_path: Path) -> None:
    """The system refuses to write (a quota, a full file system): warned once, results returned."""
    program = FULL.format(folder=str(Path(__file__).parent))
    store = tmp_path / "runs.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", program, str(store)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == [str(len(SAMPLES)), "0"], done.stderr
    assert done.stderr.count("keeps nothing from here on") == 1
    assert 0 < read_contents(store).completions < CALLS
    assert run(store).spent.calls < CALLS  # type: ignore[union-attr]


def test_what_is_added_to_a_request_s_body_is_in_the_model_s_name() -> None:
    """`extra_body` decides what is answered, `extra_headers` who asks; neither is told as it is."""
    names = [
        OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1", options=options).name
        for options in (
            {},
            {"extra_headers": {"X-Auth": "secret"}},
            {"extra_body": {"thinking": True}},
            {"extra_body": {"thinking": "secret"}},
        )
    ]
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert "secret" not in "".join(names)
