"""Does a quote that stands there bear on its claim? What a machine can refuse without a model.

A located quote proves nothing by being there: "of the" stands everywhere, "1,149 metres" stands
in "is not 1,149 metres", too. A quote bears on a claim if it shares a content word, a number or
a name with it, in a clause that is not denied where the claim is not; if the claim has numbers,
the context has at least one of them; and of a claim that says more than two things the sentences
around the quote have more than one: "Tolls were" stands beside any claim about tolls.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from fullrecall.judges.evidence import Location
from fullrecall.judges.injection import instructions
from fullrecall.judges.words.languages import function_words, language_of
from fullrecall.judges.words.tokens import Word, alike, read_words

Aim: TypeAlias = Literal["claim", "question", "entity", "context"]
"""What a quote is quoted for; a question's answer need not share a word with it."""

_TELLING = 1.2  # words that weigh less are function words
_UNSPACED = frozenset({"ja", "zh", "th"})
_MOSTLY = 0.75
_FEWEST = 2  # content words of a claim that a sentence can state in so many words
_BEFORE = 160  # characters before a quote that may turn it round
_SEVERAL = 3  # content words of a claim that one of them cannot prove
_BESIDE = 400  # characters on either side of a quote in which its sentence and the next are sought

_NEGATIONS: Mapping[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": "not no never none nor neither nobody nothing nowhere without cannot hardly",
        "de": "nicht kein keine keinen keiner keinem keines nie niemals weder ohne",
        "fr": "ne n pas jamais aucun aucune sans ni",
        "es": "no nunca jamás ningún ninguno ninguna sin ni tampoco",
        "it": "non mai nessun nessuno nessuna senza né",
        "pt": "não nunca jamais nenhum nenhuma sem nem",
        "nl": "niet geen nooit zonder noch",
        "sv": "inte ej aldrig ingen inget inga utan icke",
        "da": "ikke aldrig ingen intet uden",
        "no": "ikke aldri ingen intet uten",
        "pl": "nie nigdy żaden żadna żadne bez ani",
        "cs": "ne není nejsou nebyl nebyla nebylo nikdy žádný žádná bez ani",
        "fi": "ei eivät en emme älä ilman koskaan",
        "tr": "değil yok hiç asla değildir",
        "hu": "nem sem soha nincs nincsenek nélkül",
        "ro": "nu nici niciodată fără",
        "id": "tidak bukan tanpa belum",
        "vi": "không chẳng chưa",
        "ru": "не нет ни никогда без",
        "uk": "не ні немає ніколи без",
        "el": "δεν δε μη μην όχι ποτέ χωρίς",
        "ar": "لا لم لن ليس ليست غير بدون",
        "fa": "نیست نه بدون هرگز",
        "he": "לא אין בלי אינו אינה",
        "hi": "नहीं न बिना मत",
    }.items()
}
_NEGATED_WITHOUT_SPACES: Mapping[str, Sequence[str]] = {
    "zh": ("不是", "没有", "沒有", "並非", "并非", "不在", "从未", "未", "非", "不"),
    "ja": ("ない", "なかった", "ません", "ではな", "じゃな", "ず、"),
    "ko": ("않", "없", "아니", "못"),
    "th": ("ไม่", "มิ"),
}
_NO_DENIAL = re.compile(
    r"\bnot (?:only|just|merely|simply|until|long after)\b"
    r"|\bno (?:later|earlier|fewer|less|more) than"
    r"|\bno\. ?\d|\bnicht nur\b|\bnon seulement\b|\bno s[oó]lo\b|\bnon solo\b|\bnão s[óo]\b"
    r"|不仅|不僅|不久|不同|だけでなく",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\b(?:myths?|false(?:ly)?|untrue|wrong(?:ly)?|incorrect(?:ly)?|mistaken(?:ly)?|erroneous(?:ly)?|"
    r"hoax|rumou?rs?|den(?:y|ies|ied)|debunk(?:s|ed)?|refut(?:e|es|ed)|disprov(?:e|es|ed|en)|"
    r"misconception|contrary to|supposedly|allegedly|fictional(?:ly)?|pretend(?:s|ed)?|"
    r"falsch(?:e|en|er|es)?|Irrtum|irrtümlich|Mythos|angeblich|faux|fausse|faussement|mythe|"
    r"falso|falsa|mito|erróneamente|presuntamente|errado|onjuist|ten onrechte|ложь|миф|ложно|"
    r"неверно|błędnie|fałszyw\w*)\b|误传|謠言|谣言|誤り|デマ",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"[;!?。！？；\n]|\.(?=\s|$)|(?<!\d)[,，、]|[,，、](?!\d)|\s[–—]\s")  # noqa: RUF001
_SENTENCE_END = re.compile(r"[!?。！？\n]|\.(?=\s|$)")  # noqa: RUF001
_WORDS = re.compile(r"[^\W\d_]+")


def bears(target: str, context: str, parts: Sequence[Location], aim: Aim = "claim") -> bool:
    """Return whether what a quote says, at `parts` of the context, can prove the target.

    An instruction to whoever judges is no evidence for anything, whatever it says.
    """
    if not parts or _is_instruction(context, parts):
        return False
    quoted = [word for part in parts for word in _content(context[part.start : part.end])]
    if not quoted:
        return False
    if aim in ("question", "context"):
        return True
    wanted = {word.key for word in _content(target)}
    numbers = {key for key in wanted if key[0] == "#"}
    if numbers and numbers.isdisjoint(word.key for word in _read(context)):
        return False
    if not wanted:  # nothing but function words: "It is."
        return True
    spoken, asked = language_of(context), language_of(target)
    language = spoken or asked or "en"
    denies = _denies(target, language)
    # Texts of two languages share names and numbers alone.
    is_alike = aim == "claim" and asked in (None, spoken)
    return (not is_alike or _is_about(wanted, context, parts)) and any(
        not wanted.isdisjoint(word.key for word in _content(clause))
        and (denies or not _is_denied(clause, before, after, language))
        for part in parts
        for clause, before, after in _clauses(context, part)
    )


def _is_about(wanted: Collection[str], context: str, parts: Sequence[Location]) -> bool:
    """Whether the sentences of a quote, and those beside them, have two of several words."""
    if len(wanted) < _SEVERAL:
        return True
    there = {key for part in parts for key in content_keys(_beside(context, part))}
    shared = (key in there or any(alike(key, other) for other in there) for key in wanted)
    return sum(shared) > 1


def _beside(context: str, part: Location) -> str:
    """Return the sentences that a quote stands in, with one more on either side."""
    before = context[max(0, part.start - _BESIDE) : part.start]
    after = context[part.end : part.end + _BESIDE]
    starts = [match.end() for match in _SENTENCE_END.finditer(before)]
    ends = [match.start() for match in _SENTENCE_END.finditer(after)]
    first = part.start - len(before) + starts[-2] if len(starts) > 1 else part.start - len(before)
    return context[first : part.end + ends[1] if len(ends) > 1 else part.end + len(after)]


def states(context: str, claim: str) -> bool:
    """Return whether a sentence of the context has all that the claim has, denied like the claim.

    Told by words alone: "Ann beat Bob" and "Bob beat Ann" are the same here.
    """
    wanted = content_keys(claim)
    lowered = context.lower()
    # Looking for beginnings first spares reading what cannot state it.
    if len(wanted) < _FEWEST or not all(beginning in lowered for beginning in _beginnings(claim)):
        return False
    if not wanted <= content_keys(context):
        return False
    language = language_of(context) or "en"
    denies = _denies(claim, language)
    return any(
        wanted <= content_keys(sentence)
        and denies == (_denies(sentence, language) or _TURNED.search(sentence) is not None)
        for sentence in _SENTENCE_END.split(context)
    )


def stand_alone(claim: str, contexts: Sequence[str]) -> list[bool]:
    """Return of each cited context whether it has what all of them together have of the claim.

    It has every number and name that one of them has, and three quarters of the content words.
    """
    told = {word.key: word for word in _content(claim)}
    shares = [told.keys() & content_keys(context) for context in contexts]
    union = set().union(*shares)
    vital = {key for key in union if told[key].is_number or told[key].is_capitalised}
    return [vital <= share and len(share) >= _MOSTLY * len(union) for share in shares]


@lru_cache(maxsize=1_024)
def content_keys(text: str) -> frozenset[str]:
    """Return the keys of the content words, numbers and names of a text."""
    return frozenset([word.key for word in _content(text)])


@lru_cache(maxsize=1_024)
def _beginnings(claim: str) -> Sequence[str]:
    return [word.written[:4] for word in _content(claim) if not word.is_number]


def content_words(text: str) -> tuple[Word, ...]:
    """Return the content words, numbers and names of a text, in order."""
    return _content(text)


def is_denial(text: str) -> bool:
    """Return whether a text has a negation of its language."""
    return _denies(text, language_of(text) or "en")


@lru_cache(maxsize=4_096)
def _content(text: str) -> tuple[Word, ...]:
    functional = _functional(language_of(text))
    return tuple(
        [
            word
            for word in _read(text)
            if word.is_number or (word.weight >= _TELLING and word.written not in functional)
        ]
    )


@cache
def _functional(language: str | None) -> frozenset[str]:
    return function_words(language) | function_words("en")


@lru_cache(maxsize=1_024)
def _read(text: str) -> tuple[Word, ...]:
    return tuple(read_words(text))


def _is_instruction(context: str, parts: Sequence[Location]) -> bool:
    spans = instructions(context)
    return any(part.start < end and start < part.end for part in parts for start, end in spans)


def _clauses(context: str, part: Location) -> Iterator[tuple[str, str, str]]:
    """Yield each clause of a quote, what its sentence says before it, and what after it."""
    start = part.start
    ends = [match.start() for match in _CLAUSES.finditer(context, part.start, part.end)]
    for end in [*ends, part.end]:
        if context[start:end].strip():
            yield context[start:end], _before(context, start), _after(context, end)
        start = end + 1


def _before(context: str, start: int) -> str:
    said = context[max(0, start - _BEFORE) : start]
    stops = [match.end() for match in _SENTENCE_END.finditer(said)]
    return said[stops[-1] :] if stops else said


def _after(context: str, end: int) -> str:
    said = context[end : end + _BEFORE]
    stop = _SENTENCE_END.search(said)
    return said[: stop.start()] if stop else said


def _is_denied(clause: str, before: str, after: str, language: str) -> bool:
    """Whether a clause, the words of its own clause before it, or its sentence deny it."""
    stops = [match.end() for match in _CLAUSES.finditer(before)]
    own = before[stops[-1] :] if stops else before
    if _denies(f"{own} {clause}", language):
        return True
    return _TURNED.search(f"{before} {clause} {after}") is not None


def _denies(text: str, language: str) -> bool:
    """Whether a text has a negation of its language."""
    said = _NO_DENIAL.sub(" ", text)
    if language in _NEGATED_WITHOUT_SPACES:
        return any(word in said for word in _NEGATED_WITHOUT_SPACES[language])
    words = {word.lower() for word in _WORDS.findall(said)}
    known = _NEGATIONS.get(language, frozenset())
    if not words.isdisjoint(known):
        return True
    return language == "en" and re.search(r"n['\u2019]t\b", said) is not None
