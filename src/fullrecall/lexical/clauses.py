"""Split sentences that join several facts into a claim for each fact.

The rules are English, and look at the form only. They split clauses ("France is in Western Europe
and its capital is Paris"), verbs that share a subject ("she was born in Germany and developed
relativity"), descriptions between commas, and lists. The first subject replaces a pronoun or a
missing subject, so that each fact can be judged alone. A sentence stays whole if its form is
unclear, if a word such as "if" or "not" may apply to all of it, or if it is in another language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from fullrecall._util.caches import remembered_words
from fullrecall._util.pieces import paused
from fullrecall.lexical.sentences import TextPart, begins_item, commands, parts, stating_parts
from fullrecall.lexical.words.data import lines, word_set
from fullrecall.lexical.words.frequencies import zipf_frequencies
from fullrecall.lexical.words.languages import language_among
from fullrecall.lexical.words.tokens import stem

_SplitRule: TypeAlias = Callable[[str], list[str]]
_FINITE = word_set("verbs") | word_set("modals")
"""Words that are nearly always a verb with a subject."""
_BE = frozenset(("is", "are", "was", "were"))
_ARTICLES = word_set("articles")
_DETERMINERS = word_set("determiners")
_PREPOSITIONS = word_set("prepositions")
_PLACING = _PREPOSITIONS - {"of"}
_PERSONAL = word_set("personal")
_POSSESSIVE = word_set("possessive")
_PRONOUNS = _PERSONAL | _POSSESSIVE
_ADVERBS = word_set("adverbs")
_INTRANSITIVE = word_set("intransitive")
_UNSURE = word_set("unsure")
"""Words of denials, questions, conditions and reports, which may also govern the words after "and".
"""
_ENDS_SUBJECT = _PLACING | {"and", "that", "which", "who"}
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
# the most words of a sentence that is split; in a longer one, "and" may join any parts
_MOST_WORDS = 18
_FEWEST = 4  # the fewest words of a sentence that is split
_MOST_BEFORE_VERB = 6  # the most words of a second subject
_LED = 2  # an article among this many words before "and" shows that "and" joins adjectives
_FEWEST_VERB = 4  # the fewest letters of a verb that is recognized by its ending, as "used" is
# among this many words from "it" on, a word of `_DUMMY` shows that "it" has no referent
_NEAR_DUMMY = 5
_DUMMY = frozenset(("to", "that", "raining", "snowing", "seems", "likely"))
_PAIR_OF_SUBJECTS = re.compile(r"the \w+ and the \w+$", re.IGNORECASE)
_PASSIVE = re.compile(r"(.+ (?:is|are|was|were) \w+) by (.+)")
_THEN = re.compile(r"Then (\w)")
_WHILE = re.compile(r"(?:While|Whereas) ([^,]+), (.+)|([^,]+), (?:while|whereas) (.+)")
_DESCRIBED = re.compile(r"([^,]+), ([^,]+), ([^,].*)")


def facts_of(text: str) -> list[str]:
    """Return the facts that a text states, in order; headings and questions state no facts.

    A text of headings or questions alone is returned part by part, so that a claim is never lost.
    """
    return resolved(
        [fact for part in _with_lead_in(parts(text)) for fact in paused(_facts(part, text))]
    )


def facts_of_claim(claim: str) -> list[str]:
    """Return the facts of a claim, or the claim itself if it states none."""
    return facts_of(claim) or [claim]


def _with_lead_in(all_parts: list[TextPart]) -> Iterator[str]:
    """Yield the parts that state something, and each command of a block of code.

    If a lead-in ends in a verb ("The plans are:"), it is put before each of its list items. The
    lead-in of a block with a single command is put before the command; any other command follows
    "Run".
    """
    if len(all_parts) == 1 and all_parts[0].role != "command":
        yield all_parts[0].text  # the case of most claims
        return
    stating = stating_parts(all_parts)
    lead_in = ""
    for part in all_parts:
        is_item = begins_item(part.text)
        if part.role == "command":
            listed = commands(part.text)
            introduced = f"{lead_in} " if lead_in and len(listed) == 1 else "Run "
            yield from (f"{introduced}`{command}`." for command in listed)
        elif part in stating:
            words = lead_in.rstrip("*: ").split()
            is_open = len(words) > 1 and lead_in.endswith(":") and _is_verb(words, len(words) - 1)
            item = part.text.split(None, 1)[-1]
            yield " ".join([*words, item]) if is_item and is_open else part.text
        if not is_item:
            lead_in = part.text if part.role == "lead-in" else ""


def resolved(claims: Sequence[str]) -> list[str]:
    """Return the claims with initial pronouns replaced by the last subject that is not a pronoun.

    An "it" without a referent is not replaced: "It is raining", "It takes an hour to".
    """
    before: list[str] = []  # the words of the last claim that has its own subject
    made = []
    for claim in paused(claims):
        words = claim.split()
        # Most claims begin with no pronoun, and then the claim before them need not be parsed.
        if words and before and words[0].lower() in _PRONOUNS and (subject := _own_subject(before)):
            replaced = _with_subject(words, subject)
        else:
            replaced = words
        if replaced == words:
            before = words
        made.append(claim if replaced == words else " ".join(replaced))
    return made


def _own_subject(words: Sequence[str]) -> str:
    """Return the subject of a claim; "" without one, or if it begins with a pronoun or "there"."""
    verb = _verb_at(words)
    subject = _subject(words, verb) if verb else ""
    return "" if subject.partition(" ")[0].lower() in _PRONOUNS | {"there"} else subject


def _with_subject(words: Sequence[str], subject: str) -> list[str]:
    """Return words with an initial pronoun replaced by `subject`.

    An "it" without a referent is kept.
    """
    first = words[0].lower()
    near = {word.strip(",.").lower() for word in words[1:_NEAR_DUMMY]}
    if first in _PERSONAL and (first != "it" or _DUMMY.isdisjoint(near)):
        return [subject, *words[1:]]
    if first in _POSSESSIVE:
        return [f"{subject}'" if subject.endswith("s") else f"{subject}'s", *words[1:]]
    return list(words)


def _facts(sentence: str, text: str) -> list[str]:
    bare = sentence.strip()
    if bare.startswith("(") and bare.endswith(")"):
        bare = bare[1:-1]
    facts = _parted(_THEN.sub(lambda match: match[1].upper(), bare, count=1))
    # Detect the language only of a sentence that the rules split, since they split few sentences.
    is_read = facts == [sentence] or language_among(sentence, [text]) in ("en", None)
    return facts if is_read else [sentence]


def clauses_of(sentence: str) -> list[str]:
    """Return the clauses of a sentence, each with a subject; lists in it are not split."""
    return _parted(sentence, (_clauses, _described, _joined))


def predicate_of(claim: str) -> str:
    """Return the words of a claim from its verb on, or the whole claim if it has no verb."""
    words = claim.split()
    return " ".join(words[_verb_at(words) :])


def agent_and_act(clause: str) -> tuple[str, str]:
    """Return the agent of a clause, and its act.

    The agent is the subject, or the words after a passive's "by"; the act is the rest. Without a
    verb, the agent is "".
    """
    passive = _PASSIVE.match(clause)
    if passive:
        return passive[2], passive[1]
    words = clause.split()
    verb = _verb_at(words)
    return " ".join(words[:verb]), " ".join(words[verb:])


def _parted(sentence: str, rules: Sequence[_SplitRule] = ()) -> list[str]:
    """Return the parts into which the first rule that applies splits a sentence.

    Each part is split further. A sentence stays whole if no rule applies, or if it has fewer than 4
    or more than 18 words.
    """
    words = sentence.split()
    if not _FEWEST <= len(words) <= _MOST_WORDS:
        return [sentence]
    body = sentence.rstrip(".")
    for rule in rules or (_clauses, _described, _joined, _items):
        pieces = [_sentence(piece) for piece in rule(body)]
        if len(pieces) > 1:
            return [fact for piece in pieces for fact in _parted(piece, rules)]
    return [sentence]


def _sentence(text: str) -> str:
    text = text.strip(" ,;")
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def _clauses(body: str) -> list[str]:
    """Return the clauses that ";", "while" or "whereas" separate; [] if a part is not a clause."""
    match = _WHILE.fullmatch(body)
    pieces = [piece for piece in match.groups() if piece] if match else body.split("; ")
    return pieces if all(map(_is_clause, pieces)) else []


def _is_clause(text: str) -> bool:
    words = text.split()
    has_verb = any(is_known_verb(word.strip(",.:").lower()) for word in words[1:])
    return has_verb and words[0].lower() not in _UNSURE


def _described(body: str) -> list[str]:
    """Split a sentence with a description of a name or subject into two sentences.

    A description is between commas after the subject ("Rome, founded by Romulus, grew"), or after
    ", who" at the end of the sentence. Returns [] if there is no description.
    """
    before, _, told = body.partition(", who ")
    named = list(takewhile(lambda word: word[:1].isupper(), reversed(before.split())))
    if told and "," not in before + told and 0 < len(named) < len(before.split()):
        return [before, " ".join([*reversed(named), told])]
    match = _DESCRIBED.fullmatch(body)
    if match is None:
        return []
    subject, words, rest = match[1].split(), match[2].split(), match[3].split()
    if _verb_at(subject) or not _is_verb(["", *rest], 1):
        return []
    if words[0] in ("which", "who"):
        link = words[1:]
    elif _is_participle(words):
        link = ["was", *words]
    elif words[0] in ("a", "an", "the", "our") and not _verb_at(words):
        link = ["is", *words]
    else:
        return []
    return [" ".join([*subject, *link]), " ".join([*subject, *rest])]


def _is_participle(words: Sequence[str]) -> bool:
    """Return whether words begin with a participle: "founded in 1998", but not "merged with"."""
    first = words[0].lower()
    return (first.endswith("ed") or first in _past_forms()) and words[1:2] != ["with"]


class _Joint(NamedTuple):
    """The place between two facts: the first ends before word `end`, the second begins at `start`.

    `shares` is true if the second fact has no subject, and so shares that of the sentence.
    `auxiliary` is the verb that it also shares: "was" of "was built and opened".
    """

    end: int
    start: int
    shares: bool = False
    auxiliary: str = ""


def _joined(body: str) -> list[str]:
    """Return the facts that "and" joins: clauses, or verbs with objects that share a subject.

    Returns [] for a sentence that must stay whole.
    """
    words = body.split()
    verb = _verb_at(words)
    joints = _joints(words, verb) if verb and "and" in words else []
    if not joints:
        return []
    subject = _subject(words, verb)
    if not subject and any(joint.shares for joint in joints):
        return []
    ends = [joint.end for joint in joints[1:]] + [len(words)]
    pieces = [words[joint.start : end] for joint, end in zip(joints, ends, strict=True)]
    first = words[: joints[0].end]
    # A verb without an object may share the object of the last verb ("wrote and produced the
    # film"), so split only if each such verb is intransitive.
    alone = [p[-1] for p in pieces if len(p) == 1] + ([first[-1]] if len(first) == verb + 1 else [])
    if not {word.rstrip(",") for word in alone} <= _INTRANSITIVE:
        return []
    facts = [
        [subject, *filter(None, [joint.auxiliary]), *piece]
        if joint.shares
        else _with_subject(piece, subject)
        if subject
        else piece
        for piece, joint in zip(pieces, joints, strict=True)
    ]
    return [" ".join(fact).rstrip(",; ") for fact in [first, *facts]]


def _joints(words: Sequence[str], verb: int) -> list[_Joint]:
    """Return the places to split a sentence: each "and", and the commas of a list with "and".

    A place is left out if a word before it may also apply to the words after it. Conjunctions,
    like "that", are such words. If the words after it have no subject, so are words that are in
    `_UNSURE` or end in "n't". Returns [] if the sentence has a word like "both".
    """
    joints: list[_Joint] = []
    listed: list[_Joint] = []  # joints at commas, which form a list if an "and" ends it
    bare_words = [word.lower().strip(",;()\"'") for word in words]
    if not word_set("pairs").isdisjoint(bare_words):
        return []
    may_reach = [at for at, word in enumerate(bare_words) if _may_reach(word)]
    reports = [at for at, word in enumerate(bare_words) if word in word_set("reports")]
    for at in range(verb, len(words) - 1):
        is_last = words[at] == "and"
        if not is_last and (not words[at].endswith(",") or words[at + 1] == "and"):
            continue
        joint = _joint(words, at if is_last else at + 1, at + 1, verb)
        if joint is None or at > min(may_reach if joint.shares else reports, default=len(words)):
            listed = []
        elif is_last:
            joints += [earlier for earlier in listed if earlier.shares == joint.shares] + [joint]
            listed = []
        else:
            listed.append(joint)
    return joints


def _may_reach(word: str) -> bool:
    return word in _UNSURE or word.endswith(("n't", "n\u2019t"))


def _joint(words: Sequence[str], end: int, start: int, verb: int) -> _Joint | None:
    """Return the place to split before word `start`; None if no statement begins at that word."""
    if _has_own_subject(words, start):
        return _Joint(end, start)
    at = start + (words[start] in _ADVERBS or words[start].endswith("ly"))
    following = words[at + 1] if at + 1 < len(words) else ""
    word = words[at].rstrip(",.") if at < len(words) else ""
    shared = _Joint(end, start, shares=True)
    if word in word_set("verbs") | _INTRANSITIVE or _is_present(word, following):
        return shared
    if not _is_past(word) or _begins_object(following):
        return shared if _is_past(word) else None
    if following.strip(",.").lower() in _PREPOSITIONS | {""}:
        return shared._replace(auxiliary=_auxiliary(words[verb : verb + 3]))
    # If an article is shortly before "and", the word is an adjective, not a verb: "the old and
    # abandoned house".
    is_led = any(w.lower() in _ARTICLES for w in words[max(0, end - _LED) : end])
    return None if is_led else shared


def _auxiliary(words: Sequence[str]) -> str:
    """Return the auxiliary of a passive verb ("was" of "was built"); "" if the verb is active."""
    if words[1:2] in (["been"], ["be"]):
        return " ".join(words[:2])
    return words[0] if words[0] in _BE and words[1:2] != ["born"] else ""


def _begins_object(word: str) -> bool:
    return word.lower() in _DETERMINERS or word[:1].isupper() or word[:1] in set("0123456789$€£")


def _has_own_subject(words: Sequence[str], start: int) -> bool:
    """Return whether a clause with its own subject and verb begins at the word `start`.

    Its subject begins with a pronoun, an article or a name.
    """
    word = words[start]
    if word.lower() not in _PRONOUNS | _ARTICLES and not word[:1].isupper():
        return False
    for at in range(start + 1, min(start + _MOST_BEFORE_VERB + 1, len(words))):
        if words[at - 1].endswith(",") or words[at] in _ENDS_SUBJECT:
            return False
        if _is_verb(words, at):  # a phrase such as "and PDF files" has no verb
            return at + 1 < len(words) or words[at].strip(".") in _INTRANSITIVE
    return False


def _subject(words: Sequence[str], verb: int) -> str:
    """Return the subject (the words before the verb, without an adverb), or "" if it is unclear."""
    subject = words[: verb - words[verb - 1].endswith("ly")]
    bare_words = [word.lower().strip(",") for word in subject]
    is_led = "," in "".join(subject) and bare_words[0] not in _PREPOSITIONS  # "However, his …"
    return "" if is_led or not _UNSURE.isdisjoint(bare_words) else " ".join(subject)


def _items(body: str) -> list[str]:
    """Split a list of subjects, objects or adjectives ("a, b and c") into one fact for each item.

    Returns [] if the sentence has no such list.
    """
    governed = _UNSURE | word_set("governing")
    head, joined, last = body.rpartition(" and ")
    chunks = head.rstrip(",").split(", ")
    first, items = chunks[0].split(), [*chunks[1:], last]
    is_date = any(map(str.isdigit, items[:-1]))  # no list: "on May 4, 1990 and in Rome"
    if not joined or " and " in head or is_date or not governed.isdisjoint(body.split()):
        return []
    verb = _verb_at(first)
    if not verb:
        return _of_subjects([*chunks, last])
    # "and" between two items may be part of a name, so split only adjectives: "is fast and cheap"
    if len(items) == 1:
        is_bare = first[verb] in _BE and verb == len(first) - 2
        is_plain = all(word.isalpha() and word.islower() for word in (first[-1], last))
        return [head, " ".join([*first[:-1], last])] if is_bare and is_plain else []
    has_verb = any(_is_verb(["", *item.split()], 1) for item in items)
    if has_verb or _verb_at(["", *last.split()]):
        return []
    shared = _shared(first, items[0].split())
    return [chunks[0], *(f"{shared} {item}" for item in items)]


def _of_subjects(chunks: Sequence[str]) -> list[str]:
    """Split a statement about several subjects into one statement for each subject.

    Two subjects are split only if they have the form "the lobby and the gym". Returns [] for a
    statement that is not split.
    """
    words = chunks[-1].split()
    verb = _verb_at(words)
    subjects = [*chunks[:-1], " ".join(words[:verb])]
    firsts = [subject.split()[0] for subject in subjects if subject]
    are_alike = len(set(map(_kind, firsts))) == 1
    is_list = len(subjects) > 2 or _PAIR_OF_SUBJECTS.match(" and ".join(subjects))  # noqa: PLR2004
    if not verb or not are_alike or not is_list:
        return []
    predicate = [_SINGULAR.get(words[verb], words[verb]), *words[verb + 1 :]]
    return [" ".join([subject, *predicate]) for subject in subjects]


def _shared(first: Sequence[str], item: Sequence[str]) -> str:
    """Return the words at the beginning of `first` that all items of a list share.

    `first` is the text up to the list's first comma. The shared words end with the last preposition
    that precedes a word of the same kind as the first word of `item`. Without such a preposition,
    they end with the verb.
    """
    verb = _verb_at(first)
    for at in range(len(first) - 2, verb, -1):
        if first[at] in _PLACING and _kind(first[at + 1]) == _kind(item[0]):
            return " ".join(first[: at + 1])
    return " ".join(first[: verb + 1])


def _kind(word: str) -> str:
    if word.lower() in _DETERMINERS | {"the"}:
        return "determiner"
    return "name" if any(map(str.isupper, word)) else "word"


def _verb_at(words: Sequence[str]) -> int:
    """Return the index of the first verb after the first word, or 0 if there is none."""
    return next((at for at in range(1, len(words)) if _is_verb(words, at)), 0)


def _is_verb(words: Sequence[str], at: int) -> bool:
    """Return whether the word at `at` has the form of a verb with a subject."""
    word, before = words[at].rstrip(",.:;"), words[at - 1].lower()
    if not word.islower() or before in _ARTICLES:
        return False
    if word in _FINITE:
        return True
    if before in _PREPOSITIONS:
        return False
    following = words[at + 1] if at + 1 < len(words) else ""
    is_known = word.endswith("s") and is_known_verb(word)
    return is_known or word in _past_forms() or _is_past(word) or _is_present(word, following)


def _is_past(word: str) -> bool:
    return len(word) >= _FEWEST_VERB and word.endswith("ed") and word.isalpha() and word.islower()


def _is_present(word: str, following: str) -> bool:
    """Return whether the following word shows that a word ending in s is a verb: "encrypts the"."""
    if not (len(word) >= _FEWEST_VERB and word.endswith("s") and word.isalpha() and word.islower()):
        return False
    is_placed = following.lower() in _PLACING and is_known_verb(word)
    return is_placed or _begins_object(following)


@remembered_words(16_384)
def is_known_verb(word: str) -> bool:
    """Return whether a lower-case word may be a verb in any form: run, runs, ran, died."""
    return stem(word) in _verb_stems() or stem(word.removesuffix("d")) in _verb_stems()


@cache
def _past_forms() -> frozenset[str]:
    """Return the irregular past forms: built, wrote, held."""
    forms = {form for line in lines("irregular.txt") for form in line.split()[1:]}
    return frozenset(form for form in forms if not form.endswith(("s", "ing")))


@cache
def _verb_stems() -> frozenset[str]:
    """Return the stems of frequent words with both an -ing form and a past form."""
    of = {
        ending: {stem(word) for word in zipf_frequencies() if word.endswith(ending)}
        for ending in ("ing", "ed")
    }
    irregular = {stem(line.split()[0]) for line in lines("irregular.txt")}
    return frozenset(of["ing"] & (of["ed"] | irregular))
