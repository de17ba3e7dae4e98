"""Judges without a language model: the built-in one compares words, numbers and names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.lexical.cross_encoder import CrossEncoderJudge as CrossEncoderJudge
    from fullrecall.lexical.falsification import falsified as falsified
    from fullrecall.lexical.judge import LexicalJudge as LexicalJudge
    from fullrecall.lexical.language import English as English
    from fullrecall.lexical.likeness import NEAR_DUPLICATE as NEAR_DUPLICATE
    from fullrecall.lexical.likeness import difference as difference
    from fullrecall.lexical.likeness import duplicates as duplicates
    from fullrecall.lexical.likeness import similarity as similarity
    from fullrecall.lexical.words.abstentions import abstains as abstains
    from fullrecall.lexical.words.names import names as names
else:
    __getattr__ = lazy.names(__name__)
