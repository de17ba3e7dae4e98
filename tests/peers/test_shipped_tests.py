"""The tests that ir_measures and cwl-eval ship pass on fullrecall's numbers.

Opt-in: `-m peers`. pip downloads the source distribution of the installed ir_measures into a
temporary folder; without it, the tests fail. cwl-eval installs its tests.
pytrec_eval-terrier, ranx, haystack-ai and torchmetrics ship no tests of measures:
`test_trec_eval.py`, `test_libraries.py` and `test_torchmetrics.py` compare their functions with
fullrecall's.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import unittest
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from random_runs import Numbers, Scores

from fullrecall import IdRecall, evaluate
from fullrecall.measures import FBeta, Measure, Precision, RelevantRetrieved, parse
from fullrecall.read import from_qrels_run

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

NOT_OURS = {"NumQ", "SetAP", "infAP", "relative SetP"}
# The number of tests in each file.
FILES = {"pytrec_eval": 13, "gdeval": 2, "ranx": 1, "judged": 1, "aggregate": 1}


def name_of(measure: Any) -> str:
    """Return the name of a measure of ir_measures, in which `NOT_OURS` are listed."""
    return f"{'relative ' if measure.params.get('relative') else ''}{measure.NAME}"


def ours(measure: Any, provider_name: str) -> Measure:
    """Return the measure that equals one of ir_measures, by the provider that a test asks."""
    name, given = measure.NAME, measure.params
    if name == "NumRet" and "rel" in given:
        return RelevantRetrieved(min_grade=given["rel"])
    options: dict[str, Any] = {"zero_division": 0.0}
    found = parse(f"IPrec@{given['recall']}" if name == "IPrec" else name)
    if "beta" in given:
        # The discount of trec_eval is the square.
        found, options["beta"] = FBeta, given["beta"] ** 0.5
    if "rel" in given:
        options["min_grade"] = given["rel"]
    if given.get("dcg") == "exp-log2" or (provider_name, name) == ("gdeval", "nDCG"):
        options["gain"] = "exponential"
    found = found(**options)
    return found @ given["cutoff"] if "cutoff" in given else found


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder whose package `shipped_tests` is the tests of ir_measures."""
    folder = tmp_path_factory.mktemp("shipped")
    wanted = f"ir-measures=={version('ir-measures')}"
    command = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *command, wanted], check=True, timeout=300)
    (built,) = folder.glob("ir_measures-*.tar.gz")
    with tarfile.open(built) as archive:
        archive.extractall(folder, filter="data")
    (tests,) = folder.glob("ir_measures-*/tests")
    tests.rename(folder / "shipped_tests")
    return folder


def provider(name: str, peer: Any, theirs: set[str]) -> Any:
    """Return a provider of ir_measures with fullrecall's numbers.

    A measure that fullrecall lacks is computed by the peer, so that the rest of its test runs, and
    is added to `theirs`. Numbers in place of gdeval's have its five digits.
    """
    from ir_measures import Metric, providers
    from ir_measures.util import QrelsConverter, RunConverter

    # The tests compare floats for equality, for any order of their sums; ranx has all digits.
    digits = {"gdeval": 5, "ranx": 17}.get(name, 12)

    class OurEvaluator(providers.Evaluator):  # type: ignore[misc]
        def __init__(self, measures: Any, qrels: Any) -> None:
            self.given = qrels
            self.qrels = QrelsConverter(qrels).as_dict_of_dict()
            super().__init__(measures, set(self.qrels))

        def _iter_calc(self, run: Any) -> Iterator[Any]:
            ranked = RunConverter(run).as_dict_of_dict()
            for measure in self.measures:
                if name_of(measure) not in NOT_OURS:
                    yield from self._values(measure, ranked)
                else:
                    theirs.add(name_of(measure))
                    yield from peer.iter_calc([measure], self.given, run)

        def _values(self, measure: Any, run: Scores) -> Iterator[Any]:
            mine = ours(measure, name)
            qrels, kept = prepared(measure, self.qrels, run)
            report = evaluate(from_qrels_run(qrels, kept), IdRecall(), progress=False)
            for query, value in zip(report.table.ids, report.values(mine), strict=True):
                if query in kept and query in qrels:
                    yield Metric(query, measure, round(float(value), digits))

    class OurProvider(providers.Provider):  # type: ignore[misc]
        NAME = name

        def _evaluator(self, measures: Any, qrels: Any) -> Any:
            return OurEvaluator(measures, qrels)

        def supports(self, measure: Any) -> bool:
            return name_of(measure) not in NOT_OURS

    return OurProvider()


