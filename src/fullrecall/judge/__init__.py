"""Judges and models: judges decide whether a claim is supported, and clients ask the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy
from fullrecall.errors import JudgeError as JudgeError

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.judge.judge import Ask as Ask
    from fullrecall.judge.judge import Citation as Citation
    from fullrecall.judge.judge import Flow as Flow
    from fullrecall.judge.judge import Judge as Judge
    from fullrecall.judge.judge import Verdict as Verdict
    from fullrecall.judge.llm import LLMJudge as LLMJudge
    from fullrecall.judge.models.anthropic import AnthropicChatModel as AnthropicChatModel
    from fullrecall.judge.models.chat import ChatModel as ChatModel
    from fullrecall.judge.models.chat import ChatRequest as ChatRequest
    from fullrecall.judge.models.chat import Completion as Completion
    from fullrecall.judge.models.chat import Failure as Failure
    from fullrecall.judge.models.chat import Message as Message
    from fullrecall.judge.models.openai import OpenAIChatModel as OpenAIChatModel
    from fullrecall.judge.models.retries import Retries as Retries
    from fullrecall.judge.prompts import Prompts as Prompts
    from fullrecall.judge.several import Cascade as Cascade
    from fullrecall.judge.several import Panel as Panel
    from fullrecall.judge.usage import Spent as Spent
    from fullrecall.judge.usage import Usage as Usage
else:
    __getattr__ = lazy.names(__name__)
