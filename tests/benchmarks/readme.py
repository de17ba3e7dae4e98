"""Measure every published figure of speed from the front door, and compare it with the page.

    python tests/benchmarks/readme.py [--write | --check] [--queries 2000] [--samples 100]

needs the libraries of requirements.txt; those that are not installed are left out and named.
Every contender starts from the same raw Python lists, builds what its library takes, and reads the
same numbers; ours and theirs are treated alike. Contenders are interleaved, and a ratio is taken
within a round of CPU seconds. `--write` puts the table into docs/benchmarks.md; `--check` exits
with 1 where that table differs from what is measured by more than the rounds differ.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import id_recall
import text_recall
from side_by_side import CLOCKS, Contender, Ratio, interleaved, say, setting, table

from fullrecall import Sample, evaluate
from fullrecall.measures import Precision, Recall, nDCG

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
OURS = "fullrecall"
_SLACK = 1.25
"""How far a figure may lie beyond the rounds: another day, the same machine."""


@dataclass(frozen=True)
class Row:
    """One line of the table: what is done, and the time of each as a multiple of the limit's."""

    title: str
    times: dict[str, Ratio]

    @property
    def first(self) -> str:
        """Who is fastest of all but the limit, which is no tool."""
        return min(self.times, key=lambda name: self.times[name].median)

    def cells(self) -> list[str]:
        """Return the row as the table has it."""
        others = [f"{name} {time}" for name, time in self.times.items() if name != OURS]
        told = [", ".join(others), self.first] if others else ["-", "-"]
        return [self.title, str(self.times[OURS]), *told]


def measured(title: str, limit: Contender, contenders: Sequence[Contender], rounds: int) -> Row:
    """Return a row of what the contenders take, as multiples of the limit's time."""
    seconds = interleaved([limit, *contenders], rounds, CLOCKS["cpu"])
    unit = seconds[limit.title]
    return Row(title, {c.name: Ratio.of(seconds[c.title], unit) for c in contenders})


def rows(queries: int, samples: int, rounds: int) -> list[Row]:
    """Measure everything; raise `ValueError` where a contender's numbers differ."""
    ids = id_recall.make(queries)
    loop = Contender("set loop", lambda: id_recall.lean_set_loop(ids))
    peers = _id_peers(ids)
    texts = text_recall.make(samples)
    bare = Contender("rapidfuzz, bare loop", lambda: text_recall.rapidfuzz_decisions(texts))
    text_recall.check(texts, text_recall.rapidfuzz_decisions)
    at_k = id_recall.AT_K
    return [
        measured(
            "recall by ID at 6 k, columns; set loop = 1",
            loop,
            [Contender(OURS, lambda: id_recall.columns(ids)), *peers],
            rounds,
        ),
        measured(
            "recall by ID at 6 k, a result for each query; set loop = 1",
            loop,
            [Contender(OURS, lambda: id_recall.built_and_scored(ids)), *peers],
            rounds,
        ),
        measured(
            "the same with nDCG@10 and precision@10; set loop of recall = 1",
            loop,
            [Contender(OURS, lambda: _results(ids, (*at_k, nDCG @ 10, Precision @ 10)))],
            rounds,
        ),
        measured(
            "evaluate, means of recall at 6 k with intervals; set loop = 1",
            loop,
            [Contender(OURS, lambda: _means(ids))],
            rounds,
        ),
        measured(
            "recall by text, evaluate; bare RapidFuzz = 1",
            bare,
            [
                Contender(OURS, lambda: _text_means(texts)),
                *_installed("ragas", lambda: [_ragas_texts(texts)]),
            ],
            rounds,
        ),
    ]


def _results(ids: id_recall.Queries, measures: Sequence[object]) -> list[list[float | None]]:
    score = id_recall.SCORER.score
    return [
        [result[measure] for measure in measures]  # type: ignore[index]
        for result in (score(sample) for sample in id_recall.samples_of(ids))
    ]


def _means(ids: id_recall.Queries) -> str:
    samples = id_recall.samples_of(ids)
    summary = evaluate(samples, id_recall.SCORER, progress=False).summary(*id_recall.AT_K)
    return str(summary.to_dict())


def _text_means(texts: Sequence[text_recall.Texts]) -> float | None:
    samples = [
        Sample(retrieved_contexts=one.retrieved, reference_contexts=one.references) for one in texts
    ]
    return evaluate(samples, text_recall.SCORER, progress=False).summary(Recall)[0].mean


