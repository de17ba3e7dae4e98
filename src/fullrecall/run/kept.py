"""The finished results of runs, in their ledger."""

from __future__ import annotations

import json
import warnings
from asyncio import wrap_future
from contextlib import suppress

from fullrecall.result import Result, Status
from fullrecall.run.keys import result_key
from fullrecall.run.ledger import Ledger
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer
from fullrecall.usage import Spent


class Results:
    """The finished results of a run, and of those before it."""

    def __init__(self, ledger: Ledger, spent: Spent) -> None:
        self.ledger = ledger
        self._spent = spent
        self._warned = False
        self.warn()

    def get(self, scorer: Scorer, sample: Sample) -> Result | None:
        """Return a sample's result that a run finished before; None where there is none."""
        key = result_key(scorer, sample)
        value = None if key is None else self.ledger.get(key).value
        if value is None:
            return None
        from fullrecall.records import ResultRecord

        with suppress(ValueError):  # not this version's form: it is made anew
            result = ResultRecord.read(json.loads(value)).result(scorer.method)
            self._spent.results_reused += 1
            return result
        return None

    async def keep(self, scorer: Scorer, sample: Sample, result: Result) -> None:
        """Keep a finished result; one that is unscored, or rests on less than all, is none."""
        ledger = self.ledger
        if result.status is Status.UNSCORED or result.unmeasured:
            return
        key = result_key(scorer, sample)
        if key is None:
            return
        from fullrecall.records import plain_result

        method = result.method
        name = json.dumps({"scorer": method.name, **method.parameters}, default=str)
        await wrap_future(ledger.put(key, json.dumps(plain_result(result, result.score)), name))
        self.warn()

    def warn(self) -> None:
        """Say once why the store keeps nothing any more, where that is so."""
        if self.ledger.problem and not self._warned:
            self._warned = True
            warnings.warn(self.ledger.problem, UserWarning, stacklevel=2)
