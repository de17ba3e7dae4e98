"""Lists and references whose IDs are spelled differently, in many ways."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote
from uuid import UUID

from fullrecall import IdRecall, Report, evaluate

RIVERS = (
    "amur danube elbe ganges indus jordan kolyma loire mekong niger oder parana rhine seine tagus "
    "ural volga weser xingu yukon zambezi tigris thames tiber neva murray mackenzie lena irtysh"
).split()


Spell = Callable[[str, int], str]


KINDS: dict[str, tuple[Spell, Spell, str]] = {
    "suffix .md": (lambda w, n: f"{w}-{n}", lambda w, n: f"{w}-{n}.md", "'.md'"),
    "suffix .md on the references": (lambda w, n: f"{w}_{n}.md", lambda w, n: f"{w}_{n}", "'.md'"),
    "extensions of several kinds": (
        lambda w, n: f"{w}{n}",
        lambda w, n: f"{w}{n}.{('pdf', 'html', 'txt')[n % 3]}",
        "extension",
    ),
    "another extension": (lambda w, n: f"{w}{n}.pdf", lambda w, n: f"{w}{n}.txt", "'.txt'"),
    "suffix word": (lambda w, n: f"{n}-{w}", lambda w, n: f"{n}-{w}-en", "'-en'"),
    "prefix with a colon": (lambda w, n: f"{w}{n}", lambda w, n: f"river:{w}{n}", "'river:'"),
    "prefix with a dash": (lambda w, n: f"{w}-{n}", lambda w, n: f"kb-{w}-{n}", "'kb-'"),
    "prefix of the references": (lambda w, n: f"gold/{w}{n}", lambda w, n: f"{w}{n}", "'gold/'"),
    "number with a prefix": (lambda w, n: f"{n}", lambda w, n: f"item_{n}", "'item_'"),
    "padding": (lambda w, n: f"{w}-{n}", lambda w, n: f"{w}-{n:05}", "zero padding"),
    "padding of bare numbers": (lambda w, n: f"{n:08}", lambda w, n: f"{n}", "zero padding"),
    "underscores": (lambda w, n: f"{w}_{n}_x", lambda w, n: f"{w}-{n}-x", "separators"),
    "spaces": (lambda w, n: f"{w} no {n}", lambda w, n: f"{w}_no_{n}", "separators"),
    "dots": (lambda w, n: f"{w}.no.{n}", lambda w, n: f"{w}-no-{n}", "separators"),
    "no separators": (lambda w, n: f"{w}-{n}", lambda w, n: f"{w}{n}", "separators"),
    "upper case": (lambda w, n: f"{w}-{n}", lambda w, n: f"{w}-{n}".upper(), "letter case"),
    "title case": (lambda w, n: f"{w}{n}", lambda w, n: f"{w.title()}{n}", "letter case"),
    "camel case": (
        lambda w, n: f"{w}-bank-{n}",
        lambda w, n: f"{w.title()}Bank{n}",
        "letter case",
    ),
    "directory": (
        lambda w, n: f"{w}{n}.txt",
        lambda w, n: f"data/{w[0]}/{w}{n}.txt",
        "directory",
    ),
    "directory of Windows": (
        lambda w, n: f"{w}{n}.txt",
        lambda w, n: f"C:\\docs\\{w[0]}\\{w}{n}.txt",
        "directory",
    ),
    "leading ./": (lambda w, n: f"a/{w}{n}", lambda w, n: f"./a/{w}{n}", "'./'"),
    "URL": (lambda w, n: f"{w}/{n}", lambda w, n: f"https://example.org/{w}/{n}", "URL"),
    "URL of varying depth": (
        lambda w, n: f"{w}-{n}",
        lambda w, n: f"https://example.org/{w[0]}/{w}-{n}",
        "URL",
    ),
    "percent encoding": (
        lambda w, n: f"{w} é {n}",
        lambda w, n: quote(f"{w} é {n}"),
        "percent encoding",
    ),
    "Unicode form": (lambda w, n: f"{w}-é-{n}", lambda w, n: f"{w}-e\u0301-{n}", "Unicode form"),
    "fragment": (lambda w, n: f"{w}{n}", lambda w, n: f"{w}{n}#s{n % 7}", "fragment"),
    "query": (lambda w, n: f"{w}{n}.html", lambda w, n: f"{w}{n}.html?v={n * 3}", "fragment"),
    "chunks": (lambda w, n: f"{w}{n}", lambda w, n: f"{w}{n}_chunk_{n % 5}", "parts (chunk #)"),
    "chunks in another language": (
        lambda w, n: f"{w}{n}",
        lambda w, n: f"{w}{n} Abs. {n % 9}",
        "parts (abs #)",
    ),
    "chunks of the references": (
        lambda w, n: f"{w}{n}::{n % 4}",
        lambda w, n: f"{w}{n}",
        "fragment",
    ),
    "bare numbers of chunks": (
        lambda w, n: f"{w}{n}",
        lambda w, n: f"{w}{n}-{n % 4}",
        "parts (#)",
    ),
    "dashes of UUIDs": (
        lambda w, n: str(UUID(int=Random(n).getrandbits(128))),
        lambda w, n: UUID(int=Random(n).getrandbits(128)).hex,
        "separators",
    ),
    "prefix and case": (lambda w, n: f"{w}{n}", lambda w, n: f"KB/{w.upper()}{n}", "letter case"),
    "prefix here and suffix there": (
        lambda w, n: f"{w}-{n}.md",
        lambda w, n: f"wiki:{w}-{n}",
        "'.md'",
    ),
    "infix .md": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"kb/{w}-{n}.md#{n % 4}",
        "infix 'md'",
    ),
    "infix with a template": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"https://e.org/kb/{w}-{n}.html:chunk:{n % 4}",
        "infix 'html chunk'",
    ),
    "version folder": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"kb/2024-05-01/{w}-{n}#{n % 4}",
        "infix '2024 05 01'",
    ),
    "another order": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"{n % 4}|kb/{w}-{n}",
        "order of the words",
    ),
    "numbers from 1": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"kb/{w}-{n}#{n % 4 + 1}",
        "numbers (from 0 or from 1)",
    ),
    "numbers from 1 in a template": (
        lambda w, n: f"kb/{w}-{n}#{n % 4}",
        lambda w, n: f"kb/{w}-{n}.md:part:{n % 4 + 1}",
        "infix 'md part', numbers (from 0 or from 1)",
    ),
    "white space": (lambda w, n: f"{w}{n}", lambda w, n: f" {w}{n} ", "white space"),
}


def known(found: Any) -> Any:
    """Return a rewrite that makes IDs match; None if the hint only shows an ID of each side."""
    return None if found is None or found.gain is None else found


def samples(
    reference: Spell, retrieved: Spell, seed: int = 4
) -> tuple[list[list[str]], list[list[str]]]:
    """Return lists and references of forty questions; a fifth of the targets is not retrieved."""
    rng = Random(seed)
    documents = [(rng.choice(RIVERS), n) for n in rng.sample(range(1, 900), 120)]
    lists, references = [], []
    for w, n in documents[:40]:
        found = [retrieved(*other) for other in rng.sample(documents[40:], 4)]
        if rng.random() < 0.8:
            found.insert(rng.randrange(5), retrieved(w, n))
        lists.append(found)
        references.append([reference(w, n)])
    return lists, references


def report_of(lists: list[list[str]], references: list[list[str]]) -> Report:
    """Return the report of lists and references by ID."""
    rows = [
        {"retrieved_ids": found, "expected_ids": wanted}
        for found, wanted in zip(lists, references, strict=True)
    ]
    return evaluate(rows, IdRecall(), progress=False)
