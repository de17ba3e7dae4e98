"""Measure every published figure of speed from the front door, and compare it with the pages.

    python tests/benchmarks/readme.py [--write | --check [--coarse]]

needs the libraries of requirements.txt; those that are not installed are left out and named.
Every contender starts from the same raw Python lists (or Arrow columns), builds what its library
takes, and reads the same numbers, which are compared before anything is timed; ours and theirs are
treated alike. Contenders are interleaved, and a ratio is taken within a round of CPU seconds.

`--write` keeps the figures in figures.json and puts them into docs/benchmarks.md and README.md.
`--check` exits with 1 where a page does not show what figures.json has, and where fullrecall's own
figures differ from those of this run by more than the rounds do. `--coarse` is for another
machine, busy with other work: no other library, ratios of CPU time only, and twice the room.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import id_recall
import text_recall
from side_by_side import CLOCKS, Contender, Ratio, interleaved, say, setting, table

from fullrecall import Sample, evaluate
from fullrecall.distributed.batches import BatchScorer
from fullrecall.measures import Precision, Recall, nDCG
from fullrecall.scorers.similarity import BoundedSimilarity

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
PAGE = HERE.parents[1] / "docs" / "benchmarks.md"
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
OURS = "fullrecall"
_SLACK, _COARSE = 1.25, 2.0
"""How far a figure may lie beyond the rounds: another day, the same machine; another machine."""

PACKAGES = (
    OURS, "pytrec_eval-terrier", "ir-measures", "ranx", "llama-index-core", "ragas", "rapidfuzz",
    "numpy", "pyarrow",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line of the table: what is done, and the time of each as a multiple of the unit's.

    `limits` are no tools but what the machine could do. `readme` says whether README.md shows it.
    Only ratios of CPU time, not seconds and not the wall's, are much the same on another machine.
    """

    title: str
    times: Mapping[str, Ratio]
    limits: Mapping[str, Ratio] = field(default_factory=dict)
    readme: bool = False
    clock: str = "cpu"

    @property
    def order(self) -> list[str]:
        """Who is there, the fastest first."""
        return sorted(self.times, key=lambda name: self.times[name].median)

    def cells(self) -> list[str]:
        """Return the row as the page has it."""
        first = self.order[0] if len(self.times) > 1 else "-"
        return [
            self.title,
            str(self.times[OURS]),
            _listed(self.others),
            first,
            _listed(self.limits),
        ]

    def short_cells(self) -> list[str]:
        """Return the row as README.md has it."""
        ours = f"{self.times[OURS].median:.2g}"
        others = [f"{name} {self.times[name].median:.2g}" for name in self.order if name != OURS]
        return [self.title, ours, ", ".join(others) or "-"]

    @property
    def others(self) -> dict[str, Ratio]:
        """The other libraries, the fastest first."""
        return {name: self.times[name] for name in self.order if name != OURS}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Row:
        """Return the row that figures.json has."""
        times, limits = (
            {name: Ratio(**ratio) for name, ratio in plain[key].items()}
            for key in ("times", "limits")
        )
        return cls(plain["title"], times, limits, plain["readme"], plain["clock"])


def _listed(times: Mapping[str, Ratio]) -> str:
    return ", ".join(f"{name} {time}" for name, time in times.items()) or "-"


@dataclass(frozen=True)
class Task:
    """What a row measures: `unit` is 1, or a second where there is none."""

    title: str
    unit: Contender | None
    contenders: Sequence[Contender]
    limits: Sequence[Contender] = ()
    clock: str = "cpu"
    readme: bool = False

    def measured(self, rounds: int) -> Row:
        """Return what everybody takes, as multiples of the unit's time in the same round."""
        units = [] if self.unit is None else [self.unit]
        every = [*units, *self.contenders, *self.limits]
        seconds = interleaved(every, rounds, _CLOCKS[self.clock])
        unit = [1.0] * rounds if self.unit is None else seconds[self.unit.title]
        times, limits = (
            {one.name: Ratio.of(seconds[one.title], unit) for one in some}
            for some in (self.contenders, self.limits)
        )
        return Row(self.title, times, limits, self.readme, self.clock)


def _cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


_CLOCKS = {**CLOCKS, "children": _cpu_of_children}


def rows(queries: int, samples: int, rounds: int, *, peers: bool = True) -> list[Row]:
    """Measure everything; raise `ValueError` where a contender's numbers differ."""
    tasks = [
        *_id_tasks(queries, peers=peers),
        *_text_tasks(samples, peers=peers),
        *_start_tasks(peers=peers),
    ]
    return [task.measured(rounds) for task in tasks]


