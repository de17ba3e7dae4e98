"""`check` finds the faults of any set, and reports none for correct samples."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.stdlib_docs.collection import documents, questions

from fullrecall import Sample
from fullrecall.errors import InputError
from fullrecall.files.documents import html_text
from fullrecall.judge.models import ChatRequest, Completion
from fullrecall.read import documents_of
from fullrecall.testing import ScriptedChatModel
from fullrecall.testset import Problem, check
from fullrecall.testset.content import longest_run, pointing
from fullrecall.testset.duplicates import Questions, groups

LONG = "The survey of the northern valleys lists every farm, its owner, and the year it was built."
PAGES = {
    "farms": LONG,
    "farms-copy": LONG.replace("built.", "built!"),
    "mills": "Mills stood on both banks of the river until the flood of 1871 took the last one.",
    "guide#1": "Opening hours are from nine to five on weekdays, and shorter on all other days.",
}


def found(samples: Any, pages: Any = None, **options: Any) -> set[tuple[Problem, str]]:
    """Return the problems of samples."""
    audit = check(samples, pages or PAGES, **options)
    return {(issue.problem, issue.sample) for issue in audit.issues}


def sample(name: str, *ids: Any, **fields: Any) -> dict[str, Any]:
    """Return a sample with references."""
    return {
        "id": name,
        "user_input": f"Ask about {name} please?",
        "reference_context_ids": ids,
        **fields,
    }


def test_correct_samples_have_no_problem() -> None:
    """An any-of group of twins, a correct span, and a reworded question have no problem."""
    right = sample(
        "a",
        ["farms", "farms-copy"],
        "mills",
        reference_contexts=[{"text": "Mills stood", "source": "mills", "start": 0, "end": 11}],
    )
    assert found([right]) == set()
    assert check([right], PAGES).is_valid


def test_two_references_that_are_nearly_equal_are_one_problem() -> None:
    """Twins are reported once, in the order of the references."""
    for names in (("farms", "farms-copy"), ("farms-copy", "farms")):
        twins = [i for i in check([sample("a", *names)], PAGES).issues if i.problem is Problem.TWIN]
        assert [issue.detail for issue in twins] == [
            f"{names[0]!r} is nearly equal to {names[1]!r}"
        ]


@pytest.mark.parametrize(
    ("shared", "tail", "is_found"),
    [(7, "", False), (8, "", True), (8, " " * 2_353, True), (8, " " * 2_354, False)],
)
def test_a_quote_of_eight_words_may_stand_elsewhere(
    shared: int, tail: str, *, is_found: bool
) -> None:
    """A quote of eight words or more may be ambiguous; fewer are a phrase."""
    quote = " ".join(f"word{n}" for n in range(shared)) + tail
    pages = {"a": f"{quote}. Here.", "b": f"There: {quote}."}
    span = {"text": quote, "source": "a", "start": 0, "end": len(quote)}
    issues = found([sample("q", "a", reference_contexts=[span])], pages)
    assert ((Problem.ELSEWHERE, "q") in issues) == is_found


@pytest.mark.parametrize(("size", "spanned", "is_found"), [(300, 270, True), (300, 269, False),
                                                             (299, 299, False)])  # fmt: skip
def test_most_of_a_long_document_does_not_locate_an_answer(
    size: int, spanned: int, *, is_found: bool
) -> None:
    """A span of nine tenths of 300 words is a problem, since it locates no answer."""
    text = "word " * size
    span = {"text": "word " * spanned, "source": "a", "start": 0, "end": 5 * spanned}
    issues = found([sample("q", "a", reference_contexts=[span])], {"a": text})
    assert ((Problem.WHOLE, "q") in issues) == is_found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("can be", "cannot be", "one of them denies it"),
        ("90 days", "30 days", "other numbers: 30 for 90"),
        ("version 3.1", "version 3.2", "other numbers"),
        ("in Bergen", "in Ghent", "other names: ghent for bergen"),
        ("in Bergen", "in Canada", "other names: canada for bergen"),
    ],
)
def test_documents_that_differ_in_a_fact_are_not_called_duplicates(
    old: str, new: str, told: str
) -> None:
    """Twins are told apart by their negations, numbers, names, and versions."""
    text = (
        "An order of the winter catalog can be returned within 90 days at the counter in Bergen, "
        "as the rules of version 3.1 say; the goods must be whole, the seal unbroken, the receipt "
        "at hand, and the carton closed with the tape that came with it in the first place."
    )
    pages = {"a": text, "b": text.replace(old, new), "c": f"{text} Thanks."}
    issues = check([sample("q", "a")], pages).issues
    details = {issue.problem: issue.detail for issue in issues}
    assert details[Problem.TWIN] == "'a' is nearly equal to 'c'"
    assert details[Problem.RIVAL].startswith(f"'a' looks like 'b'; {told}")


@pytest.mark.parametrize(
    ("question", "points"),
    [
        ("What does the text above say about refunds?", "text above"),
        ("As mentioned earlier, which port is the default?", "mentioned earlier"),
        ("What does Listing 4-1 print?", "Listing 4"),
        ("Was besagt der obige Text über Kündigungen?", "obige Text"),
        ("Wie oben erwähnt: welcher Port ist voreingestellt?", "oben erwähnt"),
        ("Que dit le texte ci-dessus ?", "texte ci-dess"),
        ("¿Qué muestra la figura 3?", "figura 3"),
        ("Come menzionato in precedenza, quale porta si usa?", "menzionato in precedenza"),
        ("How do I add a table to a document?", ""),
        ("Was steht im vorigen Vertrag?", ""),
        ("¿Quién fue el rey anterior?", ""),
        ("Que dit l'article 5 du code civil ?", ""),
    ],
)
def test_questions_that_point_at_a_text_in_five_languages(question: str, points: str) -> None:
    """A question that refers to a text, a figure, or an earlier answer is found."""
    assert pointing(question) == points


@pytest.mark.parametrize(
    "reference",
    [
        "The bridge was built in 1871.",
        "the bridge\n  was built in 1871",
        "The bridge was “built” in 1871",
    ],
)
def test_a_model_reads_what_stands_around_a_reference_without_offsets(reference: str) -> None:
    """The model reads the text around a reference, or all of a document that lacks it."""
    filler = " ".join(f"Line {n} says nothing of it." for n in range(400))
    built = (
        'The bridge was "built" in 1871.' if "“" in reference else "The bridge was built in 1871."
    )
    pages = {"long": f"{filler} {built} Nothing came after."}
    read: list[str] = []

    def answer(request: ChatRequest) -> Completion:
        read.append(request.messages[1].content)
        return Completion("I cannot help.", 1, 1)

    def quoted(text: str) -> dict[str, Any]:
        return {
            "user_input": "When was the bridge built?",
            "reference_contexts": [{"text": text, "source": "long"}],
        }

    model = ScriptedChatModel(answer, name="reader")
    check([quoted(reference)], pages, judge=model, progress=False)
    check([quoted("It spans the river.")], pages, judge=model, progress=False)
    near, whole = read[0], read[-1]
    assert "Nothing came after." in near
    assert "Line 0 says" not in near
    assert "Nothing came after." in whole
    assert "Line 0 says" in whole


def test_document_ids_for_chunks_are_another_level() -> None:
    """References to documents, in a corpus of chunks, are a problem of level."""
    chunks = [{"id": f"mills-{n}", "source": "mills", "text": f"chunk {n}"} for n in range(3)]
    audit = check([sample("a", "mills")], chunks)
    assert audit.counts == {Problem.LEVEL: 1}
    assert not audit.is_valid
    spans = [[{"text": "chunk", "source": name, "start": 0, "end": 5}] for name in ("mills", "x")]
    audit = check([sample("a", "mills-0", reference_contexts=spans)], chunks)
    assert [(issue.problem, issue.detail) for issue in audit.issues] == [
        (Problem.UNKNOWN_ID, "'x'")
    ]


def test_a_question_asked_twice_is_found() -> None:
    """Repeated questions are found in another order or form; another number or name differs."""
    asked = Questions()
    assert asked.match("What was the revenue of Acme in 2017?") is None
    assert asked.match("What was the revenue of Acme in 2018?") is None
    assert asked.match("What was the revenue of Apex in 2018?") is None
    assert asked.match("In 2018, what was Acme's revenue?") is not None
    assert asked.match("What is the direct problem?") is None
    assert asked.match("What is the indirect problem?") is None
    assert asked.match("what is the indirect problem") is not None
    assert asked.match("Which harbor authorities administer Rotterdam?") is None
    assert asked.match("Which old big harbor authorities administer Rotterdam?") is not None
    assert asked.match("Which old and big harbor authorities once did administer it?") is None


def test_questions_by_people_pass() -> None:
    """The questions about the standard library have no invalid reference and no copied words."""
    audit = check(questions(), documents())
    assert audit.is_valid
    assert Problem.COPIED not in audit.counts


def test_near_equal_texts_are_found_and_no_others() -> None:
    """Texts that differ in one word of a hundred are nearly equal; in half, they are not."""
    draw = random.Random(0)
    base = [f"w{draw.randrange(10_000)}" for _ in range(200)]
    near = [*base[:100], "other", *base[101:]]
    half = [*base[:100], *(f"x{n}" for n in range(100))]
    texts = [" ".join(words) for words in (base, half, near, ["short"], ["short"], [])]
    assert groups(texts) == [[0, 2], [3, 4]]
    two_thirds = [" ".join([*base[:17], *(f"{own}{n}" for n in range(3))]) for own in "yz"]
    assert groups(two_thirds) == []


@pytest.mark.parametrize("text", ["", "a", "a b", "\u3042\u3044\u3046", "!?", "\ud800"])
def test_degenerate_texts_have_measures(text: str) -> None:
    """Every measure has a value for empty and degenerate texts."""
    assert len(longest_run(text, [text])) >= 0
    assert pointing(text) == ""


def test_runs_are_of_whole_words() -> None:
    """A run of words ends at a word's end: `car` is not a part of `cart`."""
    assert longest_run("the car is red", ["a cart is red"]) == ("is", "red")
    assert longest_run("a b c x d e f g", ["d e f g, a b c"]) == ("d", "e", "f", "g")
    assert longest_run("a b c", ["x " + "a b c d " * 60]) == ("a", "b", "c")


