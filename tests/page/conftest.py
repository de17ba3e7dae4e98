"""Reports with a sample of every kind, and one whose every field is hostile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.page.window import MEASURES, Opened
from tests.payloads import PAYLOADS
from tests.pipelines import calls_of

from fullrecall import Context, IdRecall, Report, Sample, SpanRecall, compare
from fullrecall.judge.usage import Usage
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target
from fullrecall.report import Row
from fullrecall.samples.calls import Stage
from fullrecall.samples.retrieval import Retrieval
from fullrecall.scorers.result import Method, Result, Status

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PARIS = "It stands in Paris 🗼, on the Champ de Mars. It was finished in 1889."
ROME = "The Colosseum stands in Rome."


@dataclass(frozen=True)
class Diagnosed:
    """One diagnosed miss, with the fields that the page reads."""

    sample: str
    score: str
    target: str
    cause: str
    detail: str = ""
    rank: int | None = None


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis, with the fields that the page reads."""

    misses: tuple[Diagnosed, ...]
    changes: tuple[Any, ...] = ()
    of: str = ""

    @property
    def fixes(self) -> dict[str, str]:
        """Return a fix for each cause, hostile if the cause is."""
        return {miss.cause: f"Mend {miss.cause}" for miss in self.misses}


CLAIMS = Method("claim_recall", parameters={"judge": "a judge"})
IDS = IdRecall()
SPANS = SpanRecall()


def claim_result(sample: Sample) -> Result:
    """Return a judge's verdicts: found with a quote, a made-up quote, missed, and unjudged."""
    start = PARIS.index("on the Champ")
    retrieved = len(sample.retrieved_contexts or ())
    findings = (
        Finding(
            Target(("It is on the Champ de Mars.",)),
            (CreditStep(1, 1.0),),
            (1,),
            (Evidence(1, start, start + 20, quote="on the Champ de Mars", verified=True),),
            "supported",
        ),
        Finding(
            Target(("It was painted blue.",)),
            (),
            (),
            (Evidence(min(2, retrieved), quote="and blue it was", verified=False),),
            "supported",
        ),
        Finding(Target(("It is 330 m high.",)), (), (), (), "not_supported"),
    )
    return Result(
        CLAIMS,
        Status.SCORED,
        findings,
        retrieved,
        unmeasured=(("It is lit at night.", "the judge gave no verdict"),),
        usage=Usage(3, 120, 40),
    )


def report_of(samples: list[Sample]) -> Report:
    """Return a report by IDs, characters, and claims; claims need contexts."""
    report = Report([IDS.method, SPANS.method, CLAIMS])
    for position, sample in enumerate(samples, start=1):
        if sample.retrieved_contexts:
            claims = claim_result(sample)
        else:
            claims = Result(CLAIMS, Status.UNSCORED, note="the judge did not answer")
        report.add(Row(position, sample, (IDS.score(sample), SPANS.score(sample), claims)))
    return report


def samples() -> list[Sample]:
    """Return a sample of each kind: with misses, all found, undefined, unscored, with stages."""
    paris, rome = Context(PARIS, id="d1", score=0.9), Context(ROME, id="d2", metadata={"page": 3})
    return [
        Sample(
            id="tower",
            user_input="Where is the Eiffel Tower?",
            reference="In Paris.",
            response="It is in Rome.",
            reference_context_ids=["d1", "d3", "d9"],
            reference_contexts=["It was finished in 1889. It is 330 m high in all, they say."],
            group="towers",
            retrieval=Retrieval(
                [paris, rome, Context("Beyond", id="d3")],
                calls=calls_of(
                    [
                        Stage("first pass", (paris, rome, Context("Lost", id="d9")), "rerank"),
                        Stage("rerank", (paris, rome)),
                    ]
                ),
            ),
            metadata={"asked": "today"},
        ),
        Sample(
            id="rome",
            user_input="What stands in Rome?",
            retrieved_contexts=[rome],
            reference_context_ids=["d2"],
            reference_contexts=[ROME],
        ),
        Sample(
            id="open",
            user_input="Why?",
            retrieved_contexts=[paris],
            reference_context_ids=[],
            reference_contexts=[],
        ),
        Sample(
            id="broken",
            user_input="Does it answer?",
            reference_context_ids=["d1"],
            reference_contexts=[PARIS],
            retrieval={"error": "ConnectionError: no answer"},
        ),
    ]


@pytest.fixture
def report() -> Report:
    """Return a report with a sample of each kind."""
    return report_of(samples())


