"""What the model read, against the prompts that were really sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import LLMRerank
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.response_synthesizers.context_only import ContextOnly
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import PrivateAttr

from fullrecall import ClaimRecall, LLMJudge, Sample
from llama_index.evaluation.fullrecall import LlamaIndexChatModel, capture_retrievals, observed

TEXTS = {
    "short": "Paris is the capital of France, and its largest city.",
    "long": " ".join(f"Sentence {n} of the long chapter on Rome." for n in range(150)),
    "last": "The Eiffel Tower stands in Paris, on the Champ de Mars.",
}


class Brings(BaseRetriever):
    """Returns the texts."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_=own, text=text)) for own, text in TEXTS.items()]


class Keeps(CustomLLM):
    """Keeps the prompts that it was sent, and answers by a function of them."""

    window: int = 3900
    reply: Callable[[str], str] = lambda _: "an answer"
    _sent: list[str] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        """A model with this window."""
        return LLMMetadata(context_window=self.window, num_output=32, model_name="keeps")

    @llm_completion_callback()
    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Keep the prompt."""
        self._sent.append(prompt)
        return CompletionResponse(text=self.reply(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        """Keep the prompt."""
        self._sent.append(prompt)
        yield CompletionResponse(text="an answer", delta="an answer")


def truth(text: str, prompts: list[str]) -> str:
    """Return what a slow look says: each word in some prompt, among its neighbors; some, none."""
    words = text.split()
    seen: set[int] = set()
    for prompt in prompts:
        squeezed = " ".join(prompt.split())
        start = 0
        while start < len(words):
            end = start
            while end < len(words) and " ".join(words[start : end + 1]) in squeezed:
                end += 1
            if end - start >= 8 or end == len(words):
                seen |= set(range(start, end))
            start = max(end, start + 1)
    if len(seen) == len(words):
        return "yes"
    return "partly" if len(seen) >= 8 else "no"


MODES = (
    "refine",
    "compact",
    "simple_summarize",
    "tree_summarize",
    "generation",
    "accumulate",
    "compact_accumulate",
)


@pytest.mark.parametrize("window", [3900, 1000], ids=["wide", "narrow"])
@pytest.mark.parametrize("mode", MODES)
def test_read_is_what_was_sent(mode: Any, window: int) -> None:
    """In each response mode: whole, split over prompts, cut to fit the window, or not sent."""
    llm = Keeps(window=window)
    synthesizer = get_response_synthesizer(llm=llm, response_mode=mode)
    found = observed(RetrieverQueryEngine(Brings(), synthesizer)).retrieve(Sample(user_input="q"))
    assert llm._sent
    if window == 1000 and mode in ("refine", "compact", "tree_summarize", "accumulate"):
        assert found.read == ("yes", "yes", "yes")
        assert not any(TEXTS["long"] in prompt for prompt in llm._sent)
    assert found.read == tuple(truth(text, llm._sent) for text in TEXTS.values())
    if mode == "generation":
        assert found.read == ("no", "no", "no")
        assert found.line == "0 of 3 in the prompt"
    if mode == "simple_summarize" and window == 1000:
        assert found.read is not None
        assert "partly" in found.read


@pytest.mark.parametrize("mode", [NoText, ContextOnly])
def test_without_a_prompt_nothing_is_said(mode: Any) -> None:
    """An engine that asks no model has no prompt that could have had anything."""
    found = observed(RetrieverQueryEngine(Brings(), mode(llm=MockLLM()))).retrieve(
        Sample(user_input="q")
    )
    assert (found.read, found.line) == (None, "")


def test_a_stream_tells_what_it_sent() -> None:
    """The prompt is sent before the first word; who reads the stream is its consumer."""
    llm = Keeps()
    engine = RetrieverQueryEngine.from_args(Brings(), llm=llm, streaming=True)
    with capture_retrievals() as capture:
        "".join(engine.query("q").response_gen)  # type: ignore[union-attr]
    assert capture.retrieval().read == ("yes", "yes", "yes")


def test_what_a_reranker_asks_is_not_read_by_the_model_that_answers() -> None:
    """Its prompt has all texts; the one that is answered has those that it chose."""
    llm = Keeps(reply=lambda p: "Doc: 1, Relevance: 9" if "Relevance" in p else "an answer")
    engine = RetrieverQueryEngine.from_args(
        Brings(), llm=llm, node_postprocessors=[LLMRerank(llm=llm, top_n=1)]
    )
    with capture_retrievals(scored="retrieved") as before:
        found = observed(engine).retrieve(Sample(user_input="q"))
    assert [context.id for context in found.contexts or ()] == ["short"]
    assert found.read == ("yes",)
    assert before.retrieval().read is None, "of what was retrieved first, nothing is said"


def test_an_engine_of_the_users_own_is_read_by_its_prompt() -> None:
    """It retrieves three, and tells the model of the first."""

    class Own(CustomQueryEngine):
        llm: Any

        def custom_query(self, query_str: str) -> str:
            first, *_ = Brings().retrieve(query_str)
            return str(self.llm.complete(f"Answer from: {first.get_content()}"))

    found = observed(Own(llm=Keeps())).retrieve(Sample(user_input="q"))
    assert found.read == ("yes", "no", "no")
    assert found.line == "1 of 3 in the prompt"


def test_a_chat_reads_its_context() -> None:
    """The prompt that condenses the question has none of it, the one that answers has all."""
    llm = Keeps()
    chat = CondensePlusContextChatEngine.from_defaults(
        Brings(), llm=llm, memory=ChatMemoryBuffer.from_defaults(token_limit=999)
    )
    assert observed(chat).retrieve(Sample(user_input="q")).read == ("yes", "yes", "yes")


def test_a_judge_is_not_the_application() -> None:
    """A judge that reads the contexts in the same block has not answered from them."""

    class First(CustomQueryEngine):
        def custom_query(self, query_str: str) -> str:
            return str(len(Brings().retrieve(query_str)))

    judge = LLMJudge(LlamaIndexChatModel(Keeps()), reasks=0)
    with capture_retrievals() as capture:
        First().query("q")
        ClaimRecall(judge=judge).score(
            retrieved_contexts=list(TEXTS.values()), reference_claims=["Rome is old."]
        )
    assert capture.retrieval().read is None
