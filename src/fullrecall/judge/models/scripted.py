"""A test double of a chat model, which follows a script."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from fullrecall.judge.models.chat import ChatRequest, Completion


class ScriptedChatModel:
    """A chat model that answers from a script and keeps the requests sent to it.

    `script` is a list of replies, used in order with the last one repeated, or a function of the
    request. A reply is a text, a `Completion`, or an exception to raise.

    A verdict must repeat the first words of its target as `begins`. If a reply has no `begins`, the
    model adds it to each verdict, so that a script need not repeat these words. To test a judge
    with malformed replies, pass `echo=False`: replies then stay unchanged.
    """

    def __init__(
        self,
        script: Sequence[str | Completion | Exception]
        | Callable[[ChatRequest], str | Completion | Exception],
        *,
        name: str = "scripted",
        echo: bool = True,
    ) -> None:
        self.name = name
        self.echo = echo
        self.requests: list[ChatRequest] = []
        self._script = script

    def complete(self, request: ChatRequest) -> Completion:
        """Return or raise the next reply."""
        self.requests.append(request)
        if callable(self._script):
            reply = self._script(request)
        else:
            reply = self._script[min(len(self.requests), len(self._script)) - 1]
        if isinstance(reply, Exception):
            raise reply
        completion = Completion(reply) if isinstance(reply, str) else reply
        if not self.echo or request.schema_name != "verdicts":
            return completion
        return replace(completion, text=_echoing(completion.text, request))

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return or raise the next reply."""
        return self.complete(request)


def _echoing(text: str, request: ChatRequest) -> str:
    """Return a reply in which each verdict repeats the text of its target as `begins`."""
    if '"begins"' in text:
        return text
    *_, listed = _LISTS.split(request.messages[-1].content)
    targets = dict(_TARGET.findall(listed))

    def numbered(match: re.Match[str]) -> str:
        target = targets.get(match[1])
        return f'{match[0]}, "begins": {target}' if target else match[0]

    return _ID.sub(numbered, text)


_LISTS = re.compile(r"^(?:contexts|claims|questions):$", re.MULTILINE)
_TARGET = re.compile(r'^(\d+) (".*")$', re.MULTILINE)
_ID = re.compile(r'"id": ?"?(\d+)"?(?=[,}])')
