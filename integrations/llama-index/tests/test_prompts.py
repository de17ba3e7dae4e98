"""LlamaIndex's way to see and change prompts, down to the words that a model is sent."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from llama_index.core.prompts import (
    ChatMessage,
    ChatPromptTemplate,
    PromptTemplate,
    RichPromptTemplate,
)

from fullrecall import (
    ClaimRecall,
    ContextPrecision,
    EntityRecall,
    IdRecall,
    LLMJudge,
    QuestionRecall,
    TextRecall,
)
from fullrecall.errors import ParameterError
from fullrecall.judges import LexicalJudge, Panel, Prompts
from fullrecall.models import ChatRequest, Completion
from llama_index.evaluation.fullrecall import RecallEvaluator

NAMES = ["attribute", "relevance", "split_claims", "split_questions", "split_entities"]


class Listens:
    """A model that keeps what it is asked, and answers nothing of use."""

    name = "listens"

    def __init__(self) -> None:
        self.systems: list[str] = []

    def complete(self, request: ChatRequest) -> Completion:
        """Keep the instruction."""
        self.systems.append(request.messages[0].content)
        return Completion("no")

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Keep the instruction."""
        return self.complete(request)


def judged(model: Listens, **settings: Any) -> RecallEvaluator:
    """Return an evaluator of claims whose judge asks `model` once."""
    return RecallEvaluator(ClaimRecall(judge=LLMJudge(model, reasks=0, **settings)))


def ask(evaluator: RecallEvaluator, *, claims: bool = True) -> None:
    """Let the evaluator ask its model about something."""
    reference = {"reference_claims": ["Rome is old."]} if claims else {"reference": "Rome is old."}
    evaluator.evaluate("q", contexts=["Rome."], **reference)


@pytest.mark.parametrize(
    "scorer",
    [IdRecall(), TextRecall(), ClaimRecall(), EntityRecall(), ClaimRecall(judge=LexicalJudge())],
    ids=["ids", "texts", "claims", "entities", "lexical"],
)
def test_who_asks_no_model_has_no_prompts(scorer: Any) -> None:
    """There is nothing to show; changing it is warned of, where LlamaIndex says nothing."""
    evaluator = RecallEvaluator(scorer)
    assert evaluator.get_prompts() == {}
    evaluator.update_prompts({})
    with pytest.warns(UserWarning, match="no prompt 'attribute': its scorer asks no model"):
        evaluator.update_prompts({"attribute": PromptTemplate("x")})
    assert evaluator.scorer is scorer


@pytest.mark.parametrize(
    "scorer",
    [
        lambda judge: ClaimRecall(judge=judge),
        lambda judge: QuestionRecall(judge=judge),
        lambda judge: EntityRecall(judge=judge),
        lambda judge: ContextPrecision(judge=judge),
        lambda judge: ContextPrecision(by=ClaimRecall(judge=judge)),
        lambda judge: ClaimRecall(judge=Panel([LexicalJudge(), judge])),
    ],
    ids=["claims", "questions", "entities", "precision", "precision by", "panel"],
)
def test_the_prompts_of_any_judge_are_shown(scorer: Any) -> None:
    """Wherever the judge stands in the scorer, its prompts are found, in LlamaIndex's form."""
    evaluator = RecallEvaluator(scorer(LLMJudge(Listens())))
    shown = evaluator.get_prompts()
    assert list(shown) == NAMES
    assert all(type(template) is PromptTemplate for template in shown.values())
    assert shown["attribute"].template_vars[:2] == ["items", "item"]  # type: ignore[attr-defined]
    assert '{"verdicts":[{"id":1' in shown["attribute"].get_template()
    assert "{{" not in shown["attribute"].get_template()


def test_what_is_shown_is_what_is_sent() -> None:
    """Filled in by LlamaIndex, a shown prompt is the very text that the model gets."""
    model = Listens()
    evaluator = judged(model)
    ask(evaluator)
    ask(evaluator, claims=False)
    shown = evaluator.get_prompts()
    filled = shown["attribute"].format(
        items="claims",
        item="claim",
        bears="bears on it",
        whole="state or directly imply all of it",
        opposite='"contradicted" if they state the opposite, ',
    )
    assert model.systems == [filled, shown["split_claims"].format()]


def test_putting_back_what_was_shown_changes_nothing() -> None:
    """The round trip is exact: no brace is lost, and no store is asked under another name."""
    evaluator = judged(Listens())
    before = evaluator.scorer
    evaluator.update_prompts(evaluator.get_prompts())
    assert evaluator.scorer is before


