"""Row: a language that the built-in judge was not measured on is unscored, with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from fullrecall import ClaimRecall, ContextPrecision
from fullrecall.lexical import LexicalJudge
from fullrecall.lexical.clauses import facts_of
from fullrecall.lexical.sentences import sentences
from fullrecall.lexical.words.languages import (
    is_in_latin,
    judged_language,
    language_among,
    language_of,
    reads_as_english,
)
from fullrecall.scorers.result import Status

FOREIGN: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("foreign.json").read_text(encoding="utf-8")
)
"""In each of forty languages that no list of words here has, a text and a false claim.

Written for this project, by somebody who does not speak them all: they are not English.
"""


class Translation(NamedTuple):
    """A context in one language, a claim that it supports, and one that it contradicts."""

    context: str
    true: str
    false: str


TRANSLATIONS = {
    language: Translation(**texts)
    for language, texts in json.loads(
        Path(__file__).with_name("translations.json").read_text(encoding="utf-8")
    ).items()
}
ENGLISH = "The tower stands in Paris and was opened in 1889."


@pytest.mark.parametrize(("code", "told"), TRANSLATIONS.items(), ids=TRANSLATIONS)
def test_no_credit_in_a_language_that_was_not_measured(code: str, told: Translation) -> None:
    """True and false claims in thirteen other languages are unscored, with the language's name."""
    for claim in (told.true, told.false):
        result = ClaimRecall().score(retrieved_contexts=[told.context], reference_claims=[claim])
        assert result.status is Status.UNSCORED, (code, claim)
        assert "measured on English only" in result.reason


@pytest.mark.parametrize(("code", "told"), TRANSLATIONS.items(), ids=TRANSLATIONS)
def test_languages_are_told_apart(code: str, told: Translation) -> None:
    """The language of each context is known, and that of a short claim beside it."""
    assert language_of(told.context) == code
    assert language_among(told.false, [told.context]) == code


@pytest.mark.parametrize("text", ["Paris", "1889", "NaCl", "", "x = y[0]", "Müller", "5 €"])
def test_names_numbers_and_code_have_no_language(text: str) -> None:
    """Names, numbers and code have no language of their own; the texts around them decide."""
    german = TRANSLATIONS["de"].context
    assert language_of(text) is None
    assert language_among(text, [ENGLISH]) == language_among(text, [german, ENGLISH]) == "en"
    assert language_among(text, ["Er ist neu."]) == "de"
    assert language_among("Er ist neu.", [ENGLISH]) == "de"
    assert language_among("Der Turm ist nicht the one", [ENGLISH]) == "en"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Башня стоит в городе.", "ru"), ("Її вежа", "uk"), ("Ґанок", "uk"),
        ("البرج في المدينة", "ar"), ("پل", "fa"), ("گل", "fa"),
        ("塔在城里", "zh"), ("塔は町に立つ", "ja"), ("タワー", "ja"), ("탑은 도시에 있다", "ko"),
        ("Ο πύργος", "el"), ("המגדל", "he"), ("หอคอย", "th"), ("टावर शहर में है", "hi"),
        # More than half as many letters as those of Latin names decide.
        ("ab 塔", None), ("abc 塔塔", "zh"), ("abcd 塔塔", None),
    ],
)  # fmt: skip
def test_letters_show_a_language(text: str, code: str | None) -> None:
    """The script shows the language; letters of its own tell it from others of that script."""
    assert language_of(text) == code


def test_at_least_half_of_the_letters_are_latin() -> None:
    """A text without letters counts as one in Latin letters."""
    assert is_in_latin("ab塔城")
    assert is_in_latin("5")
    assert not is_in_latin("a塔城")


TERMS = " ".join(f"xq{letter}" for letter in "abcdefghi")


@pytest.mark.parametrize(
    ("around", "is_english"),
    [
        ("run xqb.", False),
        ("run xqb daily.", True),
        (f"the day is by old and water with bread for night {TERMS}.", True),
    ],
)
def test_a_term_of_an_english_text_is_english(around: str, *, is_english: bool) -> None:
    """A text of at least three words is English if at least 55 percent of them are frequent."""
    assert reads_as_english("Xqa runs xqb and xqc.", [around]) is is_english


