"""The facts of a sentence: where two are joined, each stands as a claim of its own.

English only, by form. What follows "and" is a fact of its own where it has a subject and a verb
("France is in Western Europe and its capital is Paris"), or a verb that shares the subject ("she
was born in Germany and developed relativity"): pronoun and missing subject are replaced by the
first one's, so that the fact stands alone. Where the form leaves room for doubt, and in other
languages, the sentence stays whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from fullrecall.lexical.compounds import is_known_verb, listed_facts, simple_sentences
from fullrecall.lexical.sentences import TextPart, begins_item, commands, parts, statements
from fullrecall.lexical.words.data import word_set
from fullrecall.lexical.words.languages import language_among, language_of

_BE = frozenset(("is", "are", "was", "were"))
_FINITE = word_set("verbs")
"""Words that are hardly ever anything but a verb with a subject."""
_INTRANSITIVE = word_set("intransitive")
_ARTICLES = word_set("articles")
_DETERMINERS = word_set("determiners")
_PREPOSITIONS = word_set("prepositions")
_PERSONAL = word_set("personal")
_POSSESSIVE = word_set("possessive")
_ADVERBS = word_set("adverbs")
_UNSURE = word_set("unsure")
"""Words that may reach over what follows "and": who denies, asks, conditions or reports."""
_ENDS_SUBJECT = (_PREPOSITIONS - {"of"}) | {"and", "that", "which", "who"}
_CLAUSE = 20  # words in which a modal may govern
_MOST_SUBJECT = 8  # words
_MOST_BEFORE_VERB = 6  # words of a second subject
_HANGING = 2  # words after an article that may still wait for their noun
_FEWEST = 4  # words of a compound
_NEAR_DUMMY = 5  # words after "it" that show that it is no thing
_DUMMY = frozenset(("to", "that", "raining", "snowing", "seems", "likely"))
_FIGURES = frozenset("0123456789$€£")
_THEN = "Then "
_FEWEST_VERB = 4  # letters, as "used" has


def facts_of(text: str) -> list[str]:
    """Return the facts of what a text states, in order; headings and questions state none.

    A text of headings alone is returned as its sentences: something must be claimed by it.
    """
    stated = frozenset(statements(text))
    facts = [fact for part in _with_lead_in(parts(text), stated) for fact in _facts(part, text)]
    return resolved(facts)


def facts_of_claim(claim: str) -> list[str]:
    """Return the facts of a claim, the claim itself where it states none."""
    return facts_of(claim) or [claim]


def _with_lead_in(all_parts: Sequence[TextPart], stated: AbstractSet[str]) -> Iterator[str]:
    """Yield the parts that state something; an item of a list after the words that need it."""
    lead_in = ""
    for part in all_parts:
        is_item = begins_item(part.text)
        if part.role == "command":
            listed = commands(part.text)
            introduced = f"{lead_in} " if lead_in and len(listed) == 1 else "Run "
            yield from (f"{introduced}`{command}`." for command in listed)
        elif part.text in stated:
            words = lead_in.rstrip("*: ").split()
            is_open = len(words) > 1 and is_known_verb(words[-1]) and lead_in.endswith(":")
            item = part.text.split(None, 1)[-1]
            yield " ".join([*words, item]) if is_item and is_open else part.text
        if not is_item:
            lead_in = part.text if part.role == "lead-in" else ""


def resolved(claims: Sequence[str]) -> list[str]:
    """Return claims with the subject of the one before for a pronoun that they begin with.

    Dummy "it" has no subject: "It is raining", "It takes an hour to".
    """
    subject = ""
    made = []
    for claim in claims:
        words = claim.split()
        first = words[0].lower() if words else ""
        if subject and first in _PERSONAL and not _is_dummy(words):
            words[0] = subject
        elif subject and first in _POSSESSIVE and len(words) > 1:
            words[0] = _owner(subject)
        else:
            verb = next((at for at in range(1, len(words)) if _is_verb(words, at)), None)
            found = _subject(words, verb) if verb else ""
            is_pronoun = not found or found.split()[0].lower() in _PERSONAL | _POSSESSIVE | {
                "there"
            }
            subject = "" if is_pronoun else found
        made.append(" ".join(words) if words and words[0] != claim.split()[0] else claim)
    return made


def _is_dummy(words: Sequence[str]) -> bool:
    """Whether a sentence's "it" is no thing: "It is forbidden to", "It is raining"."""
    if words[0].lower() != "it":
        return False
    near = [word.strip(",.").lower() for word in words[1:_NEAR_DUMMY]]
    return not _DUMMY.isdisjoint(near)


