"""Documents with new IDs are followed: renamed, merged, rewritten, or stored again."""

from __future__ import annotations

import json
from html import escape
from typing import Any
from uuid import UUID

import pytest

from fullrecall import Context, IdRecall, Retrieval, Sample
from fullrecall.measures import Recall


def made(number: int) -> str:
    """Return an ID as frameworks make one for a document without its own."""
    return str(UUID(int=number))


def recall(record: Retrieval, *references: str, stage: str | None = None) -> float | None:
    """Return the recall of references, after the record was saved and read."""
    saved = Retrieval.from_dict(json.loads(json.dumps(record.to_dict())))
    sample = Sample(reference_context_ids=references, retrieval=saved)
    return IdRecall().score(sample if stage is None else sample.at_stage(stage)).score


def test_a_document_has_each_of_its_ids_at_every_stage(program: Any, docs: Any) -> None:
    """A numbered copy with a new ID is the document, also where the retriever returned it."""
    found = program.retrieve(docs["a"], docs["b"])
    numbered = [Context(f"[1] {found[0].text}", id=made(1))]
    program.function("number", found, numbered, kind="reranker")
    record = program.retrieval()
    assert recall(record, "a", "b") == 0.5
    assert recall(record, made(1), "b") == 0.5
    assert recall(record, "a", "b", stage="search") == 1.0


def test_a_merged_text_is_each_of_its_parts_at_one_rank(program: Any, docs: Any) -> None:
    """A merged text counts as each of its parts, at one rank, or as the whole if referenced."""
    found = program.retrieve(docs["a"], docs["b"], docs["c"])
    whole = Context(f"{found[0].text}\n{found[1].text}", id="chapter")
    program.function("merge", found, [whole, found[2]], kind="reranker")
    record = program.retrieval()
    assert record.part_ids == {"chapter": ("a", "b")}
    assert [each.id for each in record.contexts or ()] == ["chapter", "c"]
    assert (recall(record, "a", "b", "c"), recall(record, "chapter", "c")) == (1.0, 1.0)
    named = record.named({"a", "b", "c"})
    assert [each.id for each in named.contexts or ()] == ["a", "b", "c"]
    assert named.ranks == (1, 1, 2)
    sample = Sample(reference_context_ids=["a", "b", "c", "d"], retrieval=record)
    assert IdRecall().score(sample)[Recall @ 1] == 0.5
    assert recall(record, "a", "b", "d", stage="search") == 2 / 3


@pytest.mark.parametrize("own_id", [None, "a"])
def test_a_merged_text_without_an_id_of_its_own_is_its_parts(
    program: Any, docs: Any, own_id: str | None
) -> None:
    """A merged text with a part's ID, or without an ID, counts as its parts."""
    found = program.retrieve(docs["a"], docs["b"], docs["c"])
    whole = Context(f"{found[0].text}\n{found[1].text}", id=own_id)
    program.function("merge", found, [whole], kind="reranker")
    assert program.ids() == ["a", "b"]


def test_a_rewritten_text_under_the_same_id_is_the_same_document(program: Any, docs: Any) -> None:
    """A text that a model masked or translated under the same ID is the same document."""
    found = program.retrieve(docs["a"], docs["b"])
    program.function("translate", found, [Context("Ein Blatt.", id="a")], kind="reranker")
    record = program.retrieval()
    assert recall(record, "a", "b") == 0.5
    assert recall(record, "a", "b", stage="search") == 1.0


def test_new_ids_with_other_words_are_unscored(program: Any, docs: Any) -> None:
    """A text in other words under a new ID is unscored, since its document is unknown."""
    found = program.retrieve(docs["a"], docs["b"])
    briefly = [Context("Paper stops it.", id=made(1)), Context("They crossed.", id=made(2))]
    program.function("compress", found, briefly, kind="reranker")
    assert "new IDs and other texts" in (program.retrieval().error or "")


