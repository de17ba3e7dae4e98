"""The installed adapters, since the core's tests also run without them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

DISTRIBUTIONS = {
    "langchain_fullrecall": "langchain-fullrecall",
    "llama_index.evaluation.fullrecall": "llama-index-evaluation-fullrecall",
}


def installed() -> tuple[str, ...]:
    """Return the packages of the installed adapters."""
    return tuple(package for package, name in DISTRIBUTIONS.items() if _is_installed(name))


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
