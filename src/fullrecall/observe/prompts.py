"""Find the documents in models' prompts, and the prompts from which the answer was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fullrecall.observe.documents import TrackedDocument
from fullrecall.observe.handed import Scope
from fullrecall.observe.state import FlowState
from fullrecall.observe.step import Step


@dataclass(slots=True)
class _Asked:
    """The documents and text pieces of one prompt.

    `answers` is true if it was sent inside a step that answers (`Step.answers`).
    """

    answers: bool
    documents: dict[TrackedDocument, None]
    pieces: tuple[str, ...]


class ModelPrompts:
    """The prompts of a record, except those sent inside retrievers and rerankers.

    `last_began` is the time at which the last one was sent; 0 without one.
    """

    def __init__(self, state: FlowState) -> None:
        self.last_began = 0.0
        self._state = state
        self._asked: list[_Asked] = []

    @property
    def seen(self) -> bool:
        """Whether the record has a prompt of any model outside retrievers and rerankers."""
        return bool(self._asked)

    def answering_pieces(self) -> dict[str, None]:
        """Return the text pieces of the prompts from which the answer was made.

        If the last prompt has documents, all of them from earlier prompts, the earlier prompts
        served to select them. Then only the last prompt and those of answering steps count;
        otherwise all prompts count.
        """
        units = self._asked
        before = {document for unit in units[:-1] for document in unit.documents}
        chose = bool(units[-1].documents) and units[-1].documents.keys() <= before
        counting = (unit for unit in units if not chose or unit.answers or unit is units[-1])
        return {piece: None for unit in counting for piece in unit.pieces}

    def read(self, step: Step, scope: Scope) -> None:
        """Note the documents sent to a model.

        If no list in use has such a document, replaced lists that have it are put back into use.
        """
        shown = self._shown_in(step.prompt or ())
        answers = any(over.answers for over in self._state.tree.above(step))
        self._asked.append(_Asked(answers, shown, step.prompt or ()))
        self.last_began = step.began
        for document in shown:
            for handed in reversed(scope.nearest(document)):
                if handed.read:
                    break
                handed.read = True
        _revive({document: None for document in shown if not scope.nearest(document)}, shown, scope)

    def _shown_in(self, prompt: Sequence[str]) -> dict[TrackedDocument, None]:
        shown: dict[TrackedDocument, None] = {}
        for index, piece in enumerate(prompt):
            # A conversation grows at its end: use the cached results of its earlier messages.
            for passage in self._state.passages_in([piece], again=index == len(prompt) - 1):
                if passage.document.origin is not None:
                    shown[passage.document] = None
                    passage.document.read_in[piece] = None
        return shown


def _revive(
    missing: dict[TrackedDocument, None], shown: dict[TrackedDocument, None], scope: Scope
) -> None:
    """Put replaced lists back into use until each missing document is in one of them.

    The list with the largest share of its documents in the prompt (`shown`) comes first.
    """
    candidates = dict.fromkeys(each for document in missing for each in scope.replaced(document))
    left = set(missing)
    for handed in sorted(candidates, key=lambda each: -each.share_of(shown)):
        if not left.isdisjoint(handed.documents):
            scope.revive(handed)
            handed.read = True
            left -= handed.documents
