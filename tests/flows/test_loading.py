from __future__ import annotations

import sys
from pathlib import Path

import pytest
from turngraph.flows.loading import load, split_place
from turngraph.nodes.errors import UsageError


@pytest.fixture(autouse=True)
def _no_module_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.b:C", ("a.b", "C", None)),
        ("a:C.D:openai:x", ("a", "C.D", "openai:x")),
        ("./a b/c.py:C", ("./a b/c.py", "C", None)),
        ("C:/x/c.py:make:3", ("C:/x/c.py", "make", "3")),
    ],
)
def test_a_place_is_a_module_or_a_file_a_name_and_a_rest(text: str, parts: tuple[str, str, str | None]) -> None:
    assert split_place(text) == parts


def test_a_file_is_a_module_of_its_own_and_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("class Mine:\n    class Inner: ...\nprint('once', end='')\n")
    monkeypatch.chdir(tmp_path)
    mine = load("./json.py", "Mine")
    assert load(str(tmp_path / "json.py"), "Mine") is mine
    assert load("json.py", "Mine.Inner") is mine.Inner
    assert mine.__module__ == str(tmp_path / "json.py")
    assert not hasattr(sys.modules["json"], "Mine")


@pytest.mark.parametrize("first", ["", "HERE"])
def test_the_working_directory_is_not_searched_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    (tmp_path / "lurking.py").write_text("raise AssertionError('imported')\n")
    monkeypatch.chdir(tmp_path)
    sys.path.insert(0, str(Path.cwd()) if first == "HERE" else first)
    before = list(sys.path)
    with pytest.raises(UsageError, match=r"no module lurking; the working directory is not searched.*\./lurking\.py:"):
        load("lurking", "Mine")
    assert sys.path == before


def test_a_folder_on_the_path_is_searched_also_where_one_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asked_for.py").write_text("class Mine: ...\n")
    monkeypatch.chdir(tmp_path)
    sys.path.insert(1, str(tmp_path))
    assert load("asked_for", "Mine").__name__ == "Mine"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('no key')", "raised when it was imported (ValueError: no key)"),
        ("raise SystemExit(3)", "raised when it was imported (SystemExit: 3)"),
        ("def", "raised when it was imported (SyntaxError: invalid syntax"),
        ("import not_there_at_all", "No module named 'not_there_at_all'"),
        ("class Other: ...\nimport json", "has no 'Mine'; it has Other"),
        ("", "has no 'Mine'; it has no class at all"),
    ],
)
def test_what_goes_wrong_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "wrong.py").write_text(text)
    sys.path.append(str(tmp_path))
    for module in ("wrong", str(tmp_path / "wrong.py")):
        with pytest.raises(UsageError) as caught:
            load(module, "Mine")
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_file_that_was_mended_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "mended.py"
    path.write_text("class Mine: ...\nraise ValueError\n")
    with pytest.raises(UsageError, match="ValueError"):
        load(str(path), "Mine")
    path.write_text("class Mine: ...  # mended\n")
    assert load(str(path), "Mine").__name__ == "Mine"


def test_what_a_module_prints_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "talking.py").write_text("class Mine: ...\nprint('hello')\n")
    load(str(tmp_path / "talking.py"), "Mine")
    assert capsys.readouterr() == ("", "hello\n")


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(UsageError, match=r"no file .*/nowhere\.py; name one"):
        load("nowhere.py", "Mine")
    with pytest.raises(UsageError, match="no module nowhere; install the package"):
        load("nowhere.at.all", "Mine")
    with pytest.raises(UsageError, match="'a b' is no name of a module"):
        load("a b", "Mine")
