"""Postprocessors of LlamaIndex and of users, between a search and an answer.

Unless a function says otherwise, the search finds "ferry", "tower" and "fees", in this order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor import (
    AutoPrevNextNodePostprocessor,
    EmbeddingRecencyPostprocessor,
    FixedRecencyPostprocessor,
    LLMRerank,
    LongContextReorder,
    MetadataReplacementPostProcessor,
    PIINodePostprocessor,
    PrevNextNodePostprocessor,
    SentenceEmbeddingOptimizer,
    SimilarityPostprocessor,
    TimeWeightedPostprocessor,
)
from llama_index.core.postprocessor.rankGPT_rerank import RankGPTRerank
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore

from llama_apps.application import engine
from llama_apps.parts import TEXTS, Finds, Words, by_words, engine_of, model, nodes, scored

_FOUND = "ferry tower fees"

behind = partial(engine, expects="tower fees", retrieved=1.0, stages={"Finds": 1.0})
"""An engine with postprocessors behind this search."""


class Does(BaseNodePostprocessor):
    """A user's own postprocessor."""

    work: Callable[[list[NodeWithScore]], list[NodeWithScore]]

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self.work(nodes)


# Cuts and orders


@behind(recall=0.5, first=0.0)
def similarity_cutoff() -> Any:
    """Nodes with scores below a threshold are dropped."""
    return engine_of(Finds(_FOUND), SimilarityPostprocessor(similarity_cutoff=0.4))


@behind(recall=0.0, first=0.0)
def similarity_cutoff_of_all() -> Any:
    """No score reaches the threshold."""
    return engine_of(Finds(_FOUND), SimilarityPostprocessor(similarity_cutoff=2.0))


@behind(recall=1.0, first=0.5)
def reranked_by_model() -> Any:
    """A model scores each node; the async way is a method of its own."""
    llm = model("Doc: 3, Relevance: 9\nDoc: 2, Relevance: 7")
    return engine_of(Finds(_FOUND), LLMRerank(llm=llm, top_n=2))


@behind(recall=0.5, first=0.5)
def ranked_by_permutation() -> Any:
    """A model writes the whole order."""
    return engine_of(Finds(_FOUND), RankGPTRerank(llm=model("[2] > [1] > [3]"), top_n=2))


@behind(recall=0.5, first=0.5)
def cross_encoder() -> Any:
    """A user's postprocessor sets scores, sorts, and cuts."""
    points = {"tower": 0.9, "ferry": 0.8, "fees": 0.1}

    def rerank(found: list[NodeWithScore]) -> list[NodeWithScore]:
        for each in found:
            each.score = points[each.node_id]
        return sorted(found, key=lambda each: -(each.score or 0.0))[:2]

    return engine_of(Finds(_FOUND), Does(work=rerank))


@engine(expects="tower fees", recall=1.0, first=0.0)
def long_context_reorder() -> Any:
    """The best texts go to both ends of the prompt, which is not a ranking."""
    return engine_of(Finds(_FOUND), LongContextReorder())


@behind(recall=0.5, first=0.5)
def two_postprocessors() -> Any:
    """A reranker is followed by a cut, and by the order for the prompt."""
    llm = model("Doc: 3, Relevance: 9\nDoc: 2, Relevance: 7")
    cuts = Does(work=lambda found: found[:1])
    return engine_of(Finds(_FOUND), LLMRerank(llm=llm, top_n=2), cuts, LongContextReorder())


