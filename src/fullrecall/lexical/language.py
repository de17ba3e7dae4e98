"""The English rules of this package, which judges get from `fullrecall.judge.language`."""

from fullrecall.judge.language import Language
from fullrecall.lexical.clauses import facts_of_claim
from fullrecall.lexical.mentions import mentions
from fullrecall.lexical.quote_rules import objection, stand_alone, stating
from fullrecall.lexical.sentences import omitted, sentences, statements
from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.numbers import numbers


class English(Language):
    """The rules of this package as an implementation of `Language`."""

    facts = staticmethod(facts_of_claim)
    mentions = staticmethod(mentions)
    names = staticmethod(names)
    numbers = staticmethod(numbers)
    objection = staticmethod(objection)
    omitted = staticmethod(omitted)
    sentences = staticmethod(sentences)
    stand_alone = staticmethod(stand_alone)
    statements = staticmethod(statements)
    stating = staticmethod(stating)