@pytest.fixture
def diagnosis() -> Diagnosis:
    """Return the causes of the targets that the first sample misses."""
    return Diagnosis(
        (
            Diagnosed("tower", "id_recall", "d3", "beyond_k", "it stands at rank 3", 3),
            Diagnosed("tower", "id_recall", "d9", "dropped_by_stage", "rerank lost it"),
            Diagnosed("tower", "claim_recall", "It is 330 m high.", "not_in_corpus"),
        )
    )


@pytest.fixture
def after(report: Report) -> Report:
    """Return the report of a retriever that returns one more document and never fails."""
    changed = samples()
    first = changed[0]
    assert first.retrieval is not None
    contexts = [Context("Now found", id="d9"), *(first.retrieved_contexts or ())]
    record = Retrieval(contexts, calls=first.retrieval.calls, retrieved=first.retrieval.retrieved)
    more = first.with_retrieval(record)
    return report_of([more, *changed[1:]])


def hostile_report() -> Report:
    """Return a report in which every field of text holds every payload."""
    evil = " ".join(PAYLOADS)
    sample = Sample(
        id=evil,
        user_input=evil,
        reference=evil,
        response=evil,
        retrieved_contexts=[
            Context(evil, id=evil, metadata={evil: evil}, source=evil, start=0, end=len(evil)),
            Context(id=evil),
        ],
        reference_context_ids=[evil, "not there"],
        reference_contexts=[evil],
        group=evil,
        retrieval=Retrieval(
            calls=calls_of(
                [
                    Stage(evil, (Context(evil, id=evil),), f"{evil} 2"),
                    Stage(f"{evil} 2", (Context(evil),)),
                ]
            )
        ),
        metadata={evil: [evil]},
    )
    ids = replace(IDS, name=evil)
    claims = replace(CLAIMS, name=f"{evil} claims")
    found = Finding(
        Target((evil,)),
        (CreditStep(1, 1.0),),
        (1,),
        (
            Evidence(1, 3, 40, quote=evil, verified=True),
            Evidence(1, 20, 60, 2, 30),
            Evidence(2, quote=evil, verified=False),
        ),
        evil,
    )
    report = Report([ids.method, claims])
    scored = Result(claims, Status.SCORED, (found,), 2, evil, ((evil, evil),))
    unscored = Result(claims, Status.UNSCORED, note=evil)
    broken = Sample(id=f"{evil} 2", retrieval={"error": evil}, reference_context_ids=[evil])
    report.add(Row(1, sample, (ids.score(sample), scored)))
    report.add(Row(2, broken, (ids.score(broken), unscored)))
    return report


@pytest.fixture
def hostile() -> Report:
    """Return a report in which every field of text holds every payload."""
    return hostile_report()


@pytest.fixture
def evil() -> str:
    """Return all payloads in one text."""
    return " ".join(PAYLOADS)


@pytest.fixture
def fewer() -> Report:
    """Return the report without its first sample."""
    return report_of(samples()[1:])


@pytest.fixture
def hostile_diagnosis(evil: str) -> Diagnosis:
    """Return a hostile diagnosis of the hostile report."""
    return Diagnosis((Diagnosed(evil, f"{evil}", "not there", evil, evil, 2),))


@pytest.fixture
def again() -> Report:
    """Return an equal report, made from new samples."""
    return report_of(samples())


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Yield a function that opens a page; an error, a popup, or a request fails the test."""
    everything: list[Opened] = []

    def opening(html: str, *, width: int = 1280, scheme: str = "light", **options: Any) -> Opened:
        path = tmp_path / f"page-{len(everything)}.html"
        path.write_bytes(html.encode())
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **options
        )
        one = Opened(context.new_page())
        everything.append(one)
        one.page.on("console", lambda message: one.said.append(message.text))
        one.page.on("pageerror", lambda error: one.said.append(str(error)))
        one.page.on("dialog", lambda dialog: (one.said.append("dialog"), dialog.dismiss()))
        one.page.on("popup", lambda _: one.said.append("popup"))
        one.page.on("request", lambda request: one.requested.append(request.url))
        one.page.goto(path.as_uri())
        assert one.requested == [path.as_uri()]
        return one

    yield opening
    for one in everything:
        assert one.said == []
        assert len(one.requested) == 1, "the page asked for something"
        one.page.context.close()


@pytest.fixture
def pages(report: Report, after: Report, hostile: Report) -> dict[str, str]:
    """Return the HTML of a page of each kind."""
    return {
        "report": report.to_html(measures=MEASURES),
        "comparison": compare(report, after).to_html(),
        "hostile": hostile.to_html(),
    }
