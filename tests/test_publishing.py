"""Versions, addresses, classifiers, links and workflows agree with each other."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import fullrecall

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT, *sorted(path.parent for path in ROOT.glob("integrations/*/pyproject.toml")))
"""The folder of each distribution, the core's first."""
SETTINGS: Mapping[Path, dict[str, Any]] = {
    folder: tomllib.loads((folder / "pyproject.toml").read_text("utf-8")) for folder in FOLDERS
}
EACH = [pytest.param(each, id=SETTINGS[each]["project"]["name"]) for each in FOLDERS]
CORE = SETTINGS[ROOT]
PROJECTS: Mapping[str, dict[str, Any]] = {
    settings["project"]["name"]: settings["project"] for settings in SETTINGS.values()
}
REPOSITORY = CORE["project"]["urls"]["Repository"]
SLUG = REPOSITORY.removeprefix("https://github.com/")
WORKFLOWS = {path: path.read_text("utf-8") for path in sorted((ROOT / ".github").rglob("*.yml"))}
CI = WORKFLOWS[ROOT / ".github" / "workflows" / "ci.yml"]
USES = re.compile(r"^ +(?:- )?uses: (?!\./)([^@\s]+)@(.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|\b(?:src|href)=[\"']([^\"']+)")


def classifiers(prefix: str) -> set[str]:
    """Return the ends of the core's classifiers with this beginning."""
    found = CORE["project"]["classifiers"]
    return {each.removeprefix(prefix) for each in found if each.startswith(prefix)}


def matrices(name: str) -> list[list[str]]:
    """Return the lists that jobs of ci.yml run over, by the name of their axis."""
    return [json.loads(found) for found in re.findall(rf"^ +{name}: (\[.+\])$", CI, re.MULTILINE)]


def shown_on_an_index(folder: Path) -> str:
    """Return the README as an index page shows it, after the build rewrote it."""
    readme = (folder / "README.md").read_text("utf-8")
    hooks = SETTINGS[folder]["tool"]["hatch"].get("metadata", {}).get("hooks", {})
    for change in hooks.get("fancy-pypi-readme", {}).get("substitutions", ()):
        readme = re.sub(change["pattern"], change["replacement"], readme)
    return readme.replace("$HFPR_VERSION", fullrecall.__version__)


def test_there_are_three_distributions() -> None:
    """There are three distributions, so that the other tests compare all of them."""
    assert set(PROJECTS) == {
        "fullrecall",
        "langchain-fullrecall",
        "llama-index-evaluation-fullrecall",
    }


@pytest.mark.parametrize("folder", EACH)
def test_each_distribution_reads_its_version_from_the_core(folder: Path) -> None:
    """Each distribution has the core's version, and an adapter requires the core of its release."""
    settings = SETTINGS[folder]
    assert "version" in settings["project"]["dynamic"]
    source = (folder / settings["tool"]["hatch"]["version"]["path"]).resolve()
    assert source == ROOT / "src" / "fullrecall" / "__init__.py"
    assert f'\n__version__ = "{fullrecall.__version__}"\n' in source.read_text("utf-8")
    for requirement in settings["project"]["dependencies"]:
        if match := re.fullmatch(r"fullrecall>=([\d.]+),<([\d.]+)", requirement):
            lowest, excluded = (tuple(map(int, end.split("."))) for end in match.groups())
            assert lowest <= tuple(map(int, fullrecall.__version__.split(".")[:2])) < excluded


@pytest.mark.parametrize(
    "field", ["urls", "classifiers", "requires-python", "authors", "license", "license-files"]
)
def test_the_distributions_agree(field: str) -> None:
    """The adapters state the same metadata as the core."""
    assert {name: project[field] for name, project in PROJECTS.items()} == dict.fromkeys(
        PROJECTS, CORE["project"][field]
    )


def test_the_licenses_are_the_same() -> None:
    """Each distribution carries the license's text."""
    assert len({(folder / "LICENSE").read_bytes() for folder in FOLDERS}) == 1