@pytest.mark.parametrize(
    "given",
    [Context("Paper.", id="z"), Context("Paper.", id=made(1), metadata={"of": "a"})],
    ids=["an ID of a store", "a link to the document"],
)
def test_other_documents_that_a_store_returned_are_scored(
    program: Any, docs: Any, given: Context
) -> None:
    """A summary that leads to its chunk, and a document with its parent's ID, are scored."""
    found = program.retrieve(docs["a"])
    program.function("look up", found, [given], kind="reranker")
    assert recall(program.retrieval(), given.id or "") == 1.0


def test_texts_that_were_stored_again_are_the_documents_before(program: Any, docs: Any) -> None:
    """Texts that are cut into a new store and searched there are the documents before."""
    program.retrieve(docs["a"], docs["b"], docs["c"])
    program.function("split", None, None, stores=True)
    program.retrieve(Context(docs["a"].text, id=made(1)), name="new store")
    record = program.retrieval()
    assert recall(record, "a", "b") == 0.5
    assert [call.source for call in record.calls] == ["new store"]


@pytest.mark.parametrize(("quoted", "ids"), [("a", ["a", made(1), "b"]), ("ab", [made(1)])])
def test_a_longer_text_in_a_new_store_is_made_of_several_documents(
    program: Any, docs: Any, quoted: str, ids: list[str]
) -> None:
    """A stored text that contains a single document, with words around it, is another one."""
    program.retrieve(docs["a"], docs["b"])
    program.function("split", None, None, stores=True)
    text = " and ".join(docs[name].text for name in quoted)
    program.retrieve(Context(f"[1] {text}", id=made(1)), name="new store")
    assert program.ids() == ids
    assert program.retrieval().part_ids == ({made(1): ("a", "b")} if quoted == "ab" else {})


def test_another_text_under_a_known_id_that_no_step_made_is_another_document(
    program: Any, docs: Any
) -> None:
    """Two stores may give one ID to two documents, so the ID is not enough in a step's input."""
    program.retrieve(docs["a"], docs["b"])
    program.function("answer", [Context("Ein Blatt.", id="a")], "x", answers=True)
    assert program.ids() == ["a", "a", "b"]


@pytest.mark.parametrize("copied", ["a", "ac"])
def test_a_copy_with_a_new_id_of_a_text_in_two_documents_is_unscored(
    program: Any, docs: Any, copied: str
) -> None:
    """A copy that no step made may be of the chunk, or of the chapter that has the same words."""
    chapter = Context(f"Chapter one. {docs['a'].text} {docs['b'].text}", id="chapter")
    program.retrieve(chapter, docs["a"], docs["c"])
    text = " ".join(docs[name].text for name in copied)
    program.function("answer", [Context(text, id=made(1))], "x", answers=True)
    assert "new IDs and other texts" in (program.retrieval().error or "")


@pytest.mark.parametrize(
    ("text", "copied", "known"),
    [
        ("Alphabet letters", "[1] Alphabet letters", True),
        ("Alphabet letter", "[1] Alphabet letter", False),
        ("Alphabet letters are old", "Alphabet letters", True),
        ("Alphabet letters are old", "Alphabet letter", False),
    ],
)
def test_a_text_of_at_least_16_characters_is_not_in_another_by_chance(
    program: Any, text: str, copied: str, *, known: bool
) -> None:
    """A numbered or cut copy with a new ID is the document, if the shared text is not too short."""
    found = program.retrieve(Context(text, id="a"))
    program.function("change", found, [Context(copied, id=made(1))], kind="reranker")
    assert (program.retrieval().error is None) is known


def test_equal_texts_of_two_stores_are_two_documents(program: Any, docs: Any) -> None:
    """Equal texts of two stores are two documents if no text was stored between the searches."""
    program.retrieve(docs["a"], docs["b"])
    program.retrieve(Context(docs["a"].text, id=made(1)))
    assert program.ids() == ["a", made(1), "b"]


def test_documents_that_are_answered_from_count_whoever_found_them(program: Any, docs: Any) -> None:
    """A neighbor from a docstore counts as retrieved if the model answers from it."""
    (found,) = program.retrieve(docs["a"])
    program.function("answer", [found, Context("Paper.", id=made(1))], "It does.", answers=True)
    assert program.ids() == ["a", made(1)]
    program.function("answer", [Context("More paper.", id=made(2))], "It does.", answers=True)
    assert "new IDs and other texts" in (program.retrieval().error or "")


