"""Measure for twenty planted defects the cause that `diagnose` names, and its predicted gain.

    python bench/diagnosis_defects.py [FOLDER] [--pattern "**/*.rst"]

The texts of FOLDER, such as a program's documentation, are cut into chunks; a question is half
of a sentence's words; BM25 retrieves. Without FOLDER the texts are made of random words.
A defect is named if most of its lost targets have its cause; it is misnamed if most have another
cause, which is not a miss of the search itself.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID
from zlib import crc32

from fullrecall import Context, IdRecall, Report, Retrieval, Sample, diagnose, evaluate
from fullrecall.diagnosis import Cause, Diagnosis
from fullrecall.measures import Recall
from fullrecall.samples import Call

K, QUESTIONS, CHUNK = 5, 250, 700
_WORD = re.compile(r"[A-Za-z_]{2,}")

Lists = Callable[[str], Any]
"""Returns the contexts for a question."""

GENERIC = frozenset({Cause.NEVER_RETRIEVED, Cause.UNKNOWN, Cause.BEYOND_K, Cause.LOOKALIKE})
"""Causes that a search without a defect has too."""


class BM25:
    """A search over contexts."""

    def __init__(self, contexts: Iterable[Context]) -> None:
        self.contexts = list(contexts)
        counts = [Counter(map(str.lower, _WORD.findall(c.text or ""))) for c in self.contexts]
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, words in enumerate(counts):
            for word, count in words.items():
                self._postings[word].append((number, count))
        self._lengths = [words.total() + 1 for words in counts]
        self._mean = sum(self._lengths) / max(1, len(counts))

    def __call__(self, question: str, k: int) -> list[Context]:
        """Return the best k contexts."""
        scores: Counter[int] = Counter()
        size = len(self.contexts)
        for word in dict.fromkeys(map(str.lower, _WORD.findall(question))):
            found = self._postings.get(word, [])
            weight = math.log(1 + (size - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                length = 0.25 + 0.75 * self._lengths[number] / self._mean
                scores[number] += weight * count * 2.2 / (count + 1.2 * length)
        best = sorted(scores, key=lambda number: (-scores[number], number))[:k]
        return [self.contexts[number] for number in best]


class Question(NamedTuple):
    """A question and the ID of the chunk that it was written from."""

    text: str
    target: str


@dataclass
class Collection:
    """Chunks, questions about some of them, and the search without a defect."""

    chunks: list[Context]
    questions: list[Question] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.search = BM25(self.chunks)
        random = Random(53)
        asked: dict[str, str] = {}
        for chunk in random.sample(self.chunks, len(self.chunks)):
            sentences = re.split(r"(?<=[.:])\s+", chunk.text or "")
            fitting = [s for s in sentences if 9 <= len(_WORD.findall(s)) <= 30]
            if fitting and len(asked) < QUESTIONS:
                words = _WORD.findall(random.choice(fitting))
                text = " ".join(word for nth, word in enumerate(words) if nth % 2)
                asked.setdefault(text, str(chunk.id))
        self.questions = [Question(*pair) for pair in asked.items()]

    @property
    def documents(self) -> list[str]:
        """The names of the documents."""
        return sorted({str(chunk.source) for chunk in self.chunks})

    def report(self, lists: Lists, names: Callable[[str], str] = str) -> Report:
        """Return the report of the search; `names` are the references' names of targets."""
        samples = [
            Sample(id=text, user_input=text, reference_context_ids=[names(target)])
            for text, target in self.questions
        ]
        filled = [sample.with_retrieval(lists(str(sample.user_input))) for sample in samples]
        return evaluate(filled, IdRecall(), progress=False)

    def renamed(self, rename: Callable[[str], str]) -> Lists:
        """Return lists in which contexts have other IDs."""

        def lists(question: str) -> list[Context]:
            found = self.search(question, K)
            return [Context(c.text, id=rename(str(c.id))) for c in found]

        return lists


class Defect(NamedTuple):
    """A defect: its search, its causes, and the options of `diagnose`."""

    name: str
    causes: frozenset[Cause]
    lists: Lists
    options: dict[str, Any]
    names: Callable[[str], str] = str


