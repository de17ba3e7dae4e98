"""What holds for every test: no deadline, slow files first, a small heap for the collector."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test depends on the clock: a machine under load is slow, not wrong.
settings.register_profile("fullrecall", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fullrecall")

_collected_for: list[Path] = []


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C be heard, and pytest-xdist, where it is used, keep the order of files."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job started in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the files that have slow tests: what is slow and last keeps one core waiting."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Hide what stands so far from the collector, file by file.

    All frameworks are imported: a full collection took half a second, and tests of what is dropped
    ask for thousands.
    """
    if _collected_for != [item.path]:
        _collected_for[:] = [item.path]
        gc.collect()
        gc.freeze()
