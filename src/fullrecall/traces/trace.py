"""The steps of one trace as the record of a retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fullrecall.context import Context
from fullrecall.reordering import is_reordering
from fullrecall.retrieval import Call, FailedCalls, Retrieval
from fullrecall.sample import Sample
from fullrecall.traces.conventions import Step, identity

_FALLBACKS = "RunnableWithFallbacks"
_UNSEEN = "no retriever was traced"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How traces are read.

    - `id_key`: the key of a document's metadata that has its ID; by default the document's own.
    - `name`: only calls of this retriever, or of one of several, wherever they stand.
    - `failed_calls`: see `Retrieval.of_calls`.
    """

    id_key: str | None = None
    name: str | Sequence[str] | None = None
    failed_calls: FailedCalls = "unscored"

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are wanted, none for all."""
        if self.name is None:
            return ()
        return (self.name,) if isinstance(self.name, str) else tuple(self.name)


def sample_of(
    trace_id: str, steps: Iterable[Step], reading: Reading, *, ended: bool = True
) -> Sample:
    """Return a trace as a sample: its question, its retrieval and its answer.

    Its ID is the sample's where a span names one, else the trace's, which is in
    `metadata["trace_id"]` in any case. `ended` says whether its outermost span has ended.
    """
    tree = _Tree(steps)
    question = tree.question
    return Sample(
        id=tree.sample_id or trace_id,
        user_input=question,
        retrieval=retrieval_of(tree.steps, reading, ended=ended),
        metadata={"trace_id": trace_id},
    )


def retrieval_of(
    steps: Iterable[Step],
    reading: Reading,
    *,
    response: str | None = None,
    ended: bool = True,
) -> Retrieval:
    """Return what the steps of a trace say was retrieved.

    The outermost lists count: what a later reranker, or a chain that turned documents into
    documents, took is a stage of its call. Several lists that no step merged are united.
    `response` goes before what the outermost span says.
    """
    tree = _Tree(steps)
    opened = tree.opened(reading.names)
    response = tree.response if response is None else response
    calls = [one.call() for one in opened]
    if tree.cut and any(one.step.span_id in tree.cut for one in _every(opened)):
        return Retrieval(
            calls=calls,
            response=response,
            error="the trace is cut: the span that called a retriever is missing. Export whole "
            "traces",
        )
    if not ended:
        return Retrieval(calls=calls, response=response, error="the trace had not ended")
    if not calls:
        return Retrieval(response=response, error=tree.unseen(reading.names))
    final = None if reading.names else tree.final(opened)
    return Retrieval.of_calls(
        calls,
        contexts=final,
        response=response,
        prompts=tree.prompts,
        failed_calls=reading.failed_calls,
    )


def source_of(step: Step) -> str:
    """Return what was called: of `BM25Retriever.retrieve` the class."""
    owner, _, method = step.name.rpartition(".")
    return owner if owner and method in _METHODS else step.name


_METHODS = frozenset({
    "retrieve", "_retrieve", "aretrieve", "_aretrieve",  # LlamaIndex
    "postprocess_nodes", "_postprocess_nodes", "apostprocess_nodes", "_apostprocess_nodes",
    "run", "run_async",  # Haystack
    "forward", "aforward", "__call__",  # DSPy
})  # fmt: skip


@dataclass(slots=True, eq=False)
class _Open:
    """A list that no later step took, with the ones that it was made of."""

    step: Step
    contexts: tuple[Context, ...] | None
    taken: list[_Open] = field(default_factory=list)
    recovered: bool = False
    later: bool = False

    @property
    def error(self) -> str | None:
        return self.step.error if self.step.error is not None else self.step.problem

    def call(self) -> Call:
        """Return this list as a call of the record."""
        children = tuple(one.call() for one in self.taken)
        before = children[0].contexts if len(children) == 1 else None
        name = source_of(self.step)
        return Call(
            name,
            self.step.query if not self.later else None,
            None if self.error is not None else self.contexts,
            self.error,
            children,
            self.recovered,
            is_reordering(name, before, self.contexts),
        )


class _Tree:
    """The steps of a trace, below each other."""

    def __init__(self, steps: Iterable[Step]) -> None:
        # An exporter that tries again writes a span twice.
        by_id = {step.span_id: step for step in steps}
        self.steps = sorted(by_id.values(), key=lambda one: (one.start, one.end, one.name))
        self._below: dict[str | None, list[Step]] = {}
        self._tops: list[Step] = []
        orphans: list[Step] = []
        for step in self.steps:
            if step.parent_id in by_id:
                self._below.setdefault(step.parent_id, []).append(step)
            else:
                self._tops.append(step)
                if step.parent_id is not None and not step.remote_parent:
                    orphans.append(step)
        self.cut = {one.span_id for orphan in orphans for one in self._walk(orphan)}
        self._known = _known(self.steps)

    @property
    def sample_id(self) -> str | None:
        """The ID of a sample that a span names, the outermost first."""
        return next(
            (s.sample_id for top in self._tops for s in self._walk(top) if s.sample_id), None
        )

    @property
    def question(self) -> str | None:
        """What was asked: of the outermost span, else the only question that retrievers had."""
        tops = [top for top in self._tops if top.query is not None]
        if len(tops) == 1:
            return tops[0].query
        asked = {step.query for step in self.steps if step.kind == "retriever" and step.query}
        return asked.pop() if len(asked) == 1 else None

    @property
    def response(self) -> str | None:
        """What the outermost span answered, if that is no retriever."""
        said = [top.response for top in self._tops if top.kind not in ("retriever", "reranker")]
        return said[0] if len(said) == 1 else None

    @property
    def prompts(self) -> list[str] | None:
        """What models were sent, those aside that a retriever asks; None if not all is known."""
        found: list[str] = []
        complete = True
        seen = False

        def follow(step: Step) -> None:
            nonlocal complete, seen
            if step.kind in ("retriever", "reranker"):
                return
            below = self._below.get(step.span_id, ())
            if step.kind == "llm":
                seen = True
                inner = any(one.kind == "llm" for one in below)
                if step.prompts is not None:
                    found.extend(step.prompts)
                elif not inner:
                    complete = False
            for one in below:
                follow(one)

        for top in self._tops:
            follow(top)
        return found if seen and complete else None

    def opened(self, names: Sequence[str]) -> list[_Open]:
        """Return the outermost lists; with `names`, the outermost ones of these names."""
        every: list[_Open] = []
        for top in self._tops:
            every = self._joined(self._follow(top), every)
        every = _placed(every)
        if names:
            every = [found for one in every for found in _named(one, names)]
        failed = [
            _Open(step, None)
            for step in self.steps
            if step.kind == "tool" and step.error is not None and not self._retrieves(step)
        ]
        if names:
            return every + [one for one in failed if source_of(one.step) in names]
        brought = {self._tool(one.step) for one in every}
        # Of a tool that failed nothing says that it would have retrieved, unless it did so
        # elsewhere or nothing else did.
        return every + [one for one in failed if not brought or one.step.name in brought]

    def final(self, opened: Sequence[_Open]) -> tuple[Context, ...] | None:
        """Return the list that the outermost span returned, if it did and another one."""
        for top in self._tops:
            if top.holds is None:
                continue
            held = list(map(identity, top.holds))
            if [list(map(identity, one.contexts or ())) for one in opened] != [held]:
                return top.holds
        return None

    def unseen(self, names: Sequence[str]) -> str:
        """Return why there is no call."""
        failed = next((top.error for top in self._tops if top.error is not None), None)
        if failed is not None:
            return f"the run failed: {failed}"
        if names:
            there = dict.fromkeys(source_of(one.step) for one in _every(self.opened(())))
            listed = ", ".join(map(repr, there)) or "none"
            return f"no retriever is named {' or '.join(map(repr, names))}: choose one of {listed}"
        return _UNSEEN

    def _walk(self, step: Step) -> Iterator[Step]:
        yield step
        for child in self._below.get(step.span_id, ()):
            yield from self._walk(child)

    def _retrieves(self, step: Step) -> bool:
        return any(one.kind in ("retriever", "reranker") for one in self._walk(step))

    def _tool(self, step: Step) -> str | None:
        """Return the name of the tool that a step ran in."""
        by_id = {one.span_id: one for one in self.steps}
        above: Step | None = step
        while above is not None and above.kind != "tool":
            above = by_id.get(above.parent_id or "")
        return None if above is None else above.name

    def _follow(self, step: Step) -> list[_Open]:
        """Return the lists that are open at the end of a step."""
        opened: list[_Open] = []
        for child in self._below.get(step.span_id, ()):
            opened = self._joined(self._follow(child), opened)
        if step.name.startswith(_FALLBACKS) and step.error is None:
            for one in opened:
                one.recovered = one.error is not None
        if step.kind == "retriever":
            return [self._retriever(step, opened)]
        contexts = self._list_of(step)
        if step.kind == "reranker":
            return [_Open(step, contexts, opened, later=True)]
        if contexts is None:
            return opened
        answered = [one for one in opened if one.contexts is not None]
        if len(answered) == 1 and answered[0].contexts == contexts:
            return opened
        later = step.kind == "other" and not opened
        return [_Open(step, contexts, opened, later=later)]

    def _retriever(self, step: Step, opened: list[_Open]) -> _Open:
        contexts = self._list_of(step)
        if contexts is None and step.error is None and step.problem is None:
            answered = [one for one in opened if one.contexts is not None]
            if len(answered) == 1 and len(opened) == 1:
                return answered[0]  # it only passes on what it calls
        inner: list[_Open] = []
        for one in _placed(opened):
            own = source_of(one.step) == source_of(step) and one.step.name != step.name
            same = len(opened) == 1 and one.contexts == contexts
            # A retriever's own inner method, or what it only passes on.
            inner += one.taken if own or (same and one.error is None) else [one]
        return _Open(step, contexts, inner)

    def _list_of(self, step: Step) -> tuple[Context, ...] | None:
        """Return what a step returned; by their IDs, where the documents stand in other spans."""
        if step.contexts is not None or step.references is None:
            return step.contexts
        found = [self._known.get(one) for one in step.references]
        return None if None in found else tuple(one for one in found if one is not None)

    def _joined(self, found: list[_Open], before: list[_Open]) -> list[_Open]:
        """Return open lists, those in `before` that a later step of `found` took below it."""
        opened = list(before)
        for one in found:
            if one.later and not one.taken:
                one.taken = [other for other in opened if _takes(one, other)]
                opened = [other for other in opened if other not in one.taken]
            opened.append(one)
        return opened


def _placed(opened: Iterable[_Open]) -> list[_Open]:
    """Return lists without those of chains that took none: they may be of anything."""
    return [one for one in opened if one.taken or not one.later or one.step.kind != "other"]


def _takes(later: _Open, other: _Open) -> bool:
    """Return whether a step took a list that was there before."""
    if other.step.end > later.step.start or other.error is not None:
        return False
    before = set(map(identity, other.contexts or ()))
    if not before:
        return True
    if later.step.given is not None:
        return not before.isdisjoint(later.step.given)
    after = set(map(identity, later.contexts or ()))
    return not after or not before.isdisjoint(after)


def _known(steps: Iterable[Step]) -> Mapping[str, Context]:
    return {
        context.id: context
        for step in steps
        for context in step.contexts or ()
        if context.id is not None
    }


def _named(one: _Open, names: Sequence[str]) -> list[_Open]:
    if source_of(one.step) in names:
        return [one]
    return [found for child in one.taken for found in _named(child, names)]


def _every(opened: Iterable[_Open]) -> Iterator[_Open]:
    for one in opened:
        yield one
        yield from _every(one.taken)
