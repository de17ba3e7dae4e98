"""The built-in judge: do contexts support a claim, by words, numbers and names alone?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.lexical.cross_encoder import CrossEncoderJudge as CrossEncoderJudge
    from fullrecall.lexical.falsification import falsified as falsified
    from fullrecall.lexical.judge import LexicalJudge as LexicalJudge
    from fullrecall.lexical.language import English as English
    from fullrecall.lexical.words.languages import language_of as language_of
    from fullrecall.lexical.words.names import names as names
    from fullrecall.lexical.words.negations import denying_kind as denying_kind
    from fullrecall.lexical.words.opposites import opposites as opposites
    from fullrecall.lexical.words.opposites import rivals as rivals
    from fullrecall.lexical.words.tokens import read_words as read_words

_MODULES = {
    "CrossEncoderJudge": "cross_encoder",
    "English": "language",
    "LexicalJudge": "judge",
    "denying_kind": "words.negations",
    "falsified": "falsification",
    "language_of": "words.languages",
    "names": "words.names",
    "opposites": "words.opposites",
    "read_words": "words.tokens",
    "rivals": "words.opposites",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
