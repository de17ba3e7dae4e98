"""The functions that this room plugs into the kernel: see `fullrecall.judge.language.Language`."""

from fullrecall.lexical.quote_rules import objection, stand_alone, stating
from fullrecall.lexical.sentences import omitted, sentences, statements
from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.numbers import numbers

__all__ = [
    "names",
    "numbers",
    "objection",
    "omitted",
    "sentences",
    "stand_alone",
    "statements",
    "stating",
]
