"""Built-in values, then the user's file, then the environment, then flags; a mistake is named with its place."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from turngraph.flows.settings import Settings, config_path, load_settings
from turngraph.nodes.errors import UsageError


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config" / "turngraph.toml"


@pytest.fixture
def environ(config: Path) -> dict[str, str]:
    return {"TURNGRAPH_CONFIG": str(config), "HOME": "/nowhere"}


def write(config: Path, text: str) -> None:
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text, encoding="utf-8")


def mistake(environ: dict[str, str], **flags: object) -> str:
    with pytest.raises(UsageError) as caught:
        load_settings(flags, environ)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_configured_is_a_working_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    settings = load_settings({}, {})
    assert settings == Settings(store=settings.store)
    assert (settings.model, settings.policy, settings.max_iterations, settings.max_tokens) == (
        "offline",
        "ask",
        15,
        None,
    )
    assert (settings.store.parent.name, settings.store.name) == ("turngraph", "turngraph.db")
    assert config_path({}).name == "turngraph.toml"


def test_each_layer_wins_over_the_one_before(config: Path, environ: dict[str, str]):
    write(config, 'model = "file"\npolicy = "auto"\nmax_iterations = 3\nbase_url = "http://file/v1"\n')
    assert load_settings({}, environ).model == "file"
    environ |= {"TURNGRAPH_MODEL": "environment", "TURNGRAPH_MAX_ITERATIONS": "4"}
    settings = load_settings({"model": "flag", "max_tokens": 5, "policy": None}, environ)
    assert (settings.model, settings.max_iterations, settings.policy, settings.max_tokens) == ("flag", 4, "auto", 5)
    assert settings.base_url == "http://file/v1"


def test_an_empty_variable_is_not_set_and_an_empty_base_url_flag_means_none(config: Path, environ: dict[str, str]):
    write(config, 'model = "file"\nbase_url = "http://file/v1"\n')
    environ |= {"TURNGRAPH_MODEL": "", "TURNGRAPH_BASE_URL": ""}
    assert load_settings({}, environ).base_url == "http://file/v1"
    assert load_settings({"base_url": ""}, environ).base_url is None
    assert load_settings({}, environ).model == "file"


def test_every_setting_can_come_from_its_variable(environ: dict[str, str], config: Path, tmp_path: Path):
    write(config, "")
    environ |= {
        "TURNGRAPH_MODEL": "openai:x",
        "TURNGRAPH_BASE_URL": "http://h/v1",
        "TURNGRAPH_POLICY": "read-only",
        "TURNGRAPH_MAX_ITERATIONS": "2",
        "TURNGRAPH_MAX_TOKENS": "3",
        "TURNGRAPH_MAX_TOTAL_TOKENS": "400",
        "TURNGRAPH_MAX_COST": "0.25",
        "TURNGRAPH_TIMEOUT": "1.5",
        "TURNGRAPH_STORE": str(tmp_path / "x.db"),
    }
    assert load_settings({}, environ) == Settings(
        model="openai:x",
        base_url="http://h/v1",
        policy="read-only",
        max_iterations=2,
        max_tokens=3,
        max_total_tokens=400,
        max_cost=Decimal("0.25"),
        timeout=1.5,
        store=tmp_path / "x.db",
    )


def test_a_relative_store_in_the_file_stays_beside_the_file(
    config: Path, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    write(config, 'store = "turns.db"\n')
    assert load_settings({}, environ).store == config.parent / "turns.db"
    assert load_settings({"store": Path("flag.db")}, environ).store == tmp_path / "flag.db"
    assert load_settings({}, environ | {"TURNGRAPH_STORE": "env.db"}).store == tmp_path / "env.db"


def test_a_syntax_error_names_file_line_and_column(config: Path, environ: dict[str, str]):
    write(config, 'model = "x"\npolicy = = 1\n')
    assert mistake(environ).startswith(f"{config}, line 2, column 10: ")
    write(config, 'model = "x"\npolicy = [')
    assert f"{config}, line 2, column " in mistake(environ)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("modle = 1\n", "line 1, column 1: modle"),
        ('\n# modle\npolicy = "ask"\n  modle = 1\n', "line 4, column 3: modle"),
        ('model = """\nmodle = 1\n"""\n\n"modle" = """\na\nb"""\n', "line 5, column 1: modle"),
        ('model = "x"\n[modle]\na = 1\n', "line 2, column 1: modle"),
        ("modle.deep = 1\n", "line 1, column 1: modle"),
    ],
)
def test_an_unknown_key_names_its_place_and_the_likely_one(
    text: str, place: str, config: Path, environ: dict[str, str]
):
    write(config, text)
    assert mistake(environ) == f"{config}, {place} is no setting; did you mean model?"


def test_a_key_like_no_other_gets_the_list(config: Path, environ: dict[str, str]):
    write(config, "colour = 1\n")
    known = "model, base_url, policy, max_iterations, max_tokens, max_total_tokens, max_cost, timeout, "
    known += "context_window, flow, flows, store"
    assert mistake(environ).endswith(f"there are {known}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('policy = "never"', "'never'"),
        ("max_iterations = 0", "0"),
        ('max_iterations = "many"', "'many'"),
        ("max_iterations = true", "True"),
        ("max_tokens = 1.5", "1.5"),
        ("max_cost = 0", "0"),
        ('max_cost = "much"', "'much'"),
        ("max_cost = true", "True"),
        ("max_cost = nan", "nan"),
        ("timeout = -1", "-1"),
        ("timeout = inf", "inf"),
        ('timeout = "1"', "'1'"),
        ('model = ""', "''"),
        ("model = 4", "4"),
        ("store = 4", "4"),
    ],
)
def test_a_value_that_cannot_be_names_its_place(text: str, value: str, config: Path, environ: dict[str, str]):
    write(config, f"\n{text}\n")
    key = text.partition(" ")[0]
    assert mistake(environ).startswith(f"{config}, line 2, column 1: {key} cannot be {value}: ")


def test_mistakes_in_variables_and_flags_name_them(config: Path, environ: dict[str, str]):
    write(config, "")
    assert mistake(environ, max_iterations=0).startswith("--max-iterations cannot be 0: ")
    assert mistake(environ, policy="never").startswith("--policy cannot be 'never': ")
    environ["TURNGRAPH_MAX_TOKENS"] = "lots"
    assert mistake(environ).startswith("TURNGRAPH_MAX_TOKENS cannot be 'lots': ")
    del environ["TURNGRAPH_MAX_TOKENS"]
    environ["TURNGRAPH_POLCY"] = "auto"
    assert mistake(environ) == "TURNGRAPH_POLCY is no setting; did you mean TURNGRAPH_POLICY?"
    del environ["TURNGRAPH_POLCY"]
    environ["TURNGRAPH_FLOWS"] = "careful"
    assert mistake(environ) == "TURNGRAPH_FLOWS is no setting; write flows into your settings file instead"


def test_a_mistake_is_told_even_where_a_stronger_layer_would_hide_it(config: Path, environ: dict[str, str]):
    write(config, 'policy = "never"\n')
    assert "policy cannot be 'never'" in mistake(environ, policy="auto")


def test_a_server_without_a_models_name_is_no_silent_fall_back_to_offline(config: Path, environ: dict[str, str]):
    write(config, "")
    assert "add --model NAME" in mistake(environ, base_url="http://localhost:8080/v1")
    assert load_settings({"base_url": "http://h/v1", "model": "offline"}, environ).model == "offline"


def test_a_named_file_must_exist_and_be_readable(config: Path, environ: dict[str, str]):
    assert "does not exist" in mistake(environ)
    config.mkdir(parents=True)
    assert "cannot be read" in mistake(environ)
    config.rmdir()
    config.write_bytes(b'model = "\xff"\n')
    assert "cannot be read" in mistake(environ)
