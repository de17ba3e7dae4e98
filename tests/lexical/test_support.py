"""The built-in judge's regression: which changes raise or lower support, and its guarantees."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullrecall.lexical import LexicalJudge
from fullrecall.lexical.claim_judge import Best
from fullrecall.lexical.matching import read_passage
from fullrecall.lexical.support import supported, weights
from fullrecall.lexical.words.frequencies import weight, zipf_frequencies
from fullrecall.lexical.words.negations import denying_kind
from fullrecall.lexical.words.tokens import read_words, stem

BRIDGE = (
    "The Harrow Bridge crosses the river Tamsin at Oldport. It was designed by the engineer "
    "Margaret Lowe and opened in May 1932. The bridge carries about 40,000 vehicles a day and "
    "is 512 metres long. Tolls were abolished in 1978, and the city council has not raised the "
    "speed limit since. Maintenance costs increased after the flood of 2007."
)
BREAD = (
    "Sourdough rises slowly because wild yeast is less active than baker's yeast. Bakers feed "
    "the starter with flour and water every day and keep it in a cool place."
)


THRESHOLD = 0.5


def probability(claim: str, *contexts: str) -> float:
    """Return the joint probability, by default given both texts."""
    return supported(claim, contexts or [BRIDGE, BREAD]).support


def alone(claim: str, contexts: list[str]) -> list[Best]:
    """Return how strongly each context alone supports a claim."""
    return [supported(claim, [context]) for context in contexts]


@pytest.mark.parametrize(
    "claim",
    [
        "The Harrow Bridge crosses the river Tamsin at Oldport.",
        "Tolls were abolished in 1978.",
        "Sourdough rises slowly because wild yeast is less active than baker's yeast.",
        "Margaret Lowe designed the Harrow Bridge.",
        "The bridge is 512 metres long.",
    ],
)
def test_what_a_context_says_is_supported(claim: str) -> None:
    """A claim in the context's own words passes the threshold."""
    assert probability(claim) >= THRESHOLD


@pytest.mark.parametrize(
    "claim",
    [
        "Photosynthesis converts carbon dioxide into glucose.",
        "Bolivia exported 3,400 tonnes of tin in 1951.",
        "The committee postponed its vote on the pension reform.",
    ],
)
def test_the_unrelated_is_not_supported(claim: str) -> None:
    """A claim about something else stays below the threshold."""
    assert probability(claim) < THRESHOLD


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        pytest.param("The bridge is 512 metres long.", "The bridge is 521 metres long.", id="n"),
        pytest.param(
            "The bridge opened in May 1932.", "The bridge opened in June 1932.", id="month"
        ),
        pytest.param("The bridge opened in May 1932.", "The bridge opened in May 1923.", id="year"),
        pytest.param(
            "It was designed by the engineer Margaret Lowe.",
            "It was designed by the engineer Edward Stone.",
            id="name",
        ),
        pytest.param(
            "Tolls were abolished in 1978.", "Tolls were not abolished in 1978.", id="negation"
        ),
        pytest.param(
            "The city council has not raised the speed limit since.",
            "The city council has raised the speed limit since.",
            id="negation dropped",
        ),
        pytest.param("The bridge is 512 metres long.", "The bridge is 512 miles long.", id="unit"),
        pytest.param(
            "Maintenance costs increased after the flood.",
            "Maintenance costs decreased after the flood.",
            id="opposite",
        ),
        pytest.param(
            "Maintenance costs increased after the flood.",
            "Maintenance costs increased before the flood.",
            id="before and after",
        ),
    ],
)
def test_one_changed_detail_lowers_support(claim: str, changed: str) -> None:
    """Another number, date, name, negation, unit or opposite lowers support."""
    assert probability(changed) < probability(claim)


def test_a_changed_number_in_a_verbatim_claim_crosses_the_threshold() -> None:
    """A changed number in a verbatim claim puts support below the threshold."""
    assert probability("The bridge is 512 metres long.") >= THRESHOLD
    assert probability("The bridge is 975 metres long.") < THRESHOLD


