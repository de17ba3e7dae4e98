"""Measure the rules that compare a quote with its claim: the quotes that they verify, by kind.

    python bench/quote_rules.py LABELED.jsonl [--held-out] [--rules]

Each row of the file is `{claim, contexts, label, dataset, …}`, label 1 if the contexts support the
claim. The quote is the sentence of the contexts that shares most with the claim. True pairs have
label 1. Contradicting pairs are made from them, one kind at a time, by a change of the claim or of
the quoted sentence. Natural pairs are the rows of label 0 in data sets whose false claims
contradict. Rules were ordered on one half of the data sets; `--held-out` shows the other. `--rules`
counts, for each rule, the quotes that it refuses first.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fullrecall.judge.evidence import Location
from fullrecall.lexical import names
from fullrecall.lexical.clauses import facts_of
from fullrecall.lexical.quote_rules import content_keys, objection
from fullrecall.lexical.sentences import sentences
from fullrecall.lexical.words.negations import denials
from fullrecall.lexical.words.numbers import MONTHS, WEEKDAYS
from fullrecall.lexical.words.opposites import opposites

CHOSEN_ON = frozenset(("FM2", "AB-LFQA", "AB-AttributedQA", "SummEdits-news"))
_CONTRADICTING = ("FM2", "SummEdits-news", "SummEdits-scitldr")
_FEWEST_WORDS = 5  # A shorter quote, such as a title, shares the names of every claim.
_LEAST = 0.3
_REPLACEMENTS = 5  # The number of sentences that a model may quote when it is asked again.
_VERBATIM = 0.8
_UNITS = "km miles|kilometers miles|meters feet|kg pounds|hours days|days weeks|weeks months"
_UNLISTED = (
    "hot cold|expensive cheap|rural urban|guilty innocent|rich poor|wet dry|dark bright|safe "
    "dangerous|ancient modern|natural artificial|temporary permanent|simple complex|mild severe|"
    "common rare|heavy light|deep shallow|vertical horizontal|voluntary mandatory|local global|"
    "visible hidden|freeze melt|acid alkaline|acquit convict|hire fire|praise criticize|"
    "attack defend|encourage discourage|expand contract|arrive depart|borrow lend|teach learn"
)
_BE = re.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|may|must|should|did)\b")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)")


def main() -> None:
    """Print the share of quotes verified, of true pairs and by kind of contradiction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labeled", type=Path)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--rules", action="store_true")
    options = parser.parse_args()
    lines = options.labeled.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if (row["dataset"] not in CHOSEN_ON) == options.held_out]
    count: Counter[str] = Counter()
    verified: Counter[str] = Counter()
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kind, claim, quote, context in cases(rows):
        reason = refused(claim, quote, context)
        count[kind] += 1
        verified[kind] += not reason
        reasons[reason]["true" if kind == "true" else "contradicting"] += 1
    false = [kind for kind in count if not kind.startswith(("true", "natural"))]
    for kind in sorted(count, key=lambda kind: (kind in false, kind)):
        print(f"{kind:24}{count[kind]:6}{verified[kind] / count[kind]:8.1%}")
    mean = sum(verified[kind] / count[kind] for kind in false) / len(false)
    print(f"contradicting: {len(false)} kinds, mean {mean:.1%}")
    if options.rules:
        for reason, by in sorted(reasons.items(), key=lambda item: -item[1]["true"]):
            print(f"{reason or '(verified)':50}{by['true']:6}{by['contradicting']:6}")


