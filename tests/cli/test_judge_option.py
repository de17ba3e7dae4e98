"""Claims on the command line: the built-in judge, and a model behind a real endpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import typer
from tests.cli.command_line import run
from tests.judge.scripted import quoting, reply
from tests.lexical.tiny_nli import build

from fullrecall.cli import options
from fullrecall.judge import Cascade, LLMJudge
from fullrecall.lexical import LexicalJudge

if TYPE_CHECKING:
    from pathlib import Path

ROW = {
    "user_input": "Where is the tower?",
    "retrieved_contexts": ["The Eiffel Tower is in Paris.", "Bananas are yellow."],
    "reference": "The Eiffel Tower is in Paris. It is made of cheese.",
}


def file_of(folder: Path, *rows: dict[str, Any]) -> str:
    """Return a file with these rows."""
    path = folder / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def judged(folder: Path, endpoint: Any, *options: str) -> Any:
    """Return the outcome of claim recall of the row by a model behind the endpoint."""
    claims = ("evaluate", file_of(folder, ROW), "--scorer", "claim_recall")
    return run(*claims, "--judge", "openai:m", "--base-url", endpoint.base_url, *options)


def test_the_built_in_judge_needs_nothing(tmp_path: Path) -> None:
    """`--scorer claim_recall` alone judges without a model, and lists the missing claims."""
    result = run("evaluate", file_of(tmp_path, ROW), "--scorer", "claim_recall")
    assert result.exit_code == 0
    assert "0.500" in result.stdout
    assert "The Eiffel Tower is made of cheese." in result.stdout


def test_claims_given_are_judged_without_asking(tmp_path: Path) -> None:
    """Claim recall is the default scorer if the samples have claims or a reference answer."""
    with_claims = {**ROW, "reference_claims": ["The Eiffel Tower is in Paris."]}
    for row in (ROW, with_claims):
        result = run("evaluate", file_of(tmp_path, row), "--json")
        assert [score["name"] for score in json.loads(result.stdout)["scores"]] == ["claim_recall"]


def test_a_model_behind_an_endpoint(tmp_path: Path, endpoint: Any) -> None:
    """`--judge openai:MODEL --base-url URL` asks the endpoint, for claims and for verdicts."""
    split = json.dumps({"items": ["It is in Paris.", "It is made of cheese."]})
    verdicts = reply(
        quoting(1, "supported", (1, "is in Paris"), begins="It is in"),
        quoting(2, "not_supported", begins="It is made"),
    )

    def script(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked = body["response_format"]["json_schema"]["name"]
        endpoint.says(split if asked == "items" else verdicts)
        answer = endpoint.script(body)
        endpoint.script = script
        return answer

    endpoint.script = script
    result = judged(tmp_path, endpoint, "--require-evidence", "--json")
    (score,) = json.loads(result.stdout)["scores"]
    assert (score["name"], score["measures"]["recall"]["mean"]) == ("claim_recall", 0.5)
    assert [body["model"] for body in endpoint.requests] == ["m", "m"]


def test_a_dead_endpoint_is_unscored_with_the_reason(tmp_path: Path, endpoint: Any) -> None:
    """A failing endpoint leaves samples unscored with the reason, without traceback or success."""
    endpoint.script = lambda _: (401, {"error": {"message": "wrong key"}})
    result = judged(tmp_path, endpoint)
    assert result.exit_code == 2
    assert "wrong key" in " ".join(result.output.split()), result.output
    assert "does not answer: the endpoint denied access" in result.stderr
    assert "Scored 0 samples before that." in result.stderr


def test_a_cross_encoder(tmp_path: Path) -> None:
    """`--judge nli:FOLDER` names a model by its folder."""
    texts = [*ROW["retrieved_contexts"], ROW["reference"]]
    folder = build(tmp_path / "m", texts)
    output = tmp_path / "report.jsonl"
    result = run(
        "evaluate", file_of(tmp_path, ROW), "--judge", f"nli:{folder}", "--output", str(output)
    )
    assert result.exit_code == 0, result.output
    assert '"nli:m-' in output.read_text("utf-8").partition("\n")[0]


def test_wrong_judges_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown kinds, options without their judge, and a missing key exit with 2 and advice."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = file_of(tmp_path, ROW)
    for arguments, message in (
        (["--judge", "gpt"], "lexical, nli:FOLDER"),
        (["--judge", "lexical:x"], "anthropic:MODEL"),
        (["--judge", "nli:"], "anthropic:MODEL"),
        (["--judge", "openai:"], "anthropic:MODEL"),
        (["--judge", "anthropic:"], "anthropic:MODEL"),
        (["--scorer", "claim_recall", "--base-url", "http://127.0.0.1:1"], "--base-url"),
        (["--scorer", "span_recall", "--judge", "lexical"], "--judge"),
        (["--judge", "openai:m"], "OPENAI_API_KEY"),
    ):
        result = run("evaluate", path, *arguments)
        assert result.exit_code == 2, arguments
        assert message in " ".join(result.stderr.split()), arguments


def test_a_model_is_asked_only_about_unsure_claims(tmp_path: Path, endpoint: Any) -> None:
    """`--unsure` uses the built-in judge first; the summary counts claims sent to the model."""
    endpoint.says(reply(quoting(1, "not_supported")))
    result = judged(tmp_path, endpoint, "--unsure", "0.0,0.5")
    assert result.exit_code == 0
    assert "1 of 2 targets in claim_recall went to the second judge (1 call, " in result.stdout
    result = judged(tmp_path, endpoint, "--unsure", "0.01,0.02")
    assert "second judge" not in result.stdout
    assert "The Eiffel Tower is made of cheese. — not in the first 2, support 0." in result.stdout


def test_a_band_that_is_none_says_what_is_expected(tmp_path: Path, endpoint: Any) -> None:
    """A wrong `--unsure` is an error: it takes two numbers within [0, 1], and needs a judge."""
    result = judged(tmp_path, endpoint, "--unsure", "0.3")
    assert "expected LOW,HIGH such as 0.3,0.65, got '0.3'" in " ".join(result.stderr.split())
    result = judged(tmp_path, endpoint, "--unsure", "0.6,0.3")
    assert "must be (low, high) within [0, 1]" in " ".join(result.stderr.split())
    result = run("evaluate", file_of(tmp_path, ROW), "--unsure", "0.3,0.6")
    assert "needs --judge openai:MODEL" in " ".join(result.stderr.split())


def test_a_judge_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default is no name; an address needs a model; a band needs a second judge."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert options.judge_of(None) is None
    assert options.judge_of("lexical") == LexicalJudge()
    assert isinstance(options.judge_of("openai:m", "http://localhost:1/v1"), LLMJudge)
    for name in (None, "lexical", "nli:folder"):
        with pytest.raises(typer.BadParameter, match="needs --judge openai:MODEL"):
            options.judge_of(name, "http://localhost:1/v1")
    both = options.judge_of("openai:m", unsure="0.3,0.65")
    assert isinstance(both, Cascade)
    assert both.unsure == (0.3, 0.65)
    with pytest.raises(typer.BadParameter, match="the judge to ask"):
        options.judge_of(None, unsure="0.3,0.65")
    for band in ("0.3", "0.3,0.5,0.6", "low,high"):
        with pytest.raises(typer.BadParameter, match="expected LOW,HIGH"):
            options.judge_of("openai:m", unsure=band)
