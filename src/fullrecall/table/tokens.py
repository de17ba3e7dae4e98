"""Count the tokens of contexts with the user's tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from fullrecall.errors import ParameterError
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.table.table import Table


def with_tokens(table: Table, count: Callable[[str], int], tokenizer: str) -> Table:
    """Return a table in which each context with a text has its number of tokens as metadata.

    See `Report.with_tokens`.
    """
    if not isinstance(tokenizer, str) or not tokenizer.strip():
        raise ParameterError(
            f'must be a name such as "cl100k_base", got {tokenizer!r}', "tokenizer"
        )
    counts: dict[str, int] = {}

    def counted(context: Context) -> Context:
        text = context.text
        if text is None:
            return context
        if text not in counts:
            tokens: Any = count(text)
            is_whole = hasattr(tokens, "__index__") and not isinstance(tokens, bool)
            if not is_whole or index(tokens) < 0:
                raise ParameterError(
                    f"must return a whole number of at least 0, got {tokens!r}", "count"
                )
            counts[text] = index(tokens)
        metadata = {**context.metadata, "tokens": counts[text], "tokenizer": tokenizer}
        return Context(**{**context.to_dict(), "metadata": metadata})

    def of_sample(sample: Sample) -> Sample:
        if sample.retrieval is not None:
            return sample.with_retrieval(sample.retrieval.changed(counted))
        if sample.retrieved_contexts is None:
            return sample
        return sample.with_retrieval(map(counted, sample.retrieved_contexts))

    return table.changed(of_sample)
