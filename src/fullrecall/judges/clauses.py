"""The facts of a sentence: where two are joined, each stands as a claim of its own.

English only, by form: "France is in Western Europe and its capital is Paris" is two facts, since
what follows "and" has a subject and a verb of its own. Its pronoun is replaced by the first
subject, so that the fact stands alone. Sentences in other languages are left whole.
"""

from __future__ import annotations

import re

from fullrecall.judges.sentences import is_heading, sentences
from fullrecall.judges.words.languages import language_among, language_of

_VERB = (
    r"(?:is|are|was|were|has|have|had|can|could|will|would|may|might|must|should|does|do|did|"
    r"became|becomes|contains?|includes?|lies|lay|stands?|stood|covers?|covered|holds?|held|"
    r"won|lost|led|made|makes?|began|begins?|ended|ends|died|lives?|lived|works?|worked|wrote|"
    r"writes?|built|opened|closed|received|[a-z]{3,}(?:ed|es))"
)
_PRONOUN = r"(?:[Ii]ts|[Ii]t|[Hh]e|[Ss]he|[Tt]hey|[Tt]heir|[Hh]is|[Hh]er)"
# A pronoun and its verb, or a phrase of at most six words that begins with an article or a name.
_JOINED = re.compile(
    rf"(?:,|;)?\s+and\s+(?=(?:{_PRONOUN}\s+(?:[\w'’-]+\s+){{0,4}}?{_VERB}\b"  # noqa: RUF001
    rf"|(?:[Tt]he|[Aa]n?|[Tt]his|[Tt]hese|[A-Z][\w'’-]+)\s+(?:[\w'’-]+\s+){{0,5}}?{_VERB}\b))"  # noqa: RUF001
    r"|;\s+"
)
_SUBJECT = re.compile(
    rf"^((?:The\s+|A\s+|An\s+)?(?:[\w'’.-]+\s+){{0,4}}?[\w'’.-]+)\s+{_VERB}\b"  # noqa: RUF001
)
_OWN_VERB = re.compile(rf"\b{_VERB}\b")
_BOTH = re.compile(r"\bboth\b|\bbetween\b|\beither\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"^(?:its|their|his|her)\s+", re.IGNORECASE)
_PERSONAL = re.compile(r"^(?:it|he|she|they)\s+", re.IGNORECASE)


def facts_of(text: str) -> list[str]:
    """Return the facts of a text, in order; headings ("To deploy to AKS:") state none.

    A text of headings alone is returned as its sentences: something must be claimed by it.
    """
    whole = sentences(text)
    told = [sentence for sentence in whole if not is_heading(sentence)] or whole
    return [fact for sentence in told for fact in _facts(sentence, text)]


def _facts(sentence: str, text: str) -> list[str]:
    if language_among(sentence, [text]) != "en" or language_of(sentence) is None:
        return [sentence]
    parts = _JOINED.split(sentence)
    if len(parts) == 1 or _BOTH.search(parts[0]):
        return [sentence]
    if any(_OWN_VERB.search(part) is None for part in parts):
        return [sentence]
    found = _SUBJECT.match(parts[0])
    subject = found[1] if found else ""
    return [parts[0].rstrip(",;. ") + ".", *(_alone(part, subject) for part in parts[1:])]


def _alone(part: str, subject: str) -> str:
    """Return a joined fact as a sentence: its first pronoun gives way to the first subject."""
    owner = f"{subject}'" if subject.endswith("s") else f"{subject}'s"
    if subject:
        part = _POSSESSIVE.sub(f"{owner} ", _PERSONAL.sub(f"{subject} ", part))
    part = part[0].upper() + part[1:]
    return part if part[-1] in ".!?" else f"{part}."
