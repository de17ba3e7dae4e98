"""Review verdicts: judge denied claims again, and check quotes without their contexts.

If a verdict denies a claim that a context states word for word, the claim is judged again with each
such context alone, at most three. With `verify="model"` each quote that earns credit is also shown
to the model with its claim, in a request without contexts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from fullrecall.judge.exchange import Exchange, Matter, windows
from fullrecall.judge.flow import side_by_side
from fullrecall.judge.judge import Flow, Verdict
from fullrecall.judge.language import language
from fullrecall.judge.models.chat import ChatRequest
from fullrecall.judge.quotes import Quotes
from fullrecall.judge.verdicts import merged

DENIED = "denied beside the other contexts, supported by one alone"

_MOST_ALONE = 3  # the most contexts with which a claim is judged again, each alone
_LONGEST_QUOTE = 1_000  # the most characters of a quote that is shown without its context


def rejudged(
    verdicts: Mapping[int, Verdict], matter: Matter, exchange: Exchange
) -> Flow[dict[int, Verdict]]:
    """Judge denied and partly denied claims again, against each context that states them.

    If a context is longer than a window, only its first part is shown. Returns only the verdicts
    that improve.
    """
    contexts = matter.window
    pairs = [
        (number, n)
        for number, verdict in verdicts.items()
        if verdict.label not in ("supported", None)
        for n in islice(language().stating(matter.targets[number], contexts), _MOST_ALONE)
    ]

    def alone(number: int, window: Mapping[int, str]) -> Flow[dict[int, Verdict]]:
        target = {number: matter.targets[number]}
        return exchange.verdicts(replace(matter, targets=target, window=window))

    judged = yield from side_by_side(
        [alone(number, windows({n: contexts[n]}, exchange.window)[0]) for number, n in pairs]
    )
    settled: dict[int, list[Verdict]] = {}
    for (number, _), verdict in zip(pairs, judged, strict=True):
        if verdict[number].helps and verdict[number].label != verdicts[number].label:
            settled.setdefault(number, []).append(verdict[number])
    return {n: replace(merged(helping), contested=DENIED) for n, helping in settled.items()}


def verified(
    verdicts: Sequence[Verdict],
    targets: Sequence[str],
    contexts: Sequence[str],
    exchange: Exchange,
) -> Flow[list[Verdict]]:
    """Show the model each claim with its quotes; return the verdicts with `verified` filled in.

    `Verdict.verified` is None for a verdict without credit. It is True if the model, shown only the
    claim and the quotes, answers "supported" or repeats the verdict's label; else it is False. One
    request has the quotes of all verdicts. Quotes that are not in their context are not shown.
    """
    quotes = Quotes(dict(enumerate(contexts)))
    quote_of: dict[tuple[str, Verdict], str] = {}
    for target, verdict in zip(targets, verdicts, strict=True):
        for part in (verdict, *verdict.others):
            stretches = [
                contexts[citation.context][location.start : location.end]
                for citation in part.citations
                for location in quotes.located(citation)
            ]
            if part.helps and stretches:
                quote_of[target, part] = " […] ".join(stretches)[:_LONGEST_QUOTE]
    claims = {number: claim for number, (claim, _) in enumerate(quote_of, start=1)}
    numbered = dict(enumerate(quote_of.values(), start=1))

    def request(group: Mapping[int, str], _: Mapping[int, str]) -> ChatRequest:
        return exchange.prompts.verification(group, {number: numbered[number] for number in group})

    # All pairs are in one request: without contexts they are short.
    single = replace(exchange, claims_per_call=max(1, len(claims)), reasks=0, requote=False)
    answers = (yield from single.verdicts(Matter(claims, {}, request))) if claims else {}
    label_of = dict(zip(quote_of, (answers[number].label for number in claims), strict=True))

    def marked(target: str, verdict: Verdict) -> Verdict:
        label = label_of.get((target, verdict))
        return replace(
            verdict,
            verified=label in ("supported", verdict.label) if verdict.helps else None,
            others=tuple(marked(target, other) for other in verdict.others),
        )

    return [marked(target, verdict) for target, verdict in zip(targets, verdicts, strict=True)]
