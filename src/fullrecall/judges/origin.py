"""Which request a completion answers, in a last line of its text.

What answers several requests at once is kept under one of them (`Ask.kept_as`). Whoever reads it
there has to know what else was asked: verdicts hold for the contexts that were shown.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

from fullrecall.judges.judge import Ask
from fullrecall.models.chat import ChatRequest, Completion

_LINE = re.compile(r'\n\{"asked":"([0-9a-f]{32})"\}\Z')


def digest(request: ChatRequest) -> str:
    """Return the digest of a request: 32 hexadecimal digits."""
    hashed = hashlib.sha256(f"{request.schema_name} {request.sample} {request.again}".encode())
    for message in request.messages:
        content = message.content.encode("utf-8", "surrogatepass")
        hashed.update(f" {message.role} {len(content)} ".encode() + content)
    return hashed.hexdigest()[:32]


def signed(ask: Ask, completion: Completion) -> Completion:
    """Return the completion of an ask that is kept as another's answer, with what was asked."""
    if not ask.kept_as or ask.request in ask.kept_as or not completion.text:
        return completion
    return replace(completion, text=f'{completion.text}\n{{"asked":"{digest(ask.request)}"}}')


def parted(text: str) -> tuple[str, str]:
    """Return a text without the line, and the digest in it; an empty one where there is none."""
    line = _LINE.search(text)
    return (text, "") if line is None else (text[: line.start()], line[1])
