"""Split a text into sentences, and parts without statements (headings, questions, code).

Lines are first read as Markdown, so that each heading, list item, table row and block of code is a
separate part; a splitter then cuts the prose. Every word of the text is in exactly one part with a
role, so no statement is lost. Time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from fullrecall._util.pieces import pause
from fullrecall.errors import JudgeError
from fullrecall.lexical.words.data import word_set
from fullrecall.lexical.words.languages import language_among

Role: TypeAlias = Literal[
    "statement", "heading", "lead-in", "question", "filler", "code", "command", "table header"
]
"""The role of a part of a text; only statements and commands are claims."""
_CLAIMS = ("statement", "command")


class TextPart(NamedTuple):
    """A part of a text, stripped, with its role."""

    text: str
    role: Role = "statement"


_MARKER = re.compile(r"(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|[-*•–])")
_CUT = re.compile(  # a sentence that ends in one of these always continues
    r"(?:^|[\s(])(?:M|MM|Mme|p|pp|art|approx|ca|cf|vs|resp|incl|No|Nr|Art|Abs|Fig|Tab|Kap|Bd|vgl|bzw|"
    r"ggf|usw|ул|им|стр|рис|[тТ]\.\s?е|[тТ]\.\s?д|z\.\s?B|d\.\s?h|u\.\s?a|o\.\s?ä|"
    r"e\.\s?g|i\.\s?e|p\.\s?ej|p\.\s?ex)\.$"
)
_MAY_END = re.compile(r"[.!?\n](?!\Z)")
"""A mark inside a text that may end a sentence; the text must have no trailing white space."""
_SINGLE = re.compile(r"[a-zA-Z0-9]++(?:[ ,;:]++[a-zA-Z0-9$(\"]++(?:[-'/][a-zA-Z0-9]++)*+)++[.!?]?")
"""A sentence on one line, with no mark inside that may end a sentence or begin an item."""
_BOLD = re.compile(r"(\*\*|__)((?:(?!\1).)++)\1")
_FENCES = ("```", "~~~")
_SHELL = re.compile(r"(?:```|~~~)\s*(?:bash|sh|shell|console|zsh|powershell|cmd)\s*$")
_NUMBERED = re.compile(r"(?<!\S)\(?(\d{1,2})[.)][ \t]+(?=\S)")
_BULLETED = re.compile(r"(?<![ \t])[ \t]++(?=[•▪‣] )")
_DASHED = re.compile(r"(?<![ \t])[ \t]++(?=[-–*] )")
_BESIDE = 8  # characters before a number that show whether it begins an item
_BEFORE_ITEM = re.compile(r"(?:^|[:;,.)]|\band)$")
_AFTER_ITEM = re.compile(r"[,;](?: and)?$")
MOST_CHARACTERS = 1_000_000
"""The most characters of a text that is split, or read by the built-in judge; more takes too long.
"""
_PIECE = 20_000  # characters that the splitter reads at a time
_LONGEST_HEADING = 12  # the most words of a heading that is in bold or has a line below it
_HEADING_LEVELS = 6
_ENDS = (".", "!", "。", "！")
_QUESTION = ("?", "？", "؟")
_LEAD_IN = (":", "：")
_DECORATION = " \t\"'*_>#-–•“”„"


def sentences(text: str) -> list[str]:
    """Return all parts of `text`, of any role, stripped and in order, without empty ones.

    A list marker ("1.", "b)", "-") is kept at the start of its sentence. A number that belongs to
    the sentence ("2023 revenue rose.") is never read as a marker. List items, headings, table rows
    and blocks of code are separate parts.
    """
    return [part.text for part in parts(text)]


def statements(text: str) -> list[str]:
    """Return the sentences of `text` that make a statement; all parts if none does.

    A text that has only headings is returned as its parts, so that it still has targets.
    """
    return [part.text for part in stating_parts(parts(text))]


def stating_parts(all_parts: list[TextPart]) -> list[TextPart]:
    """Return the parts that make a statement; all parts if none does."""
    return [part for part in all_parts if part.role in _CLAIMS] or all_parts


def omitted(text: str) -> list[TextPart]:
    """Return the parts of `text` that are not among its `statements`, with their roles."""
    all_parts = parts(text)
    stating = stating_parts(all_parts)
    return [part for part in all_parts if part not in stating]


def parts(text: str) -> list[TextPart]:
    """Return the parts of `text`, in order, each with its role, without horizontal rules.

    Raises `JudgeError` for a text of more than 1,000,000 characters.
    """
    if len(text) > MOST_CHARACTERS:
        raise JudgeError(
            f"a text of at most {MOST_CHARACTERS:,} characters is split into sentences, got one of "
            f"{len(text):,}: cut it into passages"
        )
    if len(text) <= _PIECE and _SINGLE.fullmatch(text):  # most claims
        return [TextPart(text, _role(text))]
    listed: list[TextPart] = []
    for block, role in _blocks(_with_items(text).splitlines()):
        if role is not None:
            listed.append(TextPart(block.strip(), role))
        else:
            listed += [TextPart(sentence, _role(sentence)) for sentence in _sentences(block, text)]
    return listed


def commands(fence: str) -> list[str]:
    """Return the commands in a fenced block, without prompts and comments.

    If any line has a prompt ("$ "), the lines without one are output, and are left out.
    """
    lines = [line.strip() for line in fence.splitlines()[1:-1]]
    prompted = [line[1:].strip() for line in lines if line.startswith("$ ")]
    listed = (line.partition(" # ")[0].strip() for line in prompted or lines)
    return [line for line in listed if line and not line.startswith("#")]


def _with_items(text: str) -> str:
    """Return a text with each item of an inline list on its own line."""
    return "\n".join(item for line in text.splitlines() for item in _items(line))


def _items(line: str) -> Sequence[str]:
    cuts: list[int] = []
    for match in _NUMBERED.finditer(line):
        before = line[max(0, match.start() - _BESIDE) : match.start()].rstrip()
        if int(match[1]) == len(cuts) + 1 and (cuts or _BEFORE_ITEM.search(before)):
            cuts.append(match.start())
    if len(cuts) > 1:
        edges = [0, *cuts, len(line)]
        items = [line[start:end].strip() for start, end in pairwise(edges)]
        return [_AFTER_ITEM.sub("", item) for item in items if item]
    if len(_BULLETED.findall(line)) > 1:
        return _BULLETED.split(line)
    dashed = _DASHED.split(line)
    return dashed if len(dashed) > 2 and dashed[0].endswith(":") else [line]  # noqa: PLR2004


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, Role | None]]:
    """Yield each block of lines with its role; the lines of a paragraph are one block.

    The role is None for a block that must still be cut into sentences.
    """
    paragraph: list[str] = []
    is_table = False
    skip_to = 0
    for at, line in enumerate(lines):
        if at < skip_to:
            continue
        stripped = line.strip()
        below = lines[at + 1].strip() if at + 1 < len(lines) else ""
        is_drawn = not stripped or _is_rule(stripped) or stripped.startswith(_FENCES)
        is_table = "|" in stripped and (is_table or _heads_table(stripped, below))
        role: Role | None = None
        closing = _fence_end(lines, at)
        if closing is not None:  # an unclosed fence must not turn the rest into code
            skip_to = closing + 1
            role = "command" if _SHELL.match(line.strip()) and closing > at + 1 else "code"
            line = "\n".join(lines[at:skip_to])  # noqa: PLW2901
        elif not is_drawn:
            role = _role_of_line(stripped, below, is_table=is_table, after_text=bool(paragraph))
        if paragraph and (is_drawn or role or begins_item(stripped)):
            yield "\n".join(paragraph), None
            paragraph = []
        if role:
            yield line, role
        elif not is_drawn:
            paragraph.append(line)
    if paragraph:
        yield "\n".join(paragraph), None


def _role_of_line(stripped: str, below: str, *, is_table: bool, after_text: bool) -> Role | None:
    """Return the role of a line that is a part on its own; None if it belongs to a paragraph."""
    if stripped.startswith("$ "):
        return "code"
    if not after_text and _is_heading(stripped, below):
        return "heading"
    if _heads_table(stripped, below):
        return "table header"
    is_row = len(stripped) > 1 and stripped[0] == stripped[-1] == "|"
    return "statement" if is_table or is_row else None


def _fence_end(lines: Sequence[str], at: int) -> int | None:
    """Return the index of the line that closes the code block begun at `at`, or None."""
    mark = lines[at].strip()[:3]
    if mark not in _FENCES:
        return None
    return next((n for n in range(at + 1, len(lines)) if lines[n].strip().startswith(mark)), None)


def _is_rule(stripped: str) -> bool:
    """Return whether a line is a rule, such as dashes or the line under a table's header."""
    return len(stripped) > 1 and set(stripped) <= set("-=*_|: +\t")


