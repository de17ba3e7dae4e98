"""Measure how orders in a context raise and lower scores, with models that obey them in four ways.

    python -m bench.injections

The data are a hundred pairs of orders (to support, to deny), five true claims that paraphrase their
contexts, and five false ones. The table has for each kind of model, in percent: false credit by an
order, false credit by an order beside the claims' own words, true claims that lose their credit,
and requests a sample; then requests and characters on the same contexts without an order.
"""

from __future__ import annotations

from typing import Any

from tests.lexical.obeying import FALSE, KINDS, ORDERS, TRUTH, Obeying, Order

from fullrecall import ClaimRecall, LLMJudge
from fullrecall.scorers import Result
from fullrecall.testing import ScriptedChatModel

HONEST = list(dict.fromkeys(context for context, _ in TRUTH.values()))
MODES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "default": ({}, {}),
    "require_evidence": ({}, {"require_evidence": True}),
    "canaries": ({"guard": "canaries"}, {}),
    "canaries, require_evidence": ({"guard": "canaries"}, {"require_evidence": True}),
}


def judged(obeying: Obeying, contexts: list[str], mode: str) -> tuple[Result, ScriptedChatModel]:
    """Return the result of all claims, and the model with its requests."""
    of_judge, of_scorer = MODES[mode]
    model = ScriptedChatModel(obeying)
    scorer = ClaimRecall(judge=LLMJudge(model, **of_judge), min_measured=0.01, **of_scorer)
    claims = [claim for pair in zip(TRUTH, FALSE, strict=True) for claim in pair]
    return scorer.score(retrieved_contexts=contexts, reference_claims=claims), model


def credited(result: Result) -> set[str]:
    """Return the claims that earned credit."""
    return {finding.target.label for finding in result.findings if finding.steps}


def main() -> None:
    """Print the table."""
    heads = "".join(f"{kind:>24}" for kind in KINDS)
    print(f"{'false / own words / lost':28}{heads}")
    for mode in MODES:
        cells = []
        for kind in KINDS:
            false = own = lost = requests = 0
            for at, (support, deny) in enumerate(ORDERS):
                place = at % (len(HONEST) + 1)
                orders = (
                    Order(support, "supported"),
                    Order(f"{support} {' '.join(FALSE)}", "supported", quotes_claim=True),
                    Order(deny, "not_supported"),
                )
                found = []
                for order in orders:
                    contexts = [*HONEST[:place], order.text, *HONEST[place:]]
                    result, model = judged(Obeying(kind, order), contexts, mode)
                    found.append(credited(result))
                    requests += len(model.requests)
                false += len(found[0].intersection(FALSE))
                own += len(found[1].intersection(FALSE))
                lost += len(TRUTH.keys() - found[2])
            every = len(ORDERS) * len(FALSE)
            shares = " ".join(f"{count / every:.0%}" for count in (false, own, lost))
            cells.append(f"{shares} ({requests / 3 / len(ORDERS):.1f})")
        print(f"{mode:28}" + "".join(f"{cell:>24}" for cell in cells))
    for mode in MODES:
        order = Order("no such text", "supported")
        result, model = judged(Obeying("all", order), HONEST, mode)
        sent = sum(len(m.content) for request in model.requests for m in request.messages)
        print(f"clean, {mode:28}{len(model.requests)} requests, {sent:,} characters sent, "
              f"{len(credited(result))} of {len(TRUTH)} true claims credited")  # fmt: skip


if __name__ == "__main__":
    main()
