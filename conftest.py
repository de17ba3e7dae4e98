"""What holds for every test: no deadline, one thread for arithmetic, slow files first."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socketserver
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import HealthCheck, settings

# Each process has a core: more threads of BLAS and tokenizers wait for each other, and spin. Set
# before numpy is imported, here, in pytest-xdist's workers, and in what tests start.
for library in ("OPENBLAS", "OMP", "MKL", "RAYON"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
# What tests start would compile the package again, each by itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Clients come by the dozen: who is not in the queue of five tries again after a second.
socketserver.TCPServer.request_queue_size = 128
# Else a body waits 40 ms for the receipt of its headers.
socketserver.StreamRequestHandler.disable_nagle_algorithm = True

# Else LlamaIndex makes a loop here and leaves it open, and a later test is blamed for it.
asyncio.set_event_loop(None)

# No test depends on the clock: a machine under load is slow, not wrong.
settings.register_profile("fullrecall", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fullrecall")

COSTS = Path(__file__).parent / "tests" / "costs.txt"
"""Seconds of each test that takes more than `SLOW` of them, over all its parameters: measured by
one process on an idle machine, so that waiting for a server counts as well.

A file stands there by itself where its tests share a setup that takes as much.
"""
SLOW = 0.1
OPT_IN = ("browser", "engines", "libraries", "long", "small_model", "tools")

_started_with: list[Path] = []
_spent = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that measures what tests cost."""
    parser.addoption(
        "--costs", action="store_true", help=f"measure the tests, and write {COSTS.name}"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than processors: some tests wait for a server or a process."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return 1 + (len(affinity(0)) if affinity is not None else os.cpu_count() or 1)


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C be heard, and pytest-xdist, where it is used, keep the order of files."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job started in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    config.stash[_spent] = Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and begin with the files that take longest.

    A long file that came last would keep one core waiting for the other.
    """
    costs = dict(reversed(line.split(maxsplit=1)) for line in COSTS.read_text().splitlines())
    files: Counter[str] = Counter()
    for test, cost in costs.items():
        files[test.partition("::")[0]] += float(cost)
    for item in items:
        opted_in = any(item.get_closest_marker(name) for name in OPT_IN)
        if opted_in or _test(item) in costs or _file(item) in costs:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: -files[_file(item)])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Measure what a file's tests share by what it takes to set them up."""
    before = perf_counter()
    yield
    item.config.stash[_spent][_file(item)] += perf_counter() - before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Hide what stands so far from the collector, file by file; and measure, if asked to.

    All frameworks are imported: a full collection took half a second, and tests of what is dropped
    ask for thousands.
    """
    if _started_with != [item.path]:
        _started_with[:] = [item.path]
        gc.collect()
        gc.freeze()
    before = perf_counter()
    result = yield
    item.config.stash[_spent][_test(item)] += perf_counter() - before
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was measured."""
    if session.config.getoption("--costs"):
        spent = session.config.stash[_spent]
        lines = [f"{spent[test]:6.2f} {test}\n" for test in sorted(spent) if spent[test] > SLOW]
        COSTS.write_text("".join(lines), encoding="utf-8")


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
