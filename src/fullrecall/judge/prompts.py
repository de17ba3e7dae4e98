"""Build every request to a model from the texts in `prompts.toml`.

Store keys contain the version of the texts, so that answers to other texts are not reused.

Contexts and texts are sent as JSON strings: their quotation marks are escaped, so that no text can
pass for a part of the prompt. Contexts come first and claims last, so that a provider's prompt
cache serves all questions about the same contexts.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from fullrecall.errors import ParameterError
from fullrecall.judge.judge import Relation, SplitKind
from fullrecall.judge.models.chat import ChatRequest, Message

VERSION = "3"

# JSON does not escape these characters, but some readers treat them as line ends, and UTF-8 cannot
# encode a lone surrogate.
_LINE_BREAKS = re.compile("[\\x7f\\x85\\u2028\\u2029\\ud800-\\udfff]")

_WRITTEN = json.JSONEncoder(ensure_ascii=False).encode

_FOLDER = files("fullrecall.judge")
_TEXTS: Mapping[str, Any] = tomllib.loads((_FOLDER / "prompts.toml").read_text(encoding="utf-8"))
_SCHEMAS: Mapping[str, Any] = json.loads((_FOLDER / "schemas.json").read_text(encoding="utf-8"))
RELATIONS: Mapping[Relation, Mapping[str, str]] = _TEXTS["relations"]
"""The words of the prompts that differ between claims and questions."""


@dataclass(frozen=True, kw_only=True)
class Prompts:
    """The instructions to the model.

    To reword or translate the instructions, replace any of them and set a new `version`. The
    example answer contains no verdict, so a model that repeats it gives none.

    Three of the instructions have fields in braces, which are filled in:

    - `attribute`: `{items}`, `{item}`, `{bears}`, `{whole}` and `{opposite}`, for claims or for
      questions.
    - `relevance`: `{purpose}`.
    - `again`: `{problems}` and `{items}`.

    All other braces in these three must be doubled. The JSON form of the answer must stay.
    """

    version: str = VERSION
    attribute: str = _TEXTS["attribute"]
    relevance: str = _TEXTS["relevance"]
    again: str = _TEXTS["again"]
    split_claims: str = _TEXTS["split_claims"]
    split_questions: str = _TEXTS["split_questions"]
    verify: str = _TEXTS["verify"]

    def __post_init__(self) -> None:
        try:
            self.attribute.format(items="", item="", bears="", whole="", opposite="")
            self.relevance.format(purpose="")
            self.again.format(problems="", items="")
        except (KeyError, IndexError, ValueError) as error:
            raise ParameterError(
                f"the prompt's placeholders cannot be filled ({error}): double literal braces"
            ) from None

    @property
    def name(self) -> str:
        """The version, with a digest of the words if they are not the default."""
        if self == Prompts(version=self.version):
            return self.version
        # The name is part of store keys. New words without a new version must give another name, so
        # that answers to the old words are not reused.
        words = json.dumps({**vars(self), "version": ""}, sort_keys=True)
        return f"{self.version}-{hashlib.sha256(words.encode()).hexdigest()[:8]}"

    def attribution(
        self,
        targets: Mapping[int, str],
        contexts: Mapping[int, str],
        *,
        question: str | None,
        relation: Relation,
    ) -> ChatRequest:
        """Return the request to attribute numbered targets to numbered contexts."""
        words = RELATIONS[relation]
        system = self.attribute.format(**words)
        question_line = (
            f"question: {quoted(question)}\n" if question and relation == "claim" else ""
        )
        shown = f"contexts:\n{numbered(contexts)}\n{question_line}"
        user = f"{shown}{words['items']}:\n{numbered(targets)}"
        return _request(system, user, "verdicts")

    def relevance_of(
        self, contexts: Mapping[int, str], *, question: str | None, reference: str | None
    ) -> ChatRequest:
        """Return the request to judge numbered contexts by a question, an answer, or both."""
        purpose = "to answer the question" if reference is None else "for the reference answer"
        lines = [f"contexts:\n{numbered(contexts)}"]
        if question is not None:
            lines.append(f"question: {quoted(question)}")
        if reference is not None:
            lines.append(f"reference answer: {quoted(reference)}")
        system = self.relevance.format(purpose=purpose)
        return _request(system, "\n".join(lines), "verdicts")

    def asked_again(
        self, request: ChatRequest, problems: Mapping[int, str], *, items: str
    ) -> ChatRequest:
        """Return the same request with the problems of its last answer added, by target number.

        The problems are inserted after the contexts, which a provider may have cached, and before
        the targets.
        """
        listed = "\n".join(f"{number} {quoted(problem)}" for number, problem in problems.items())
        complaint = self.again.format(problems=listed, items=items)
        system, user = request.messages
        # Texts are JSON without line breaks, so the last marker is the prompt's and not a text's.
        before, marker, targets = user.content.rpartition(f"\n{items}:\n")
        content = before + complaint + marker + targets if before else user.content + complaint
        return replace(request, messages=(system, Message("user", content)))

    def verification(self, claims: Mapping[int, str], quotes: Mapping[int, str]) -> ChatRequest:
        """Return the request to judge each numbered claim by the one quote with its number."""
        user = f"quotes:\n{numbered(quotes)}\nclaims:\n{numbered(claims)}"
        return _request(self.verify, user, "verdicts")

    def split(self, text: str, *, kind: SplitKind, question: str | None = None) -> ChatRequest:
        """Return the request to split a question, or a text that answers `question`."""
        system: str = getattr(self, f"split_{kind}")
        question_line = f"question: {quoted(question)}\n" if question and kind == "claims" else ""
        return _request(system, f"{question_line}text: {quoted(text)}", "items")


def quoted(text: str) -> str:
    """Return `text` as a JSON string on one line; every line break in the text is escaped."""
    written = _WRITTEN(text)
    if written.isascii() and "\x7f" not in written:  # most texts
        return written
    return _LINE_BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def numbered(texts: Mapping[int, str]) -> str:
    """Return one line for each text: its number, then the text as a JSON string."""
    return "\n".join(f"{number} {quoted(text)}" for number, text in texts.items())


def _request(system: str, user: str, schema: str) -> ChatRequest:
    messages = Message("system", system), Message("user", user)
    return ChatRequest(messages, _SCHEMAS[schema], schema)
