"""A diagnosis prints what to change, the causes of misses, and an example of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fullrecall import IdRecall, Report, Sample, diagnose, evaluate
from fullrecall.diagnosis import Diagnosis
from fullrecall.errors import ParameterError

NAMES = "amber bridge copper dragon elder forest garden harbor island jungle kettle".split()
DOCUMENTS = {
    name: {"id": f"{name}.md", "text": f"The {name} has its own {name} words, {name}."}
    for name in NAMES
}

PRINTED = """\
What to change
1. raise k from 3 to 4: +0.20 (above 0 to +0.72), 1.1 times the contexts (+2 tokens per question), \
id_recall@3

                            id
                      recall@3   again@3
────────────────────────────────────────
cause
  beyond k             3 (60%)   3 (60%)
  nothing retrieved    1 (20%)   1 (20%)
  not in corpus        1 (20%)   1 (20%)

targets
  missed                     5         5
beyond k: Raise k, or retrieve more and rerank.
nothing retrieved: Check filters, score thresholds, and the index that is asked.
not in corpus: Index it: the ingestion dropped it, or the references name what was never there.
"""

IN_MARKDOWN = """\
### Diagnosis of 5 missed targets

**What to change**

| what to change | gain | cost |
| --- | ---: | --- |
| raise k from 3 to 4 | \\+0.20 \\(above 0 to \\+0.72\\) | 1.1 times the contexts \
\\(\\+2 tokens per question\\) |

|  | id\\_recall\\@3 |
| --- | ---: |
| **cause** |  |
| unknown | 3 \\(60%\\) |
| beyond k | 1 \\(20%\\) |
| nothing retrieved | 1 \\(20%\\) |
| **targets** |  |
| missed | 5 |

- unknown\\: Add corpus=, with IDs and texts, or retriever= to find more causes.
- beyond k\\: Raise k, or retrieve more and rerank.
- nothing retrieved\\: Check filters, score thresholds, and the index that is asked.

| sample | score | target | why |
| --- | --- | --- | --- |
| **unknown** |  |  |  |
| gone | id\\_recall\\@3 | zebra.md | to find the cause, pass corpus= and retriever= |
| **beyond k** |  |  |  |
| deep | id\\_recall\\@3 | amber.md | at rank 4 of the list, beyond k = 3 |
| **nothing retrieved** |  |  |  |
| none | id\\_recall\\@3 | kettle.md | the retriever returned an empty list |
"""

IN_CSV = """\
sample,question,score,target,cause,detail,rank
deep,deep?,id_recall@3,amber.md,beyond_k,"at rank 4 of the list, beyond k = 3",4
gone,gone?,id_recall@3,zebra.md,not_in_corpus,no context of the corpus has the ID 'zebra.md',
never,never?,id_recall@3,jungle.md,beyond_k,at rank 10 when retrieving 100,10
never,never?,id_recall@3,kettle.md,beyond_k,at rank 11 when retrieving 100,11
none,none?,id_recall@3,kettle.md,nothing_retrieved,the retriever returned an empty list,11
"""


def report_of(*names: str) -> Report:
    """Return a report with scores of these names, of misses with several causes."""
    rows = [
        ("deep", "amber", "bridge copper dragon amber"),
        ("found", "amber", "amber"),
        ("gone", "zebra", "bridge copper"),
        ("never", "jungle kettle", "bridge copper dragon"),
        ("none", "kettle", ""),
    ]
    samples = [
        Sample(
            id=name,
            user_input=f"{name}?",
            expected_ids=[f"{each}.md" for each in expected.split()],
            retrieved_contexts=[DOCUMENTS[each] for each in retrieved.split()],
        )
        for name, expected, retrieved in rows
    ]
    failed = Sample(id="failed", expected_ids=["amber.md"], retrieval={"error": "TimeoutError"})
    return evaluate([*samples, failed], [IdRecall(name=name) for name in names], progress=False)


def search(_: str, k: int = 10) -> list[dict[str, str]]:
    """Return the first k documents."""
    return list(DOCUMENTS.values())[:k]


def diagnosed(*names: str) -> Diagnosis:
    """Return the diagnosis of misses within 3 contexts, by a corpus and a retriever."""
    return diagnose(report_of(*names), k=3, corpus=list(DOCUMENTS.values()), retriever=search)


def test_a_diagnosis_in_full() -> None:
    """Changes come first, then the causes of each score's misses, then the fix of each cause."""
    found = diagnosed("id_recall", "again")
    assert str(found) == PRINTED
    assert repr(found) == f"Diagnosis(10 targets missed in 6 samples)\n{PRINTED}"
    assert (len(found), found.samples, found.drawn_from) == (10, 6, 6)
    assert found.of.endswith(" (6 samples, id_recall 0.400, again 0.400)")
    assert diagnosed("id_recall").of != found.of
    assert diagnosed("id_recall").of == diagnosed("id_recall").of
    assert diagnosed("id_recall").to_csv().replace("\r\n", "\n") == IN_CSV