def _id_tasks(queries: int, *, peers: bool) -> list[Task]:
    ids = id_recall.make(queries)
    loop = Contender("set loop", lambda: id_recall.lean_set_loop(ids))
    one_pass = Contender("one pass in C", lambda: _pass(ids))
    numbers = Numbers(ids)
    at_k = id_recall.AT_K
    ranked = (*at_k, nDCG @ 10, Precision @ 10)
    id_recall.check_ours(ids)
    others = _id_peers(ids) if peers else []
    return [
        Task(
            "recall@k by ID at 6 k, columns of texts",
            loop,
            [Contender(OURS, lambda: id_recall.columns(ids)), *others],
            [one_pass],
            readme=True,
        ),
        Task(
            "the same, Arrow columns of numbers",
            loop,
            [Contender(OURS, numbers.ours), *(numbers.peers() if peers else [])],
            [Contender("numpy", numbers.numpy)],
            readme=True,
        ),
        Task(
            "the same, a result for each query",
            loop,
            [Contender(OURS, lambda: id_recall.built_and_scored(ids)), *others],
            [one_pass],
            readme=True,
        ),
        Task(
            "a result for each query, with nDCG@10 and precision@10",
            loop,
            [
                Contender(OURS, lambda: _results(ids, ranked)),
                *(_ranked_peers(ids) if peers else []),
            ],
            [one_pass],
            readme=True,
        ),
        Task(
            "means at 6 k: evaluate; the others without intervals",
            loop,
            [Contender(OURS, lambda: _means(ids)), *others],
            [one_pass],
            readme=True,
        ),
        Task(
            'means at 6 k of mappings, evaluate(keep="summary")',
            loop,
            [Contender(OURS, lambda: _totals(ids))],
            [one_pass],
        ),
        Task(
            "means at 6 k of an Arrow table of numbers, BatchScorer",
            loop,
            [Contender(OURS, numbers.totals)],
            [Contender("numpy", numbers.numpy)],
        ),
    ]


def _text_tasks(samples: int, *, peers: bool) -> list[Task]:
    texts = text_recall.make(samples)
    text_recall.check(texts, text_recall.rapidfuzz_decisions)
    bare = Contender("bare loop", lambda: text_recall.rapidfuzz_decisions(texts))
    cut = Contender("bare loop, cut at the threshold", lambda: _cut_decisions(texts))
    others = _installed("ragas", lambda: [_ragas_texts(texts)]) if peers else []
    summary = Contender(OURS, lambda: _text_summary(texts))
    pairs = _pairs_alone(texts)
    return [
        Task(
            "recall by text; bare RapidFuzz = 1",
            bare,
            [Contender(OURS, lambda: _text_mean(texts)), *others],
            [cut],
            readme=True,
        ),
        Task(
            "recall by text at 4 k and over all, evaluate().summary(); bare RapidFuzz = 1",
            bare,
            [summary, *others],
            [cut, pairs],
            readme=True,
        ),
        Task(
            "the same by the wall, on all cores; bare RapidFuzz = 1",
            bare,
            [summary, *others],
            [cut],
            clock="wall",
        ),
    ]


_TEN_LINES = """
from fullrecall import IdRecall, evaluate
samples = [
    {"retrieved_ids": ["d7", "d1"], "expected_ids": ["d1"]},
    {"retrieved_ids": ["d2", "d8"], "expected_ids": ["d2", "d4"]},
]
report = evaluate(samples, IdRecall(), progress=False)
print(report.summary())
for missed in report.missed():
    print(missed.sample, missed.target)
"""

_TEN_LINES_OF_IR_MEASURES = """
import ir_measures
from ir_measures import R
qrels = {"1": {"d1": 1}, "2": {"d2": 1, "d4": 1}}
run = {"1": {"d7": 2.0, "d1": 1.0}, "2": {"d2": 2.0, "d8": 1.0}}
print(ir_measures.calc_aggregate([R @ 1, R @ 3, R @ 5, R @ 10], qrels, run))
for each in ir_measures.iter_calc([R @ 10], qrels, run):
    print(each)
"""