def _is_heading(stripped: str, below: str) -> bool:
    """Return whether a line is a heading: it begins with "#", is underlined, or is all in bold."""
    signs = len(stripped) - len(stripped.lstrip("#"))
    if 0 < signs <= _HEADING_LEVELS:
        rest = stripped[signs:]
        return signs > 1 or rest[:1].isspace()
    if stripped.endswith((*_ENDS, *_QUESTION)) or len(stripped.split()) > _LONGEST_HEADING:
        return False
    if len(below) > 1 and set(below) in ({"="}, {"-"}):
        return not begins_item(stripped)
    bold = _BOLD.fullmatch(stripped)
    return bold is not None and not bold[2].rstrip().endswith((*_ENDS, *_QUESTION))


def _heads_table(stripped: str, below: str) -> bool:
    return "|" in stripped and "|" in below and "-" in below and _is_rule(below)


def begins_item(stripped: str) -> bool:
    """Return whether a text begins with the marker of a list item."""
    marker = stripped.split(None, 1)[0]
    return len(marker) <= 7 and _MARKER.fullmatch(marker) is not None  # noqa: PLR2004 - "(xviii)"


def _segments(text: str, whole_text: str) -> Iterator[str]:
    """Yield the splitter's segments of a text.

    The splitter reads the text in pieces, since its time is quadratic.
    """
    # Most claims need neither the splitter nor their language.
    if len(text) <= _PIECE and text.isascii() and not _MAY_END.search(text.rstrip()):
        yield text
        return
    from sentencex import segment

    language = language_among(whole_text, ()) or "en"
    begun: list[str] = []  # pieces of a sentence that has not ended yet
    start = 0
    while start < len(text):
        pause()
        *whole, last = segment(language, text[start : start + _PIECE])
        if whole:
            yield "".join([*begun, whole[0]])
            yield from whole[1:]
            begun = []
        is_open = start + _PIECE < len(text)
        if whole and is_open:
            start += sum(map(len, whole))  # the last segment may continue, so it is read again
        else:
            begun.append(last)
            start += _PIECE
    if begun:
        yield "".join(begun)