def test_html_is_what_a_reader_sees() -> None:
    """HTML, also badly nested, has no scripts, styles, or head; blocks end in a blank line."""
    page = (
        "<head><title>T</title><style>p{}</style></head><body><p>One &amp; two<p>Three"
        "<script>alert('x')</script><ul><li>Four</ul>"
    )
    assert html_text(page) == "One & two\n\nThree\n\nFour"
    assert html_text("<head><title>never closed<body>Text") == "Text"


@pytest.mark.frameworks
def test_documents_come_from_everywhere(tmp_path: Any) -> None:
    """Documents may be a folder, a file, texts, mappings, contexts, or framework objects."""
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core import Document as LlamaIndexDocument

    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").write_text("# A", "utf-8")
    (tmp_path / "sub" / "b.html").write_text("<p>B</p>", "utf-8")
    (tmp_path / "c.jsonl").write_text('{"id": "c", "text": "C"}\n', "utf-8")
    (tmp_path / "d.bin").write_bytes(b"\xff")
    assert [tuple(d)[:2] for d in documents_of(tmp_path)] == [
        ("a.md", "# A"),
        ("c", "C"),
        ("sub/b.html", "B"),
    ]
    given = [
        "text",
        {"id": 1, "text": "one"},
        LangChainDocument("L", metadata={"source": "l.pdf", "page": 2}),
        LlamaIndexDocument(text="I", id_="i"),
    ]
    names = [document.id for document in documents_of(given)]
    assert names[1:] == ["1", "l.pdf#page=2", "i"]
    assert list(documents_of(iter(["x"]))) == list(documents_of(iter(["x"])))
    with pytest.raises(InputError, match="names two texts"):
        list(documents_of([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]))
    with pytest.raises(InputError, match="no such file"):
        documents_of(tmp_path / "none")
    with pytest.raises(InputError, match="has no file that ends in"):
        documents_of(_empty(tmp_path))
    with pytest.raises(InputError, match="expected a text"):
        list(documents_of([{"id": "a"}]))


def _empty(tmp_path: Any) -> Any:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_a_term_of_the_corpus_is_not_copied() -> None:
    """Seven words that occur in several documents are a term, and are not a copy of one."""
    term = "the boundary layer on a flat plate in a shear flow"
    pages = {"a": f"We study {term} by series.", "b": f"Heat transfer near {term} is measured."}
    sample = Sample(user_input=f"Does {term} press?", reference_context_ids=["a"])
    assert Problem.COPIED not in check([sample], pages).counts
    alone = {"a": pages["a"], "b": "Heat transfer is measured."}
    assert Problem.COPIED in check([sample], alone).counts


@pytest.mark.parametrize(("copied", "problem"), [(6, False), (7, True), (8, True)])
def test_a_run_of_seven_words_is_copied(copied: int, problem: bool) -> None:  # noqa: FBT001
    """A question that shares seven words in a row with its reference is copied from it."""
    own = LONG.rstrip(".").split()
    question = f"Does it say that {' '.join(own[:copied])} instead of others?"
    copy = {"id": "a", "user_input": question, "reference_context_ids": [["farms", "farms-copy"]]}
    assert (Problem.COPIED in check([copy], PAGES).counts) is problem
