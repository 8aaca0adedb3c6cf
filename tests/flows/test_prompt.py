"""The system prompt says what the agent is, where it works, and what the project's guides say, nearest first."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from turngraph.flows.prompt import GUIDE_LIMIT, system_prompt


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "pkg" / "deep").mkdir(parents=True)
    return root.resolve()


def test_it_names_the_tools_and_the_workspace(repo: Path):
    prompt = system_prompt(repo / "pkg")
    for tool in ("read_file", "list_dir", "glob", "grep", "update_file", "write_file", "bash"):
        assert tool in prompt.text
    assert f"Working directory: {repo / 'pkg'}\n" in prompt.text
    assert str(repo) in prompt.text
    assert (prompt.guides, prompt.notices) == ((), ())


def test_it_is_the_same_at_another_time(repo: Path):
    (repo / "AGENTS.md").write_text("Run make.\n")
    first = system_prompt(repo).text
    time.sleep(1.1)
    assert system_prompt(repo).text == first


def test_guides_come_nearest_first_under_their_paths_and_not_from_above_the_repository(repo: Path):
    (repo.parent / "AGENTS.md").write_text("far above\n")
    (repo / "AGENTS.md").write_text("whole project\n")
    (repo / "pkg" / "deep" / "AGENTS.md").write_text("this corner\n")
    prompt = system_prompt(repo / "pkg" / "deep")
    assert prompt.guides == (repo / "pkg" / "deep" / "AGENTS.md", repo / "AGENTS.md")
    places = [
        prompt.text.index(text)
        for guide, content in zip(prompt.guides, ("this corner", "whole project"), strict=True)
        for text in (f"## {guide}\n", content)
    ]
    assert places == sorted(places)
    assert "far above" not in prompt.text
    assert prompt.notices == (), "what lies above the repository is none of its business"


def test_a_worktrees_git_file_marks_its_root(repo: Path):
    (repo / ".git").rmdir()
    (repo / ".git").write_text("gitdir: elsewhere\n")
    (repo.parent / "AGENTS.md").write_text("far above\n")
    assert system_prompt(repo / "pkg").guides == ()


def test_without_a_repository_only_the_directory_itself_is_read(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("above\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("here\n")
    prompt = system_prompt(tmp_path / "work")
    assert prompt.guides == ((tmp_path / "work" / "AGENTS.md").resolve(),)
    assert "Repository: none" in prompt.text


def test_a_long_guide_is_cut_and_the_cut_is_said_to_the_model_and_to_the_person(repo: Path):
    text = "é" * GUIDE_LIMIT
    (repo / "AGENTS.md").write_text("x" + text, encoding="utf-8")
    prompt = system_prompt(repo)
    said = f"only the first {GUIDE_LIMIT:,} of {2 * GUIDE_LIMIT + 1:,} bytes are shown"
    assert prompt.notices == (f"{repo / 'AGENTS.md'} was cut: {said}",)
    assert said in prompt.text
    assert prompt.text.count("é") == (GUIDE_LIMIT - 1) // 2, "a character the cut goes through is left out whole"
    assert "\ufffd" not in prompt.text


def test_a_guide_of_just_the_limit_is_whole(repo: Path):
    (repo / "AGENTS.md").write_text("x" * GUIDE_LIMIT)
    assert system_prompt(repo).notices == ()


def test_undecodable_bytes_are_replaced_and_counted(repo: Path):
    (repo / "AGENTS.md").write_bytes(b"\xef\xbb\xbfbe \xff kind \xfe and \xef\xbf\xbd honest\n")
    prompt = system_prompt(repo)
    assert "\n\nbe \ufffd kind \ufffd and \ufffd honest\n" in prompt.text
    assert len(prompt.notices) == 1
    assert "2 undecodable sequences" in prompt.notices[0]


def test_a_link_inside_the_repository_is_followed_and_one_that_leaves_it_is_not(repo: Path):
    (repo.parent / "secret.md").write_text("secret\n")
    (repo / "GUIDE.md").write_text("shared\n")
    (repo / "pkg" / "AGENTS.md").symlink_to(repo / "GUIDE.md")
    (repo / "AGENTS.md").symlink_to(repo.parent / "secret.md")
    prompt = system_prompt(repo / "pkg")
    assert "shared" in prompt.text
    assert "secret\n" not in prompt.text
    assert prompt.guides == (repo / "pkg" / "AGENTS.md",)
    assert len(prompt.notices) == 1
    assert str(repo / "AGENTS.md") in prompt.notices[0]


def test_what_is_no_readable_file_is_skipped_with_a_notice(repo: Path):
    (repo / "AGENTS.md").mkdir()
    (repo / "pkg" / "AGENTS.md").symlink_to("AGENTS.md")
    os.mkfifo(repo / "pkg" / "deep" / "AGENTS.md")
    prompt = system_prompt(repo / "pkg" / "deep")
    assert prompt.guides == ()
    assert [notice.split(" was skipped")[0] for notice in prompt.notices] == [
        str(folder / "AGENTS.md") for folder in (repo / "pkg" / "deep", repo / "pkg", repo)
    ]
