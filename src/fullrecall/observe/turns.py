"""Select the steps of the turn that asked the question, if a conversation is replayed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from fullrecall.observe.step import Step
from fullrecall.observe.tree import Tree


def of_turn(steps: Sequence[Step], question: str | None, root: Hashable | None) -> list[Step]:
    """Return the steps without those of earlier turns of the conversation.

    An earlier message is a user's message before the question in any model's prompt. A model call
    belongs to an earlier turn if its prompt ends with an earlier message and does not contain the
    question. So does the outermost step around this call that is not part of the current turn. A
    search for an earlier message belongs to an earlier turn if it has the same caller as that step.
    """
    asked = None if question is None else question.strip()
    earlier: dict[str, None] = {}
    for step in steps:
        if asked in step.asked:
            last = len(step.asked) - 1 - step.asked[::-1].index(asked)
            earlier |= dict.fromkeys(each for each in step.asked[:last] if each != asked)
    if not earlier:
        return list(steps)
    tree = Tree(steps, root)
    now: set[Step | None] = {tree.root, None}
    for step in steps:
        if asked in step.asked:
            now.update((step, *tree.above(step)))
    runs = [
        run
        for step in steps
        if step.asked and step.asked[-1] in earlier and asked not in step.asked
        for run in (step, *tree.above(step))
        if run not in now and tree.parent(run) in now
    ]
    around = {tree.parent(run) for run in runs}
    searches = [
        s for s in steps if s.query in earlier and tree.parent(s) in around and s not in now
    ]
    return _without(steps, tree, [*runs, *searches])


def of_question(steps: Sequence[Step], question: str | None) -> list[Step]:
    """Return the steps of the runs that asked this question, and of the runs whose output they use.

    Runs are the outermost steps of one recorded block of code. A run without a query continues
    another run, so it is kept. A later run uses the output of an earlier run in two cases: a prompt
    of the later run has the question and the answer of the earlier run; or the later run does not
    retrieve, and has documents of the earlier run. All steps are returned if no run asked the
    question.
    """
    tree = Tree(steps)
    runs = [step for step in tree.steps if step.parent is None]
    if question is None or all(run.query != question for run in runs):
        return list(steps)
    kept: list[Step] = []
    for run in reversed(runs):
        later = [tree.below(each) for each in kept if run.ended and each.began > run.ended]
        if run.query in (None, question) or any(_serves(run, [*own]) for own in later):
            kept.append(run)
    return _without(steps, tree, [run for run in runs if run not in kept])


def _without(steps: Iterable[Step], tree: Tree, runs: Iterable[Step]) -> list[Step]:
    """Return the steps that are neither these runs nor called by them."""
    gone = {step.id for run in runs for step in tree.below(run)}
    return [step for step in steps if step.id not in gone]


def _serves(run: Step, later: Sequence[Step]) -> bool:
    prompts = [text for step in later for text in step.prompt or ()]
    answers = [text for text in run.texts if text]
    query = run.query
    if answers and any(query and query in each and answers[-1] in each for each in prompts):
        return True
    if any(step.retrieves for step in later):
        return False
    texts = {copy.text for listed in run.returned for copy in listed.documents} - {""}
    given = {copy.text for step in later for each in step.given for copy in each.documents}
    return not texts.isdisjoint(given) or any(text in each for text in texts for each in prompts)