def test_no_source_is_ignored() -> None:
    """`.gitignore` names no source, since the build leaves out what it names."""
    lines = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    anywhere = {line.rstrip("/") for line in lines if "/" not in line.rstrip("/")}
    roots = [folder / part for folder in FOLDERS for part in ("src", "tests")]
    sources = [path for root in roots for path in root.rglob("*")]
    names = {path.name for path in sources if "__pycache__" not in path.parts}
    assert {"fullrecall", "test_publishing.py"} <= names
    assert "*.py[cod]" in anywhere
    assert {name for name in names if any(fnmatch(name, line) for line in anywhere)} == set()


def test_each_file_names_one_repository_and_one_documentation() -> None:
    """Every file names the same repository and documentation, so one line can replace both."""
    texts = [*ROOT.glob("*.md"), ROOT / "CITATION.cff", *ROOT.glob("docs/*.md"), *WORKFLOWS]
    texts += ROOT.glob(".github/**/*.md")
    for folder in FOLDERS:
        texts += [folder / "pyproject.toml", folder / "README.md"]
    owners = re.compile(r"github(?:usercontent)?\.com/([\w.-]+/fullrecall)\b")
    hosts = re.compile(r"\b([\w.-]+)\.readthedocs\.io\b")
    seen = {path: path.read_text("utf-8") for path in texts}
    named = {(path, each) for path, text in seen.items() for each in owners.findall(text)}
    assert {each for _, each in named} == {SLUG}
    assert {path.name for path, _ in named} >= {
        "CITATION.cff", "CODE_OF_CONDUCT.md", "SECURITY.md", "config.yml", "pyproject.toml",
    }  # fmt: skip
    assert {each for text in seen.values() for each in hosts.findall(text)} == {"fullrecall"}
    urls = CORE["project"]["urls"]
    assert all(urls[name].startswith(REPOSITORY) for name in ("Changelog", "Issues"))
    (command,) = re.findall(r"git grep -lz '(.+?)' .+ 's\{(.+?)\}", seen[ROOT / "RELEASING.md"])
    assert command == (SLUG, SLUG)


def test_the_citation_is_of_this_project() -> None:
    """The citation names this project, and no version."""
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    fields = dict(re.findall(r"^([\w-]+): (.+)$", text, re.MULTILINE))
    project = CORE["project"]
    assert fields["title"] == project["name"]
    assert fields["license"] == project["license"]
    assert fields["repository-code"] == REPOSITORY
    assert fields["url"] == project["urls"]["Documentation"]
    assert f"  - name: {project['authors'][0]['name']}\n" in text
    assert "version" not in fields


def test_the_classifiers_name_what_ci_tests() -> None:
    """The classifiers name the systems and Pythons that CI tests."""
    runners = {
        "ubuntu-latest": "POSIX :: Linux",
        "macos-latest": "MacOS",
        "windows-latest": "Microsoft :: Windows",
    }
    systems = classifiers("Operating System :: ")
    assert all({runners[runner] for runner in of_job} == systems for of_job in matrices("os"))
    assert len(matrices("os")) == 2  # The core, and the adapters.
    pythons = {each for each in classifiers("Programming Language :: Python :: ") if "." in each}
    core, adapters = matrices("python")
    assert set(core) == pythons
    ordered = sorted(pythons, key=lambda each: [int(part) for part in each.split(".")])
    assert adapters == [ordered[0], ordered[-1]]
    assert CORE["project"]["requires-python"] == f">={ordered[0]}"
    nox = (ROOT / "noxfile.py").read_text("utf-8")
    assert f"PYTHONS = {json.dumps(ordered)}" in nox


@pytest.mark.parametrize("folder", EACH)
def test_the_readme_s_links_work_on_an_index_page(folder: Path) -> None:
    """The README's links on an index page are absolute, at the release's tag, to existing files."""
    links = [first or second for first, second in LINK.findall(shown_on_an_index(folder))]
    assert [link for link in links if not link.startswith("https://")] == []
    of_files = re.compile(
        rf"https://(?:github\.com/{SLUG}/blob|raw\.githubusercontent\.com/{SLUG})/([^/]+)/([^#]+).*"
    )
    for tag, path in (match.groups() for match in map(of_files.fullmatch, links) if match):
        assert tag == f"v{fullrecall.__version__}"
        assert (ROOT / path).is_file(), path


