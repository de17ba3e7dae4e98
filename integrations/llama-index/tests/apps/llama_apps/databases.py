"""Engines of a database, alone and beside texts."""

from __future__ import annotations

from typing import Any

from llama_index.core import SQLDatabase
from llama_index.core.query_engine import NLSQLTableQueryEngine, SQLAutoVectorQueryEngine
from llama_index.core.retrievers import VectorIndexAutoRetriever
from llama_index.core.vector_stores.types import VectorStoreInfo
from sqlalchemy import create_engine, text
from sqlalchemy.pool import StaticPool

from llama_apps.application import engine
from llama_apps.engines import chosen
from llama_apps.parts import Words, by_words, engine_of, model, tool_of, vector_index

_ROWS = "the answer is made of rows of a database, not of documents"


def _database() -> SQLDatabase:
    connected = create_engine(
        "sqlite://", connect_args={"check_same_thread": False}, poolclass=StaticPool
    )
    with connected.begin() as connection:
        connection.execute(text("create table prices (who text, crowns integer)"))
        connection.execute(text("insert into prices values ('adults', 4), ('children', 0)"))
    return SQLDatabase(connected)


def _sql() -> Any:
    return NLSQLTableQueryEngine(
        _database(),
        tables=["prices"],
        llm=by_words(sqlquery="SELECT crowns FROM prices WHERE who = 'adults'"),
        embed_model=Words(),
    )


@engine(expects="tower fees", recall=None, unscorable=_ROWS)
def sql_engine() -> Any:
    """An engine turns the question into SQL."""
    return _sql()


def _sql_and_vectors(number: int) -> Any:
    fields = '{"query": "admission", "filters": [], "top_k": 1}'
    search = VectorIndexAutoRetriever(
        vector_index(),
        vector_store_info=VectorStoreInfo(content_info="about an island", metadata_info=[]),
        llm=model(f"```json\n{fields}\n```"),
    )
    tools = tool_of(_sql(), "prices"), tool_of(engine_of(search), "visits")
    llm = by_words(transform="What are the admission costs?")
    return SQLAutoVectorQueryEngine(*tools, selector=chosen(number), llm=llm, verbose=False)


@engine(expects="tower fees", recall=0.5, first=0.5)
def vectors_beside_sql() -> Any:
    """A selector over SQL and vectors chooses the vectors."""
    return _sql_and_vectors(2)
