"""Texts that UTF-8 cannot encode, and texts that look like their escapes, are saved and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullrecall import IdRecall, Report, Sample, evaluate
from fullrecall.errors import InputError, ReportError
from fullrecall.read import write_jsonl

ODD = ("\ud800", r"\ud800", "\\\ud800", r"\\ud800", "\0", "x\udfffy")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_odd_texts_come_back(suffix: str, tmp_path: Path) -> None:
    """Each text field of a sample comes back equal, and IDs match only equal IDs."""
    samples = [Sample(retrieved_context_ids=["b"])]
    for odd in ODD:
        texts = {"id": odd, "group": odd, "user_input": odd, "reference": odd, "response": odd}
        ids = {"retrieved_context_ids": [odd, "b"], "forbidden_ids": [odd + "f"]}
        for references in ([r"\ud800", "c"], [[odd, "d"], "c"], {odd: 2, "c": 1}):
            fields = {**texts, **ids, "reference_context_ids": references, "metadata": {odd: odd}}
            samples.append(Sample(**fields))
    report = evaluate(samples, IdRecall(), progress=False)
    report.save(tmp_path / f"r.{suffix}")
    loaded = Report.load(tmp_path / f"r.{suffix}")
    assert [row.sample for row in loaded] == samples
    assert loaded.table.ids == report.table.ids
    assert [row.results for row in loaded] == [row.results for row in report]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_two_halves_of_a_character_are_refused(suffix: str, tmp_path: Path) -> None:
    """JSON reads two halves as the character, so a text with both is refused, and no file stays."""
    sample = Sample(user_input="q", retrieved_contexts=["\ud83d\ude00"], metadata={"a": "b"})
    report = evaluate([sample], IdRecall(), progress=False)
    with pytest.raises(ReportError, match="two halves of a character"):
        report.save(tmp_path / f"r.{suffix}")
    with pytest.raises(InputError, match="two halves of a character"):
        write_jsonl([sample], tmp_path / "samples.jsonl")
    assert not list(tmp_path.iterdir())