def test_a_picture_and_a_link_become_absolute() -> None:
    """A relative picture or link becomes absolute, and a complete address stays as it is."""
    (image, link) = CORE["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    text = "![A](docs/a.png) [B](b.md#c) [D](https://example.org/d) ![E](https://example.org/e.png)"
    for change in (image, link):
        text = re.sub(change["pattern"], change["replacement"], text)
    raw = f"https://raw.githubusercontent.com/{SLUG}/v$HFPR_VERSION"
    assert text == (
        f"![A]({raw}/docs/a.png) [B]({REPOSITORY}/blob/v$HFPR_VERSION/b.md#c) "
        "[D](https://example.org/d) ![E](https://example.org/e.png)"
    )


def test_actions_are_pinned_to_one_commit_each() -> None:
    """Actions are pinned to commits, since a tag can move to other code."""
    used = {each for text in WORKFLOWS.values() for each in USES.findall(text)}
    assert len(used) >= 5
    assert [pin for _, pin in used if not re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", pin)] == []
    # Parts of one action are of one commit.
    commits = {("/".join(name.split("/")[:2]), pin) for name, pin in used}
    assert len(commits) == len({name for name, _ in commits})


def test_workflows_begin_without_permissions() -> None:
    """Workflows start without permissions, each job asks for its own, and only one can publish."""
    workflows = {path.name: text for path, text in WORKFLOWS.items() if "\njobs:\n" in text}
    assert len(workflows) >= 4
    assert all("\npermissions: {}\n" in text for text in workflows.values())
    assert [name for name, text in workflows.items() if "id-token: write" in text] == [
        "release.yml"
    ]


def test_workflows_run_sessions_that_nox_has() -> None:
    """Every nox session that a workflow runs exists."""
    named = re.findall(r"session: \"?([a-z]+)", CI)
    nox = (ROOT / "noxfile.py").read_text("utf-8")
    sessions = set(re.findall(r"^@nox\.session.*?^def (\w+)", nox, re.DOTALL | re.MULTILINE))
    assert set(named) == sessions


def test_a_release_publishes_each_distribution() -> None:
    """A release publishes the core first, then each adapter, from the files that CI built."""
    release = WORKFLOWS[ROOT / ".github" / "workflows" / "release.yml"]
    (listed,) = re.findall(r"^ +distribution: (\[.+\])$", release, re.MULTILINE)
    assert json.loads(listed) == list(PROJECTS)
    for name in PROJECTS:
        path = f"dist/{name.replace('-', '_')}-*"
        assert f"          name: {name}\n          path: {path}\n" in CI
        assert f"`release-{name}`" in (ROOT / "RELEASING.md").read_text("utf-8")


def test_the_hosted_documentation_installs_what_nox_does() -> None:
    """The hosted documentation installs the same paths and extras as nox."""
    text = (ROOT / ".readthedocs.yaml").read_text("utf-8")
    paths = re.findall(r"path: (\S+)", text)
    assert {(ROOT / path).resolve() for path in paths} == set(FOLDERS)
    (extra,) = re.findall(r"extra_requirements: \[(\w+)\]", text)
    assert extra in CORE["project"]["optional-dependencies"]
    assert f'session.install(".[{extra}]"' in (ROOT / "noxfile.py").read_text("utf-8")


def test_each_fragment_of_the_changelog_has_a_kind() -> None:
    """Each changelog fragment has a known kind, since towncrier ignores other kinds."""
    settings = CORE["tool"]["towncrier"]
    kinds = [each["directory"] for each in settings["type"]]
    folder = ROOT / settings["directory"]
    names = {path.name for path in folder.iterdir()} - {"README.md"}
    allowed = re.compile(rf"(?:\d+|\+[\w-]+)\.(?:{'|'.join(kinds)})\.md")
    assert [name for name in sorted(names) if not allowed.fullmatch(name)] == []
    assert (
        re.findall(r"^\| `(\w+)` \|", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
        == kinds
    )
    changelog = (ROOT / settings["filename"]).read_text("utf-8")
    assert changelog.count(settings["start_string"]) == 1  # Entries are inserted below this line.
