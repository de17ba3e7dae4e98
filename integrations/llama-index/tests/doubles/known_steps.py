"""Steps around retrievers with known effects: a reranker, a model, a splitter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import PrivateAttr


class LastTwoFirst(BaseNodePostprocessor):
    """A reranker that loses the best node: it keeps the last two, the last one first."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[::-1][:2]


class Answering(CustomLLM):
    """A model that completes a prompt by a function of it, and keeps the prompts."""

    window: int = 3900
    reply: Callable[[str], str] = lambda _: "an answer"
    _sent: list[str] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        """Return a model's metadata with this window."""
        return LLMMetadata(context_window=self.window, model_name="answering")

    @llm_completion_callback()
    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Return the reply to the prompt."""
        self._sent.append(prompt)
        return CompletionResponse(text=self.reply(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponseGen:
        """Yield the reply at once."""
        self._sent.append(prompt)
        text = self.reply(prompt)
        yield CompletionResponse(text=text, delta=text)


class NoPrompts:
    """A component without prompts."""

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """Have no prompts to update."""


class Asks(NoPrompts, BaseQuestionGenerator):
    """A question generator: one question for each tool, the tool's own or a default one."""

    def __init__(self, **questions: str) -> None:
        self.questions = questions

    def generate(self, tools: Sequence[Any], query: QueryBundle) -> list[SubQuestion]:
        """Return a question for each tool."""
        asked = self.questions or {tool.name: f"to {tool.name}" for tool in tools}
        return [SubQuestion(sub_question=text, tool_name=name) for name, text in asked.items()]

    async def agenerate(self, tools: Sequence[Any], query: QueryBundle) -> list[SubQuestion]:
        """Return a question for each tool."""
        return self.generate(tools, query)
