"""Which files people mean by `python files`, `*.toml` or `the readme`, as patterns of the glob tool."""

from __future__ import annotations

import re

from .request import Request

_KINDS = {
    "python": "*.{py,pyi}",
    "javascript": "*.{js,mjs,cjs,jsx}",
    "typescript": "*.{ts,tsx,mts,cts}",
    "markdown": "*.{md,markdown}",
    "rust": "*.rs",
    "go": "*.go",
    "golang": "*.go",
    "java": "*.java",
    "kotlin": "*.{kt,kts}",
    "swift": "*.swift",
    "ruby": "*.rb",
    "php": "*.php",
    "c": "*.{c,h}",
    "c++": "*.{cc,cpp,cxx,hh,hpp,hxx,h}",
    "c#": "*.cs",
    "shell": "*.{sh,bash,zsh}",
    "yaml": "*.{yml,yaml}",
    "html": "*.{html,htm}",
    "image": "*.{png,jpg,jpeg,gif,svg,webp,ico,bmp,tiff}",
}
EXTENSIONS = frozenset(
    """
    bash bat c cc cfg cjs conf cpp cs css csv cxx dart env erl ex exs gif go gradle h hh hpp hs htm html ico ini ipynb
    java jl jpeg jpg js json jsonl jsx kt kts less lock log lua m markdown md mjs ml mts nix patch pdf php pl png proto
    ps1 py pyi r rb rs rst sass scala scss sh sql svelte svg swift tex tf tfvars toml ts tsx txt vue webp xml yaml yml
    zig zip zsh
    """.split()  # noqa: SIM905
)
_STEMS = frozenset(["readme", "license", "licence", "changelog", "contributing", "authors", "notice"])
_NAMES = frozenset(["Makefile", "Dockerfile", "Gemfile", "Rakefile", "Procfile", "Jenkinsfile", "Justfile", "Pipfile"])


def sort_pattern(request: Request, word: str) -> str | None:
    """The pattern for `python`, `.py`, `py` or `*.py`, said of files."""
    plain = request.plain(word)
    bare = plain.removeprefix("*").removeprefix(".").lower()
    if plain.lower() in _KINDS:
        return _KINDS[plain.lower()]
    if bare in EXTENSIONS and re.fullmatch(r"\*?\.?\w+", plain):
        return f"*.{bare}"
    if re.fullmatch(r"\*?\.\w{1,12}", plain):
        return "*" + plain.removeprefix("*")
    return plain if "*" in plain and "/" not in plain else None


def ending_pattern(request: Request, word: str) -> str:
    """The pattern for names that end in something: `.py`, `py` or `_test.py`."""
    plain = request.plain(word)
    bare = plain.removeprefix("*")
    return f"*.{bare}" if bare.lower() in EXTENSIONS else f"*{literal(bare)}"


def name_pattern(request: Request, word: str, *, certain: bool) -> str | None:
    """The pattern for a name; unless it is `certain` that a file is meant, only for a word that is plainly one."""
    plain = request.plain(word)
    if not certain and request.quotation(word) is not None:
        return None
    if plain.lower() in _STEMS:
        return f"{in_any_case(plain)}{{,.*}}"
    if request.is_file(plain) or plain in _NAMES:
        return literal(plain)
    if "*" in plain:
        return plain
    known = plain.rpartition(".")[2].lower() in EXTENSIONS and re.fullmatch(r"[\w./@+-]*\.\w+", plain)
    return literal(plain) if certain or known else None


def containing(part: str) -> str:
    """The pattern for names that hold a text, in upper or lower case."""
    return f"*{in_any_case(part)}*"


def in_any_case(text: str) -> str:
    return "".join(f"[{one.lower()}{one.upper()}]" if one.lower() != one.upper() else literal(one) for one in text)


def literal(text: str) -> str:
    """A name as a pattern that fits only itself."""
    return re.sub(r"([\\*?\[\]{}!])", r"\\\1", text)
