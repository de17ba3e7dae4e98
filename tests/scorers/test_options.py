"""A scorer's options are passed by name, so that a new one never changes another's place."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from fullrecall import ClaimRecall, EntityRecall, IdRecall, SpanRecall, TextRecall


@pytest.mark.parametrize("kind", [ClaimRecall, EntityRecall, IdRecall, SpanRecall, TextRecall])
def test_options_have_names(kind: Any) -> None:
    """No option has a place, and none changes later."""
    parameters = inspect.signature(kind).parameters.values()
    assert [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY] == []
    with pytest.raises(FrozenInstanceError):
        object.__new__(kind).name = "another"
