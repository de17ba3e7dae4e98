"""Models with equal settings are equal, also after requests."""

from __future__ import annotations

from dataclasses import fields

import pytest

from fullrecall.errors import ParameterError
from fullrecall.judge import AnthropicChatModel, OpenAIChatModel

pytest.importorskip("openai", reason="needs the openai extra")
pytest.importorskip("anthropic", reason="needs the anthropic extra")


@pytest.mark.parametrize("kind", [OpenAIChatModel, AnthropicChatModel])
def test_equal_settings_make_equal_models(kind: type[OpenAIChatModel]) -> None:
    """Connections are not settings: a second model with the same settings is equal."""
    first, second = (kind("m", api_key="k", options={"seed": 1}) for _ in range(2))
    assert first == second
    assert first != kind("m", api_key="k", options={"seed": 2})
    with pytest.raises(ParameterError, match="no parameter"):
        kind("m", api_key="k", _portal=None)


@pytest.mark.parametrize("kind", [OpenAIChatModel, AnthropicChatModel])
def test_the_state_of_a_model_is_no_setting(kind: type[OpenAIChatModel]) -> None:
    """Private fields are neither options of the constructor nor compared."""
    own = [each for each in fields(kind) if each.name.startswith("_")]
    assert own
    assert not [each.name for each in own if each.init or each.compare]
