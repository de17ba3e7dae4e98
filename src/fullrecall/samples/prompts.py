"""Measure how much of a context was in the prompts sent to a model."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from fullrecall.samples.context import Context

Read: TypeAlias = Literal["yes", "partly", "no"]
"""Whether a model's prompt had all of a context's text, a part of it, or none."""


def read_in(contexts: Iterable[Context], prompts: Iterable[str]) -> tuple[Read | None, ...]:
    """Return for each context whether the prompts have its text; None for one without text.

    White space is ignored. A prompt may have the text unchanged or escaped, as in JSON, XML or
    HTML. "yes" means that one prompt has the whole text, or that several prompts have it in parts:
    a synthesizer splits a text that is too long for one prompt. Each part but the last has at least
    32 characters. "partly" means that a prompt has 32 consecutive characters of the text, which
    begin at a multiple of 16. A shorter text is never "partly".
    """
    folded = [FoldedPrompt(prompt) for prompt in prompts]
    return tuple(read_of(context, folded) for context in contexts)


class FoldedPrompt:
    """A prompt without white space: unchanged, and with escapes undone once and twice."""

    def __init__(self, prompt: str) -> None:
        self.forms = [squeezed(form) for form in (prompt, *unescaped(prompt))]
        self._ends = [0] * len(self.forms)

    def has(self, text: str) -> bool:
        """Return whether the prompt has a text; this is fastest for texts in the prompt's order."""
        for number, form in enumerate(self.forms):
            # Search from the end of the previous text, then from the beginning: for texts in order,
            # this is one pass over the prompt.
            end = self._ends[number]
            at = form.find(text, end)
            if at < 0:
                at = form.find(text, 0, end + len(text))
            if at >= 0:
                self._ends[number] = at + len(text)
                return True
        return False


def read_of(context: Context, prompts: Sequence[FoldedPrompt]) -> Read | None:
    """Return how much of a context the prompts have; see `read_in`."""
    if context.text is None:
        return None
    text = squeezed(context.text)
    if not text or any(prompt.has(text) for prompt in prompts):
        return "yes"
    forms = [prompt.forms for prompt in prompts]
    return _in_part(text, forms)


_RUN = 32
"""The fewest consecutive common characters that are not chance, as in `SpanRecall`."""


def _in_part(text: str, prompts: Sequence[Sequence[str]]) -> Read:
    parts = (text[at : at + _RUN] for at in range(0, len(text) - _RUN + 1, _RUN // 2))
    if not any(part in form for part in parts for forms in prompts for form in forms):
        return "no"
    return "yes" if _is_in_parts(text, prompts) else "partly"


def _is_in_parts(text: str, prompts: Sequence[Sequence[str]]) -> bool:
    """Return whether prompts have a text in parts, no two consecutive parts in the same prompt."""
    at, last = 0, None
    while at < len(text):
        longest, where = 0, None
        for number, forms in enumerate(prompts):
            if number == last:
                continue
            for form in forms:
                length = _common_length(text, at, form, longest)
                if length > longest:
                    longest, where = length, number
        if longest < min(_RUN, len(text) - at):
            return False
        at, last = at + longest, where
    return True


def _common_length(text: str, at: int, prompt: str, least: int) -> int:
    """Return the length of the longest part of a text that begins at `at` and is in a prompt.

    Returns 0 if the length is not more than `least`.
    """
    lengths = range(least + 1, len(text) - at + 1)
    if not lengths or text[at : at + lengths[0]] not in prompt:
        return 0
    # If a prompt has a text, it has each prefix of the text, so a binary search finds the longest
    # prefix: a few searches by `in`, which runs in C, instead of a loop over characters in Python.
    return least + bisect(lengths, x=False, key=lambda length: text[at : at + length] not in prompt)


def unescaped(text: str) -> Iterator[str]:
    """Yield a text with its escapes undone once, and then twice, if it has escapes.

    The escapes are those of JSON, of printed objects, of HTML and of XML.
    """
    for _ in range(2):
        before = text
        if "\\" in text:
            text = re.sub(_ESCAPE, _character, text)
            if re.search(_SURROGATES, text):
                text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "&" in text:
            from html import unescape  # imported only when a prompt is read

            text = unescape(text)
        if text == before:
            break
        yield text


# The pattern is compiled when the first prompt is read, since many programs never need it.
_ESCAPE = r"(?s)\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))"
_SURROGATES = "[\ud800-\udfff]"


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        return chr(int(code, 16))
    return " " if match[3] in "nrtfbv" else match[3]


def squeezed(text: str) -> str:
    """Return `text` without white space."""
    return "".join(text.split())