# Languages without a list of function words, and some whose short text has no listed word: the
# words of the context, and a similar claim that is false.
UNLISTED = {
    "Croatian": ("Most je sagrađen 1932. u Zagrebu, a projektirao ga je Ivan Horvat.",
                 "Most je sagrađen u Splitu 1932."),
    "Estonian": ("Sild ehitati 1932. aastal Tallinnas, arhitekt oli Jaan Tamm.",
                 "Sild ehitati Tartus, arhitekt oli Jaan Tamm."),
    "Latvian": ("Tilts tika uzcelts 1932. gadā Rīgā.", "Tilts tika uzcelts Liepājā."),
    "Irish": ("Tógadh an droichead i mBaile Átha Cliath sa bhliain 1932.",
              "Tógadh an droichead i gCorcaigh sa bhliain 1932."),
    "Swahili": ("Daraja lilijengwa mwaka 1932 mjini Mombasa na Juma Ali.",
                "Daraja lilijengwa mjini Nairobi na Juma Ali."),
    "Tagalog": ("Ang tulay ay itinayo noong 1932 sa Maynila ni Jose Cruz.",
                "Ang tulay ay itinayo sa Cebu ni Jose Cruz."),
    "Haitian": ("Pon an te bati an 1932 nan Jakmèl pa Jean Pierre.",
                "Pon an te bati nan Okay pa Jean Pierre."),
    "Zulu": ("Ibhuloho lakhiwa ngo-1932 eThekwini.", "Ibhuloho lakhiwa eGoli ngo-1932."),
    "Basque": ("Zubia 1932an eraiki zuten Bilbon, eta Mikel Etxebarriak diseinatu zuen.",
               "Zubia Donostian eraiki zuten 1932an."),
    "French, bare": ("Lyon possède deux fleuves.", "Lyon possède trois fleuves."),
    "Portuguese, bare": ("Lisboa acolheu Expo 98; Porto acolheu Capital Europeia 2001.",
                         "Porto acolheu Expo 98."),
    "German, bare": ("Rostock: Hafenstadt, Einwohner 209000, gegründet 1218.",
                     "Rostock gegründet 209000."),
    "Vietnamese, ASCII": ("Cau duoc xay nam 1932 tai Hue.", "Cau duoc xay tai Vinh nam 1932."),
    "Amharic": ("ድልድዩ በ1932 በአዲስ አበባ ተሠራ።", "ድልድዩ በጎንደር ተሠራ በ1932።"),
    "Gujarati": ("પુલ 1932માં સુરતમાં બંધાયો.", "પુલ વડોદરામાં 1932માં બંધાયો."),
    "Kannada": ("ಸೇತುವೆ 1932 ಮೈಸೂರಿನಲ್ಲಿ ನಿರ್ಮಿಸಲಾಯಿತು.",
                "ಸೇತುವೆ ಹುಬ್ಬಳ್ಳಿಯಲ್ಲಿ 1932 ನಿರ್ಮಿಸಲಾಯಿತು."),
    "Khmer": ("ស្ពាននេះសាងសង់នៅឆ្នាំ1932នៅភ្នំពេញ។", "ស្ពាននេះសាងសង់នៅបាត់ដំបង។"),
    "Burmese": ("တံတားကို ၁၉၃၂ ခုနှစ် ရန်ကုန်တွင် တည်ဆောက်ခဲ့သည်။",
                "တံတားကို မန္တလေးတွင် တည်ဆောက်ခဲ့သည်။"),
    "Thaana": ("ބްރިޖް މާލޭގައި އަޅާފައިވަނީ.", "ބްރިޖް އައްޑޫގައި އަޅާފައިވަނީ."),
}  # fmt: skip


@pytest.mark.parametrize(("context", "false"), UNLISTED.values(), ids=UNLISTED)
def test_no_credit_in_a_language_that_no_list_has(context: str, false: str) -> None:
    """Text that does not read as English is unscored, in any language."""
    result = ClaimRecall().score(retrieved_contexts=[context], reference_claims=[false])
    assert result.status is Status.UNSCORED
    assert "measured on English only" in result.reason
    assert " is und:" not in result.reason


@pytest.mark.parametrize(("context", "false"), FOREIGN.values(), ids=FOREIGN)
def test_no_credit_in_forty_more_languages(context: str, false: str) -> None:
    """Claims in forty more languages are unscored, beside any contexts and at any threshold."""
    english = "The mayor spoke at length about the old bridge, which was opened in May."
    scorer = ClaimRecall(judge=LexicalJudge(threshold=0.01))
    for claim in (false, context):
        for contexts in ([context], [context, english], [english, context]):
            result = scorer.score(retrieved_contexts=contexts, reference_claims=[claim])
            assert result.status is Status.UNSCORED
            assert "is und" not in result.reason