def cases(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, claim, quote and context of every pair."""
    chance = random.Random(11)
    everywhere = [row["contexts"] for row in rows]
    for row in rows:
        facts = facts_of(row["claim"].replace("</s>", "").strip())
        if not row["label"] and (row["dataset"] not in _CONTRADICTING or len(facts) > 1):
            continue
        for claim in facts:
            ranked = quotes(claim, row["contexts"])
            if not ranked:
                continue
            quote, context, share = ranked[0]
            if not row["label"]:
                yield "natural", claim, quote, context
                continue
            yield "true", claim, quote, context
            yield "true, asked again", claim, *replacement(claim, ranked)
            if share >= _VERBATIM:
                yield "true, near-verbatim", claim, quote, context
                yield "true, capitals", claim.upper(), quote, context
                yield "true, bold", re.sub(r"\b([A-Z]\w+)", r"**\1**", claim), quote, context
            other = chance.choice(everywhere)
            yield from (
                (k, c, quote, context) for k, c in false_claims(claim, quote, context, other)
            )
            for kind, changed in false_quotes(claim, quote):
                yield kind, claim, changed, context.replace(quote, changed, 1)


def replacement(claim: str, ranked: Sequence[tuple[str, str, float]]) -> tuple[str, str]:
    """Return the first quote that is not refused, with its context, or the first quote of all."""
    quotes = ((quote, context) for quote, context, _ in ranked[:_REPLACEMENTS])
    return next((q for q in quotes if not refused(claim, *q)), ranked[0][:2])


def refused(claim: str, quote: str, context: str) -> str:
    """Return why a quote is not verified; empty if it is verified."""
    start = context.find(quote)
    return objection(claim, context, [Location(start, start + len(quote))])


def quotes(claim: str, contexts: Sequence[str]) -> list[tuple[str, str, float]]:
    """Return the sentences that share most with a claim, each with its context and the share."""
    keys = content_keys(claim)
    found = [
        (sentence, context, len(keys & content_keys(sentence)) / (len(keys) or 1))
        for context in contexts
        for sentence in sentences(context[:20_000])
        if sentence in context and len(sentence.split()) >= _FEWEST_WORDS
    ]
    return sorted((one for one in found if one[2] >= _LEAST), key=lambda one: -one[2])


def false_claims(
    claim: str, quote: str, context: str, other: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield claims that contradict the quote, by a change of the claim."""
    chance = random.Random(claim)
    yield from false_numbers(claim, quote, context, chance)
    if denials(claim, "en"):
        return
    yield from false_statements(claim, quote)
    yield from false_words(claim, quote)
    yield from false_names(claim, quote, context, other, chance)


def false_numbers(
    claim: str, quote: str, context: str, chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Yield a claim with another number, scale, unit, month or weekday."""
    shared = [n for n in _NUMBER.finditer(claim) if re.search(rf"\b{n[0]}\b", quote)]
    if shared:
        number = chance.choice(shared)
        before, after = claim[: number.start()], claim[number.end() :]
        value = number[0].replace(",", "")
        new = f"{int(value) + chance.randint(2, 40)}" if value.isdigit() else f"{value}7"
        yield "number", before + new + after
        elsewhere = [n for n in _NUMBER.findall(context) if n not in quote and n != number[0]]
        if elsewhere:
            yield "number elsewhere", before + chance.choice(elsewhere) + after
        if int(float(value)) not in range(1000, 2101):
            scaled = f"{before}{number[0]} million{after}".replace("million million", "billion")
            yield "scale", scaled.replace("million billion", "million")
    for one, two in swaps(_UNITS):
        if re.search(rf"\d [\w ]*\b{one}\b", claim) and one in quote:
            yield "unit", re.sub(rf"\b{one}\b", two, claim)
    for kind, days in (("month", MONTHS), ("weekday", WEEKDAYS)):
        for at, day in enumerate(days):
            if day.title() in claim and day.title() in quote:
                yield kind, claim.replace(day.title(), days[(at + 3) % len(days)].title())


def false_statements(claim: str, quote: str) -> Iterator[tuple[str, str]]:
    """Yield a claim that denies, or that says "only"."""
    be = _BE.search(claim)
    past = re.search(r"\b([a-z]{3,})ed\b", claim)
    if past and not denials(quote, "en"):
        yield "failed to", claim.replace(past[0], f"failed to {past[1]}", 1)
    if be is None:
        return
    subject, rest = claim[: be.start()].strip(), claim[be.end() :]
    if not denials(quote, "en"):
        yield "negation", f"{subject} {be[0]} not{rest}"
        yield "never", f"{subject} {be[0]} never{rest}"
        yield "reported", f"It is false that {claim}"
        yield "myth", f"It is a myth that {claim}"
        yield "wrongly", f"{subject} {be[0]} wrongly said to be so:{rest}"
        yield "denied", f"Officials denied that {claim}"
    if not re.search(r"\bonly|sole|all\b|every|single|no\b", quote):
        yield "only", f"Only {claim}"
        yield "only, in place", f"{subject} {be[0]} only{rest}"


def false_words(claim: str, quote: str) -> Iterator[tuple[str, str]]:
    """Yield a claim with a word exchanged for its opposite."""
    for kind, pairs in (
        ("order in time", "before after"), ("until and since", "until since"),
        ("all, some", "all some|every some|most few|many few"), ("opposite, unlisted", _UNLISTED),
    ):  # fmt: skip
        for one, two in swaps(pairs):
            if re.search(rf"\b{one}\b", claim) and re.search(rf"\b{one}\b", quote):
                yield kind, re.sub(rf"\b{one}\b", two, claim)
    for word in re.findall(r"\b[a-z]{3,}\b", claim):
        if opposites().get(word) and re.search(rf"\b{word}\b", quote):
            new = min(opposites()[word])
            if new not in ("after", "befor", "sinc", "until", "none", "few"):
                yield "opposite, listed", re.sub(rf"\b{word}\b", new, claim, count=1)
                return


def false_names(
    claim: str, quote: str, context: str, other: Sequence[str], chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Yield a claim with another name, and with two names exchanged."""
    there = [name.text for name in names(claim) if name.text in quote]
    if not there:
        return
    name = chance.choice(there)
    for kind, texts in (("name elsewhere", [context]), ("name", other)):
        others = sorted({n.text for text in texts for n in names(text[:3_000]) if n.is_sure})
        others = [n for n in others if n not in quote and n not in claim]
        if others:
            yield kind, claim.replace(name, chance.choice(others), 1)
    if len(there) > 1:
        one, two = there[:2]
        exchanged = claim.replace(one, "\0").replace(two, one).replace("\0", two)
        if not {" and ", " or "} & {claim[claim.find(one) + len(one) : claim.find(two)]}:
            yield "roles", exchanged


def false_quotes(claim: str, quote: str) -> Iterator[tuple[str, str]]:
    """Yield quotes that contradict the claim, by a change of the quoted sentence."""
    if denials(claim, "en") or denials(quote, "en"):
        return
    keys = content_keys(claim)
    for be in _BE.finditer(quote):
        after = content_keys(" ".join(quote[be.end() :].split()[:5]))
        if after & keys:
            yield "quote, negated", f"{quote[: be.end()]} not{quote[be.end() :]}"
            yield "quote, falsely", f"{quote[: be.end()]} falsely said to be{quote[be.end() :]}"
            break
    yield "quote, myth", f"It is a myth that {quote}"
    yield "quote, contrary to", f"Contrary to the claim that {quote}"


def swaps(pairs: str) -> Iterator[tuple[str, str]]:
    """Yield both orders of each pair of words."""
    for pair in pairs.split("|"):
        one, two = pair.split()
        yield one, two
        yield two, one


if __name__ == "__main__":
    main()