def test_numbers_are_compared_by_value() -> None:
    """Numbers are compared by value: 40,000 is 40000, and five is 5."""
    written = "The bridge carries about 40,000 vehicles a day."
    plain = probability(written.replace(",", ""))
    assert plain == pytest.approx(probability(written), abs=0.01)
    for claim, text in (("five", "5"), ("5", "five")):
        context = f"The plant has {text} reactors."
        said = probability(f"The plant has {claim} reactors.", context)
        assert said >= THRESHOLD


def test_evidence_points_at_the_supporting_sentence() -> None:
    """The evidence is the supporting sentence in its context, with its full stop."""
    quote = supported("Tolls were abolished in 1978.", [BREAD, BRIDGE]).quote
    assert quote in BRIDGE
    assert quote.startswith("Tolls were abolished in 1978")
    assert quote.endswith("since.")


def test_each_context_is_judged_alone() -> None:
    """Each context has its own answer, in order, with its own words."""
    claim = "Sourdough rises slowly because wild yeast is less active."
    first, second, third = alone(claim, [BRIDGE, BREAD, ""])
    assert second.support >= THRESHOLD > first.support
    assert BREAD.startswith(second.quote)
    assert third == Best()
    assert second == alone(claim, [BREAD])[0]


def test_a_claim_may_need_several_contexts() -> None:
    """Two contexts that each have half of a claim support it more than either alone."""
    claim = "Ana Ruiz founded Lumo in Lisbon, and Lumo employs 300 people."
    halves = ["Ana Ruiz founded Lumo in Lisbon.", "Lumo employs 300 people."]
    together = supported(claim, halves).support
    assert together > max(best.support for best in alone(claim, halves))


@pytest.mark.parametrize("contexts", [[], [""], ["   \n"], ["…!"], ["", ""]])
def test_empty_texts_have_no_support(contexts: list[str]) -> None:
    """Empty contexts support no claim, and an empty claim is supported by none."""
    assert supported("Tolls were abolished.", contexts) == Best()
    assert alone("Tolls were abolished.", contexts) == [Best()] * len(contexts)
    for claim in ("", "  ", "?!"):
        assert supported(claim, [BRIDGE, *contexts]) == Best()


def test_empty_contexts_beside_full_ones_are_harmless() -> None:
    """Empty contexts change neither the probability nor the evidence."""
    claim = "Tolls were abolished in 1978."
    assert supported(claim, ["", BRIDGE, ""]) == supported(claim, [BRIDGE])


@pytest.mark.parametrize(
    ("text", "claim", "other"),
    [
        pytest.param(
            "长城位于中国北部。它的长度超过两万公里。",
            "长城位于中国北部。",
            "巴黎是法国的首都。",
            id="Chinese",
        ),
        pytest.param(
            "Die Brücke wurde 1932 eröffnet. Sie verbindet zwei Stadtteile.",
            "Die Brücke wurde 1932 eröffnet.",
            "Der Zoo beherbergt seltene Papageien.",
            id="German",
        ),
        pytest.param(
            "افتتح الجسر عام 1932. وهو يربط بين حيين.",
            "افتتح الجسر عام 1932.",
            "تعيش البطاريق في القطب الجنوبي.",
            id="Arabic",
        ),
        pytest.param(
            "สะพานเปิดใช้ในปี 1932 และเชื่อมสองเขต",
            "สะพานเปิดใช้ในปี 1932",
            "นกเพนกวินอาศัยอยู่ที่แอนตาร์กติกา",
            id="Thai",
        ),
    ],
)
def test_other_languages_are_judged_by_their_words(text: str, claim: str, other: str) -> None:
    """In other languages coverage by words still separates true from false claims."""
    said = supported(claim, [text])
    assert said.support >= THRESHOLD
    assert text.startswith(said.quote)
    assert probability(other, text) < THRESHOLD


@pytest.mark.parametrize(
    "text", ["\x00", "a" * 5_000, "🙂🙂", "1.2.3.4", "١٩٣٢", "²", "e\u0301", "_", "\u2018\u2019"]
)
def test_odd_text_is_survived(text: str) -> None:
    """A text of any characters gets a probability."""
    for claim, context in ((text, BRIDGE), (BRIDGE, text), (text, text)):
        assert 0 <= probability(claim, context) <= 1


