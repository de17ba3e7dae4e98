"""The built-in judge: whether contexts support a claim, by its words, numbers and names alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
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
else:
    __getattr__ = lazy.names(__name__)