def _sentences(text: str, whole_text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, each with the list marker that it begins with."""
    # Join again what the splitter separates: a marker such as "1." from its sentence, and the two
    # parts of a sentence after an abbreviation such as "art.".
    pending = ""  # a marker that waits for its sentence
    whole = ""  # a sentence that may continue
    for raw in _segments(text, whole_text):
        part = f"{pending} {raw.strip()}".strip()
        pending = ""
        if not any(map(str.isalnum, part)):
            continue
        if _MARKER.fullmatch(part):
            pending = part
            continue
        if whole and _CUT.search(whole):
            whole = f"{whole} {part}"
            continue
        if whole:
            yield whole
        whole = part
    if whole or pending:
        yield f"{whole} {pending}".strip()


def _role(sentence: str) -> Role:
    bare = sentence.rstrip(_DECORATION)
    if bare.endswith(_LEAD_IN):
        return "lead-in"
    if sentence.rstrip("*_ ").endswith(_QUESTION):
        return "question"
    words = " ".join(bare.strip(_DECORATION + ".!,…").casefold().replace("\u2019", "'").split())
    is_filler = words in word_set("fillers") or words.startswith(_filler_beginnings())
    return "filler" if is_filler else "statement"


@cache
def _filler_beginnings() -> tuple[str, ...]:
    return tuple(word_set("filler beginnings"))
