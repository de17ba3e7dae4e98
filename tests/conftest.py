"""Fixtures of several folders: one browser for all, since a process can run only one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium; fails, naming the missing program or package."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("no chromium on the PATH: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail("no playwright: pip install playwright")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        yield started
        started.close()
