"""The contexts that count as read are those in the real prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from known_steps import Answering
from llama_index.core import ComposableGraph, PromptTemplate, Settings, SummaryIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
)
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    RetrieverQueryEngine,
)
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.response_synthesizers.type import ResponseMode
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall import ClaimRecall, LLMJudge, Sample
from llama_index.evaluation.fullrecall import LlamaIndexChatModel, capture_retrievals, observed

TEXTS = {
    "short": "Paris is the capital of France, and its largest city.",
    "long": " ".join(f"Sentence {n} of the long chapter on Rome." for n in range(150)),
    "last": "The Eiffel Tower stands in Paris, on the Champ de Mars.",
}


class Brings(BaseRetriever):
    """A retriever of these texts."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_=own, text=text)) for own, text in TEXTS.items()]


def truth(text: str, prompts: list[str]) -> str:
    """Return, by a slow search, whether each word is in some prompt, among its neighbors."""
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


SILENT = (ResponseMode.NO_TEXT, ResponseMode.CONTEXT_ONLY)
"""The modes that ask no model."""

MODES = [mode.value for mode in ResponseMode if mode not in SILENT]
"""The others, of the LlamaIndex that is installed."""


@pytest.mark.parametrize("window", [3900, 1000], ids=["wide", "narrow"])
@pytest.mark.parametrize("mode", MODES)
def test_read_contexts_are_those_sent(mode: Any, window: int) -> None:
    """In each response mode a context is read whole, split, cut to fit, or not at all."""
    llm = Answering(window=window)
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


class Sends(CustomQueryEngine):
    """A user's own engine, which sends a function's output for the texts."""

    llm: Any
    makes: Callable[[list[str]], str]

    def custom_query(self, query_str: str) -> str:
        """Answer from that."""
        texts = [item.get_content() for item in Brings().retrieve(query_str)]
        return str(self.llm.complete(self.makes(texts)))


def templated(llm: Answering, function: Callable[..., str]) -> RetrieverQueryEngine:
    """Return an engine whose prompt has a function's output for the contexts."""
    template = PromptTemplate(
        "Context: {context_str}\nQuestion: {query_str}", function_mappings={"context_str": function}
    )
    return RetrieverQueryEngine.from_args(Brings(), llm=llm, text_qa_template=template)


def chat(cls: Any) -> Callable[[Answering], Any]:
    """Return a factory of chat engines, in the middle of a conversation."""

    def make(llm: Answering) -> Any:
        memory = ChatMemoryBuffer.from_defaults(
            [
                ChatMessage(role="user", content="Paris?"),
                ChatMessage(role="assistant", content="!"),
            ],
            token_limit=999,
        )
        if cls is CondenseQuestionChatEngine:
            engine = RetrieverQueryEngine.from_args(Brings(), llm=llm)
            return cls.from_defaults(engine, llm=llm, memory=memory)
        return cls.from_defaults(Brings(), llm=llm, memory=memory)

    return make


def graph(llm: Answering) -> Any:
    """Return an engine over a graph of two indices; a summary leads to each."""
    parts = [SummaryIndex([TextNode(id_=own, text=text)]) for own, text in TEXTS.items()]
    names = [f"about {own}" for own in TEXTS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Settings, "_llm", llm)
        made = ComposableGraph.from_indices(SummaryIndex, parts, names)
        return made.as_query_engine(
            llm=llm,
            custom_query_engines={part.index_id: part.as_query_engine(llm=llm) for part in parts},
        )


ENGINES: dict[str, tuple[Callable[[Answering], Any], str]] = {
    "citation": (
        lambda llm: CitationQueryEngine(
            Brings(), llm=llm, text_splitter=TokenTextSplitter(chunk_size=40, chunk_overlap=0)
        ),
        "yes yes yes",
    ),
    "template": (lambda llm: templated(llm, lambda **all_: all_["context_str"]), "yes yes yes"),
    "other white space": (
        lambda llm: templated(llm, lambda **all_: "\n\t".join(all_["context_str"].split())),
        "yes yes yes",
    ),
    "JSON": (
        lambda llm: templated(llm, lambda **all_: json.dumps(all_["context_str"])),
        "yes yes yes",
    ),
    "cut": (
        lambda llm: Sends(llm=llm, makes=lambda texts: "; ".join(text[:100] for text in texts)),
        "yes partly yes",
    ),
    "first": (lambda llm: Sends(llm=llm, makes=lambda texts: texts[0]), "yes no no"),
    "repacked": (
        lambda llm: Sends(llm=llm, makes=lambda texts: " ".join(reversed(texts))),
        "yes yes yes",
    ),
    "none": (lambda llm: Sends(llm=llm, makes=lambda _: "What is it?"), "no no no"),
    "condense question": (chat(CondenseQuestionChatEngine), "yes yes yes"),
    "context": (chat(ContextChatEngine), "yes yes yes"),
    "condense plus context": (chat(CondensePlusContextChatEngine), "yes yes yes"),
    "graph": (graph, "yes yes yes"),
}


@pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", ENGINES)
def test_read_contexts_are_those_that_an_engine_sent(name: str) -> None:
    """The prompts of chats, citations, graphs, templates and own engines show the contexts read."""
    make, expected = ENGINES[name]
    llm = Answering()
    found = observed(make(llm)).retrieve(Sample(user_input="q"))
    ids = [str(context.id) for context in found.contexts or ()]
    read = dict(zip(ids, found.read or (), strict=True))
    assert " ".join(read[own] or "" for own in TEXTS) == expected
    if name != "citation":  # Numbered pieces in one prompt look like a text that was cut.
        assert list(read.values()) == [truth(TEXTS[own], llm._sent) for own in read]


def asked(texts: dict[str, str], makes: Callable[[list[str]], str]) -> tuple[Any, ...]:
    """Return the read parts of texts that an engine sends in a changed form."""

    class Finds(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(id_=own, text=each)) for own, each in texts.items()]

    class Own(CustomQueryEngine):
        llm: Any

        def custom_query(self, query_str: str) -> str:
            found = [item.get_content() for item in Finds().retrieve(query_str)]
            return str(self.llm.complete(makes(found)))

    return observed(Own(llm=Answering())).retrieve(Sample(user_input="q")).read or ()


def test_a_text_that_the_prompt_has_from_elsewhere_was_read() -> None:
    """A text that the prompt has from the history or its instructions was read, too."""
    llm = Answering()
    said = ChatMessage(role="assistant", content=TEXTS["short"])
    engine = ContextChatEngine.from_defaults(
        Brings(),
        llm=llm,
        memory=ChatMemoryBuffer.from_defaults([said], token_limit=999),
        context_template="Only this is known: nothing.",
        system_prompt=TEXTS["last"],
    )
    with capture_retrievals() as capture:
        engine.chat("q")
    assert [TEXTS[own] in llm._sent[-1] for own in TEXTS] == [True, False, True]
    assert capture.retrieval().read == ("yes", "no", "yes")


def test_a_judge_is_not_the_application() -> None:
    """A judge that reads the contexts in the same block is not the answering model."""

    class First(CustomQueryEngine):
        def custom_query(self, query_str: str) -> str:
            return str(len(Brings().retrieve(query_str)))

    judge = LLMJudge(LlamaIndexChatModel(Answering()), reasks=0)
    with capture_retrievals() as capture:
        First().query("q")
        ClaimRecall(judge=judge).score(
            retrieved_contexts=list(TEXTS.values()), reference_claims=["Rome is old."]
        )
    assert capture.retrieval().read is None
