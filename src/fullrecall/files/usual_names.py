"""Names of columns, and words in names, from which fields are guessed.

Each group, such as `usual.GOLD`, is a row of one of two tables. Names are listed in the order of
preference. Words are compared in the singular.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

# CLAIMS: the question of a file that has no other. VALUES: parts of an object that are its value.
# CLOSED: objects without fields. OUTPUTS: objects of expected values. KINDS: columns in which
# NO_ANSWER marks a question without an answer. TEST_SETS: columns that generators write; there
# `contexts` are references. *_KEYS, STARTS, ENDS: the parts of a document.
_NAMES = """
QUESTIONS: user_input question query user_query user_question question_text query_text prompt
  input request q utterance anchor turns messages conversation input_text
CLAIMS: claim statement user
VALUES: text value content items list
CLOSED: conversation history messages meta metadata turns
TURNS: turns messages conversation
ANSWERS: reference ground_truth ground_truths reference_answer expected_answer gold_answer
  golden_answer gt_answer correct_answer ideal_answer target_answer expected_output
  expected_response reference_response reference_output gold_answers expected generation_gt
  ideal answer answers answer_expected answer_correct answer_reference a solution resolution
  completion reply
RESPONSES: response actual_output prediction generated_answer model_answer output
IDS: id _id qid q_id query_id question_id sample_id case_id test_id task_id example_id item_id
  request_id span_id trace_id
INPUTS: inputs input vars query question request
OUTPUTS: outputs expected_output expected_outputs expectations expected expect ground_truth
  reference reference_outputs answer gold target
REFUSALS: expected_refusal is_impossible unanswerable is_unanswerable should_refuse refusal
  expect_refusal impossible no_answer
ANSWERABLE: answerable is_answerable has_answer
KINDS: type kind category question_type query_type
NO_ANSWER: not_found unanswerable no_answer not_answerable out_of_scope refusal
TEST_SETS: evolution_type synthesizer_name query_style persona_name
ID_KEYS: chunk_id doc_id docid document_id passage_id node_id corpus_id corpus-id doc_uri
  doc_name document_name file_name filename file_path filepath url uri link path file document
  doc _id id pid title source source_id name ref
TEXT_KEYS: text content quote fact passage passage_text evidence_text snippet sentence
  page_content paragraph_text answer
GRADE_KEYS: grade gain relevance rel relevance_grade query_relevance_label label rating
STARTS: start start_char start_index char_start begin start_offset
ENDS: end end_char end_index char_end stop end_offset
"""

# GOLD: references, never a retrieval. DOCUMENTS: perhaps references. OTHERS: never references.
# BARE: words that may mean answers or IDs; with NOUNS or DOCUMENTS they are clear. PLACES: a place
# in a document, unless an OFFSETS word is beside it. TITLES: short texts are IDs, even with blanks.
# ANSWER_WORDS: objects that are not documents. ROWS: lists of rows. PEOPLE: IDs of people, not of
# documents.
_WORDS = """
ASKED: prompt query question
GOLD: answer citation cite cited correct evidence expect expected gold golden gt ideal
  judged judgement judgment nugget pos positive provenance qrel reference relevant required retrieve
  support supporting target truth
DOCUMENTS: article book chunk context ctx doc docid document faq file filename kb link node page
  paper paragraph passage path pdf quote section snippet source sourcefile src title url
OTHERS: adversarial ai alias aliases author behavior behaviour bot by category confidence contains
  count dataset date difficulty distractor excluded flag forbidden generated haystack idx index k
  keyword kind label lang language length llm max min model n neg negative note num number persona
  phrase plausible pred predicted prediction rank rater rating reason reasoning refusal retrieval
  retrieved score split status style subset term time tool topic total type wrong
BARE: correct expected gold golden ground gt relevant target truth
PLACES: chapter line page pagenum paragraph section slide
OFFSETS: begin count end length of offset size start total
CLAIM_WORDS: claim fact nugget point
TEXT_WORDS: content context excerpt passage quote sentence snippet text
ANSWER_WORDS: answer expectation input output target
ROWS: question query case test example item qa sample row
PEOPLE: annotation annotator author conversation query question run sample session user worker
NOUNS: citation claim evidence fact id ids judged judgement judgment node pos positive qrel
  reference retrieval session support supporting
TITLES: article doc document file filename id ids source sourcefile title url
"""


def singular(word: str) -> str:
    """Return a word without its plural ending."""
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    is_plural = len(word) > len("ids") and re.search(r"[^aisu]s$", word)
    return word[:-1] if is_plural else word


def _rows(table: str) -> dict[str, list[str]]:
    rows = re.findall(r"^(\w+): ((?:.|\n  )+)", table, re.MULTILINE)
    return {name: words.split() for name, words in rows}


usual = SimpleNamespace(
    **{name: tuple(words) for name, words in _rows(_NAMES).items()},
    **{name: frozenset(map(singular, words)) for name, words in _rows(_WORDS).items()},
)
"""The groups by name: a group of names is a tuple, a group of words is a set."""
