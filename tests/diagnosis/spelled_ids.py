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


Spell = str | Callable[[str, int], str]
"""The spelling of a river's document by its number: a template, or a function."""


KINDS: dict[str, tuple[Spell, Spell, str]] = {
    "suffix .md": ("{w}-{n}", "{w}-{n}.md", "'.md'"),
    "suffix .md on the references": ("{w}_{n}.md", "{w}_{n}", "'.md'"),
    "extensions of several kinds": (
        "{w}{n}",
        lambda w, n: f"{w}{n}.{('pdf', 'html', 'txt')[n % 3]}",
        "extension",
    ),
    "another extension": ("{w}{n}.pdf", "{w}{n}.txt", "'.txt'"),
    "suffix word": ("{n}-{w}", "{n}-{w}-en", "'-en'"),
    "prefix with a colon": ("{w}{n}", "river:{w}{n}", "'river:'"),
    "prefix with a dash": ("{w}-{n}", "kb-{w}-{n}", "'kb-'"),
    "prefix of the references": ("gold/{w}{n}", "{w}{n}", "'gold/'"),
    "number with a prefix": ("{n}", "item_{n}", "'item_'"),
    "padding": ("{w}-{n}", "{w}-{n:05}", "zero padding"),
    "padding of bare numbers": ("{n:08}", "{n}", "zero padding"),
    "underscores": ("{w}_{n}_x", "{w}-{n}-x", "separators"),
    "spaces": ("{w} no {n}", "{w}_no_{n}", "separators"),
    "dots": ("{w}.no.{n}", "{w}-no-{n}", "separators"),
    "no separators": ("{w}-{n}", "{w}{n}", "separators"),
    "upper case": ("{w}-{n}", lambda w, n: f"{w}-{n}".upper(), "letter case"),
    "title case": ("{w}{n}", "{title}{n}", "letter case"),
    "camel case": ("{w}-bank-{n}", "{title}Bank{n}", "letter case"),
    "directory": ("{w}{n}.txt", "data/{w[0]}/{w}{n}.txt", "directory"),
    "directory of Windows": ("{w}{n}.txt", "C:\\docs\\{w[0]}\\{w}{n}.txt", "directory"),
    "leading ./": ("a/{w}{n}", "./a/{w}{n}", "'./'"),
    "URL": ("{w}/{n}", "https://example.org/{w}/{n}", "URL"),
    "URL of varying depth": ("{w}-{n}", "https://example.org/{w[0]}/{w}-{n}", "URL"),
    "percent encoding": ("{w} é {n}", lambda w, n: quote(f"{w} é {n}"), "percent encoding"),
    "Unicode form": ("{w}-é-{n}", "{w}-e\u0301-{n}", "Unicode form"),
    "fragment": ("{w}{n}", lambda w, n: f"{w}{n}#s{n % 7}", "fragment"),
    "query": ("{w}{n}.html", lambda w, n: f"{w}{n}.html?v={n * 3}", "fragment"),
    "chunks": ("{w}{n}", lambda w, n: f"{w}{n}_chunk_{n % 5}", "parts (chunk #)"),
    "chunks in another language": ("{w}{n}", lambda w, n: f"{w}{n} Abs. {n % 9}", "parts (abs #)"),
    "chunks of the references": ("{w}{n}::{part}", "{w}{n}", "fragment"),
    "bare numbers of chunks": ("{w}{n}", "{w}{n}-{part}", "parts (#)"),
    "dashes of UUIDs": (
        lambda w, n: str(UUID(int=Random(n).getrandbits(128))),
        lambda w, n: UUID(int=Random(n).getrandbits(128)).hex,
        "separators",
    ),
    "prefix and case": ("{w}{n}", "KB/{upper}{n}", "letter case"),
    "prefix here and suffix there": ("{w}-{n}.md", "wiki:{w}-{n}", "'.md'"),
    "infix .md": ("kb/{w}-{n}#{part}", "kb/{w}-{n}.md#{part}", "infix 'md'"),
    "infix with a template": (
        "kb/{w}-{n}#{part}",
        "https://e.org/kb/{w}-{n}.html:chunk:{part}",
        "infix 'html chunk'",
    ),
    "version folder": ("kb/{w}-{n}#{part}", "kb/2024-05-01/{w}-{n}#{part}", "infix '2024 05 01'"),
    "another order": ("kb/{w}-{n}#{part}", "{part}|kb/{w}-{n}", "order of the words"),
    "numbers from 1": (
        "kb/{w}-{n}#{part}",
        "kb/{w}-{n}#{part_from_1}",
        "numbers (from 0 or from 1)",
    ),
    "numbers from 1 in a template": (
        "kb/{w}-{n}#{part}",
        "kb/{w}-{n}.md:part:{part_from_1}",
        "infix 'md part', numbers (from 0 or from 1)",
    ),
    "white space": ("{w}{n}", " {w}{n} ", "white space"),
}


def known(found: Any) -> Any:
    """Return a rewrite that makes IDs match; None if the hint only shows an ID of each side."""
    return None if found is None or found.gain is None else found


def spelled(form: Spell, w: str, n: int) -> str:
    """Return the ID of a river's document in a spelling."""
    if not isinstance(form, str):
        return form(w, n)
    words = {"w": w, "upper": w.upper(), "title": w.title()}
    return form.format(**words, n=n, part=n % 4, part_from_1=n % 4 + 1)


def samples(
    reference: Spell, retrieved: Spell, seed: int = 4
) -> tuple[list[list[str]], list[list[str]]]:
    """Return lists and references of forty questions; a fifth of the targets is not retrieved."""
    rng = Random(seed)
    documents = [(rng.choice(RIVERS), n) for n in rng.sample(range(1, 900), 120)]
    lists, references = [], []
    for w, n in documents[:40]:
        found = [spelled(retrieved, *other) for other in rng.sample(documents[40:], 4)]
        if rng.random() < 0.8:
            found.insert(rng.randrange(5), spelled(retrieved, w, n))
        lists.append(found)
        references.append([spelled(reference, w, n)])
    return lists, references


def report_of(lists: list[list[str]], references: list[list[str]]) -> Report:
    """Return the report of lists and references by ID."""
    rows = [
        {"retrieved_ids": found, "expected_ids": wanted}
        for found, wanted in zip(lists, references, strict=True)
    ]
    return evaluate(rows, IdRecall(), progress=False)
