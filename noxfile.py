"""The test matrix: `nox` runs all of it, `nox -s core-3.13` one session.

- `core`: the core alone, without any framework, on each Python that is supported.
- `newest`: all three distributions with the newest frameworks; warnings are errors.
- `oldest`: the adapters with the oldest supported frameworks, which warn at import.
- `lint`: ruff, and zizmor, which audits the workflows. `types`: mypy.
- `docs`: the documentation as it is hosted.
- `wheels`: the built distributions in a fresh environment. They stay in `dist`.
- `sdist`: the core's tests, run from its unpacked sdist.
"""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = [
    "core",
    "newest",
    "oldest",
    "lint",
    "types",
    "docs",
    "wheels",
    "sdist",
]

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
DISTRIBUTIONS = (".", "integrations/langchain", "integrations/llama-index")
TOOLS = ("hypothesis>=6.100", "psutil>=6", "pytest>=8.3", "statsmodels>=0.14.2")
CORE_TOOLS = (
    *TOOLS,
    "bm25s>=0.2.14",
    "datasets>=3",
    "duckdb>=1.2",
    "ipykernel>=6.29",
    "mypy>=1.15",
    "nbclient>=0.10",
    "nbformat>=5.10",
    "onnx>=1.17",
    "prometheus-client>=0.20",
    "pyright[nodejs]>=1.1.414",
)
# What they need, .ci/run installs.
OPT_IN = ("browser", "engines", "libraries", "peers", "small_model", "tools")
# A file that imports a framework cannot be collected without it, whatever its tests are marked.
NEEDS_FRAMEWORK = re.compile(
    r"^(?:from|import) (?:langchain|llama_index|openinference)", re.MULTILINE
)
WORKSPACE = ("-e", ".[test]", "-e", "integrations/langchain", "-e", "integrations/llama-index")
OLDEST = {
    "langchain": (
        "langchain-core==1.0.0",
        "langchain-classic==1.0.0",
        "langsmith==0.4.38",
        "langgraph==1.0.0",
        "langgraph-prebuilt==1.0.0",
        "pydantic==2.9.2",  # LangSmith's runs fail with 2.9.0
        "bm25s>=0.2.14",
        "mypy>=1.15",
        "pyright[nodejs]>=1.1.414",
        "numpy",  # for the in-memory vector store of langchain-core
    ),
    "llama-index": ("llama-index-core==0.14.20", "pydantic==2.11.5", "openai>=1.50", "pandas>=2.2"),
}
# Another distribution's part of the namespace package that LlamaIndex's evaluators share.
SIBLING = (
    "import pathlib, sysconfig; "
    "p = pathlib.Path(sysconfig.get_path('purelib'), 'llama_index/evaluation/sibling'); "
    "p.mkdir(parents=True); (p / '__init__.py').touch()"
)


@nox.session(python=PYTHONS)
def core(session: nox.Session) -> None:
    """The core alone: no framework is installed, so none can be needed."""
    _test_core(session, "-e")


def _test_core(session: nox.Session, *how: str) -> None:
    """Install the core of the working directory, and run its tests that need no framework."""
    session.install(
        *how,
        ".[anthropic,html,nli,openai,otel,pandas,parquet,plot,polars]",
        *CORE_TOOLS,
        env={"UV_LINK_MODE": "copy"},
    )
    for framework in ("langchain_core", "llama_index.core"):
        session.run(
            "python",
            "-c",
            f"import importlib.util as u; assert u.find_spec({framework.split('.')[0]!r}) is None",
        )
    left_out = " or ".join(("frameworks", *OPT_IN))
    ignored = [
        f"--ignore={path}"
        for path in sorted(Path("tests").rglob("test_*.py"))
        if NEEDS_FRAMEWORK.search(path.read_text("utf-8"))
    ]
    session.run("pytest", "tests", *ignored, "-m", f"not ({left_out})", *session.posargs)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """Everything, at the newest versions."""
    session.install(*WORKSPACE, env={"UV_LINK_MODE": "copy"})
    session.run("pytest", "-n", "auto", "--dist", "loadfile", *session.posargs)


@nox.session(python="3.11")
@nox.parametrize("framework", sorted(OLDEST))
def oldest(session: nox.Session, framework: str) -> None:
    """An adapter with the oldest versions it supports."""
    session.install(
        "-e", ".", "-e", f"integrations/{framework}", *OLDEST[framework], *TOOLS,
        env={"UV_LINK_MODE": "copy"},
    )  # fmt: skip
    session.run("pytest", f"integrations/{framework}/tests", "-W", "default", *session.posargs)


@nox.session(python="3.11")
def lint(session: nox.Session) -> None:
    """Ruff: rules and format. Zizmor: the workflows."""
    session.install("ruff>=0.12", "zizmor>=1.30")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("zizmor", "--offline", "--no-progress", ".github")


@nox.session(python="3.11")
def types(session: nox.Session) -> None:
    """Mypy, strict, over all three distributions."""
    session.install(*WORKSPACE, ".[lint]", env={"UV_LINK_MODE": "copy"})
    session.run("mypy")


@nox.session(python="3.13")
def docs(session: nox.Session) -> None:
    """Sphinx, strict and offline, with what `.readthedocs.yaml` installs."""
    adapters = DISTRIBUTIONS[1:]
    session.install(".[docs]", *(f"./{path}" for path in adapters), env={"UV_LINK_MODE": "copy"})
    built = Path(session.create_tmp()) / "html"
    session.run("sphinx-build", "-W", "-n", "--keep-going", "docs", str(built))


@nox.session(python=PYTHONS)
def wheels(session: nox.Session) -> None:
    """Build wheels and sdists; install the wheels in a fresh environment and use them."""
    session.install("build", "pip", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    for source in DISTRIBUTIONS:
        session.run("python", "-m", "build", "--outdir", "dist", source, silent=True)
    built = sorted(map(str, Path("dist").iterdir()))
    session.run("twine", "check", "--strict", *built)
    session.install(
        *(path for path in built if path.endswith(".whl")), env={"UV_LINK_MODE": "copy"}
    )
    session.run("python", "-m", "pip", "check")
    session.run("python", "-c", SIBLING)
    session.run(
        "python",
        "-c",
        "import fullrecall, langchain_fullrecall, llama_index.evaluation.sibling, "
        "llama_index.core, llama_index.evaluation.fullrecall; print(fullrecall.__version__)",
    )
    session.run("fullrecall", "--version")


@nox.session(python="3.13")
def sdist(session: nox.Session) -> None:
    """Run the core's tests from its sdist, as a packager would."""
    session.install("build")
    folder = Path(session.create_tmp()).resolve()
    session.run("python", "-m", "build", "--sdist", "--outdir", str(folder), ".", silent=True)
    (built,) = folder.glob("fullrecall-*.tar.gz")
    with tarfile.open(built) as archive:
        archive.extractall(folder, filter="data")
    session.chdir(folder / built.name.removesuffix(".tar.gz"))
    _test_core(session)