def test_a_list_that_a_filter_emptied_was_a_stage(program: Any, docs: Any) -> None:
    """If a filter empties the list, the final list is empty, and the retrieved one is known."""
    found = program.retrieve(docs["a"])
    program.function("cutoff", found, [], kind="reranker")
    record = program.retrieval()
    assert (recall(record, "a"), recall(record, "a", stage="search")) == (0.0, 1.0)


def test_the_prompt_of_the_answer_tells_what_was_read(program: Any, docs: Any) -> None:
    """The prompts of the answer, or of its parts, show the contexts read."""
    found = program.retrieve(docs["a"], docs["b"], docs["c"])
    for each in found:
        program.ask(f"Is this relevant? {each.text}")
    program.ask(f"Answer from: {found[1].text} {found[0].text}")
    assert program.retrieval().read == ("yes", "yes", "no")


def test_a_prompt_for_each_document_reads_all(program: Any, docs: Any) -> None:
    """If each document has its own prompt, all were read."""
    found = program.retrieve(docs["a"], docs["b"])
    for each in found:
        program.ask(f"Summarize: {each.text}")
    program.ask("Join the summaries.")
    assert program.retrieval().read == ("yes", "yes")


def test_escapes_of_markup_count_as_read(program: Any) -> None:
    """Documents with markup count as read if a prompt has them escaped for XML or JSON."""
    (found,) = program.retrieve(Context('Tom & Jerry say "a < b" in every single film.', id="t"))
    escaped = found.text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    program.ask(json.dumps(f"<document>{escaped}</document>"))
    assert program.retrieval().read == ("yes",)


def test_a_text_that_was_cut_within_words_is_its_document(program: Any, docs: Any) -> None:
    """A text that a splitter cut within words is matched with its document."""
    found = program.retrieve(docs["a"], docs["b"])
    program.function("cut", found, [Context(found[1].text[7:-9], id=made(1))], kind="reranker")
    record = program.retrieval()
    assert (recall(record, "b"), recall(record, "a")) == (1.0, 0.0)


def test_a_merged_document_that_is_numbered_is_the_merged_one(program: Any, docs: Any) -> None:
    """A merged document that gets a number is the merged one, not a new document."""
    found = program.retrieve(docs["a"], docs["b"], docs["c"])
    merged = Context(f"{found[0].text}\n{found[1].text}", id=made(1))
    program.function("merge", found, [merged, found[2]])
    numbered = Context(f"[1] {merged.text}", id=made(2))
    program.function("answer", [numbered], "x", answers=True)
    record = program.retrieval()
    assert [context.text for context in record.contexts] == [numbered.text]
    assert set(record.part_ids.popitem()[1]) >= {"a", "b"}


def test_a_cut_text_to_answer_from_is_the_document_that_it_quotes(program: Any, docs: Any) -> None:
    """A cut text with words around it is the document that it quotes."""
    found = program.retrieve(docs["a"], docs["b"])
    cut = f"<source>{str(found[1].text)[:60]}"
    program.function("answer", [cut], "x", answers=True)
    assert program.ids() == ["b"]


def test_a_cut_of_a_merged_document_is_the_part_that_it_was_cut_from(
    program: Any, docs: Any
) -> None:
    """A text cut from a merged document is only those of its parts that it has words of."""
    found = program.retrieve(docs["a"], docs["b"], docs["c"])
    whole = Context(" ".join(each.text for each in found), id=made(1))
    merged = program.function("merge", found, [whole], kind="reranker")
    first = Context(whole.text[:40], id=made(2))
    second = Context(whole.text[: len(found[0].text) + 40], id=made(3))
    program.function("cut", merged, [first], kind="reranker")
    program.function("cut", merged, [second], kind="reranker")
    named = program.retrieval().named({"a", "b", "c"})
    assert [each.id for each in named.contexts or ()] == ["a", "b"]