def _start_tasks(*, peers: bool) -> list[Task]:
    python, nothing = (
        sys.executable,
        Contender("python -c pass", lambda: _run(sys.executable, "-c", "pass")),
    )
    ours, theirs = (str(Path(python).with_name(name)) for name in ("fullrecall", "ir_measures"))

    def there(name: str, *command: str) -> list[Contender]:
        def make() -> list[Contender]:
            try:
                _run(*command)
            except (OSError, subprocess.CalledProcessError) as error:
                raise ImportError(name) from error
            return [Contender(name, lambda: _run(*command))]

        return _installed(name, make) if peers else []

    return [
        Task(
            "`--help`; seconds of CPU",
            None,
            [
                Contender(OURS, lambda: _run(ours, "--help")),
                *there("ir_measures", theirs, "--help"),
            ],
            [nothing],
            clock="children",
        ),
        Task(
            "a program of ten lines; seconds of CPU",
            None,
            [
                Contender(OURS, lambda: _run(python, "-c", _TEN_LINES)),
                *there("ir_measures", python, "-c", _TEN_LINES_OF_IR_MEASURES),
            ],
            [nothing],
            clock="children",
        ),
    ]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _pass(ids: id_recall.Queries) -> list[int]:
    """Look at each retrieved ID once, all within one call for each query."""
    return [len(set(relevant).intersection(retrieved)) for retrieved, relevant in ids.pairs()]


class Numbers:
    """The same queries with whole numbers for IDs, as Arrow's columns of lists."""

    def __init__(self, ids: id_recall.Queries) -> None:
        import pyarrow as pa

        found, wanted = (
            [[int(one[4:]) for one in row] for row in column]
            for column in (ids.retrieved, ids.relevant)
        )
        self._found, self._wanted = pa.array(found), pa.array(wanted)
        self._table = pa.table(
            {
                "retrieved_ids": self._found,
                "expected_ids": self._wanted,
                "row": range(len(self._found)),
            }
        )
        self._expected = id_recall.set_loop(ids)
        scores = self.ours()
        by_row = list(zip(*map(scores.at, id_recall.KS), strict=True))
        id_recall._equal("score_columns of Arrow", by_row, self._expected)
        id_recall._equal("numpy", self.numpy(), self._expected)
        means = [sum(column) / len(ids) for column in zip(*self._expected, strict=True)]
        id_recall._equal("BatchScorer", [self.totals()], [means])

    def ours(self) -> Any:
        """Return recall at 6 k of each row."""
        return id_recall.SCORER.score_columns(self._found, self._wanted, ks=id_recall.KS)

    def totals(self) -> list[float]:
        """Return the means."""
        scorer = BatchScorer(
            id_recall.SCORER, keep="summary", measures=id_recall.AT_K, position="row"
        )
        rows = len(self._table)
        score = scorer.report(scorer(self._table), rows=rows).summary(*id_recall.AT_K)[0]
        return [score[measure].mean or 0.0 for measure in id_recall.AT_K]

    def numpy(self) -> Any:
        """Return recall at 6 k by arrays alone, of rows that retrieved equally many."""
        import numpy as np

        found = self._found.values.to_numpy().reshape(len(self._found), -1).astype("int32")
        offsets = self._wanted.offsets.to_numpy()
        lengths = offsets[1:] - offsets[:-1]
        wanted = np.full((len(lengths), lengths.max()), -1, dtype="int32")
        wanted[np.arange(wanted.shape[1]) < lengths[:, None]] = self._wanted.values.to_numpy()
        reached = np.empty((len(found), len(id_recall.KS)))
        for start in range(0, len(found), 500):  # what a processor's cache holds
            part = found[start : start + 500]
            hits = np.zeros(part.shape, dtype=bool)
            for column in wanted[start : start + 500].T:
                hits |= part == column[:, None]
            for place, k in enumerate(id_recall.KS):
                reached[start : start + 500, place] = np.count_nonzero(hits[:, :k], axis=1)
        return reached / lengths[:, None]

    def _lists(self) -> id_recall.Queries:
        columns = (self._found.to_pylist(), self._wanted.to_pylist())
        return id_recall.Queries(*([list(map(str, row)) for row in column] for column in columns))

    def peers(self) -> list[Contender]:
        """Return the libraries that take lists of texts, from the same Arrow columns."""

        def peer(name: str, kind: Any) -> list[Contender]:
            def make() -> list[Contender]:
                def run() -> id_recall.Recalls:
                    found: id_recall.Recalls = kind(self._lists()).end_to_end()
                    return found

                id_recall._equal(name, run(), self._expected)
                return [Contender(name, run)]

            return _installed(name, make)

        return [
            *peer("pytrec_eval", _Late(id_recall.PytrecEval)),
            *peer("LlamaIndex", id_recall.LlamaIndex),
        ]


