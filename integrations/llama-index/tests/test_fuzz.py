"""Random programs of LlamaIndex's parts: no number that is wrong, asked and awaited.

`FULLRECALL_RUNS` asks for more programs.
"""

from __future__ import annotations

import logging
import os
from collections import Counter

import pytest
from random_programs import Program, ask, outcome

from fullrecall import Sample
from llama_index.evaluation.fullrecall import observed

PROGRAMS = int(os.environ.get("FULLRECALL_RUNS", "60"))


@pytest.mark.filterwarnings("ignore")  # LlamaIndex's own, of agents and workflows
@pytest.mark.parametrize("awaited", [False, True])
def test_no_number_is_wrong(*, awaited: bool, caplog: pytest.LogCaptureFixture) -> None:
    """And few programs are unscored in which nothing failed for good."""
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
    assert not wrong
    unscored = sum(n for said, n in counts.items() if said.startswith("unscored"))
    assert unscored <= PROGRAMS / 20, counts