def _owner(subject: str) -> str:
    return f"{subject}'" if subject.endswith("s") else f"{subject}'s"


def _facts(sentence: str, text: str) -> list[str]:
    if language_among(sentence, [text]) not in ("en", None) or len(sentence.split()) < _FEWEST:
        return [sentence]
    bare = sentence.strip()
    if bare.startswith("(") and bare.endswith(")"):
        bare = bare[1:-1]
    if bare.startswith(_THEN):
        bare = bare[len(_THEN)].upper() + bare[len(_THEN) + 1 :]
    return [
        fact
        for simple in simple_sentences(bare)
        for joined in _joined_facts(simple, text)
        for fact in listed_facts(joined)
    ]


def _joined_facts(sentence: str, text: str) -> list[str]:
    words = sentence.split()
    if len(words) < _MOST_BEFORE_VERB or not any(w == "and" or w.endswith(";") for w in words):
        return [sentence]
    if language_among(sentence, [text]) != "en" or language_of(sentence) is None:
        return [sentence]
    verb = next((at for at in range(1, len(words)) if _is_verb(words, at)), None)
    if verb is None or words[0] in ("#", "|", ">"):
        return [sentence]
    joints = _joints(words, verb)
    if not joints:
        return [sentence]
    subject = _subject(words, verb)
    if not subject and any(joint.shares for joint in joints):
        return [sentence]
    ends = [joint.end for joint in joints[1:]] + [len(words)]
    pieces = [words[joint.start : end] for joint, end in zip(joints, ends, strict=True)]
    first = words[: joints[0].end]
    # What follows the last verb may be the object of all: "wrote and produced the film".
    shared = pieces[-1][1:] if joints[-1].shares else []
    shared = shared if shared and shared[0].lower() in _DETERMINERS else []
    for piece in ([first] if len(first) == verb + 1 else []) + [p for p in pieces if len(p) == 1]:
        last = piece[-1].rstrip(",")
        if last not in _INTRANSITIVE:
            piece[-1:] = [last, *shared]
    return [
        " ".join(first).rstrip(",;. ") + ".",
        *(_alone(piece, subject, joint) for piece, joint in zip(pieces, joints, strict=True)),
    ]


class _Joint(NamedTuple):
    """Where one fact ends and the next begins; `shares` if the next has no subject of its own.

    `auxiliary` is the verb that the next one shares: "was" of "was built and opened".
    """

    end: int
    start: int
    shares: bool = False
    auxiliary: str = ""


def _joints(words: Sequence[str], verb: int) -> list[_Joint]:
    """Return the joints of a sentence; none where it is not certain what they join."""
    joints: list[_Joint] = []
    listed: list[_Joint] = []  # after commas: a list if an "and" ends it
    bare_words = [word.lower().strip(",;()\"'") for word in words]
    if not word_set("pairs").isdisjoint(bare_words):
        return []
    reaching = (
        at
        for at, word in enumerate(bare_words)
        if word in _UNSURE or word.endswith(("n't", "n\u2019t"))
    )
    reach = next(reaching, len(words))
    report = next(
        (at for at, word in enumerate(bare_words) if word in word_set("reports")), len(words)
    )
    for at in range(verb, len(words) - 1):
        is_last = words[at] == "and" or words[at].endswith(";")
        if not is_last and (not words[at].endswith(",") or words[at + 1] == "and"):
            continue
        joint = _joint(words, at if words[at] == "and" else at + 1, at + 1, verb)
        if joint is None or at > (reach if joint.shares else report):
            listed = []
        elif is_last:
            joints += [earlier for earlier in listed if earlier.shares == joint.shares] + [joint]
            listed = []
        else:
            listed.append(joint)
    return joints


