"""A project's file may tighten what runs unasked, and nothing else; every value knows where it comes from."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.flows.settings import Resolved, resolve_settings
from turngraph.flows.settings.position import position_of
from turngraph.flows.settings.values import POLICIES, is_looser
from turngraph.nodes.errors import UsageError
from turngraph.tools.family import Family


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A git repository with a folder to work in."""
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/a/b").mkdir(parents=True)
    return tmp_path / "repo"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.touch()
    return path


def resolved(config: Path, workdir: Path, flags: dict[str, object] | None = None, /, **variables: str) -> Resolved:
    return resolve_settings(flags, {"TURNGRAPH_CONFIG": str(config), **variables}, workdir)


def refusal(config: Path, workdir: Path) -> str:
    with pytest.raises(UsageError) as caught:
        resolved(config, workdir)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_project_holds_back_the_users_file_and_the_environment_and_says_so(root: Path, config: Path):
    config.write_text('max_iterations = 50\npolicy = "auto"\n')
    (root / "turngraph.toml").write_text('# careful here\npolicy = "ask"\nmax_iterations = 7\nmax_tokens = 100\n')
    found = resolved(config, root, TURNGRAPH_POLICY="auto")
    assert (found.settings.policy, found.settings.max_iterations, found.settings.max_tokens) == ("ask", 7, 100)
    assert (found.each["policy"].origin.kind, found.each["policy"].origin.where) == (
        "project",
        f"{root}/turngraph.toml:2",
    )
    policy, iterations, tokens = found.notices
    assert "policy is ask, not auto as TURNGRAPH_POLICY says" in policy
    assert f"max_iterations is 7, not 50 as {config}:1 says: the project's {root}/turngraph.toml:3" in iterations
    assert "--max-tokens wins over it" in tokens


def test_every_limit_can_be_held_back(root: Path, config: Path):
    config.write_text("max_total_tokens = 900\nmax_cost = 0.3\n")
    (root / "turngraph.toml").write_text("max_total_tokens = 800\nmax_cost = 0.1\ntimeout = 60\n")
    settings = resolved(config, root, TURNGRAPH_TIMEOUT="600").settings
    assert (settings.max_total_tokens, settings.max_cost, settings.timeout) == (800, Decimal("0.1"), 60)


def test_a_flag_is_the_person_speaking_now(root: Path, config: Path):
    (root / "turngraph.toml").write_text('policy = "read-only"\nmax_iterations = 2\n')
    found = resolved(config, root, {"policy": "auto", "max_iterations": 9})
    assert (found.settings.policy, found.settings.max_iterations, found.notices) == ("auto", 9, [])
    assert found.each["policy"].origin.where == "--policy"


def test_a_project_loosens_nothing(root: Path, config: Path):
    config.write_text('policy = "read-only"\nmax_iterations = 3\nmax_tokens = 10\n')
    (root / "turngraph.toml").write_text('policy = "auto"\nmax_iterations = 30\nmax_tokens = 1000\n')
    found = resolved(config, root)
    assert (found.settings.policy, found.settings.max_iterations, found.settings.max_tokens) == ("read-only", 3, 10)
    assert found.notices == []


def test_the_working_directory_and_the_root_of_its_repository_count_and_nothing_between_or_above(
    root: Path, config: Path
):
    (root / "turngraph.toml").write_text("max_iterations = 9\n")
    (root / "a/turngraph.toml").write_text("max_iterations = 1\n")
    (root / "a/b/turngraph.toml").write_text('policy = "read-only"\nmax_iterations = 12\n')
    (root.parent / "turngraph.toml").write_text("max_iterations = 1\n")
    found = resolved(config, root / "a/b")
    assert (found.settings.policy, found.settings.max_iterations) == ("read-only", 9)
    (root / ".git").rmdir()
    assert resolved(config, root / "a/b").settings.max_iterations == 12


@pytest.mark.parametrize("key", ["model", "base_url", "store"])
def test_a_project_does_not_choose_where_text_is_sent_or_kept(key: str, root: Path, config: Path):
    (root / "turngraph.toml").write_text(f'policy = "ask"\n{key} = "http://elsewhere/v1"\n')
    text = refusal(config, root)
    assert text.startswith(f"{root}/turngraph.toml, line 2, column 1: {key} cannot be set by a project, only policy")
    assert f"TURNGRAPH_{key.upper()}" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("polcy = 1\n", ("line 1, column 1: polcy is no setting", "did you mean policy?")),
        ('\npolicy = "never"\n', ("line 2, column 1: policy cannot be 'never'",)),
        ("policy =\n", ("line 1, column 9",)),
        ("#" * 20_000, ("larger than 16,384 bytes",)),
    ],
)
def test_a_mistake_in_a_projects_file_is_an_error_at_its_place(
    text: str, words: tuple[str, ...], root: Path, config: Path
):
    (root / "turngraph.toml").write_text(text)
    for word in (str(root / "turngraph.toml"), *words):
        assert word in refusal(config, root)


def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(root: Path, config: Path):
    os.mkfifo(root / "turngraph.toml")
    assert "it is no regular file" in refusal(config, root)


def test_the_users_own_file_is_no_projects_file(root: Path):
    (root / "turngraph.toml").write_text('policy = "auto"\nmodel = "x"\n')
    found = resolved(root / "turngraph.toml", root)
    assert (found.settings.policy, found.settings.model, len(found.files)) == ("auto", "x", 1)


def test_every_value_knows_its_origin_and_a_url_shows_no_secret(root: Path, config: Path):
    config.write_text('\nmodel = "m"\nbase_url = "http://me:hunter2@host/v1?key=hunter2"\n')
    found = resolved(config, root, {"max_tokens": 5}, TURNGRAPH_POLICY="read-only")
    assert {key: (one.origin.kind, one.origin.where) for key, one in found.each.items()} == {
        "model": ("file", f"{config}:2"),
        "base_url": ("file", f"{config}:3"),
        "policy": ("variable", "TURNGRAPH_POLICY"),
        "max_iterations": ("default", ""),
        "max_tokens": ("flag", "--max-tokens"),
        "max_total_tokens": ("default", ""),
        "max_cost": ("default", ""),
        "timeout": ("default", ""),
        "context_window": ("default", ""),
        "flow": ("default", ""),
        "flows": ("default", ""),
        "store": ("default", ""),
    }
    assert found.each["base_url"].shown == "http://host/v1"
    assert [(layer.kind, layer.exists) for layer in found.files] == [("file", True), ("project", False)]


def test_a_command_that_a_turn_runs_may_run_turngraph(root: Path, config: Path):
    assert resolved(config, root, None, **Family().mark).settings.policy == "ask"


@given(mine=st.sampled_from(POLICIES), theirs=st.sampled_from(POLICIES))
def test_the_stricter_policy_is_in_force(mine: str, theirs: str):
    in_force = theirs if is_looser("policy", mine, theirs) else mine
    assert POLICIES.index(in_force) == min(POLICIES.index(mine), POLICIES.index(theirs))


BLOCKS = [
    "",
    "  ",
    "# wanted = 1",
    "k# = '''\nwanted = 1\n\n'''",
    "k# = [\n1,\n# wanted = 2\n\n2]",
    'k# = "#"',
    "'k#' = 1",
]


@given(above=st.lists(st.sampled_from(BLOCKS), max_size=6))
def test_a_key_is_found_behind_comments_blank_lines_and_long_values(above: list[str]):
    text = "\n".join([block.replace("k#", f"k{number}") for number, block in enumerate(above)] + ["  wanted = 1\n"])
    assert position_of(text, "wanted") == (text.count("\n"), 3)