def test_the_same_question_has_the_same_answer() -> None:
    """The same question has the same answer, though other texts were read in between."""
    claim = "The engineer Margaret Lowe designed a long bridge."
    before = supported(claim, [BREAD, BRIDGE])
    for number in range(600):  # More texts than the caches keep.
        supported(f"Claim {number}.", [f"Text {number}."])
    assert supported(claim, [BREAD, BRIDGE]) == before


def test_no_weight_has_the_wrong_sign() -> None:
    """A missing number never raises support, and coverage never lowers it."""
    for name, entry in weights()["features"].items():
        assert (entry["weight"] < 0) == (name == "names_missing"), name
    assert 0.6 < weights()["agreement"]["mean"]["balanced_accuracy"] < 0.8
    assert LexicalJudge().threshold == THRESHOLD


def test_threads_get_what_one_gets() -> None:
    """Many threads that share a cache get the results of one thread."""
    claims = [f"Tolls number {number} were abolished in 1978." for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda claim: alone(claim, [BRIDGE, BREAD]), claims))
    assert together == [alone(claim, [BRIDGE, BREAD]) for claim in claims]


def test_the_judge_is_light_and_offline() -> None:
    """The judge does not load numpy, and works without any socket."""
    program = """
import socket, sys
def refuse(*_, **__): raise AssertionError("network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from fullrecall.lexical.support import supported
supported("A cat sat.", ["A cat sat on a mat."])
assert "numpy" not in sys.modules, "heavy"
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running", "runs"),
        ("cities", "city"),
        ("won", "wins"),
        ("quickly", "quick"),
        ("making", "made"),
        ("increased", "increasing"),
        ("children", "child"),
        ("uses", "using"),
    ],
)
def test_inflected_words_share_a_key(one: str, other: str) -> None:
    """Plural, past, -ing and irregular forms are compared as one word."""
    assert stem(one) == stem(other)


def test_words_carry_their_places() -> None:
    """Offsets refer to the given text, not to its normalized form."""
    text = "Beyoncé’s 2nd album isn't  $1,200.50."
    words = read_words(text)
    assert [text[word.start : word.end] for word in words][:3] == [
        "Beyoncé’s",
        "2nd",
        "album",
    ]
    assert [word.key for word in words][-4:] == ["album", "not", "dollar", "#1200.5"]
    assert denying_kind(words[3].written, "en") == "plain"


def test_sentences_end_where_readers_end_them() -> None:
    """Sentences end at stops and line breaks, not within numbers or after initials."""
    passage = read_passage("It costs 3.5 dollars. A second one!\nA third\n\n四です。五です。")
    starts = [passage.words[first].written for first, _ in passage.sentences]
    assert starts == ["it", "a", "a", "四で", "五で"]


def test_rare_words_weigh_more_than_common_ones() -> None:
    """Weights follow the table, and an unlisted short word counts as a function word."""
    assert weight("the") < weight("water") < weight("sourdough") <= weight("tamsin")
    assert weight("и") < weight("антарктида")
    assert len(zipf_frequencies()) == 16_000


SUBJECTS = ("The Eiffel Tower", "Kestrel", "Mara Lindqvist", "The Tern plan", "PostgreSQL", "Users")
PREDICATES = (
    "was built in 1889", "weighs 249 g", "is deployed on Fridays", "costs $9 a month",
    "sells blankets to hotels", "learned the trade in Lyon", "encrypts every backup",
    "covers 30 hectares", "rejects expired tokens", "was damaged by a storm",
)  # fmt: skip


@given(
    st.sampled_from(SUBJECTS),
    st.lists(st.sampled_from(PREDICATES), min_size=2, max_size=2, unique=True),
    st.sampled_from(["It", "He", "She", "They"]),
)
def test_a_predicate_must_be_there(subject: str, predicates: list[str], pronoun: str) -> None:
    """A subject alone supports no claim; a chunk after its subject supports its predicate."""
    predicate, other = predicates
    claim = f"{subject} {predicate}."
    chunks = [f"{begins}, as the guide says." for begins in (
        f"{pronoun} {predicate}", f"{pronoun} {other}", f"{subject} {other}"
    )]  # fmt: skip
    assert [supported(claim, [chunk]).support >= 0.5 for chunk in chunks] == [True, False, False]
