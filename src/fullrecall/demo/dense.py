"""What a dense retriever of LlamaIndex needs, with nothing to download: for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import wordllama
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryResult,
)


class WordEmbedding(BaseEmbedding):
    """The mean of a text's word vectors, which come inside wordllama's wheel."""

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


class ArrayStore(BasePydanticVectorStore):
    """Unit vectors in one array: LlamaIndex's own store compares them one by one, in Python."""

    stores_text: bool = False
    _ids: list[str] = PrivateAttr(default_factory=list)
    _vectors: list[list[float]] = PrivateAttr(default_factory=list)
    _array: Any = PrivateAttr(default=None)

    @property
    def client(self) -> None:
        """There is none."""

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Take the vectors of nodes, and return their IDs."""
        added = [node.node_id for node in nodes]
        self._ids += added
        self._vectors += [node.get_embedding() for node in nodes]
        self._array = np.asarray(self._vectors)
        return added

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Refuse: the demo deletes nothing."""
        raise NotImplementedError(ref_doc_id)

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Return the nearest nodes; equal similarities keep the order of the nodes."""
        alike = self._array @ np.asarray(query.query_embedding)
        best = np.argsort(-alike, kind="stable")[: query.similarity_top_k]
        return VectorStoreQueryResult(
            ids=[self._ids[n] for n in best], similarities=[float(alike[n]) for n in best]
        )
