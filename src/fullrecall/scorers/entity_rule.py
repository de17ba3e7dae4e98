"""Which words of a text are entities: a rule that is stated, and needs no model.

An entity is one of these, the earlier kind where they overlap:

1. *quoted*: what stands in double quotes or backticks, up to 60 characters;
2. *a name*: a run of capitalised words, with joining words (of, de, van, …) between two of them:
   Bank of England, Ludwig van Beethoven. An English function word that starts a run ("The Bank")
   is left out. A single capitalised word that starts a sentence counts only if the text has it
   capitalised elsewhere too, or it is an identifier (kind 3);
3. *an identifier*: a word with a capital, digit, dot or underscore after its first letter: NATO,
   iPhone, B12, os.path, snake_case;
4. *a number* with its separators, currency or percent sign: 1,234.5, $40, 2024-05-01, 12%.

Scripts without letter case have kinds 1, 3 and 4 only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fullrecall.judges.words.data import word_set

_QUOTED = re.compile(r'"([^"\n]{1,60})"|“([^”\n]{1,60})”|`([^`\n]{1,60})`')
_TOKEN = re.compile(
    r"(?P<number>[$€£¥]?\d+(?:[.,:/-]\d+)*%?(?!\w))"
    r"|(?P<word>\w+(?:[-'’.&]\w+)*)"  # noqa: RUF001 - the typographic apostrophe is meant
    r"|(?P<stop>[.!?…。！？\n]+)"  # noqa: RUF001 - full-width stops are meant
    r"|(?P<other>\S)"
)
_JOINING = word_set("entity joining")
_FUNCTION_WORDS = word_set("never entities")


class _Token(NamedTuple):
    text: str
    kind: str
    starts_sentence: bool


def find_entities(text: str) -> list[str]:
    """Return the entities of `text` in order of appearance, each once whatever its letter case."""
    quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(text))
    entities = [quotation.strip() for quotation in quoted]
    # Quoted stretches are taken: what is inside them is no second entity.
    tokens = list(_tokens(_QUOTED.sub(" , ", text)))
    inner = {t.text for t in tokens if t.kind == "word" and not t.starts_sentence}
    position = 0
    while position < len(tokens):
        token = tokens[position]
        end = position + 1
        if token.kind == "number":
            entities.append(token.text)
        elif token.kind == "word" and token.text[0].isupper():
            end = _run_end(tokens, position)
            entities.extend(_name(tokens[position:end], inner))
        elif token.kind == "word" and _is_identifier(token.text):
            entities.append(token.text)
        position = end
    return list({entity.casefold(): entity for entity in reversed(entities) if entity}.values())[
        ::-1
    ]


def _tokens(text: str) -> Iterator[_Token]:
    starts = True
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        yield _Token(match.group(), kind, starts)
        starts = kind == "stop"


def _run_end(tokens: list[_Token], start: int) -> int:
    """Return where the run of capitalised words that begins at `start` ends."""
    end = position = start + 1
    while position < len(tokens) and tokens[position].kind == "word":
        word = tokens[position].text
        position += 1
        if word[0].isupper():
            end = position
        elif word not in _JOINING:
            break
    return end


def _name(run: list[_Token], inner: set[str]) -> list[str]:
    while (
        run
        and run[0].text.lower() in (_FUNCTION_WORDS | _JOINING)
        and not _is_identifier(run[0].text)
    ):
        run = run[1:]
    if not run:
        return []
    single = run[0]
    if len(run) == 1 and single.starts_sentence and single.text not in inner:
        return [single.text] if _is_identifier(single.text) else []
    return [" ".join(token.text for token in run)]


def _is_identifier(word: str) -> bool:
    rest = word[1:]
    has_mark = any(c.isupper() or c.isdigit() or c in "._" for c in rest)
    return has_mark and any(c.isalpha() for c in word)
