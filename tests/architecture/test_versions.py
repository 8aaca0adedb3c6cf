"""The versions that must agree: the pydantic family among itself, and the lock file with the project."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from packaging.requirements import Requirement

from .modules import ROOT

FAMILY = ("pydantic-ai-slim", "pydantic-graph")


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def _locked() -> dict[str, dict[str, Any]]:
    return {package["name"]: package for package in _toml("uv.lock")["package"]}


def test_the_pydantic_family_is_of_one_version() -> None:
    assert len({version(name) for name in FAMILY}) == 1


def test_the_lock_holds_the_version_the_project_is_developed_with() -> None:
    locked = _locked()
    assert {locked[name]["version"] for name in FAMILY} == {"2.62.0"}


def test_the_lock_was_made_for_the_dependencies_the_project_declares() -> None:
    project = _toml("pyproject.toml")["project"]
    declared = [Requirement(text) for text in project["dependencies"]]
    declared += [Requirement(text) for texts in project["optional-dependencies"].values() for text in texts]
    wanted = {(one.name, str(one.specifier), frozenset(one.extras)) for one in declared}
    locked = _locked()["turngraph"]["metadata"]["requires-dist"]
    assert wanted == {
        (one["name"], str(Requirement(f"x{one.get('specifier', '')}").specifier), frozenset(one.get("extras", ())))
        for one in locked
    }


def test_the_lock_takes_packages_from_one_public_registry() -> None:
    packages = [package for name, package in _locked().items() if name != "turngraph"]
    registries: set[str] = {package["source"]["registry"] for package in packages}
    files: list[dict[str, Any]] = [wheel for package in packages for wheel in package.get("wheels", ())]
    files += [package["sdist"] for package in packages if "sdist" in package]
    assert len(registries) == 1
    places = [urlsplit(url) for url in registries | {str(file["url"]) for file in files}]
    assert len({place.netloc for place in places}) == 2
    assert {(place.scheme, place.username, place.port) for place in places} == {("https", None, None)}
