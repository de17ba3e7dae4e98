"""Names of columns, and words in them, from which a guess takes their fields."""

from __future__ import annotations

QUESTIONS = tuple(
    """
    user_input question query user_query user_question question_text query_text prompt input
    request q turns messages conversation input_text
""".split()
)
ASKED = frozenset({"question", "query", "prompt"})
"""Words in the names of questions."""
CLAIMS = ("claim", "statement", "user")
"""Columns of claims that are checked, or of a speaker's words: the question where no other is."""
VALUES = ("text", "value", "content", "items", "list")
"""Parts of an object that are the value of its own name."""
PEOPLE = frozenset(
    """
    author user worker annotation annotator run session conversation question query sample
    """.split()
)
"""Words in the names of IDs that are not a document's."""
CLOSED = frozenset({"metadata", "meta", "messages", "turns", "conversation", "history"})
"""Columns of objects that hold no fields."""
ANSWER_WORDS = frozenset(
    {"answer", "answers", "targets", "output", "outputs", "expectations", "inputs"}
)
"""Words in the names of objects that are not documents."""
TURNS = tuple(
    """
    turns messages conversation
""".split()
)
QUESTION_PARTS = (*QUESTIONS, "text", "content")
ANSWERS = tuple(
    """
    reference ground_truth ground_truths reference_answer expected_answer gold_answer
    golden_answer gt_answer correct_answer ideal_answer target_answer expected_output
    expected_response reference_response reference_output gold_answers expected generation_gt
    ideal answer answers answer_expected answer_correct answer_reference
    a
""".split()
)
RESPONSES = tuple(
    """
    response actual_output prediction generated_answer model_answer output
""".split()
)
IDS = tuple(
    """
    id _id qid query_id question_id sample_id case_id test_id task_id example_id item_id
    request_id
""".split()
)
INPUTS = tuple(
    """
    inputs input vars query question request
""".split()
)
OUTPUTS = tuple(
    """
    outputs expected_output expected_outputs expectations expected expect ground_truth reference
    reference_outputs answer gold target
""".split()
)
REFUSALS = tuple(
    """
    expected_refusal is_impossible unanswerable is_unanswerable should_refuse refusal
    expect_refusal impossible no_answer
""".split()
)
ANSWERABLE = tuple(
    """
    answerable is_answerable has_answer
""".split()
)
KINDS = tuple(
    """
    type kind category question_type query_type
""".split()
)
NO_ANSWER = tuple(
    """
    not_found unanswerable no_answer not_answerable out_of_scope refusal
""".split()
)
TEST_SETS = tuple(
    """
    evolution_type synthesizer_name query_style persona_name
""".split()
)
"""Columns of generated test sets, whose `contexts` are references."""
GOLD = frozenset(
    """
    judged judgments judgements qrels pos provenance provenances cite cites cited
    gold golden gt truth expected expect relevant evidence evidences support supporting positive
    positives reference references citation citations correct target required answer
""".split()
)
"""Words in the names of columns that hold references, and never a retrieval."""
DOCUMENTS = frozenset(
    """
    source sources doc docs document documents file files filename filenames sourcefiles
    sourcefile chunk chunks passage passages paragraph paragraphs context contexts snippet
    snippets quote quotes ctxs page pages url urls link links article articles title titles pdf
    section sections
""".split()
)
"""Words in the names of columns that may hold references."""
OTHERS = frozenset(
    """
    retrieved retrieval haystack neg negative negatives forbidden excluded wrong keyword keywords
    phrase phrases term terms refusal type types kind note notes category subset reason
    reasoning count counts rank ranks number num n score scores behavior behaviour flag contains
    tool tools distractor distractors by model prediction predictions dataset adversarial alias
    aliases difficulty topic topics k min max total length language lang status author date time
    plausible split index idx style persona confidence label labels rater rating generated
""".split()
)
"""Words in the names of columns that hold no references."""
BARE = frozenset(
    """
    gold golden expected correct relevant target ground truth gt truths
""".split()
)
"""Words of a name that does not tell answers from IDs."""
PLACES = frozenset(
    """
    page pages section sections paragraph line lines slide slides chapter pagenum
""".split()
)
OFFSETS = frozenset(
    """
    offset begin start end count length size total of
""".split()
)
"""Words of a name that is not a place's, with any other words."""
CLAIM_WORDS = frozenset(
    """
    fact facts claim claims nugget nuggets
""".split()
)
TEXT_WORDS = frozenset(
    """
    text texts passage passages context contexts quote quotes snippet snippets sentence
    sentences content contents excerpt excerpts
""".split()
)
ID_KEYS = tuple(
    """
    chunk_id doc_id docid document_id passage_id node_id corpus_id corpus-id doc_uri doc_name
    document_name file_name filename file_path filepath url uri link path file document doc _id
    id pid title source source_id name ref
""".split()
)
TEXT_KEYS = tuple(
    """
    text content quote fact passage passage_text evidence_text snippet sentence page_content
    paragraph_text answer
""".split()
)
GRADE_KEYS = tuple(
    """
    grade gain relevance rel relevance_grade query_relevance_label label rating
""".split()
)
STARTS = tuple(
    """
    start start_char start_index char_start begin start_offset
""".split()
)
ENDS = tuple(
    """
    end end_char end_index char_end stop end_offset
""".split()
)

NOUNS = DOCUMENTS | frozenset(
    """
    judged judgments judgements qrels pos positive positives
    id ids evidence evidences citation citations reference references fact facts claim claims
    session sessions retrieval ctx ctxs node nodes support supporting
""".split()
)
"""Words in the names of columns that tell documents from other expected values."""

TITLES = frozenset(
    """
    source sources doc docs document documents file files filename filenames sourcefiles sourcefile
    title titles article articles url urls
""".split()
)
"""Words in the names of columns whose short texts are IDs, even with blanks."""
