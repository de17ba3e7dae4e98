"""The command line takes other tools' names of measures, and the user's own measures."""

from pathlib import Path

import pytest
from tests.cli.command_line import run

from fullrecall.errors import ParameterError
from fullrecall.measures import (
    AP,
    MEASURES,
    RBP,
    RR,
    BPref,
    Hit,
    InterpolatedPrecision,
    Measure,
    Precision,
    Recall,
    RPrecision,
    nDCG,
    parse,
    parse_threshold,
)
from fullrecall.measures.text import SPELLINGS

AS_ELSEWHERE = {
    "P@5": Precision(denominator="k") @ 5,
    "P_5": Precision(denominator="k") @ 5,
    "recall_5": Recall @ 5,
    "R@100": Recall @ 100,
    "success_1": Hit @ 1,
    "ndcg_cut_10": nDCG @ 10,
    "ndcg_cut.10": None,
    "map_cut_5": AP @ 5,
    "recip_rank": RR,
    "Rprec": RPrecision,
    "bpref": BPref,
    "iprec_at_recall_0.10": InterpolatedPrecision(recall=0.1),
    "IPrec@0.4": InterpolatedPrecision(recall=0.4),
    "r-precision": RPrecision,
    "rbp.95": RBP(p=0.95),
    "mrr@10": RR @ 10,
    "hit_rate@3": Hit @ 3,
    "recall@5-l2": Recall(min_grade=2) @ 5,
    "ndcg_burges@10": nDCG(gain="exponential") @ 10,
    "precisionAt(5)": Precision(denominator="k") @ 5,
    "ndcgAtK@5": nDCG @ 5,
    "meanAveragePrecisionAtK@5": AP(denominator="k") @ 5,
    "meanAveragePrecision": AP,
    "P@5-lx": None,
    "map_cut_0": None,
    "iprec_at_recall_2": None,
}


@pytest.mark.parametrize(("text", "measure"), AS_ELSEWHERE.items(), ids=list(AS_ELSEWHERE))
def test_the_spellings_of_other_tools(text: str, measure: Measure | None) -> None:
    """The spellings of trec_eval, ir_measures, ranx and Spark are read, and no other spellings."""
    if measure is None:
        with pytest.raises(ParameterError):
            parse(text)
    else:
        assert parse(text) == measure
        assert parse_threshold(f"{text} >= 0.5") == (measure >= 0.5)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_hides_a_measure(spelling: str) -> None:
    """No spelling of another tool is the name of one of fullrecall's measures."""
    assert spelling not in MEASURES
    assert parse(f"{spelling.upper()}@5") == SPELLINGS[spelling] @ 5


def test_a_command_takes_it(tmp_path: Path) -> None:
    """`--measure mrr@5` shows rr@5."""
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}\n')
    done = run("evaluate", samples, "--measure", "mrr@5")
    assert done.exit_code == 0, done.output
    assert "rr@5" in done.stdout