def chunks_of(documents: Iterable[tuple[str, str]]) -> list[Context]:
    """Return the chunks of documents, by paragraphs, numbered from 0."""
    chunks = []
    for name, text in documents:
        parts: list[list[str]] = [[]]
        for paragraph in re.split(r"\n\s*\n", text):
            parts[-1].append(paragraph)
            if len(" ".join(parts[-1])) > CHUNK:
                parts.append([])
        whole = [text for part in parts if len(text := "\n\n".join(part)) > CHUNK // 4]
        chunks += [Context(text, id=f"{name}#{n}", source=name) for n, text in enumerate(whole)]
    return chunks


def made_up(documents: int = 150) -> Iterator[tuple[str, str]]:
    """Yield documents of random words in three folders."""
    random = Random(7)
    syllables = [f"{c}{v}" for c in "bdfgklmnprstv" for v in "aeiou"]
    words = ["".join(random.choices(syllables, k=random.randint(2, 4))) for _ in range(400)]
    for number in range(documents):
        own = random.sample(words, 90)
        sentences = [
            f"{' '.join(random.sample(own, random.randint(10, 16)))} {random.randrange(999)}."
            for _ in range(random.randint(20, 60))
        ]
        paragraphs = (" ".join(sentences[at : at + 5]) for at in range(0, len(sentences), 5))
        folder = ("guide", "manual", "reference")[number % 3]
        yield f"{folder}/{random.choice(words)}_{random.choice(words)}", "\n\n".join(paragraphs)


def uuid(name: str) -> str:
    """Return a UUID of a name."""
    return str(UUID(int=Random(name).getrandbits(128)))


def _next(name: str) -> str:
    document, number = name.rsplit("#", 1)
    return f"{document}#{int(number) + 1}"


def of_ids(c: Collection) -> Iterator[Defect]:
    """Yield defects of IDs."""
    mismatch, corpus = frozenset({Cause.ID_MISMATCH}), {"corpus": c.chunks}

    def field_of(question: str) -> list[Context]:
        found = c.search(question, K)
        return [Context(x.text, id=uuid(str(x.id)), metadata={"key": x.id}) for x in found]

    def renamed(name: str, rename: Callable[[str], str]) -> Defect:
        return Defect(name, mismatch, c.renamed(rename), corpus)

    yield renamed("filled again under UUIDs", uuid)
    yield renamed("suffix inside the ID", lambda x: x.replace("#", ".rst#"))
    yield renamed("numbers from 1", _next)
    yield renamed("version folder, upper case", lambda x: x.replace("/", "/3.25/", 1).upper())
    yield renamed(
        "a hash per document", lambda x: x.replace("#", f"-{crc32(x.split('#')[0].encode()):x}#")
    )
    yield Defect("IDs in a field", mismatch, field_of, {})
    level = frozenset({Cause.WRONG_ID_LEVEL})
    of_document = lambda x: str(x.rsplit("#", 1)[0])  # noqa: E731
    yield Defect(
        "documents named, chunks returned", level, lambda q: c.search(q, K), corpus, of_document
    )


def of_index(c: Collection) -> Iterator[Defect]:
    """Yield defects of the index."""
    documents = c.documents
    stale = set(Random(7).sample(documents, len(documents) // 3))
    folder = documents[0].split("/")[0]

    def over(
        name: str, cause: Cause | frozenset[Cause], chunks: list[Context], corpus: list[Context]
    ) -> Defect:
        search = BM25(chunks)
        options = {"corpus": corpus, "retriever": search}
        causes = frozenset({cause}) if isinstance(cause, Cause) else cause
        return Defect(name, causes, lambda q: search(q, K), options)

    kept = [x for x in c.chunks if x.source not in stale]
    of_folder = [x for x in c.chunks if str(x.source).startswith(folder)]
    cut = [Context((x.text or "")[:150], id=x.id) for x in c.chunks]
    older = [Context(_older(x.text or ""), id=x.id) for x in c.chunks]
    # The references name the old chunks, and only the IDs of these are known.
    anew = frozenset({Cause.SPLIT_ACROSS_CHUNKS, Cause.ID_MISMATCH})
    halves = [
        Context(half, id=uuid(f"{x.id}{n}"))
        for x in c.chunks
        for n, half in enumerate(_halves(x.text or ""))
    ]
    yield over("a third of the documents left out", Cause.NOT_SEARCHED, kept, c.chunks)
    yield over("a filter to one folder", Cause.NOT_SEARCHED, of_folder, c.chunks)
    yield over("texts cut to 150 characters", Cause.TEXT_DIFFERS, cut, c.chunks)
    yield over("an earlier version", Cause.TEXT_DIFFERS, older, c.chunks)
    yield over("a third in no corpus", Cause.NOT_IN_CORPUS, kept, kept)
    yield over("halves of chunks", anew, halves, halves)
    small = {"corpus": c.chunks, "retriever": c.search}
    yield Defect("k = 2", frozenset({Cause.BEYOND_K}), lambda q: c.search(q, 2), small)


def _older(text: str) -> str:
    lines = re.split(r"(?<=[.\n])", text)
    return "".join(lines[: len(lines) * 2 // 3]) + " The rest was written anew in the next release."


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def of_pipeline(c: Collection) -> Iterator[Defect]:
    """Yield defects of stages and of calls."""
    corpus: dict[str, Any] = {"corpus": c.chunks}

    def staged(name: str, keep: Callable[[str, list[Context]], list[Context]]) -> Lists:
        def lists(question: str) -> Retrieval:
            first = c.search(question, 4 * K)
            last = tuple(keep(question, first))
            search = Call("search", question, tuple(first))
            return Retrieval(last, calls=[Call(name, question, last, children=(search,))])

        return lists

    def at_random(question: str, found: list[Context]) -> list[Context]:
        kept = Random(question).sample(found, min(3, len(found)))
        return sorted(kept, key=found.index)

    def failing(question: str) -> Any:
        if Random(question).random() < 0.3:
            calls = [Call("bm25", question, ()), Call("dense", question, error="timeout")]
            return Retrieval((), calls=calls)
        return c.search(question, K)

    def empty(question: str) -> list[Context]:
        return [] if Random(question).random() < 0.3 else c.search(question, K)

    def copies(question: str) -> list[Context]:
        found = c.search(question, 6 * K)
        places = ("", "mirror/", "backup/")
        return [Context(x.text, id=f"{place}{x.id}") for x in found for place in places]

    def defect(name: str, cause: Cause, lists: Lists, **options: Any) -> Defect:
        return Defect(name, frozenset({cause}), lists, corpus | options)

    reversed_ = staged("rerank", lambda _, found: found[::-1])
    yield defect("reranker reversed", Cause.DEMOTED_BY_STAGE, reversed_, k=K)
    yield defect(
        "reranker keeps 3 of 20 at random", Cause.DROPPED_BY_STAGE, staged("rerank", at_random)
    )
    few = staged("threshold", lambda question, found: found[: 1 + len(question) % 3])
    yield defect("threshold keeps 1 to 3", Cause.DROPPED_BY_STAGE, few)
    yield defect("copies fill the list", Cause.CROWDED_OUT, copies, k=K)
    yield defect("a call fails for 30 %", Cause.FAILED_CALL, failing)
    yield defect("empty lists for 30 %", Cause.NOTHING_RETRIEVED, empty)


class Outcome(NamedTuple):
    """Whether a defect was named, its diagnosis, and the recall gained by its fix."""

    name: str
    state: str
    diagnosis: Diagnosis
    gained: float


def outcomes(c: Collection) -> Iterator[Outcome]:
    """Yield the outcome of each defect."""
    good = c.report(lambda question: c.search(question, K))
    at_k = Recall @ K
    won = {row.label for row in good.rows if row.results[0][at_k]}
    for defect in (*of_ids(c), *of_index(c), *of_pipeline(c)):
        report = c.report(defect.lists, defect.names)
        found = diagnose(report, **defect.options)
        causes = Counter(miss.cause for miss in found if miss.sample in won)
        most = causes.most_common(1)[0][0] if causes else Cause.UNKNOWN
        own = sum(causes[cause] for cause in defect.causes)
        state = "-" if most in GENERIC else "MISNAMED"
        if own * 2 >= max(1, causes.total()):
            state = "named"
        means = [r.summary(at_k)["id_recall"].mean or 0.0 for r in (report, good)]
        yield Outcome(defect.name, state, found, means[1] - means[0])


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--pattern", default="**/*.rst")
    given = parser.parse_args()
    documents: Iterable[tuple[str, str]] = made_up()
    if given.folder is not None:
        documents = (
            (str(path.relative_to(given.folder).with_suffix("")), path.read_text("utf-8"))
            for path in sorted(given.folder.glob(given.pattern))
        )
    collection = Collection(chunks_of(documents))
    print(f"{len(collection.chunks):,} chunks, {len(collection.questions)} questions\n")
    print("| defect | named | first change | predicted | true gain |")
    print("| --- | --- | --- | ---: | ---: |")
    states: Counter[str] = Counter()
    for name, state, found, gained in outcomes(collection):
        states[state] += 1
        first = next(iter(found.changes), None)
        told = ("-", "-") if first is None else (first.action[:70], f"{first.gain:+.3f}")
        print(f"| {name} | {state} | {told[0]} | {told[1]} | {gained:+.3f} |", flush=True)
    print(f"\n{states['named']} named, {states['MISNAMED']} misnamed of {states.total()}")


if __name__ == "__main__":
    main()