def _joint(words: Sequence[str], end: int, start: int, verb: int) -> _Joint | None:
    """Return the joint of what ends at `end` and begins at `start`; None where it is none."""
    if _has_own_subject(words, start):
        return _Joint(end, start)
    at = start + (words[start] in _ADVERBS or words[start].endswith("ly"))
    following = words[at + 1] if at + 1 < len(words) else ""
    word = words[at].rstrip(",.;") if at < len(words) else ""
    shared = _Joint(end, start, shares=True)
    if word in word_set("base verbs") and not word_set("modals").isdisjoint(
        words[max(verb, start - _CLAUSE) : start]
    ):
        return None  # "wants to win and have a say"
    if word in _FINITE or _is_present(word, following):
        return shared
    if not _is_past(word) or word in _INTRANSITIVE or _begins_object(following):
        return shared if _is_past(word) or word in _INTRANSITIVE else None
    bare = following.strip(",.;").lower()
    is_complete = not bare or bare in _PREPOSITIONS or words[at][-1] in ".,"
    before = words[max(0, end - _HANGING) : end]
    hangs = any(w.lower() in _ARTICLES for w in before) and not before[-1].endswith(",")
    if hangs and (words[verb] in _BE or not is_complete):
        return None  # "a fast and automated process", "the old and abandoned house"
    return shared._replace(auxiliary=_auxiliary(words[verb : verb + 3]) if is_complete else "")


def _auxiliary(words: Sequence[str]) -> str:
    """Return the verb of a passive: "was" of "was built", "has been"; nothing of an active."""
    if words[1:2] in (["been"], ["be"]):
        return " ".join(words[:2])
    return words[0] if words[0] in _BE and words[1:2] != ["born"] else ""


def _begins_object(word: str) -> bool:
    return word.lower() in _DETERMINERS or word[:1].isupper() or word[:1] in _FIGURES


def _has_own_subject(words: Sequence[str], start: int) -> bool:
    """Whether a pronoun, or a short phrase with an article or a name, has a verb of its own."""
    word = words[start]
    if word.lower() not in _PERSONAL | _POSSESSIVE | _ARTICLES and not word[:1].isupper():
        return False
    for at in range(start + 1, min(start + _MOST_BEFORE_VERB + 1, len(words))):
        if words[at - 1].endswith((",", ";")) or words[at] in _ENDS_SUBJECT:
            return False
        if _is_verb(words, at):
            return True
    return False


def _subject(words: Sequence[str], verb: int) -> str:
    """Return the words before the first verb; nothing where they are more than a subject."""
    subject = words[:verb]
    if subject[-1] in _ADVERBS or subject[-1].endswith("ly"):
        subject = subject[:-1]
    bare_words = [word.lower().strip(",") for word in subject]
    if not subject or len(subject) > _MOST_SUBJECT or not _UNSURE.isdisjoint(bare_words):
        return ""
    commas = sum(word.endswith(",") for word in subject)
    is_introduced = commas == 1 and bare_words[0] in _PREPOSITIONS
    return " ".join(subject) if not commas or is_introduced else ""


def _is_verb(words: Sequence[str], at: int) -> bool:
    word = words[at].rstrip(",.;")
    if word in _FINITE:
        return words[at - 1].lower() not in _ARTICLES
    if _is_past(word):
        return words[at - 1].lower() not in _ARTICLES | _PREPOSITIONS
    following = words[at + 1] if at + 1 < len(words) else ""
    return _is_present(word, following) and words[at - 1].lower() not in _ARTICLES


def _is_past(word: str) -> bool:
    return len(word) >= _FEWEST_VERB and word.endswith("ed") and word.isalpha() and word.islower()


def _is_present(word: str, following: str) -> bool:
    """Whether a word is a verb in -s: "encrypts the", but not "metrics of"."""
    if not (len(word) >= _FEWEST_VERB and word.endswith("s") and word.isalpha() and word.islower()):
        return False
    is_placed = following.lower() in _PREPOSITIONS - {"of"} and is_known_verb(word)
    return is_placed or _begins_object(following)


def _alone(fact: list[str], subject: str, joint: _Joint) -> str:
    """Return a joined fact as a sentence, with the first subject for its pronoun or for none."""
    if fact[-1] == "and":
        fact.pop()
    if joint.shares:
        fact = [subject, joint.auxiliary, *fact]
    elif subject and fact[0].lower() in _PERSONAL:
        fact[0] = subject
    elif subject and fact[0].lower() in _POSSESSIVE:
        fact[0] = _owner(subject)
    sentence = " ".join(filter(None, fact)).rstrip(",; ")
    sentence = sentence[0].upper() + sentence[1:]
    return sentence if sentence[-1] in ".!?" else f"{sentence}."