class _Late:
    """A peer whose constructor would build its inputs a second time: only the end-to-end way."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __call__(self, ids: id_recall.Queries) -> Any:
        made = self._kind.__new__(self._kind)
        made.queries = ids
        return made


def _results(ids: id_recall.Queries, measures: Sequence[object]) -> list[list[float]]:
    score = id_recall.SCORER.score
    return [
        [result[measure] or 0.0 for measure in measures]  # type: ignore[index]
        for result in (score(sample) for sample in id_recall.samples_of(ids))
    ]


def _means(ids: id_recall.Queries) -> str:
    samples = id_recall.samples_of(ids)
    summary = evaluate(samples, id_recall.SCORER, progress=False).summary(*id_recall.AT_K)
    return str(summary.to_dict())


def _totals(ids: id_recall.Queries) -> str:
    rows = ({"retrieved_ids": found, "expected_ids": wanted} for found, wanted in ids.pairs())
    at_k = id_recall.AT_K
    report = evaluate(rows, id_recall.SCORER, progress=False, keep="summary", measures=at_k)
    return str(report.summary(*at_k).to_dict())


def _samples(texts: Sequence[text_recall.Texts]) -> list[Sample]:
    return [
        Sample(retrieved_contexts=one.retrieved, reference_contexts=one.references) for one in texts
    ]


def _text_mean(texts: Sequence[text_recall.Texts]) -> float | None:
    report = evaluate(_samples(texts), text_recall.SCORER, progress=False)
    return report.summary(Recall)[0].mean


def _text_summary(texts: Sequence[text_recall.Texts]) -> str:
    return str(evaluate(_samples(texts), text_recall.SCORER, progress=False).summary().to_dict())


def _pairs_alone(texts: Sequence[text_recall.Texts]) -> Contender:
    """Compare the pairs that a summary at 4 k and over all needs, in one call of RapidFuzz."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    left: list[str] = []
    right: list[str] = []
    of_pairs = BoundedSimilarity.of_pairs

    def watched(
        similarity: BoundedSimilarity, references: Sequence[str], chunks: Sequence[str]
    ) -> Iterator[list[float]]:
        left.extend(references)
        right.extend(chunks)
        return of_pairs(similarity, references, chunks)

    with (
        patch.object(BoundedSimilarity, "of_pairs", watched),
        patch("fullrecall.cores.cores", return_value=1),  # so that pairs stay pairs
    ):
        _text_summary(texts)
    scorer = Levenshtein.normalized_similarity
    least = text_recall.THRESHOLD
    return Contender(
        "its pairs in one call", lambda: cpdist(left, right, scorer=scorer, score_cutoff=least)
    )


def _cut_decisions(texts: Sequence[text_recall.Texts]) -> list[list[bool]]:
    """Decide each reference in a loop that compares equal texts first and may stop early."""
    from rapidfuzz.distance import Levenshtein

    least = text_recall.THRESHOLD
    return [
        [
            wanted in one.retrieved
            or any(
                Levenshtein.normalized_similarity(wanted, chunk, score_cutoff=least) > least
                for chunk in one.retrieved
            )
            for wanted in one.references
        ]
        for one in texts
    ]


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


def _ranked_peers(ids: id_recall.Queries) -> list[Contender]:
    """Return the libraries that know nDCG@10 and precision@10 too."""
    ks = id_recall.KS
    expected = _results(ids, (*id_recall.AT_K, nDCG @ 10, Precision @ 10))

    def pytrec_eval() -> list[list[float]]:
        import pytrec_eval

        asked = {f"recall.{','.join(map(str, ks))}", "ndcg_cut.10", "P.10"}
        run = id_recall._run(ids)
        evaluator = pytrec_eval.RelevanceEvaluator(id_recall._qrels(ids), asked)
        names = [*(f"recall_{k}" for k in ks), "ndcg_cut_10", "P_10"]
        found = evaluator.evaluate(run)
        return [[found[query][name] for name in names] for query in run]

    def ir_measures() -> list[list[float]]:
        import ir_measures as library

        asked = [*(library.R @ k for k in ks), library.nDCG @ 10, library.P @ 10]
        run = id_recall._run(ids)
        evaluator = library.evaluator(asked, id_recall._qrels(ids))
        values = {(one.query_id, one.measure): one.value for one in evaluator.iter_calc(run)}
        return [[values[query, measure] for measure in asked] for query in run]

    def ranx() -> list[list[float]]:
        import ranx as library

        names = [*(f"recall@{k}" for k in ks), "ndcg@10", "precision@10"]
        qrels, run = library.Qrels(id_recall._qrels(ids)), library.Run(id_recall._run(ids))
        values = library.evaluate(qrels, run, names, return_mean=False)
        columns = [values[name] for name in names]
        by_query = dict(zip(qrels.keys(), zip(*columns, strict=True), strict=True))
        return [list(map(float, by_query[query])) for query in id_recall._names(ids)]

    def peer(run: Callable[[], list[list[float]]]) -> list[Contender]:
        def make() -> list[Contender]:
            id_recall._equal(run.__name__, run(), expected)
            return [Contender(run.__name__, run)]

        return _installed(run.__name__, make)

    return [*peer(pytrec_eval), *peer(ir_measures), *peer(ranx)]


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


