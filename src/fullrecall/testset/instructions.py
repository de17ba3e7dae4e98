"""Build the requests by which a model writes and checks questions, with a version for store keys.

The words are in `prompts.toml`. Texts are sent as JSON strings, as in the judge's requests, so that
no text can end its own quotation. The instructions declare documents' texts to be data.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from fullrecall.judge.models.chat import ChatRequest, Message
from fullrecall.judge.prompts import numbered, quoted
from fullrecall.testset.draft import QuestionKind

VERSION = "3"

_FILE = files("fullrecall.testset") / "prompts.toml"
_PROMPTS: Mapping[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer"}

LENGTH = len(_PROMPTS["write"]) + len(_PROMPTS["check"])
"""The number of characters of the instructions to write and to check, without documents."""


def form_of(name: str) -> Any:
    """Return the example answer at the end of an instruction."""
    return json.loads(_PROMPTS[name][_PROMPTS[name].index('{"') :])


def _schema(example: Any) -> dict[str, Any]:
    """Return the JSON schema for replies in the form of an example."""
    # Require all fields and allow no other fields, since OpenAI's strict mode refuses other
    # schemas.
    if isinstance(example, list):
        return {"type": "array", "items": _schema(example[0])}
    if isinstance(example, dict):
        return {
            "type": "object",
            "properties": {name: _schema(value) for name, value in example.items()},
            "required": list(example),
            "additionalProperties": False,
        }
    return {"type": _JSON_TYPES[type(example)]}


def writing(
    texts: Sequence[str], count: int, kind: QuestionKind, examples: Sequence[str], shared: str
) -> ChatRequest:
    """Return the request for `count` questions of a kind, from these texts.

    `examples` are users' questions that show the style. `shared` is the name that two texts have in
    common, or "".
    """
    parts = [f"Documents:\n{_listed(texts)}"]
    if examples:
        example_lines = "\n".join(map(quoted, examples))
        parts.append(f"Questions that users have asked; write in their style:\n{example_lines}")
    if shared:
        parts.append(f"Each question is about {quoted(shared)}, of which both documents speak.")
    parts.append(f'Write {count} questions of the kind "{kind}": {_PROMPTS["kinds"][kind]}')
    return _request("write", "\n\n".join(parts), "questions")


def checking(
    texts: Sequence[str], questions: Sequence[str], statements: Sequence[tuple[str, str]]
) -> ChatRequest:
    """Return the request to check questions, and each statement against its quote."""
    user = f"Questions:\n{_listed(questions)}\n\nDocuments:\n{_listed(texts)}"
    if statements:
        user += f"\n\nStatements:\n{_paired(statements, 'quote')}"
    return _request("check", user, "checks")


def elsewhere(question: str, statements: Sequence[tuple[str, str]]) -> ChatRequest:
    """Return the request to judge whether each statement's context answers the question."""
    user = f"Question: {quoted(question)}\n\nStatements:\n{_paired(statements, 'context')}"
    return _request("elsewhere", user, "contexts")


def _listed(texts: Sequence[str]) -> str:
    return numbered(dict(enumerate(texts, start=1)))


def _paired(statements: Sequence[tuple[str, str]], name: str) -> str:
    return "\n".join(
        f"{n} {quoted(claim)} - {name}: {quoted(text)}"
        for n, (claim, text) in enumerate(statements, start=1)
    )


def _request(name: str, user: str, schema_name: str) -> ChatRequest:
    messages = Message("system", _PROMPTS[name]), Message("user", user)
    return ChatRequest(messages, _schema(form_of(name)), schema_name)
