"""How a turn was asked for is kept in words that mean the same in another directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from turngraph.flows.asked import Asked, asked_in


def test_it_is_read_back() -> None:
    asked = Asked(
        model="openai:a",
        base_url="http://127.0.0.1:1/v1",
        policy="auto",
        flow="careful",
        flows={"careful": ["execute=serial"], "other": ["execute=dry-run"]},
        swaps=("stream=best-of:3",),
        agent="bot:agent",
    )
    record = json.loads(json.dumps(asked.as_json()))
    assert record["flows"] == {"careful": ["execute=serial"]}
    again = asked_in(record)
    assert again is not None
    assert again.as_json() == asked.as_json()
    assert asked_in({}) is None
    assert asked_in(Asked(model=None, agent="bot:agent").as_json()) == Asked(model=None, agent="bot:agent")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("stream=./mine.py:Mine", "stream={here}/mine.py:Mine"),
        ("stream = mine.py:made:3", "stream ={here}/mine.py:made:3"),
        ("stream=/abs/mine.py:Mine", "stream=/abs/mine.py:Mine"),
        ("stream=~/mine.py:Mine", "stream={home}/mine.py:Mine"),
        ("stream=package.module:Mine", "stream=package.module:Mine"),
        ("stream=cascade:openai:gpt-5-mini", "stream=cascade:openai:gpt-5-mini"),
        ("execute=serial", "execute=serial"),
    ],
)
def test_files_are_kept_by_their_whole_paths(
    said: str, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    record = Asked(model="m", flow="one", flows={"one": [said]}, swaps=[said], agent="./bot.py:agent").as_json()
    expected = kept.format(here=tmp_path, home=tmp_path / "home")
    assert (record["swaps"], record["flows"]) == ([expected], {"one": [expected]})
    assert record["agent"] == f"{tmp_path}/bot.py:agent"


def test_a_swap_wins_over_one_of_its_role() -> None:
    asked = Asked(model="m", swaps=("stream=best-of:3", "execute=serial"))
    assert asked.with_swaps(["execute = dry-run"])["swaps"] == ("stream=best-of:3", "execute = dry-run")
    assert asked.with_swaps([])["swaps"] == asked.swaps
