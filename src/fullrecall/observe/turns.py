"""Which steps belong to the turn that asked the question, if a conversation is replayed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from fullrecall.observe.step import Step


def of_turn(steps: Sequence[Step], question: str | None, root: Hashable | None) -> list[Step]:
    """Return steps without those of the turns before the question.

    A model's prompt tells: its users' messages before the question were asked in earlier turns. The
    runs that asked for nothing else answered these turns.
    """
    asked = None if question is None else question.strip()
    earlier: dict[str, None] = {}
    for step in steps:
        if asked in step.asked:
            last = len(step.asked) - 1 - step.asked[::-1].index(asked)
            earlier |= dict.fromkeys(each for each in step.asked[:last] if each != asked)
    if not earlier:
        return list(steps)
    known = {step.id for step in steps}
    parents = {step.id: step.parent if step.parent in known else None for step in steps}
    now = {root, None}
    for step in steps:
        if asked in step.asked:
            now.update(_up(step.id, parents))
    runs = {
        own: parents[own]
        for step in steps
        if step.asked and step.asked[-1] in earlier and asked not in step.asked
        for own in _up(step.id, parents)
        if own not in now and parents[own] in now
    }
    around = set(runs.values())
    searches = {s.id for s in steps if s.query in earlier and parents[s.id] in around}
    return without(steps, {*runs, *(searches - now)})


def of_question(
    steps: Sequence[Step], queries: Mapping[Hashable, str | None], question: str | None
) -> list[Step]:
    """Return the steps of the runs of a block that asked this question, or served one that did.

    `queries` are the questions of the outermost runs, None for one that went on with another one.
    A run serves a later one that has its answer beside its question in a prompt; or that has its
    documents, and retrieved no other ones.
    """
    if question is None or question not in queries.values():
        return list(steps)
    at = {step.id: step for step in steps}
    runs = sorted((at[own] for own in queries if own in at), key=lambda each: each.began)
    below = {run.id: only(steps, {run.id}) for run in runs}
    kept: list[Step] = []
    for run in reversed(runs):
        query = queries[run.id]
        later = [below[each.id] for each in kept if run.ended and each.began > run.ended]
        if query in (None, question) or any(_serves(below[run.id], query, own) for own in later):
            kept.append(run)
    return without(steps, {run.id for run in runs if run not in kept})


def without(steps: Iterable[Step], runs: Iterable[Hashable]) -> list[Step]:
    """Return the steps that are neither these nor called by them; callers come first."""
    gone = set(runs)
    kept = []
    for step in steps:
        if step.id in gone or step.parent in gone:
            gone.add(step.id)
        else:
            kept.append(step)
    return kept


def only(steps: Iterable[Step], runs: Iterable[Hashable]) -> list[Step]:
    """Return these steps and all that they called; callers come first."""
    chosen = set(runs)
    for step in steps:
        if step.parent in chosen:
            chosen.add(step.id)
    return [step for step in steps if step.id in chosen]


def _up(own: Hashable, parents: Mapping[Hashable, Hashable | None]) -> Iterable[Hashable]:
    """Yield the ID of a step, its caller's, and so on."""
    at: Hashable | None = own
    while at is not None and at in parents:
        yield at
        at = parents[at]


def _serves(run: Sequence[Step], query: str | None, later: Sequence[Step]) -> bool:
    prompts = [text for step in later for text in step.prompt or ()]
    answers = [text for text in run[0].texts if text]
    if answers and any(query and query in each and answers[-1] in each for each in prompts):
        return True
    if any(step.retrieves for step in later):
        return False
    texts = {copy.text for listed in run[0].returned for copy in listed.documents} - {""}
    given = {copy.text for step in later for each in step.given for copy in each.documents}
    return not texts.isdisjoint(given) or any(text in each for text in texts for each in prompts)
