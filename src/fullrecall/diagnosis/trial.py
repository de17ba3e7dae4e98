"""A proposed change tried through the retriever: what it gains, beside what was predicted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fullrecall.diagnosis.change import Change, Trial
from fullrecall.diagnosis.effects import Baseline
from fullrecall.diagnosis.rescoring import Rescored
from fullrecall.run.inquiry import Inquiry
from fullrecall.run.retrievers import RetrieverLike


def tried(
    changes: Sequence[Change],
    baseline: Baseline,
    rescored: Mapping[int, Rescored],
    retriever: RetrieverLike | None,
    groups: Sequence[str | None],
) -> tuple[Change, ...]:
    """Return the changes, the larger k that gains most with what it gains when it is tried.

    Every question is put to the retriever with that k, found or missed before. A question of which
    the retriever fails is left out.
    """
    places = {baseline.label(place): place for place in rescored}
    chosen = next((each for each in changes if each.k is not None and each.score in places), None)
    if retriever is None or chosen is None or chosen.k is None:
        return tuple(changes)
    place = places[chosen.score]
    gains: dict[str, list[float]] = defaultdict(list)
    inquiry = Inquiry(retriever, chosen.k)
    for position, (row, before) in enumerate(
        zip(baseline.rows, baseline.values[place], strict=True)
    ):
        retrieval = inquiry.ask(row.sample)
        failed = retrieval.contexts is None or retrieval.error is not None
        contexts = () if retrieval.contexts is None else retrieval.contexts[: chosen.k]
        after = None if failed else rescored[place].recall(row, contexts)
        if before is not None and after is not None:
            group = groups[position]
            gains[f"#{position}" if group is None else f"group {group}"].append(after - before)
    inquiry.close()
    if not gains:
        return tuple(changes)
    means = [sum(of_group) / len(of_group) for of_group in gains.values()]
    trial = Trial(sum(means) / len(means), sum(map(len, gains.values())))
    return tuple(replace(each, trial=trial) if each is chosen else each for each in changes)