def test_a_merged_document_that_was_cut_by_hand_is_its_part(program: Any, docs: Any) -> None:
    """A cut outside any step is a document, not the merged one that it is a part of."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        merged = Context(f"{found[0].text}\n{found[1].text}", id=made(1))
        program.function("merge", found, [merged], kind="reranker")
        cut = [Context(merged.text[:40], id=made(2))]
        call.returns(program.function("rerank", cut, cut, kind="reranker"))
    assert program.ids() == ["a"]


def test_a_merged_document_with_words_before_it_has_all_of_its_parts(
    program: Any, docs: Any
) -> None:
    """A merged document that gets a number beside one of its parts is the merged one."""
    found = program.retrieve(docs["a"], docs["b"])
    merged = Context(f"{found[0].text}\n{found[1].text}", id=made(1))
    both = program.function("merge", found, [merged, found[0]], kind="reranker")
    numbered = [Context(f"[1] {merged.text}", id=made(2))]
    program.function("number", both, numbered, kind="reranker")
    assert recall(program.retrieval(), "a", "b") == 1.0


def test_documents_that_were_merged_twice_are_one(program: Any, docs: Any) -> None:
    """An attempt that is repeated merges the same documents into the same one."""
    for number in (1, 2):
        found = program.retrieve(docs["a"], docs["b"])
        merged = Context(f"{found[0].text}\n{found[1].text}", id=made(number))
        program.function("merge", found, [merged], kind="reranker")
    numbered = Context(f"[1] {merged.text}", id=made(3))
    program.function("answer", [numbered], "x", answers=True)
    record = program.retrieval()
    assert record.error is None
    assert [context.text for context in record.contexts] == [numbered.text]


def test_a_text_that_was_escaped_twice_is_its_document(program: Any) -> None:
    """A copy in markup in markup, under a new ID, is the document."""
    (found,) = program.retrieve(Context("Tom <tom@example.org> paints fences & walls.", id="t"))
    for number in (1, 2):
        found = Context(f"<source>{escape(found.text)}</source>", id=made(number))
    program.function("answer", [found], "x", answers=True)
    record = program.retrieval()
    assert (record.error, len(record.contexts), recall(record, "t")) == (None, 1, 1.0)


def test_a_document_merged_of_cut_texts_is_each_of_them(program: Any, docs: Any) -> None:
    """A new document of two cut texts counts as both, one of a whole and a cut text too."""
    for cut in (45, 200):
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        merged = Context(f"[1] {found[0].text[:cut]}\n[2] {found[1].text[:45]}", id=made(cut))
        program.function("merge", found, [merged], kind="reranker")
        record = program.retrieval()
        assert record.error is None
        assert (recall(record, "a", "b"), recall(record, "c")) == (1.0, 0.0)


def test_a_text_that_quotes_documents_among_other_words_is_unscored(
    program: Any, docs: Any
) -> None:
    """A text in other words that quotes a document may be made of others too."""
    found = program.retrieve(docs["a"], docs["b"])
    briefly = f"Paper is what everybody cites when the question comes up: {found[1].text[:45]}"
    program.function("compress", found, [Context(briefly, id=made(1))], kind="reranker")
    assert "new IDs and other texts" in (program.retrieval().error or "")


def test_an_output_that_quotes_a_part_of_a_merged_document_has_this_part(
    program: Any, docs: Any
) -> None:
    """An output with the text of one part of a merged document does not have the other part."""
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"])
        merged = Context(f"{found[0].text}\n{found[1].text}", id=made(1))
        program.function("merge", found, [merged], kind="reranker")
        call.returns(f"Found: {found[0].text}")
    assert (program.retrieval().error, program.ids()) == (None, ["a"])


@pytest.mark.parametrize("quoted", ["a", "ac", "bc", "abc"])
def test_an_output_that_quotes_cut_parts_of_a_merged_document_has_these_parts(
    program: Any, docs: Any, quoted: str
) -> None:
    """An output with the cut texts of some parts does not have the other parts."""
    cut = {name: docs[name].text[:45] for name in "abc"}
    with program.call() as call:
        found = program.retrieve(docs["a"], docs["b"], docs["c"])
        merged = [Context("\n".join(cut.values()), id=made(1))]
        program.function("merge", found, merged, kind="reranker")
        call.returns(" and also ".join(cut[name] for name in quoted))
    assert (program.retrieval().error, program.ids()) == (None, [*quoted])