def prepared(measure: Any, qrels: Numbers, run: Scores) -> tuple[Numbers, Scores]:
    """Return judgments and a run as a measure's gains and its `judged_only` change them."""
    if measure.params.get("judged_only"):  # A grade below 0 is no judgment.
        run = {
            query: {name: score for name, score in row.items() if qrels[query].get(name, -1) >= 0}
            for query, row in run.items()
        }
    gains = measure.params.get("gains", {})
    qrels = {
        query: {name: gains.get(grade, grade) for name, grade in row.items()}
        for query, row in qrels.items()
    }
    return qrels, run


def base() -> ModuleType:
    """Return the module of the shipped tests' base class, which the source distribution lacks."""

    class BaseMeasureTest(unittest.TestCase):
        def assertMetrics(self, found: Any, expected: Any, **options: bool) -> None:  # noqa: N802
            """Assert that the values of each query agree in the given digits, or do not."""
            values, wanted = (
                {each.query_id: (each.measure, each.value) for each in side}
                for side in (found, expected)
            )
            same = values.keys() == wanted.keys() and all(
                values[query] == (measure, pytest.approx(value, abs=1e-5))
                for query, (measure, value) in wanted.items()
            )
            assert wanted
            assert same is not options.get("not_equal", False)

    module = ModuleType("shipped_tests.base")
    module.BaseMeasureTest = BaseMeasureTest  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize("name", FILES)
def test_ir_measures(name: str, shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test of the file passes on fullrecall's numbers, and on theirs for `NOT_OURS` only."""
    import ir_measures

    theirs: set[str] = set()
    mine = provider(name, ir_measures.pytrec_eval, theirs)
    monkeypatch.syspath_prepend(shipped)
    monkeypatch.setitem(sys.modules, "shipped_tests.base", base())
    monkeypatch.setattr(ir_measures, name, mine, raising=False)
    monkeypatch.setattr(ir_measures.providers, "PytrecEvalProvider", lambda: mine)
    monkeypatch.setattr(ir_measures.DefaultPipeline, "providers", [mine])
    result = unittest.TestResult()
    module = import_module(f"shipped_tests.test_{name}")
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    assert [text for _, text in [*result.failures, *result.errors]] == []
    assert (result.testsRun, result.skipped) == (FILES[name], [])
    assert theirs == (NOT_OURS if name == "pytrec_eval" else set())


class OurPrecision:
    """cwl-eval's precision at k, with fullrecall's number."""

    def __init__(self, k: int) -> None:
        self.k = k

    def measure(self, ranking: Any) -> None:
        """Keep the precision of a ranking, and the gain of its first k documents."""
        gains = list(ranking.get_gain_vector())
        relevant = [rank for rank, gain in enumerate(gains) if gain > 0]
        result = IdRecall().score(retrieved_ids=range(len(gains)), expected_ids=relevant)
        self.expected_utility = result[Precision(denominator="k", zero_division=0.0) @ self.k]
        self.expected_total_utility = self.expected_utility * self.k


def test_cwl_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    """cwl-eval's tests of precision, the only measure that it tests, pass."""
    module = import_module("cwl.tests.common_metric_test")
    monkeypatch.setattr(module, "PrecisionCWLMetric", OurPrecision)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    assert [text for _, text in [*result.failures, *result.errors]] == []
    assert (result.testsRun, result.skipped) == (4, [])