@pytest.mark.parametrize(
    "template",
    [
        PromptTemplate('Prüfe {items}; je {item}, ob sie {whole}. {"verdicts": []} {{x}}'),
        PromptTemplate(
            'Prüfe {dinge}; je {item}, ob sie {whole}. {"verdicts": []} {{x}}',
            template_var_mappings={"items": "dinge"},
        ),
        PromptTemplate(
            '{was} {items}; je {item}, ob sie {whole}. {"verdicts": []} {{x}}', was="Prüfe"
        ),
        PromptTemplate(
            '{was} {items}; je {item}, ob sie {whole}. {"verdicts": []} {{x}}',
            function_mappings={"was": lambda **_: "Prüfe"},
        ),
        'Prüfe {items}; je {item}, ob sie {whole}. {"verdicts": []} {{x}}',
    ],
    ids=["plain", "mapped", "partial", "function", "text"],
)
def test_a_changed_prompt_is_what_is_asked(template: Any) -> None:
    """The new words reach the model, filled in, with every other brace as it was written."""
    model = Listens()
    evaluator = judged(model)
    evaluator.update_prompts({"attribute": template})
    ask(evaluator)
    asyncio.run(evaluator.aevaluate("q", contexts=["R"], reference_claims=["Rome is old."]))
    wanted = (
        'Prüfe claims; je claim, ob sie state or directly imply all of it. {"verdicts": []} {{x}}'
    )
    assert model.systems == [wanted, wanted]
    again = evaluator.get_prompts()["attribute"].format(
        items="claims",
        item="claim",
        bears="bears on it",
        whole="state or directly imply all of it",
        opposite='"contradicted" if they state the opposite, ',
    )
    assert again == wanted


def test_a_rich_template_is_taken_too() -> None:
    """LlamaIndex's Jinja templates are filled in by their own rules."""
    model = Listens()
    evaluator = judged(model)
    evaluator.update_prompts(
        {"attribute": RichPromptTemplate("Check {{ items }}{% if item %} one by one{% endif %}.")}
    )
    ask(evaluator)
    assert model.systems == ["Check claims one by one."]


def test_one_prompt_changes_and_the_others_stay() -> None:
    """Splitting has its own prompt, in which every brace is meant as it is."""
    model = Listens()
    evaluator = judged(model)
    evaluator.update_prompts({"split_claims": PromptTemplate('Split it. {"items": ["…"]}')})
    ask(evaluator, claims=False)
    ask(evaluator)
    assert model.systems[0] == 'Split it. {"items": ["…"]}'
    assert model.systems[1].startswith("You check claims against contexts.")


def test_other_words_are_another_judge() -> None:
    """The judge's name, which enters store keys and reports, tells the words that it asks."""

    def name(**changed: str) -> Any:
        evaluator = judged(Listens())
        for key, text in changed.items():
            evaluator.update_prompts({key: PromptTemplate(text)})
        return evaluator.scorer.method.parameters["judge"]

    plain, each, two = name(), name(attribute="Check {items}."), name(split_claims="Split.")
    assert len({plain, each, two}) == 3
    assert each == name(attribute="Check {items}.")
    both = name(attribute="Check {items}.", split_claims="Split.")
    assert both == name(split_claims="Split.", attribute="Check {items}.")


def test_the_version_is_named_after_the_callers_own() -> None:
    """Prompts with a version of the user's keep it in front of what tells the words."""
    evaluator = judged(Listens(), prompts=Prompts(version="de-2"))
    evaluator.update_prompts({"split_claims": "Teile."})
    evaluator.update_prompts({"split_entities": "Teile."})
    prompts = evaluator.scorer.judge.prompts  # type: ignore[attr-defined]
    head, _, digest = prompts.version.partition("+")
    assert (head, len(digest)) == ("de-2", 12)


def test_every_judge_of_a_panel_is_changed() -> None:
    """A panel judges the same targets by the same words, and LexicalJudge has none to change."""
    models = [Listens(), Listens()]
    panel = Panel([LLMJudge(models[0], reasks=0), LexicalJudge(), LLMJudge(models[1], reasks=0)])
    evaluator = RecallEvaluator(ClaimRecall(judge=panel))
    evaluator.update_prompts({"attribute": "Check {items}."})
    ask(evaluator)
    assert [model.systems for model in models] == [["Check claims."], ["Check claims."]]


def test_an_unknown_prompt_is_warned_of_and_the_known_one_counts() -> None:
    """LlamaIndex passes over a misspelt key; here it is named, with those that there are."""
    model = Listens()
    evaluator = judged(model)
    with pytest.warns(UserWarning, match=r"no prompt 'atribute': the prompts are attribute, rel"):
        evaluator.update_prompts({"atribute": "x", "attribute": "Check {items}."})
    ask(evaluator)
    assert model.systems == ["Check claims."]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluator.update_prompts({"attribute": "Look at {items}."})


@pytest.mark.parametrize(
    "template", [ChatPromptTemplate([ChatMessage(role="user", content="x")]), 7, None]
)
def test_what_is_no_prompt_of_one_text_is_refused(template: Any) -> None:
    """A judge's prompt is its model's instruction: a conversation has no place in it."""
    evaluator = judged(Listens())
    with pytest.raises(ParameterError, match="the prompt 'attribute' is one text"):
        evaluator.update_prompts({"attribute": template})
