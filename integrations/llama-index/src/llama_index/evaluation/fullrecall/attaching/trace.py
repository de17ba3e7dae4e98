"""How the steps of a call are nested, and which step took over the nodes of which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llama_index.evaluation.fullrecall.attaching.spans import Kind, Span

_INDEX_OF_TEXTS = "SummaryIndexRetriever"
"""What LlamaIndex's evaluators read contexts with that they got as texts."""

_RETRYING = ("RetryQueryEngine", "RetrySourceQueryEngine", "RetryGuidelineQueryEngine")
"""The engines that evaluate their answers."""


class Trace:
    """The steps of a call in the order in which they began.

    Those that find tools, engines or earlier messages are left out, unless they are the call:
    `owner` is the identity of the object that was called.
    """

    def __init__(self, spans: Mapping[str, Span], owner: int | None = None) -> None:
        self._spans = dict(spans)
        self._owner = owner
        self.steps = [
            span
            for span in self._spans.values()
            if span.kind is not Kind.OTHER and not self._selects(span)
        ]
        self._places = {span: place for place, span in enumerate(self.steps)}
        self._scopes = {span: self._enclosing(span) for span in self.steps}
        self.echoes = self._find_echoes()
        self.taker: dict[Span, Span] = {}
        self.ends: dict[Span | None, list[Span]] = {}
        self._follow()

    def scope(self, span: Span) -> Span | None:
        """Return the step that `span` is part of, None for one that stands alone."""
        return self._scopes[span]

    def is_inside(self, span: Span, outer: Span | None) -> bool:
        """Return whether `span` is a part of `outer`, or of a part of it; None has all inside."""
        return outer is None or any(scope is outer for scope in self.scopes(span))

    def scopes(self, span: Span) -> Iterable[Span]:
        """Yield the step that `span` is part of, the step which that is part of, and so on."""
        scope = self._scopes[span]
        while scope is not None:
            yield scope
            scope = self._scopes[scope]

    def order(self, span: Span) -> list[int]:
        """Return a key to sort by: the steps of what began first come first, whenever they ran."""
        path = [self._places[span], *(self._places[scope] for scope in self.scopes(span))]
        return path[::-1]

    @property
    def retrievals(self) -> list[Span]:
        """The retrievals that ended, without those that read again what had been retrieved."""
        return [
            span
            for span in self.steps
            if span.kind is Kind.RETRIEVAL and span.handed is not None and span not in self.echoes
        ]

    def _selects(self, span: Span | None) -> bool:
        while span is not None:
            if span.selects and span.owner != self._owner:
                return True
            span = self._spans.get(span.parent or "")
        return False

    def _enclosing(self, span: Span) -> Span | None:
        parent = self._spans.get(span.parent or "")
        while parent is not None and parent.kind is Kind.OTHER:
            parent = self._spans.get(parent.parent or "")
        return parent

    def _find_echoes(self) -> set[Span]:
        """Return the retrievals from an index made of texts that were retrieved before.

        Evaluators make one, with nodes of its own, to read them together with the answer.
        """
        echoes: set[Span] = set()
        ids: set[str] = set()
        texts: list[str] = []
        for span in self.steps:
            nodes = span.given if span.kind is Kind.SYNTHESIS else span.handed
            if nodes is None or span.kind in (Kind.ENGINE, Kind.TOOL):
                continue
            read = [item.get_content() for item in nodes.items]
            if (
                self._may_evaluate(span)
                and read
                and ids.isdisjoint(nodes.ids)
                and all(any(text in known for known in texts) for text in read)
            ):
                echoes.add(span)
                continue
            ids |= nodes.ids
            texts += read
        return echoes

    def _may_evaluate(self, span: Span) -> bool:
        if span.name != _INDEX_OF_TEXTS:
            return False
        answers = (step.answer for step in self.steps if step.kind is Kind.ENGINE)
        return any(scope.name in _RETRYING for scope in self.scopes(span)) or any(
            answer and answer in (span.question or "") for answer in answers
        )

    def _follow(self) -> None:
        """Find which step took over each list, and which lists are left at the end of a scope."""
        for span in self.steps:
            if (
                span.kind not in (Kind.RETRIEVAL, Kind.POSTPROCESSING)
                or span.handed is None
                or span in self.echoes
            ):
                continue
            scope = self._scopes[span]
            left = self.ends.setdefault(scope, [])
            for taken in _taken(span, left):
                self.taker[taken] = span
                left.remove(taken)
            left.append(span)
        for scope, left in self.ends.items():
            if scope is not None and scope.kind in (Kind.RETRIEVAL, Kind.POSTPROCESSING):
                self.taker.update(dict.fromkeys(left, scope))


def _taken(span: Span, lists: list[Span]) -> list[Span]:
    """Return the steps whose nodes a postprocessor was given."""
    given = span.given
    if given is None:
        return []
    known = [(step, step.handed) for step in lists if step.handed is not None]
    if not given.items:
        return [step for step, handed in known if not handed.items]
    same = [step for step, handed in known if not given.holders.isdisjoint(handed.holders)]
    return same or [step for step, handed in known if not given.ids.isdisjoint(handed.ids)]
