"""Retrievers of LangChain and LlamaIndex over made-up documents, without a download."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import bm25s
import numpy as np
import snowballstemmer
import wordllama
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr


class LexicalRetriever(BaseRetriever):
    """A retriever of the `depth` documents with the highest BM25 scores that share a word."""

    documents: list[Document]
    index: Any
    depth: int

    @classmethod
    def over(cls, documents: Sequence[Document], depth: int) -> Self:
        """Return a retriever over `documents`."""
        index = bm25s.BM25()
        index.index(stems([each.page_content for each in documents]), show_progress=False)
        return cls(documents=list(documents), index=index, depth=depth)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
    ) -> list[Document]:
        words = stems([query])[0]
        if not words:  # The query has only stop words.
            return []
        scores = self.index.get_scores(words)
        # bm25s's own top k leaves the order of equal scores to the machine; this sort does not.
        best = np.argsort(-scores, kind="stable")[: self.depth]
        return [self.documents[position] for position in best if scores[position] > 0]


def stems(texts: list[str]) -> list[list[str]]:
    """Return each text's words without stop words, by their stems: "copying" is "copi", as copy."""
    tokens: list[list[str]] = bm25s.tokenize(
        texts, stopwords="en", stemmer=_stemmed, return_ids=False, show_progress=False
    )
    return tokens


def _stemmed(words: Iterable[str]) -> list[str]:
    stemmed: list[str] = snowballstemmer.stemmer("english").stemWords(list(words))
    return stemmed


class WordEmbedding(BaseEmbedding):
    """Embeddings by the mean of a text's word vectors, which are in wordllama's wheel."""

    _model: Any = PrivateAttr()

    def __init__(self, **fields: Any) -> None:
        super().__init__(model_name="wordllama", embed_batch_size=512, **fields)
        # A plain `load()` looks for the tokenizer in the user's cache and then downloads it.
        beside = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=beside, disable_download=True)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._model.embed(texts, norm=True).tolist()
        return vectors

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)
