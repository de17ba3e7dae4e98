"""A page in a browser, and reports for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fullrecall import Context, IdRecall, Report, Sample, evaluate
from fullrecall.measures import RR, Precision, Recall, nDCG

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass
class Opened:
    """A page in a browser, with its console messages and requests."""

    page: Page
    said: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def labels(self) -> list[str]:
        """Return the samples that the table shows, in its order."""
        return self.page.locator(".open").all_inner_texts()

    def wait_for_status(self, status: str) -> None:
        """Wait until the table has this status, because it reads the address in a later task."""
        self.page.wait_for_function(
            "status => document.getElementById('status').textContent === status", arg=status
        )

    def outcome(self, value: str) -> None:
        """Choose an outcome to filter by."""
        self.page.locator("#by-outcome").select_option(value)

    def measure(self, label: str) -> None:
        """Choose a measure, by its name in the list."""
        self.page.locator(".by-measure").first.select_option(label=label)

    def row(self, sample: str) -> list[str]:
        """Return the cells of a sample's line."""
        line = self.page.locator(".sample-row", has=self.page.get_by_text(sample, exact=True))
        return [" ".join(text.split()) for text in line.locator("td").all_inner_texts()]

    def fits(self) -> bool:
        """Return whether the page is no wider than its window."""
        wide: bool = self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        return wide


MEASURES = (Recall @ 1, Recall @ 2, nDCG @ 1, nDCG @ 2, Recall, Precision @ 2, RR)


def kinds_report() -> Report:
    """Return a report of sixty samples of two kinds, a third of one failing, and three unscored."""
    samples = [
        Sample(
            id=f"q{n}",
            user_input=f"question {n}?",
            reference=f"answer {n}",
            retrieved_contexts=[
                Context(f"text of {name}", id=name)
                for name in ["x", "y", *(["z"] * 4 if n % 6 == 0 else []), f"d{n}"]
            ],
            reference_context_ids=[f"d{n}"],
            metadata={"kind": "even" if n % 2 == 0 else "odd"},
        )
        for n in range(60)
    ]
    failed = [
        Sample(
            id=f"t{n}",
            user_input="late?",
            retrieval={"error": "TimeoutError"},
            reference_context_ids=["a"],
        )
        for n in range(3)
    ]
    return evaluate([*failed, *samples], IdRecall(), progress=False)
