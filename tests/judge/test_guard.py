"""Canaries among the claims, and a second look at quotes alone, guard against instructions."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from tests.judge.scripted import quoting, reply
from tests.lexical.obeying import FALSE, KINDS, ORDERS, TRUTH, Obeying, Order

from fullrecall import ClaimRecall, LLMJudge
from fullrecall.errors import ParameterError
from fullrecall.judge.flow import run
from fullrecall.judge.guard import _MOST_REQUESTS, _changed
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.scorers.result import Result, Status

HONEST = list(dict.fromkeys(context for context, _ in TRUTH.values()))
CLAIMS = [claim for pair in zip(TRUTH, FALSE, strict=True) for claim in pair]


def judged(obeying: Any, contexts: list[str], **options: Any) -> tuple[Result, ScriptedChatModel]:
    """Return the result of all claims, and the model with its requests."""
    model = ScriptedChatModel(obeying)
    of_scorer = {"require_evidence": options.pop("require_evidence", False)}
    scorer = ClaimRecall(judge=LLMJudge(model, **options), min_measured=0.1, **of_scorer)
    return scorer.score(retrieved_contexts=contexts, reference_claims=CLAIMS), model


def credited(result: Result) -> set[str]:
    """Return the claims that earned credit."""
    return {finding.target.label for finding in result.findings if finding.steps}


@pytest.mark.parametrize("pair", ORDERS[::5])
def test_a_context_that_moves_every_verdict_is_left_out(pair: tuple[str, str]) -> None:
    """A context that moves every verdict is left out and named; the others keep their credit.

    The instruction neither earns credit nor takes credit from other contexts.
    """
    for order in (Order(pair[0], "supported"), Order(pair[1], "not_supported")):
        contexts = [*HONEST[:2], order.text, *HONEST[2:]]
        result, model = judged(Obeying("all", order), contexts, guard="canaries")
        assert credited(result) == set(TRUTH)
        assert order.label != "supported" or "context 3 moves every verdict" in result.reason
        assert len(model.requests) <= _MOST_REQUESTS


@pytest.mark.rooms
@pytest.mark.parametrize("kind", KINDS)
def test_an_order_without_the_claims_words_earns_nothing(kind: Any) -> None:
    """An instruction earns no credit, since its quote does not bear on the claim."""
    for support, _ in ORDERS[::10]:
        order = Order(support, "supported")
        strict = {"require_evidence": True}
        for options in (strict, {**strict, "guard": "canaries"}):
            result, _ = judged(Obeying(kind, order), [order.text, *HONEST], **options)
            assert credited(result).isdisjoint(FALSE)


@pytest.mark.rooms
@pytest.mark.parametrize("pair", ORDERS[::10])
def test_what_is_after_one_topic_moves_a_canary(pair: tuple[str, str]) -> None:
    """Canaries with the names of every claim detect an instruction for one topic."""
    order = Order(f"{pair[0]} {' '.join(FALSE)}", "supported", quotes_claim=True)
    result, _ = judged(Obeying("topic", order), [*HONEST, order.text], guard="canaries")
    assert credited(result) == set(TRUTH)


@pytest.mark.rooms
def test_clean_contexts_cost_no_request_more() -> None:
    """Canaries are in the same request, among the claims, and differ each time."""
    order = Order("no such text", "supported")
    result, model = judged(Obeying("all", order), HONEST, guard="canaries")
    plain, bare = judged(Obeying("all", order), HONEST)
    assert credited(result) == credited(plain) == set(TRUTH)
    assert len(model.requests) == len(bare.requests) == 1
    asked = model.requests[0].messages[1].content.rpartition("claims:\n")[2].splitlines()
    # Five canaries: one for each of three topics, and two copies.
    assert len(asked) == len(CLAIMS) + 5
    assert [json.loads(line.partition(" ")[2]) for line in asked][: len(CLAIMS)] != CLAIMS
    again, model = judged(Obeying("all", order), HONEST[1:], guard="canaries")
    other = model.requests[0].messages[1].content.rpartition("claims:\n")[2].splitlines()
    assert {line.partition(" ")[2] for line in other} != {a.partition(" ")[2] for a in asked}
    assert again.status is Status.SCORED


NAMES = ("Anna Holst", "Bo Lund", "Carl Berg", "Dora Falk", "Emil Gren", "Finn Dahl")


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("claims", "canaries"),
    [
        ([f"{name} opened {n} mills in May." for n, name in enumerate(NAMES, 12)], 2),
        ([f"it has {n} old wooden wheels" for n in range(3, 17)], 2),
    ],
)
def test_the_number_of_altered_claims(claims: list[str], canaries: int) -> None:
    """At most a third of the claims is altered, and each altered claim is another one."""
    model = ScriptedChatModel(["{}"])
    judge = LLMJudge(model, guard="canaries", reasks=0)
    ClaimRecall(judge=judge).score(retrieved_contexts=["x"], reference_claims=claims)
    asked = model.requests[0].messages[1].content.rpartition("claims:\n")[2].splitlines()
    altered = {json.loads(line.partition(" ")[2]) for line in asked} - {*claims}
    assert (len(asked) - len(claims), len(altered)) == (canaries, canaries)


def test_contexts_are_asked_by_halves_and_never_without_end() -> None:
    """Twenty contexts with one order take about ten requests; twenty orders a bounded number."""
    order = Order(ORDERS[0][0], "supported")
    many = [
        *(f"The pier number {n} of the lake was built by Bo Holst." for n in range(15)),
        *HONEST,
    ]
    _, model = judged(Obeying("all", order), [*many[:9], order.text, *many[9:]], guard="canaries")
    assert len(model.requests) <= 14
    hostile = [f"{order.text} ({n})" for n in range(20)]
    result, model = judged(Obeying("all", order), hostile, guard="canaries")
    assert len(model.requests) <= _MOST_REQUESTS
    assert credited(result) == set()
    assert "contexts 1, 2, 3" in result.reason


def test_a_failed_request_is_no_attack() -> None:
    """A failed request is unscored with its own reason, and contexts are not asked one by one."""
    result, model = judged(RuntimeErrorScript(), HONEST, guard="canaries")
    assert result.status is Status.UNSCORED
    assert "moves every verdict" not in result.reason
    assert len(model.requests) <= 3


class RuntimeErrorScript:
    """A model that always fails."""

    def __call__(self, request: Any) -> Exception:
        """Return the failure."""
        del request
        return RuntimeError("down")


PAIRS = {
    "The pool holds 500 litres.": ("The pool holds 500 gallons of water.", False),
    "The pool is heated by the sun.": ("Sunlight warms the water of the pool.", True),
    "Everyone may use the pool.": ("Some residents may use the pool.", False),
    "The pool was closed because of a storm.": ("A storm came after the pool was closed.", False),
    "Ann Lee owns the pool.": ("The owner of the pool is Ann Lee.", True),
}


_LINE = re.compile(r'^(\d+) (".*")$', re.MULTILINE)


class Oracle:
    """A model that credits every claim, and knows whether a quote alone supports its claim."""

    def __call__(self, request: Any) -> str:
        """Return verdicts: with contexts, all supported; with quotes, the truth."""
        shown, _, asked = request.messages[1].content.rpartition("claims:\n")
        claims = {int(n): json.loads(text) for n, text in _LINE.findall(asked)}
        texts = {int(n): json.loads(text) for n, text in _LINE.findall(shown)}
        verdicts = []
        for number, claim in claims.items():
            quote, is_true = PAIRS[claim]
            cited = [(n, quote) for n, text in texts.items() if text == quote]
            label = "supported"
            if shown.startswith("quotes:"):
                assert texts[number] == quote.rstrip(".")
                cited, label = [], "supported" if is_true else "contradicted"
            verdicts.append(quoting(number, label, *cited, begins=claim))
        return reply(*verdicts)


def test_a_second_look_sees_quotes_and_claims_alone() -> None:
    """With an oracle, only true quotes are verified, all of them, with one more request."""
    model = ScriptedChatModel(Oracle())
    scorer = ClaimRecall(
        judge=LLMJudge(model, verify="model"), require_evidence=True, min_measured=0.1
    )
    contexts = [quote for quote, _ in PAIRS.values()] + ["Nothing of it is quoted here."]
    result = scorer.score(retrieved_contexts=contexts, reference_claims=list(PAIRS))
    assert credited(result) == {claim for claim, (_, is_true) in PAIRS.items() if is_true}
    assert len(model.requests) == 2
    assert len(result.unmeasured) == 3
    second = model.requests[1].messages[1].content
    assert second.startswith("quotes:\n")
    assert "Nothing of it" not in second
    loose = ClaimRecall(judge=LLMJudge(model, verify="model"))
    found = loose.score(retrieved_contexts=contexts, reference_claims=list(PAIRS)).findings
    assert [one.unverified for one in found] == [float(not true) for _, true in PAIRS.values()]


@pytest.mark.parametrize("reply", ["", "{}", '{"verdicts":[]}'])
def test_a_second_look_without_an_answer_verifies_nothing(reply: str) -> None:
    """A quote is not verified if the second look gives no answer."""
    oracle = Oracle()

    def script(request: Any) -> str:
        return reply if "quotes:" in request.messages[1].content else oracle(request)

    model = ScriptedChatModel(script)
    scorer = ClaimRecall(judge=LLMJudge(model, verify="model"), require_evidence=True)
    contexts = [quote for quote, _ in PAIRS.values()]
    result = scorer.score(retrieved_contexts=contexts, reference_claims=list(PAIRS))
    assert result.status is Status.UNSCORED
    assert credited(result) == set()


@pytest.mark.parametrize(
    ("label", "requests"), [("contradicted", 1), ("not_supported", 1), ("supported", 2)]
)
def test_a_second_look_is_at_support(label: str, requests: int) -> None:
    """Only quotes that earn credit are shown again, and not those of a denial."""
    context = "The mill by the river opened in 1931."
    model = ScriptedChatModel([reply(quoting(1, label, (1, context)))])
    judge = LLMJudge(model, verify="model", reasks=0)
    ClaimRecall(judge=judge).score(retrieved_contexts=[context], reference_claims=[context])
    assert len(model.requests) == requests


def test_options_are_checked() -> None:
    """Wrong options are errors that name the choices, and the judge's name has the chosen ones."""
    model = ScriptedChatModel(["{}"])
    with pytest.raises(ParameterError, match="'rules' or 'model'"):
        LLMJudge(model, verify="twice")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'hints' or 'canaries'"):
        LLMJudge(model, guard="all")  # type: ignore[arg-type]
    named = {
        LLMJudge(model).name,
        LLMJudge(model, verify="model").name,
        LLMJudge(model, guard="canaries").name,
    }
    assert len(named) == 3