ENGLISH_TEXTS = [
    ("Die Hard was released in 1988.", "Die Hard is a 1988 American action film."),
    ("Untreated patients die.", "Untreated patients die."),
    ("kubectl apply -f pod.yaml", "Run kubectl apply -f pod.yaml to create the pod."),
    ("kubectl drain evicts pods.", "kubectl drain evicts pods from a node."),
    ("Install numpy via pip.", "Install numpy via pip or conda."),
    ("git rebase rewrites commits", "git rebase rewrites commits onto another base."),
    ("Set replicas: 3.", "Set replicas: 3 in the manifest."),
    ("Amélie premiered in 2001.", "Amélie premiered in 2001 in France."),
    ("Les Misérables", "Les Misérables is a novel by Victor Hugo."),
    ("La La Land won six Oscars.", "La La Land won six Oscars in 2017."),
    ("El Niño warms oceans.", "El Niño warms oceans near Peru."),
    ("São Paulo", "São Paulo is the largest city of Brazil."),
    ("Charles de Gaulle died in 1970.", "Charles de Gaulle died in 1970 in Colombey."),
    ("Leonardo da Vinci painted Mona Lisa.", "Leonardo da Vinci painted the Mona Lisa."),
    ("Ludwig van Beethoven composed Fidelio.", "Ludwig van Beethoven composed Fidelio."),
    ("Dvořák wrote nine symphonies.", "Dvořák wrote nine symphonies."),
    ("Die Zauberflöte premiered in Vienna.", "Die Zauberflöte premiered in Vienna in 1791."),
    ("Das Boot was directed by Wolfgang Petersen.", "Das Boot was directed by Wolfgang Petersen."),
    ("Cinco de Mayo is on May 5.", "Cinco de Mayo is on May 5."),
    ("E = mc²", "Einstein's formula is E = mc²."),
    ("Redis evicts keys via LRU.", "Redis evicts keys via LRU when memory is full."),
    ("Ibuprofen inhibits cyclooxygenase.",
     "The drug ibuprofen inhibits cyclooxygenase, an enzyme, and so it lowers fever."),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "context"), ENGLISH_TEXTS)
def test_english_is_english(claim: str, context: str) -> None:
    """Titles, names with accents, terse commands, terms, and the word "die" are English."""
    result = ClaimRecall().score(retrieved_contexts=[context], reference_claims=[claim])
    assert (result.status, result.score) == (Status.SCORED, 1.0)


@pytest.mark.parametrize(
    ("claim", "context"),
    [
        ("Knuth wrote TAOCP.", "Dijkstra proposed structured programming; Knuth wrote TAOCP."),
        ("Use kubectl.", "To see the pods of a cluster, use kubectl from any terminal."),
        ("Schadenfreude means pleasure.", "Schadenfreude means pleasure at misfortune."),
        ("NaCl", "NaCl"),
        ("An arthropod has an exoskeleton.",
         "Every arthropod has an exoskeleton, which it sheds as it grows."),
    ],
)  # fmt: skip
def test_terms_and_names_are_no_language(claim: str, context: str) -> None:
    """Rare words in an English text, and texts without a telling word, are judged as English."""
    result = ClaimRecall().score(retrieved_contexts=[context], reference_claims=[claim])
    assert result.score == 1.0


def test_a_name_is_no_language() -> None:
    """One foreign function word in a name does not make an English claim foreign."""
    claim = "Los Angeles hosted Olympics."
    result = ClaimRecall().score(
        retrieved_contexts=["Los Angeles hosted the Olympics twice, in 1932 and in 1984."],
        reference_claims=[claim],
    )
    assert result.score == 1.0


def test_a_foreign_context_leaves_open_only_what_it_may_tell() -> None:
    """A German context leaves only claims open that it may be about; English ones are judged."""
    german = TRANSLATIONS["de"].context
    found = ClaimRecall().score(
        retrieved_contexts=[german, ENGLISH],
        reference_claims=["The tower was opened in 1889."],
    )
    assert found.findings[0].rank == 2
    may = ClaimRecall().score(
        retrieved_contexts=[german], reference_claims=["The Paris tower has a restaurant."]
    )
    assert (may.status, "German" in may.reason) == (Status.UNSCORED, True)
    for claim in ("The mayor sold 77 Danish cows.", "The mayor sold Danish cows."):
        other = ClaimRecall().score(retrieved_contexts=[german, ENGLISH], reference_claims=[claim])
        assert other.score == 0.0


