from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from turngraph.flows.flow import STANDARD
from turngraph.flows.skeleton import skeleton
from turngraph.nodes.errors import UsageError
from turngraph.nodes.variants import VARIANTS

from ...scripted.harness import Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


def test_the_list_names_roles_variants_and_what_packages_offer(bench: Workbench) -> None:
    (bench.root / "site/offering-1.0.dist-info").mkdir(parents=True)
    (bench.root / "site/offering-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: offering\n")
    (bench.root / "site/offering-1.0.dist-info/entry_points.txt").write_text("[turngraph.nodes]\nmine = nowhere:Mine\n")
    paths = {"PYTHONPATH": f"{Path(__file__).parents[3] / '.src'}:{bench.root / 'site'}"}
    found = json.loads(bench.run("nodes", "list", "--output", "json", env=paths).stdout)
    assert found["schema"] == "turngraph.nodes/1"
    assert [one["role"] for one in found["roles"]] == list(STANDARD.lineup)
    assert {one["name"]: one["role"] for one in found["variants"]} == {name: one.role for name, one in VARIANTS.items()}
    assert {"name": "mine", "package": "offering", "value": "nowhere:Mine"} in found["offered"]
    done = bench.run("nodes", "list", env=paths)
    assert (done.code, done.stderr) == (0, "")
    for line in (
        "  dispatch         Dispatch        -> execute, persist",
        "  stream=cascade:CHEAP_MODEL ",
        "mine  offering",
    ):
        assert line in done.stdout


def test_a_role_is_shown_with_its_edges_and_what_it_was_seen_to_write(bench: Workbench) -> None:
    found = json.loads(bench.run("nodes", "show", "dispatch", "--output", "json").stdout)
    assert (found["schema"], found["class"]) == ("turngraph.node/1", "turngraph.nodes.dispatch:Dispatch")
    assert found["edges"][0] == {"to": "execute", "label": "calls to run"}
    assert {"batches", "session.tool_registry"} <= set(found["writes"])
    written = Path(found["source"]["file"]).read_text(encoding="utf-8").splitlines()[found["source"]["line"] - 1 :]
    assert "class Dispatch(TurnNode):" in written[:2]
    done = bench.run("nodes", "show", "stream=cascade:openai:small")
    assert (done.code, done.stderr) == (0, "")
    for words in ("Cascade[function:openai:small]", "Trades judgement for money", "was seen to write", "iteration"):
        assert words in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("show", "nothing"), "there is no role 'nothing'; the roles are prepare_history, stream"),
        (("show", "stream=serial"), "serial plays the role 'execute', not 'stream'"),
        (("new", "nothing", "Mine"), "no role 'nothing'"),
        (("new", "execute", "my_class"), "'my_class' is no name for a class here"),
        (("new", "execute", "Json"), "hides Python's own json; take another name"),
        (("new", "execute", "Mine", "--dir", "no/such"), "cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(bench: Workbench, args: tuple[str, ...], said: str) -> None:
    done = bench.run("nodes", *args)
    assert (done.code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert said in line


def test_a_new_node_is_never_written_over_another(bench: Workbench) -> None:
    target = ("--dir", str(bench.workspace))
    assert bench.run("nodes", "new", "execute", "Mine", *target).code == 0
    (bench.workspace / "mine.py").write_text("precious")
    done = bench.run("nodes", "new", "stream", "Mine", *target)
    assert (done.code, "exists already" in done.stderr) == (2, True)
    assert (bench.workspace / "mine.py").read_text() == "precious"


@pytest.mark.parametrize(("name", "module"), [("HTTPNode2", "http_node2"), ("Calm", "calm"), ("ANode", "a_node")])
def test_files_are_named_after_the_class(name: str, module: str) -> None:
    made = skeleton(STANDARD, "persist", name)
    assert (made.node_file, made.test_file) == (f"{module}.py", f"test_{module}.py")


def test_a_skeleton_is_of_a_role_that_there_is() -> None:
    with pytest.raises(UsageError, match="no role 'nothing'; its roles are"):
        skeleton(STANDARD, "nothing", "Mine")


def test_new_nodes_of_all_roles_pass_pytest_pyright_and_ruff_as_written(bench: Workbench) -> None:
    for role in STANDARD.lineup:
        name = f"My{STANDARD.lineup[role].__name__}"
        done = bench.run("nodes", "new", role, name, "--dir", str(bench.workspace))
        assert (done.code, len(done.stdout.splitlines())) == (0, 2)
        place = bench.workspace / done.stdout.splitlines()[0]
        assert f"--swap {role}={place}:{name}" in done.stderr
    source = Path(__file__).parents[3] / ".src"
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(source)], "pythonVersion": "3.11"}
    (bench.workspace / "pyrightconfig.json").write_text(json.dumps(settings))
    for command in (
        ["pyright", "-p", str(bench.workspace), "--pythonpath", sys.executable],
        ["ruff", "check", "--isolated", "--select", "E,F,I,UP,B,RUF", "--ignore", "E501", str(bench.workspace)],
        ["ruff", "format", "--isolated", "--check", str(bench.workspace)],
        ["pytest", "-q", "-p", "no:cacheprovider", "-k", "fits or writes", "--rootdir", str(bench.workspace), "."],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=bench.workspace, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
