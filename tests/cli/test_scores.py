"""The scores of `evaluate` and similar commands, and their output."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import SAMPLES, TEXTS, row_of, run

from fullrecall import IdRecall, Report, evaluate
from fullrecall.measures import RR, Measure, Recall, nDCG
from fullrecall.read import read


def recall_by_hand(sample: dict[str, Any], k: int | None) -> float:
    """Return recall@k of a row of IDs, computed by its definition."""
    wanted = set(sample["reference_context_ids"])
    return len(wanted & set(sample["retrieved_context_ids"][:k])) / len(wanted)


def test_scores_equal_a_plain_set_loop(file: Callable[..., Path]) -> None:
    """Means are those of the defined samples, at every k, and coverage is counted."""
    result = run("evaluate", file(SAMPLES), "--scorer", "id_recall", "--json")
    (score,) = json.loads(result.stdout)["scores"]
    scored = SAMPLES[:2]
    for k in (1, 3, 5, 10, None):
        expected = sum(recall_by_hand(sample, k) for sample in scored) / len(scored)
        name = "recall" if k is None else f"recall@{k}"
        assert score["measures"][name]["mean"] == pytest.approx(expected)
    assert (score["scored"], score["undefined"], score["unscored"]) == (2, 1, 1)


def test_the_table_shows_what_the_summary_holds(file: Callable[..., Path]) -> None:
    """The printed cells are the numbers of `evaluate`: means, and their numbers of samples."""
    path = file(SAMPLES)
    score = evaluate(read(path), IdRecall()).summary()["id_recall"]
    printed = run("evaluate", path).stdout
    for k in (1, 3, 5, 10):
        assert row_of(printed, f"@{k}") == [f"{score[Recall @ k].mean:.3f}"]
    assert row_of(printed, "all retrieved") == [f"{score.mean:.3f}"]
    assert [row_of(printed, s)[0] for s in ("scored", "undefined", "unscored")] == ["2", "1", "1"]
    assert "1 unscored in id_recall: no retrieval observed" in " ".join(printed.split())


def test_k_and_measures_choose_what_is_shown(file: Callable[..., Path]) -> None:
    """--k shows recall at k only, --measure any measure; each once, in order."""
    path = file(SAMPLES)
    report = evaluate(read(path), IdRecall())

    def shown(*options: object) -> dict[str, float]:
        (score,) = json.loads(run("evaluate", path, *options, "--json").stdout)["scores"]
        return {name: one["mean"] for name, one in score["measures"].items()}

    def expected(*measures: Measure) -> dict[str, float | None]:
        (score,) = report.summary(*measures)
        return {measure.name: score[measure].mean for measure in measures}

    assert shown("--k", 3) == expected(Recall @ 3)
    assert shown("--measure", "rr", "-m", "nDCG(gain=exponential) @ 5") == expected(
        RR, nDCG(gain="exponential") @ 5
    )
    both = ("--k", 3, "--measure", "precision@3", "--measure", "recall@3")
    assert list(shown(*both)) == ["recall@3", "precision@3"]
    assert row_of(run("evaluate", path, *both).stdout, "precision@3")


def test_what_was_missed_is_listed_with_its_rank(file: Callable[..., Path]) -> None:
    """A missed target is listed with its rank beyond k, or with the length of its list."""
    printed = run("evaluate", file(SAMPLES), "--scorer", "id_recall", "--k", 5).stdout
    assert (
        "q1  Where is the Eiffel Tower?\n  d7 — at rank 7\n  d9 — not in the first 7\n" in printed
    )
    assert "d2 —" not in printed  # found at rank 2


def test_missed_limits_the_list_and_says_how_many_there_are(file: Callable[..., Path]) -> None:
    """`--missed N` shows N samples, of all that miss something; 0 shows none."""
    rows = [{**SAMPLES[0], "id": f"question-{n}"} for n in range(7)]
    printed = run("evaluate", file(rows), "--missed", 2).stdout
    assert "7 samples miss something, the first 2:" in printed
    assert re.findall(r"question-\d", printed) == ["question-0", "question-1"]
    assert "question-" not in run("evaluate", file(rows), "--missed", 0).stdout
    for count, beginning in (
        (6, "7 samples miss something, the first 6:"),
        (7, "7 samples miss something:"),
        (8, "7 samples miss something:"),
    ):
        assert beginning in run("evaluate", file(rows), "--missed", count).stdout
    assert "1 sample misses something:" in run("evaluate", file(rows[:1]), "--missed", 1).stdout


def test_a_sample_that_misses_much_is_cut(file: Callable[..., Path]) -> None:
    """One sample with hundreds of missed targets does not fill the screen."""
    row = {"retrieved_context_ids": ["x"], "reference_context_ids": [f"d{n}" for n in range(300)]}
    printed = run("evaluate", file([row])).stdout
    assert "… and 290 more" in printed
    assert len(printed.splitlines()) < 50
    for count, more in ((10, False), (11, True)):
        row["reference_context_ids"] = [f"d{n}" for n in range(count)]
        assert ("more" in run("evaluate", file([row])).stdout) == more


@pytest.mark.parametrize(
    ("dropped", "expected"),
    [
        ((), "id_recall"),
        (("reference_context_ids",), "span_recall"),
        (("reference_contexts", "reference"), "id_recall"),
        (("reference_contexts", "reference_context_ids"), "claim_recall"),
    ],
)
def test_one_scorer_is_chosen_by_the_first_sample(
    file: Callable[..., Path], dropped: tuple[str, ...], expected: str
) -> None:
    """Without --scorer, the first scorer that the fields allow runs, and is named."""
    row = {name: value for name, value in TEXTS.items() if name not in dropped}
    printed = " ".join(run("evaluate", file([row, {**row, "id": "second"}])).stdout.split())
    assert f" Scored {expected}. " in f" {printed} "


def test_what_is_evaluated_by_default_can_be_gated(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    """`evaluate` and `gate` without a score's name use the report's one score."""
    saved = tmp_path / "report.jsonl"
    run("evaluate", file([TEXTS] * 30), "--output", saved)
    result = run("gate", saved, "--min-recall", 0.5)
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--threshold", 0.8), ["text_recall"]),
        (("--judge", "lexical"), ["claim_recall"]),
        (("--judge", "lexical", "--similarity", "ratio"), ["text_recall", "claim_recall"]),
    ],
)
def test_an_option_of_a_scorer_asks_for_it(
    file: Callable[..., Path], options: tuple[object, ...], expected: list[str]
) -> None:
    """Without --scorer, only the scorers whose options are given run."""
    plain = json.loads(run("evaluate", file([TEXTS]), *options, "--json").stdout)
    assert [score["name"] for score in plain["scores"]] == expected


def test_options_reach_their_scorers(file: Callable[..., Path], tmp_path: Path) -> None:
    """Each option is a parameter of the scorer that takes it."""
    saved = tmp_path / "report.jsonl"
    run(
        *("evaluate", file([TEXTS]), "--output", saved, "-s", "id_recall", "-s", "text_recall"),
        *("--threshold", 0.7, "--similarity", "token_set_ratio"),
    )
    by_id, by_text = Report.load(saved).methods
    assert (by_id.name, by_id.parameters) == ("id_recall", {})
    assert by_text.name == "text_recall"
    assert by_text.parameters["threshold"] == 0.7
    assert by_text.parameters["similarity"] == "token_set_ratio"


def test_several_ks_are_shown_and_the_largest_is_what_misses_count_for(
    file: Callable[..., Path],
) -> None:
    """--ks 5,1 shows recall at 1 and at 5, and lists the targets that the first 5 miss."""
    printed = run("evaluate", file(SAMPLES), "--ks", "5,1").stdout
    assert re.findall(r"^  (@\d+|all)", printed, re.MULTILINE) == ["@1", "@5"]
    assert "d7 — at rank 7" in printed
    assert "d2 —" not in printed  # found at rank 2
    assert run("evaluate", file(SAMPLES), "--k", "1,5").stdout == printed


def test_repeated_ids_are_one_group(file: Callable[..., Path]) -> None:
    """Samples with one ID are one group, so repeated samples do not narrow the interval."""
    intervals = {}
    for name, rows in {"once": SAMPLES[:2], "twice": SAMPLES[:2] * 2}.items():
        done = run("evaluate", file(rows, f"{name}.jsonl"), "--json")
        (score,) = json.loads(done.stdout)["scores"]
        intervals[name] = score["measures"]["recall"]["interval"]
        assert score["scored"] == len(rows)
    assert intervals["once"] == intervals["twice"]


def test_k_means_the_same_in_every_command(file: Callable[..., Path], tmp_path: Path) -> None:
    """After an evaluation with --k, compare, summary and gate take the same option."""
    saved = tmp_path / "report.jsonl"
    run("evaluate", file(SAMPLES), "--output", saved)
    for command in (["compare", saved, saved], ["summary", saved]):
        by_k = run(*command, "--k", "3,1", "--json").stdout
        assert by_k == run(*command, "-m", "recall@1", "-m", "recall@3", "--json").stdout
        assert "recall@3" in by_k
        assert by_k != run(*command, "--json").stdout
        assert run(*command, "--k", 0).exit_code == 2
    gate = ["gate", saved, "--baseline", saved, "--margin", 1, "--json"]
    by_k = run(*gate, "--k", 3).stdout
    assert by_k == run(*gate, "--measure", "recall@3").stdout != run(*gate).stdout
    assert "needs --min-recall or --baseline" in run("gate", saved, "--k", 3).stderr


def test_no_misses_may_be_asked_for(file: Callable[..., Path]) -> None:
    """`--missed 0` shows the means alone."""
    done = run("evaluate", file(SAMPLES), "--missed", 0)
    assert done.exit_code == 0
    assert "at rank" not in done.stdout


def test_a_gate_may_count_the_first_context_alone(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    """`gate --k 1` counts the first context alone, and `--k 0` is an error."""
    report = tmp_path / "report.jsonl"
    run("evaluate", file(SAMPLES), "--output", report)
    assert run("gate", report, "--min-recall", 0.1, "--k", 1).exit_code != 2
    assert run("gate", report, "--min-recall", 0.1, "--k", 0).exit_code == 2
