"""What a part was scored with: digests of its scorers, its judges, and their prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from fullrecall.errors import ReportError
from fullrecall.measures import Measure
from fullrecall.scorers.scorer import Scorer


@dataclass(frozen=True)
class Identity:
    """What makes parts those of one evaluation; each field is a digest.

    `scorers` are their names, kinds, and parameters without the judge, the measures, and the
    format; `judges` their names, which have model and parameters; `prompts` their words.
    """

    scorers: str
    judges: str
    prompts: str

    @classmethod
    def of(cls, scorers: Sequence[Scorer], measures: Sequence[Measure]) -> Identity:
        """Return the identity of what these scorers score, by these measures."""
        from fullrecall.records import plain_method
        from fullrecall.report.file import VERSION

        methods = [plain_method(scorer.method) for scorer in scorers]
        judges = [method["parameters"].pop("judge", None) for method in methods]
        prompts = [
            getattr(getattr(getattr(scorer, "judge", None), "prompts", None), "name", None)
            for scorer in scorers
        ]
        named = [measure.name for measure in measures]
        return cls(_digest(VERSION, methods, named), _digest(judges), _digest(prompts))

    def check(self, plain: object) -> None:
        """Raise `ReportError`, saying what differs, unless this is the same as `to_dict` gives."""
        theirs = plain if isinstance(plain, Mapping) else {}
        for name, value in vars(self).items():
            if theirs.get(name) != value:
                raise ReportError(
                    f"it was scored with other {name} ({theirs.get(name)}, expected {value}): pass "
                    "this BatchScorer the same scorers with the same parameters"
                )

    def to_dict(self) -> dict[str, str]:
        """Return plain JSON values."""
        return dict(vars(self))


def _digest(*parts: Any) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
