"""What a page shows of a sample once it is opened: its contexts, results, and responses.

It is written as JSON at once: nearly all of it is numbers, those of texts, contexts, and ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from fullrecall.views.page.causes import Causes
from fullrecall.views.page.encoding import ScriptJson, as_json, script_json
from fullrecall.views.page.readings import Cell, Reading, Rows
from fullrecall.views.page.tables import (
    CONTEXTS_IN_BLOCK,
    Contexts,
    Texts,
    metadata_text,
    rounded,
    written,
)
from fullrecall.views.page.targets import Found, Targets
from fullrecall.report.row import Row
from fullrecall.sample import Sample


class Details:
    """The details of the samples of a page, in the order in which they are added.

    `texts_per_block` is known once `blocks` has yielded all.
    """

    contexts_per_block = CONTEXTS_IN_BLOCK

    def __init__(self, causes: Causes, samples_per_block: int) -> None:
        self._size = samples_per_block
        self.texts_per_block: list[int] = []
        self._texts = Texts()
        self._contexts = Contexts(self._texts)
        self._targets = Targets(self._texts, causes)
        self._samples: list[str] = []

    def add(self, rows: Rows, one: Row, readings: Sequence[Reading]) -> str:
        """Add a sample; return the causes in it, each with the place of the score, as JSON.

        Empty where there are none.
        """
        found: Found = set()
        number, sample = self._texts.number, one.sample
        # The question first: its number is lower than those of its contexts, and in their block.
        parts = [] if sample.user_input is None else [f'"q":{number(sample.user_input)}']
        if sample.reference:
            parts.append(f'"a":{number(sample.reference)}')
        if sample.metadata:
            parts.append(f'"m":{number(metadata_text(sample.metadata))}')
        sides = [
            "null" if row is None else self._side(row, side, readings, found)
            for side, row in enumerate(rows)
        ]
        self._samples.append(f'{{{",".join([*parts, ""])}"x":[{",".join(sides)}]}}')
        if not found:
            return ""
        return f"[{','.join([f'[{cause},{nth}]' for cause, nth in sorted(found)])}]"

    def blocks(self) -> Iterator[tuple[str, ScriptJson]]:
        """Yield each block of data with its ID: details of samples, contexts, texts."""
        for nth, start in enumerate(range(0, len(self._samples), self._size)):
            samples = self._samples[start : start + self._size]
            yield f"details-{nth}", ScriptJson(f"[{','.join(samples)}]")
        for nth, contexts in enumerate(self._contexts.blocks()):
            yield f"contexts-{nth}", ScriptJson(contexts)
        self.texts_per_block = []
        for nth, texts in enumerate(self._texts.blocks()):
            self.texts_per_block.append(len(texts))
            yield f"texts-{nth}", script_json(texts)

    def _side(self, row: Row, side: int, readings: Sequence[Reading], found: Found) -> str:
        sample = row.sample
        contexts = sample.retrieved_contexts
        parts = [f'"r":{self._texts.number(sample.response)}'] if sample.response else []
        if contexts is not None:
            parts.append(f'"c":{self._contexts.listed(contexts)}')
            scores = list(map(_score, contexts))
            if any(score is not None for score in scores):
                known = ["null" if score is None else rounded(score) for score in scores]
                parts.append(f'"o":[{",".join(known)}]')
        elif sample.retrieved_context_ids is not None:
            parts.append(f'"c":{self._contexts.listed_ids(sample.retrieved_context_ids)}')
        if sample.retrieval is not None:
            parts += self._record(sample)
        results = [self._result(row, each, each.cells[side], side, found) for each in readings]
        parts.append(f'"f":[{",".join(results)}]')
        return f"{{{','.join(parts)}}}"

    def _record(self, sample: Sample) -> Iterator[str]:
        """Yield how the contexts came about."""
        number, retrieval = self._texts.number, sample.retrieval
        assert retrieval is not None  # noqa: S101 - who calls it has looked
        if retrieval.error is not None:
            yield f'"e":{number(retrieval.error)}'
        if retrieval.ranks is not None:
            # Contexts of united calls have their rank in their own call.
            yield f'"k":{as_json(list(retrieval.ranks))}'
        if retrieval.read is not None:
            yield f'"b":{as_json(list(retrieval.read))}'
        stages = [
            written(n=number(one.name), i=number(one.into), c=self._contexts.listed(one.contexts))
            for one in sample.stages
        ]
        if stages:
            yield f'"s":[{",".join(stages)}]'

    def _result(self, row: Row, reading: Reading, cell: Cell, side: int, found: Found) -> str:
        number, result = self._texts.number, cell.result
        reason = cell.reason
        parts = [f'"w":{number(reason)}'] if reason else []
        targets = self._targets.of(row, reading, cell, side, found)
        if targets:
            parts.append(f'"t":[{",".join(targets)}]')
        if result.unmeasured:
            unmeasured = [f"[{number(target)},{number(why)}]" for target, why in result.unmeasured]
            parts.append(f'"u":[{",".join(unmeasured)}]')
        if any(result.usage):
            parts.append(f'"z":{as_json(list(result.usage))}')
        return f"{{{','.join(parts)}}}"


_score = attrgetter("score")
