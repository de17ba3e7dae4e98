"""Measure the page of many samples: its size, and the times to make, load and use it.

Needs Chromium on the PATH and the Python package playwright. Times in the browser run from the
reader's act to the frame in which its outcome is painted.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import process_time
from typing import Any

from fullrecall import IdRecall, Report, Sample, SpanRecall, compare, evaluate

RETRIEVED = 20
LENGTH = 800
"""Characters of a context."""

ACTS: Mapping[str, str] = {
    "choose a measure": "choose('.by-measure', '3')",
    "sort by a score": "document.querySelectorAll('#head button')[2].click()",
    "filter: missed something": "choose('#by-outcome', 'missed')",
    "filter: all again": "choose('#by-outcome', '')",
    "search, the first time": "search('w17 w23')",
    "search, again": "search('w19')",
    "search: nothing typed": "search('')",
    "last page": "document.querySelector('#last').click()",
    "open a sample": "document.querySelector('.open').click()",
}
"""What a reader does, one after the other, and how."""

_ACT = """async ([act]) => {
  const choose = (selector, value) => {
    const select = document.querySelector(selector);
    select.value = value;
    select.dispatchEvent(new Event("change"));
  };
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const changed = () => new Promise((done) => {
    const watch = new MutationObserver(() => (watch.disconnect(), done()));
    watch.observe(document.querySelector("#body"), { childList: true });
  });
  const search = (words) => {
    const input = document.querySelector("#search");
    input.value = words;
    input.dispatchEvent(new Event("input"));
  };
  const start = performance.now();
  const waiting = changed();
  ACT;
  await waiting;
  await painted();
  return performance.now() - start;
}"""


def report_of(samples: int, documents: int, seed: int = 0) -> Report:
    """Return a report by ID and by characters: 20 contexts for each question, of `documents`."""
    draw = random.Random(seed)
    texts = [
        " ".join(f"w{draw.randrange(5_000)}" for _ in range(LENGTH // 6)) for _ in range(documents)
    ]

    def sample(nth: int) -> Sample:
        retrieved = draw.sample(range(documents), min(RETRIEVED, documents))
        wanted = [draw.choice(retrieved), draw.randrange(documents)]
        return Sample(
            id=f"question-{nth}",
            user_input=f"What is said of w{draw.randrange(5_000)} in document {wanted[0]}?",
            retrieved_contexts=[{"id": f"d{n}", "text": texts[n]} for n in retrieved],
            reference_context_ids=[f"d{n}" for n in wanted],
            reference_contexts=[
                {"text": texts[n][:200], "source": f"d{n}", "start": 0, "end": 200} for n in wanted
            ],
        )

    # Scoring is by offsets, which takes no time, since the page is measured.
    scorers = [IdRecall(), SpanRecall()]
    made = (sample(nth) for nth in range(samples))
    return evaluate((_placed(one) for one in made), scorers, progress=False)


def _placed(sample: Sample) -> Sample:
    contexts: list[Any] = [
        {**context.to_dict(), "source": context.id, "start": 0, "end": len(context.text or "")}
        for context in sample.retrieved_contexts or ()
    ]
    return sample.with_retrieval(contexts)


def later(report: Report) -> Report:
    """Return the report of the same questions with another retrieval: 15 contexts, backwards."""
    samples = (
        row.sample.with_retrieval((row.sample.retrieved_contexts or ())[:-16:-1])
        for row in report.rows
    )
    return evaluate(samples, [IdRecall(), SpanRecall()], progress=False)


def in_browser(path: Path, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of loading the page and of each act, in every round."""
    from playwright.sync_api import sync_playwright

    times: dict[str, list[float]] = {name: [] for name in ("load", *ACTS)}
    chromium = shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        for _ in range(rounds):
            page = browser.new_page()
            page.goto(path.as_uri())
            times["load"].append(
                page.evaluate(
                    "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
                )
            )
            for name, act in ACTS.items():
                times[name].append(page.evaluate(_ACT.replace("ACT", act), [act]))
            page.close()
        browser.close()
    return times


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    report = report_of(given.samples, given.documents)
    report.summary()
    report_of(2, 5).to_html()  # The import times are not the page's own.
    start = process_time()
    html = report.to_html()
    made = process_time() - start
    comparison = compare(report, later(report))
    start = process_time()
    comparison.to_html()
    compared = process_time() - start
    start = process_time()
    comparison.to_html(diagnosis=False)
    undiagnosed = process_time() - start
    size = len(html.encode())
    packed = len(gzip.compress(html.encode(), 6))
    print(f"{given.samples:,} samples, {RETRIEVED} contexts each of {given.documents:,} documents")
    print(
        f"comparison with another retrieval: {compared:.1f} s of CPU, {undiagnosed:.1f} s without "
        "the diagnosis"
    )
    print(
        f"page: {made:.1f} s of CPU, {size / 2**20:.1f} MiB, {packed / 2**20:.1f} MiB with gzip\n"
    )
    print("| act | ms, median | least-most |\n| --- | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_bytes(html.encode())
        for name, times in in_browser(path, given.rounds).items():
            print(
                f"| {name} | {statistics.median(times):,.0f} | "
                f"{min(times):,.0f}-{max(times):,.0f} |"
            )


if __name__ == "__main__":
    main()