def test_relevance_too() -> None:
    """Relevance by a reference answer in another language is unscored."""
    told = TRANSLATIONS["fr"]
    result = ContextPrecision(judge=LexicalJudge()).score(
        reference=told.true, retrieved_contexts=[told.context]
    )
    assert (result.status, "French" in result.reason) == (Status.UNSCORED, True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Das gilt z.B. für Berlin. Am 31. März 1889 wurde er eröffnet.",
         ["Das gilt z.B. für Berlin.", "Am 31. März 1889 wurde er eröffnet."]),
        ("长城位于中国北部。它的长度超过两万公里。",
         ["长城位于中国北部。", "它的长度超过两万公里。"]),
        ("J. R. R. Tolkien wrote it. It sold well.",
         ["J. R. R. Tolkien wrote it.", "It sold well."]),
        ("M. Dupont est arrivé. Il est parti.", ["M. Dupont est arrivé.", "Il est parti."]),
        ("2. Push it.\n- Use kubectl\n- Apply it", ["2. Push it.", "- Use kubectl", "- Apply it"]),
        ("| City | Height |\n|---|---|\n| Paris | 330 m |",
         ["| City | Height |", "| Paris | 330 m |"]),
        ("It cost approx. 5 dollars. It was sold.", ["It cost approx. 5 dollars.", "It was sold."]),
    ],
)  # fmt: skip
def test_sentences_by_language(text: str, parts: list[str]) -> None:
    """Sentences end at the right places, with abbreviations, dates, lists, or no spaces."""
    assert sentences(text) == parts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("France is in Western Europe and its capital is Paris.",
         ["France is in Western Europe.", "France's capital is Paris."]),
        ("He was born in Rome, and he died in Paris.",
         ["He was born in Rome.", "He died in Paris."]),
        ("To deploy to AKS:\n1. Build the image.\n2. Push it.",
         ["1. Build the image.", "2. Push it."]),
        ("Anna and Boris founded it.", ["Anna and Boris founded it."]),
        ("It is in Paris and was completed in 1889.",
         ["It is in Paris.", "It was completed in 1889."]),
        ("Der Turm steht in Rom und er ist hoch.", ["Der Turm steht in Rom und er ist hoch."]),
        ("Overview:", ["Overview:"]),
    ],
)  # fmt: skip
def test_facts(text: str, facts: list[str]) -> None:
    """A conjunction is two claims; a heading is a claim only in a text of headings."""
    assert facts_of(text) == facts


def test_a_conjunction_half_found_is_half_the_score() -> None:
    """A conjunction that is half supported scores 0.5, as in the literature's example."""
    result = ClaimRecall().score(
        reference="France is in Western Europe and its capital is Paris.",
        retrieved_contexts=[
            "France, in Western Europe, encompasses medieval cities, alpine villages and beaches.",
        ],
    )
    assert (result.score, result.missed) == (0.5, ("France's capital is Paris.",))


READ = """\
az acr login
az aks create --resource-group web --name blue --node-count 3
docker push registry.example.org/shop/api:2.4
git rebase --abort
`kubectl rollout restart deployment/api`
$ ls -la /var/log
sudo apt-get install -y libpq-dev
conda env create -f environment.yml
systemctl restart nginx
Configure kubectl.
Marie Curie discovered radium.
helm kustomize skaffold
Pro | $49 | 10 seats
| Nils Novak | Pro | Milano | 95 |
Espresso | €2.10 | 30 ml
Kofi,Okafor,Porto,41
timeout: 45 minutes
host: localhost
Content-Type: application/json
Plaats = bedrag
{"klant": "Okafor", "plaats": "Porto", "bedrag": 41}
{"id": 4417, "status": "shipped", "carrier": "Norrland Post"}
export PATH=$PATH:/usr/local/bin
SELECT id, name FROM users WHERE active = 1;
        return self._lock.acquire(timeout=delta)
:target: https://example.org/hits?q=de&a=la&r=el""".splitlines()


@pytest.mark.parametrize("text", READ)
def test_text_without_foreign_prose_is_read(text: str) -> None:
    """Commands, terms, names, table rows, key: value, CSV, JSON and code show no language."""
    assert judged_language(text, []) == "en"
    result = ClaimRecall().score(retrieved_contexts=[text], reference_claims=[text])
    assert result.score == 1.0


def test_a_number_in_words_does_not_hide_a_foreign_context() -> None:
    """A claim with a number in words is unscored, since the French context may be about it."""
    result = ClaimRecall().score(
        retrieved_contexts=["Le mot de passe doit contenir au moins douze lettres."],
        reference_claims=["The password must have at least twelve letters."],
    )
    assert (result.status, "French" in result.reason) == (Status.UNSCORED, True)