def test_a_diagnosis_in_markdown() -> None:
    """Without a corpus or a retriever, most causes are unknown; one example of each is shown."""
    assert diagnose(report_of("id_recall"), k=3).to_markdown(misses=1) == IN_MARKDOWN


@pytest.mark.parametrize("drawn", [None, 6, 30_000])
def test_a_diagnosis_of_a_draw(drawn: int | None) -> None:
    """A diagnosis of a random draw says from how many samples they were drawn."""
    found = replace(diagnosed("id_recall"), drawn_from=drawn)
    note = "Diagnosed from 6 samples drawn at random of 30,000.\n"
    assert str(found).endswith(note) == (drawn == 30_000)
    assert ("Diagnosed from" in str(found)) == (drawn == 30_000)
    assert found.to_dict()["drawn_from"] == (drawn or 6)
    nothing = replace(found, misses=())
    at_random = " drawn at random of 30,000" if drawn == 30_000 else ""
    assert str(nothing) == f"Nothing was missed in 6 samples{at_random}.\n"


@pytest.mark.parametrize("options", [{"k": 0}, {"k": 1.5}, {"deep_k": 0}, {"k": "3"}])
def test_options_out_of_range(options: dict[str, Any]) -> None:
    """A k is a whole number from 1 on, or a budget."""
    (name,) = options
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        diagnose(report_of("id_recall"), **options)


DOCS = list(DOCUMENTS.values())
NOT_INDEXED = "not_in_corpus: no context of the corpus has the ID 'zebra.md'"
ASK = "unknown: to find the cause, pass"
INDEXED = "never_retrieved: in the corpus, but not"


def three(_: str) -> list[dict[str, str]]:
    """Return three documents."""
    return DOCS[:3]


def broken(_: str, k: int) -> list[dict[str, str]]:
    """Fail."""
    raise ConnectionError(f"down at {k}")


def repeating(_: str, k: int) -> list[dict[str, str]]:
    """Return two documents twice, and then another one."""
    return [*DOCS[1:3], *DOCS[1:3], DOCS[9]][:k]


@pytest.mark.parametrize(
    ("options", "gone", "jungle", "kettle"),
    [
        ({}, f"{ASK} corpus= and retriever=", None, None),
        ({"corpus": [each["text"] for each in DOCS]},
         f"{ASK} a corpus with IDs and retriever=", None, None),
        ({"corpus": DOCS}, NOT_INDEXED,
         ("never_retrieved: in the corpus, and not among the 3 retrieved; retrieve deeper to learn "
         "its rank: retriever="), None),
        ({"retriever": three},
         f"{ASK} corpus= and retriever= with a function that takes k", None, None),
        ({"retriever": search, "deep_k": 5}, f"{ASK} corpus=", None, None),
        ({"retriever": search, "deep_k": 5, "corpus": DOCS}, NOT_INDEXED,
         f"{INDEXED} in the top 5", None),
        ({"retriever": search, "deep_k": 10, "corpus": DOCS}, NOT_INDEXED,
         "beyond_k: at rank 10 when retrieving 10", f"{INDEXED} in the top 10"),
        ({"retriever": three, "corpus": DOCS}, NOT_INDEXED,
         f"{INDEXED} among the 3 that the retriever returns: it takes no k to search deeper", None),
        ({"retriever": lambda _, k: DOCS[:3][:k], "corpus": DOCS}, NOT_INDEXED,
         f"{INDEXED} among the 3 returned of 100", None),
        ({"retriever": broken, "corpus": DOCS}, NOT_INDEXED,
         "failed_call: the retriever failed: ConnectionError: down at 100", None),
        ({"retriever": repeating, "corpus": DOCS}, NOT_INDEXED,
         ("crowded_out: at rank 5 when retrieving 100; 2 of the contexts before it are duplicates "
         "of others"), f"{INDEXED} among the 5 returned of 100"),
    ],
)  # fmt: skip
def test_causes_by_the_evidence(
    options: dict[str, Any], gone: str, jungle: str | None, kettle: str | None
) -> None:
    """Each further source of evidence names a cause, or what else would name it."""
    found = diagnose(report_of("id_recall"), **options)
    causes = {(each.sample, each.target): f"{each.cause}: {each.detail}" for each in found}
    assert causes == {
        ("gone", "zebra.md"): gone,
        ("never", "jungle.md"): jungle or gone,
        ("never", "kettle.md"): kettle or jungle or gone,
        ("none", "kettle.md"): "nothing_retrieved: the retriever returned an empty list",
    }