class FindsDated(Finds):
    """A search whose nodes have a date: the last one found is the newest."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = scored(self.names)
        for day, each in enumerate(found, start=1):
            each.node.metadata["date"] = f"2024-05-0{day}"
        return found


dated = partial(engine, expects="tower fees", retrieved=1.0, stages={"FindsDated": 1.0})


@dated(recall=1.0, first=0.5)
def newest_first() -> Any:
    """The newest nodes are first, by their dates."""
    return engine_of(FindsDated(_FOUND), FixedRecencyPostprocessor(top_k=2))


@dated(recall=0.5, first=0.5)
def newest_of_the_similar() -> Any:
    """Older nodes with similar texts are dropped."""
    return engine_of(
        FindsDated(_FOUND),
        EmbeddingRecencyPostprocessor(embed_model=Words(), similarity_cutoff=0.99),
        Does(work=lambda found: found[:1]),
    )


@behind(recall=0.5, first=0.0)
def lately_read_first() -> Any:
    """Scores decrease with the time since a node was last read."""
    weights = TimeWeightedPostprocessor(
        time_decay=0.01, time_access_refresh=False, now=10_000.0, top_k=2
    )

    def stamp(found: list[NodeWithScore]) -> list[NodeWithScore]:
        for each in found:
            each.node.metadata["__last_accessed__"] = 10_000.0
        return found

    return engine_of(Finds(_FOUND), Does(work=stamp), weights)


@behind(recall=0.5, first=0.5)
def one_for_each_topic() -> Any:
    """A metadata filter keeps the first node of each topic: "ferry" and "fees" share one."""

    def distinct(found: list[NodeWithScore]) -> list[NodeWithScore]:
        first: dict[str, NodeWithScore] = {}
        for each in found:
            first.setdefault(each.metadata["topic"], each)
        return list(first.values())[::-1]

    return engine_of(Finds(_FOUND), Does(work=distinct))


@engine(expects="tower fees", recall=1.0, first=0.5, retrieved=1.0)
def same_text_twice() -> Any:
    """The search finds a text twice, under two IDs; the copy is dropped."""

    class Twice(Finds):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            copy = NodeWithScore(node=TextNode(id_="copy", text=TEXTS["tower"][1]), score=0.9)
            tower, fees = scored("tower fees")
            return [tower, copy, fees]

    def distinct(found: list[NodeWithScore]) -> list[NodeWithScore]:
        first: dict[str, NodeWithScore] = {}
        for each in found:
            first.setdefault(each.text, each)
        return list(first.values())

    return engine_of(Twice(""), Does(work=distinct))


# Nodes that are added


def _line() -> SimpleDocumentStore:
    line = nodes("tower lamp keeper")
    for before, after in pairwise(line):
        before.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=after.node_id)
        after.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=before.node_id)
    store = SimpleDocumentStore()
    store.add_documents(line)
    return store


class FindsStored(BaseRetriever):
    """A search that finds one node of a docstore."""

    def __init__(self, store: SimpleDocumentStore, name: str) -> None:
        self.store, self.name = store, name
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=self.store.get_document(self.name), score=1.0)]


@engine(expects="tower lamp fees", recall=2 / 3, first=1 / 3, retrieved=2 / 3)
def next_node() -> Any:
    """The node after the found one comes from the docstore."""
    store = _line()
    adds = PrevNextNodePostprocessor(docstore=store, num_nodes=1, mode="next")
    return engine_of(FindsStored(store, "tower"), adds)


@engine(expects="tower lamp fees", recall=2 / 3, first=1 / 3, retrieved=2 / 3)
def next_node_if_a_model_wants_it() -> Any:
    """A model decides whether the node before or after the found one is needed."""
    store = _line()
    adds = AutoPrevNextNodePostprocessor(docstore=store, num_nodes=1, llm=model("NEXT"))
    return engine_of(FindsStored(store, "tower"), adds)


@engine(expects="tower fees", recall=1.0)
def search_in_a_postprocessor() -> Any:
    """A postprocessor asks another search, and appends its results."""
    other = Finds("fees hours")
    return engine_of(Finds("tower"), Does(work=lambda found: [*found, *other.retrieve("prices")]))


@engine(expects="tower fees", recall=0.5)
def note_in_front() -> Any:
    """A node with instructions is put before the found ones."""
    note = NodeWithScore(node=TextNode(id_="note", text="Today is a holiday."), score=1.0)
    return engine_of(Finds("ferry tower"), Does(work=lambda found: [note, *found]))


# Texts that are changed


@behind(recall=0.5, first=0.0)
def shortened_to_relevant_sentences() -> Any:
    """Sentences that are far from the question are left out."""
    optimizer = SentenceEmbeddingOptimizer(
        embed_model=Words(), percentile_cutoff=0.5, tokenizer_fn=lambda text: text.split(". ")
    )
    return engine_of(Finds(_FOUND), optimizer, Does(work=lambda found: found[:2]))


@behind(recall=0.5, first=0.0)
def names_masked_by_model() -> Any:
    """A model masks names."""
    masks = PIINodePostprocessor(llm=model('A [PERSON] lives here.\nOutput Mapping:\n{"a": "b"}'))
    return engine_of(Finds(_FOUND), masks, Does(work=lambda found: found[:2]))


@behind(recall=0.5, first=0.0)
def numbered_in_place() -> Any:
    """Numbers are written into the found nodes themselves."""

    def number(found: list[NodeWithScore]) -> list[NodeWithScore]:
        for position, each in enumerate(found, start=1):
            each.node.text = f"({position}) {each.text}"
        return found[:2]

    return engine_of(Finds(_FOUND), Does(work=number))


@behind(recall=0.5, first=0.0)
def translated_in_copies() -> Any:
    """A model translates, and the copies keep their IDs."""
    llm = model("Der Turm steht am Meer.")

    def translate(found: list[NodeWithScore]) -> list[NodeWithScore]:
        texts = [llm.complete(f"Translate: {each.text}").text for each in found]
        return [
            NodeWithScore(node=each.node.model_copy(update={"text": text}), score=each.score)
            for each, text in zip(found[:2], texts, strict=False)
        ]

    return engine_of(Finds(_FOUND), Does(work=translate))


def _compressed(found: list[NodeWithScore], **fields: Any) -> list[NodeWithScore]:
    llm = by_words("Something else.", ferry="Two boats.", brandt="An old building.")
    return [
        NodeWithScore(
            node=TextNode(
                text=llm.complete(f"Shorten for the question: {each.text}").text,
                **{name: getattr(each.node, name) for name in fields},
            ),
            score=each.score,
        )
        for each in found[:2]
    ]


_NEW_WORDS = "the new nodes share neither an ID nor words with those that were retrieved"


@engine(
    expects="tower fees",
    recall=0.5,
    first=0.0,
    retrieved=1.0,
    unscorable=_NEW_WORDS,
    renews=True,
)
def compressed_by_model() -> Any:
    """A model shortens each text, in new nodes (contextual compression)."""
    return engine_of(Finds(_FOUND), Does(work=_compressed))


@engine(
    expects="building visit",
    recall=1.0,
    first=0.5,
    options={"id_key": "ref_doc_id"},
)
def compressed_with_its_document() -> Any:
    """A model shortens each text, in new nodes that name their document."""
    compress = partial(_compressed, relationships=True)
    return engine_of(Finds(_FOUND), Does(work=compress))


@engine(expects="building nature", recall=0.5, options={"id_key": "topic"})
def merged_by_document() -> Any:
    """Texts of one document are merged in one new node, which has their metadata."""

    def merge(found: list[NodeWithScore]) -> list[NodeWithScore]:
        groups: dict[str, list[NodeWithScore]] = {}
        for each in found:
            groups.setdefault(each.metadata["topic"], []).append(each)
        return [
            NodeWithScore(
                node=TextNode(
                    text="\n".join(each.text for each in group), metadata={"topic": topic}
                ),
                score=group[0].score,
            )
            for topic, group in groups.items()
        ]

    return engine_of(Finds("ferry tower fees"), Does(work=merge))


@engine(expects="tower lamp seals", recall=2 / 3, retrieved=2 / 3, renews=True)
def neighbors_merged() -> Any:
    """Adjacent chunks are joined, so that the model reads one passage."""

    def join(found: list[NodeWithScore]) -> list[NodeWithScore]:
        tower, lamp, rest = found
        joined = TextNode(text=f"{tower.text}\n{lamp.text}")
        return [NodeWithScore(node=joined, score=tower.score), rest]

    return engine_of(Finds("tower lamp fees"), Does(work=join))


@behind(recall=1.0, first=0.0, renews=True)
def xml_around_texts() -> Any:
    """New nodes have each text between tags."""

    def tag(found: list[NodeWithScore]) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    text=f"<source topic='{each.metadata['topic']}'>{each.text}</source>"
                ),
                score=each.score,
            )
            for each in found
        ]

    return engine_of(Finds(_FOUND), Does(work=tag))


@engine(expects="w-tower w-fees", recall=0.5, first=0.0, retrieved=1.0)
def window_behind_reranker() -> Any:
    """A reranker sees sentences, and the model reads their windows."""

    class FindsSentences(Finds):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(
                    node=TextNode(
                        id_=f"w-{each.node_id}",
                        text=each.text.split(". ")[0],
                        metadata={"window": each.text},
                    ),
                    score=each.score,
                )
                for each in scored(self.names)
            ]

    return engine_of(
        FindsSentences(_FOUND),
        Does(work=lambda found: found[:2]),
        MetadataReplacementPostProcessor(target_metadata_key="window"),
    )


@behind(recall=0.5, first=0.0)
def metadata_hidden() -> Any:
    """Metadata are hidden from the model."""

    def hide(found: list[NodeWithScore]) -> list[NodeWithScore]:
        for each in found:
            each.node.excluded_llm_metadata_keys = ["topic"]
        return found[:2]

    return engine_of(Finds(_FOUND), Does(work=hide))
