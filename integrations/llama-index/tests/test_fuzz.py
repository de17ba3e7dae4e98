"""Random programs of LlamaIndex's parts give no wrong number, asked and awaited.

`FULLRECALL_RUNS` asks for more programs.
"""

from __future__ import annotations

import gc
import logging
import os
from collections import Counter
from hashlib import sha256
from typing import Any

import pytest
from random_programs import Program, ask, outcome

from fullrecall import Sample
from llama_index.evaluation.fullrecall import listening, observed, selfcheck

PROGRAMS = int(os.environ.get("FULLRECALL_RUNS", "24"))


# These warnings are LlamaIndex's own, about agents and workflows.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("awaited", [False, True])
def test_no_number_is_wrong(*, awaited: bool, caplog: pytest.LogCaptureFixture) -> None:
    """No program has a wrong number, and few without a failure are unscored."""
    caplog.set_level(logging.CRITICAL)
    counts: Counter[str] = Counter()
    wrong = []
    for seed in range(PROGRAMS):
        program = Program(seed)
        found = ask(observed(program.thing), Sample(user_input="q"), awaited=awaited)
        said = outcome(program, found)
        counts[said if program.fails is False else "failed"] += 1
        if said == "wrong":
            wrong.append(seed)
    gc.collect()  # The agents' memories are deleted while their warnings are ignored.
    assert not wrong
    unscored = sum(n for said, n in counts.items() if said.startswith("unscored"))
    assert unscored <= PROGRAMS / 10, counts


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("events_too", [True, False])
def test_span_ids_of_another_format_are_never_wrong(
    *, events_too: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Other formats of span IDs give no wrong number, but may leave the sample unscored."""
    caplog.set_level(logging.CRITICAL)

    def renamed(id_: str | None) -> str | None:
        return None if id_ is None else sha256(id_.encode()).hexdigest()

    for name in ("span_enter", "span_exit", "span_drop"):
        original = getattr(listening._Spans, name)

        def handler(
            self: Any, id_: str, *rest: Any, original: Any = original, **fields: Any
        ) -> Any:
            if "parent_id" in fields:
                fields["parent_id"] = renamed(fields["parent_id"])
            return original(self, renamed(id_), *rest, **fields)

        monkeypatch.setattr(listening._Spans, name, handler)
    handle = listening._Events.handle

    def handle_renamed(self: Any, event: Any, **fields: Any) -> Any:
        if events_too:
            event = event.model_copy(update={"span_id": renamed(event.span_id)})
        return handle(self, event, **fields)

    monkeypatch.setattr(listening._Events, "handle", handle_renamed)
    selfcheck.broken.cache_clear()
    wrong = []
    for seed in range(max(20, PROGRAMS // 5)):
        program = Program(seed)
        found = ask(observed(program.thing), Sample(user_input="q"), awaited=False)
        said = outcome(program, found)
        wrong += [seed] if said == "wrong" or (said == "right" and not events_too) else []
    selfcheck.broken.cache_clear()
    gc.collect()
    assert not wrong