def page_table(measurements: Sequence[Row]) -> str:
    """Return the page's table: medians of the rounds, with the least and the most in brackets."""
    return table(["what", OURS, "others", "first", "limits"], [row.cells() for row in measurements])


def readme_table(measurements: Sequence[Row]) -> str:
    """Return README.md's table: the medians alone."""
    return table(
        ["CPU, set loop = 1", OURS, "others"],
        [row.short_cells() for row in measurements if row.readme],
    )


def tables(measurements: Sequence[Row]) -> dict[Path, str]:
    """Return each page with its table."""
    return {PAGE: page_table(measurements), README: readme_table(measurements)}


def shown(page: str) -> str:
    """Return the table that a page has; raise `ValueError` where it has none."""
    _, begin, rest = page.partition(BEGIN)
    body, end, _ = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page must have a table between {BEGIN} and {END}")
    return body.strip()


def written(page: str, body: str) -> str:
    """Return the page with this table in place of its own."""
    shown(page)
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{body}\n{END}{after}"


def published() -> list[Row]:
    """Return the rows of figures.json."""
    return [Row.of(plain) for plain in json.loads(FIGURES.read_text("utf-8"))["rows"]]


def wrong_pages(pages: Mapping[str, str], measurements: Sequence[Row]) -> list[str]:
    """Return the pages, by name, that show other figures than these."""
    bodies = {path.name: body for path, body in tables(measurements).items()}
    return [
        f"{name} does not show figures.json: run readme.py --write"
        for name, page in pages.items()
        if shown(page) != bodies[name]
    ]


def disagreements(
    said: Sequence[Row], measurements: Sequence[Row], slack: float = _SLACK
) -> list[str]:
    """Return what was published that is not measured: beyond the spread of both, or missing."""
    figures = {row.title: row for row in said}
    gone = figures.keys() - {row.title for row in measurements}
    wrong = [f"{title}: is no longer measured" for title in sorted(gone)]
    for row in measurements:
        ours, figure = row.times[OURS], figures.get(row.title)
        if figure is None:
            wrong.append(f"{row.title}: is not published")
            continue
        told = figure.times[OURS]
        if ours.least > told.most * slack or ours.most < told.least / slack:
            wrong.append(f"{row.title}: published {told}, measured {ours}")
        last = bool(figure.others) and figure.order[0] == OURS
        if last and row.others and row.order[0] != OURS:
            wrong.append(f"{row.title}: published as first, but {row.order[0]} is")
    return wrong


def main() -> None:
    """Measure, and print, write, or check the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="keep the figures, fill the pages")
    parser.add_argument("--check", action="store_true", help="exit with 1 where they differ")
    parser.add_argument("--coarse", action="store_true", help="small, without other libraries")
    asked = parser.parse_args()
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # no telemetry from a benchmark
    sizes = (2_000, 20, 5) if asked.coarse else (asked.queries, asked.samples, asked.rounds)
    began = time.monotonic()
    found = rows(*sizes, peers=not asked.coarse)
    say(page_table(found))
    say(f"\n{setting(*PACKAGES)} {time.monotonic() - began:.0f} s.")
    if asked.write:
        kept = {"setting": setting(*PACKAGES), "rows": [asdict(row) for row in found]}
        FIGURES.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        for path, body in tables(found).items():
            path.write_text(written(path.read_text("utf-8"), body), "utf-8")
    if asked.check:
        pages = {path.name: path.read_text("utf-8") for path in (PAGE, README)}
        said = published()
        wrong = wrong_pages(pages, said)
        if asked.coarse:
            said, found = ([row for row in some if row.clock == "cpu"] for some in (said, found))
        wrong += disagreements(said, found, _COARSE if asked.coarse else _SLACK)
        if wrong:
            sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
