"""The command line's own words: numbers, prompts, errors."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
import typer
from turngraph.flows.cli.app import invoke
from turngraph.flows.cli.failures import Misuse, report, wanted_output
from turngraph.flows.cli.numbers import dollars, seconds, whole_number
from turngraph.nodes.errors import SessionBusy


def test_numbers() -> None:
    assert whole_number("12") == 12
    assert dollars("$0.50") == dollars("0.5") == Decimal("0.5")
    assert seconds("1.5") == 1.5


@pytest.mark.parametrize("parse", [whole_number, dollars, seconds])
@pytest.mark.parametrize("text", ["", "0", "-1", "many", "nan", "inf", "1e400", "²"])
def test_no_numbers(parse: object, text: str) -> None:
    assert callable(parse)
    with pytest.raises(typer.BadParameter, match="above zero"):
        parse(text)


@pytest.mark.parametrize(
    ("args", "form"),
    [
        (["run", "hi", "--output", "json"], "json"),
        (["run", "--output=jsonl", "hi", "--nope"], "jsonl"),
        (["run", "--output", "json", "--output", "text"], None),
        (["run", "--output", "yaml"], None),
        (["run", "--output"], None),
        (["run", "--", "--output", "json"], None),
        (["session", "list", "--output", "json"], None),
    ],
)
def test_the_wanted_form_is_known_even_when_the_line_does_not_parse(args: list[str], form: str | None) -> None:
    assert wanted_output(args) == form


def test_an_error_is_one_sentence_and_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    code = report(SessionBusy("session x is\nin use"), ["run", "hi", "--output", "json"])
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (code, err) == (7, "turngraph: session x is in use\n")
    assert (document["schema"], document["outcome"], document["exit_code"]) == (
        "turngraph.turn/1",
        "session_busy",
        7,
    )
    assert document["error"] == {"kind": "session_busy", "message": "session x is in use"}


def test_an_error_as_the_last_event(capsys: pytest.CaptureFixture[str]) -> None:
    report(Misuse("no"), ["run", "--output", "jsonl"])
    event = json.loads(capsys.readouterr().out)
    assert (event["schema"], event["type"]) == ("turngraph.event/1", "turn_ended")
    assert event["result"]["error"] == {"kind": "usage_error", "message": "no"}


def test_a_fault_of_the_program_shows_no_traceback_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(KeyError("x"), ["run", "hi"]) == 1
    quiet = capsys.readouterr().err
    assert report(KeyError("x"), ["run", "hi", "--debug"]) == 1
    assert quiet.count("\n") == 1
    assert "KeyError" in quiet
    assert "KeyError" in capsys.readouterr().err.splitlines()[0]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            ["run", "hi", "--policy", "yolo"],
            "'yolo' is not one of 'read-only', 'ask', 'auto'; see turngraph run --help",
        ),
        (["run", "hi", "--max-tokens", "few"], "'few' is no whole number above zero; see turngraph run --help"),
        (["run", "a", "b"], "unexpected extra argument"),
        (["rum"], "no such command 'rum'"),
        (["session"], "missing command; see turngraph session --help"),
        (["session", "show"], "name one session: give its ID, or --last"),
        (["session", "show", "abcd", "--last"], "name one session: give its ID, or --last"),
        (["run", "hi", "--cwd", "/no/such/place"], "/no/such/place cannot be used: No such file or directory"),
        (["run", "hi", "--cwd", __file__], "is no directory"),
        (["run", ""], "the prompt is empty"),
        (["run", "hi", "--session", "abcd", "--continue"], "give only one of them"),
    ],
)
def test_misuse_is_one_sentence(args: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.startswith("turngraph: ")
    assert err.count("\n") == 1


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Usage: turngraph" in err


def test_neither_the_sentence_nor_the_traceback_holds_a_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    report(ValueError("correct-horse-battery"), ["run", "hi", "--debug"])
    said = capsys.readouterr().err
    assert "correct-horse-battery" not in said
    assert said.count("[redacted SOME_API_KEY]") == 2