def _id_peers(ids: id_recall.Queries) -> list[Contender]:
    """Return the libraries that are installed, each from raw lists to recall at all k."""
    expected = id_recall.set_loop(ids)
    part = ids.first(max(1, len(ids) // 20))

    def peer(name: str, make: Callable[[], Callable[[], id_recall.Recalls]]) -> list[Contender]:
        def contender() -> list[Contender]:
            run = make()
            id_recall._equal(name, run(), expected)
            return [Contender(name, run)]

        return _installed(name, contender)

    def ragas() -> list[Contender]:
        run = id_recall.Ragas(part, len(part)).end_to_end
        id_recall._equal("ragas", run(), expected[: len(part)])
        return [Contender("ragas", run, share=len(part) / len(ids))]

    return [
        *peer("pytrec_eval", lambda: id_recall.PytrecEval(ids).end_to_end),
        *peer("ir_measures", lambda: id_recall.IrMeasures(ids).end_to_end),
        *peer("ranx", lambda: id_recall.Ranx(ids).end_to_end),
        *peer("LlamaIndex", lambda: id_recall.LlamaIndex(ids).end_to_end),
        *_installed("ragas", ragas),
    ]


def _ragas_texts(texts: Sequence[text_recall.Texts]) -> Contender:
    from ragas.dataset_schema import SingleTurnSample

    metric = text_recall._ragas_metric()

    async def each() -> list[float]:
        return [
            await metric.single_turn_ascore(
                SingleTurnSample(
                    retrieved_contexts=one.retrieved, reference_contexts=one.references
                )
            )
            for one in texts
        ]

    return Contender("ragas", lambda: asyncio.run(each()))


def _installed(name: str, make: Callable[[], list[Contender]]) -> list[Contender]:
    try:
        return make()
    except ImportError:
        sys.stderr.write(f"{name} is not installed: left out\n")
        return []


def shown(measurements: Sequence[Row]) -> str:
    """Return the table: medians of the rounds, with the least and the most in brackets."""
    return table(["what", OURS, "others", "first"], [row.cells() for row in measurements])


_FIGURE = re.compile(r"(\d[\d.,]*) \((\d[\d.,]*)-(\d[\d.,]*)\)")


def published(page: str) -> dict[str, Ratio]:
    """Return our figure of each row in a page; raise `ValueError` where the page has no table."""
    _, begin, rest = page.partition(BEGIN)
    body, end, _ = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page must have a table between {BEGIN} and {END}")
    found = {}
    for line in body.strip().splitlines()[2:]:
        title, ours, *_ = (cell.strip() for cell in line.strip("| ").split(" | "))
        match = _FIGURE.fullmatch(ours)
        if match is None:
            raise ValueError(f"expected a figure such as 0.9 (0.8-1.0), got {ours!r}")
        found[title] = Ratio(*(float(part.replace(",", "")) for part in match.groups()))
    return found


def disagreements(page: str, measurements: Sequence[Row]) -> list[str]:
    """Return what the page says that was not measured: beyond the spread of both, or missing."""
    said = published(page)
    gone = said.keys() - {row.title for row in measurements}
    wrong = [f"{title}: is no longer measured" for title in sorted(gone)]
    for row in measurements:
        ours, figure = row.times[OURS], said.get(row.title)
        if figure is None:
            wrong.append(f"{row.title}: is not on the page")
        elif ours.median > figure.most * _SLACK or ours.median < figure.least / _SLACK:
            wrong.append(f"{row.title}: the page says {figure}, measured {ours}")
    return wrong


def written(page: str, measurements: Sequence[Row]) -> str:
    """Return the page with this table in place of its own."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{shown(measurements)}\n{END}{after}"


def main() -> None:
    """Measure, and print, write, or check the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--check", action="store_true", help="exit with 1 where the page differs")
    asked = parser.parse_args()
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # no telemetry from a benchmark
    found = rows(asked.queries, asked.samples, asked.rounds)
    say(shown(found))
    say("\n" + setting(OURS, "pytrec_eval-terrier", "ir-measures", "ranx", "llama-index-core",
                       "ragas", "rapidfuzz"))  # fmt: skip
    if asked.write:
        PAGE.write_text(written(PAGE.read_text("utf-8"), found), "utf-8")
    if asked.check:
        wrong = disagreements(PAGE.read_text("utf-8"), found)
        if wrong:
            sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