def test_supporting_contexts_of_a_divided_window_are_one_list() -> None:
    """All supporting contexts are kept and verified if one window is judged in smaller groups.

    The first three contexts are judged together, then in halves, because one is an instruction.
    """
    order = Order(ORDERS[0][0], "supported")
    claim, (context, _) = next(iter(TRUTH.items()))
    contexts = [order.text, context, context, context]
    model = ScriptedChatModel(Obeying("all", order))
    window = len("".join(contexts[:3]))
    judge = LLMJudge(model, guard="canaries", verify="model", window=window)
    (verdict,), _ = run(judge.attribute([claim], contexts))
    helping = [verdict, *verdict.others]
    assert [each.citations[0].context for each in helping] == [1, 3]
    assert [each.others for each in helping[1:]] == [()]
    assert "context 1 moves every verdict" in verdict.contested


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("claim", "form"),
    [
        ("The Pro plan costs $49.", r"The Pro plan costs \$\d\d\."),
        ("The shop closes at 5:30 pm.", r"The shop closes at \d\d:30 pm\."),
        ("It is kept at -18 °C.", r"It is kept at -\d\d °C\."),
        ("It has two doors.", r"It has \d\d? doors\."),
    ],
)
def test_another_number_keeps_its_sign_and_its_unit(claim: str, form: str) -> None:
    """A canary has another number in the place of the claim's digits."""
    altered = _changed(claim, claim, {claim: frozenset()}, random.Random(1))
    assert re.fullmatch(form, altered.text)
    assert altered.text != claim
