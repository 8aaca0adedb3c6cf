"""What a person wrote, tidied for matching, and the files its words may name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_QUOTES = re.compile(r'"([^"\n]+)"|`([^`\n]+)`|“([^”\n]+)”|‘([^’\n]+)’|(?<!\w)\'([^\'\n]+)\'(?!\w)')
_COURTESY = re.compile(
    r"^(?:please|hey|hi|hello|ok|okay|so|now|kindly|just|(?:can|could|would|will) you|"
    r"i(?:'d| would) like (?:you )?to|i (?:want|need) (?:you )?to|let me|let's|go and|help me|tell me|"
    r"(?:can|could|may) (?:i|we)|"
    r"(?:know|find out|check|see|look up|show me|show us)"
    r"(?= where| what| which| who| how| whether| if| is | has | does ))"
    r"[,!]? +",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(
    r"^(where|what|which|who|how many|how often) (?:exactly|precisely|actually|else|all) ", re.IGNORECASE
)
_TO_WHOM = re.compile(r"^(find|show|give|get|list|print|draw|display|count|read|tell) (?:me|us)(?= \S)", re.IGNORECASE)
_FILLER = re.compile(r"(?<=\w) (?:in total|altogether|overall|all in all)(?= |$)", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?:,? (?:please|for me|thanks|thank you|now|right now|again|at the moment|currently))+$", re.IGNORECASE
)
_PUNCTUATION = re.compile(r'(?<=[\w")])(?:[.?!]+| [?!]+)$|(?<=/)[?!]+$')
_ARTICLE = re.compile(r"^(?:the|my|this|our) ", re.IGNORECASE)
_NOUN = re.compile(
    r"^(?:folder|directory|dir|subfolder|file) (?=\S)|(?<=\S) (?:folder|directory|dir|subfolder|package|file)$",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"(?:the |this |my |our )?(?:whole |entire |current |working |project |root |git )?"
    r"(?:code|code ?base|sources?|repo|repository|project|workspace|tree|root|directory|folder|cwd|files)|"
    r"here|everywhere|anywhere|all files|(?:the )?top level",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"(?:\w+est|last|same|other|next|previous|whole|name|names)", re.IGNORECASE)

QUOTED = r'"\d+"'
"""How a quoted string stands in a tidied text: by its number."""
WORD = rf"(?:{QUOTED}|[^\s\"]+)"


LONGEST = 500
"""Characters beside quoted strings; a longer text is no request of a kind that a rule could know."""


@dataclass(frozen=True)
class Request:
    """A request for matching: quoted strings are replaced by their numbers, courtesy and end marks are off.

    Its text is empty where the person wrote too much for a rule.
    """

    text: str
    quoted: tuple[str, ...]
    root: Path

    @classmethod
    def read(cls, said: str, root: Path) -> Request:
        quoted: list[str] = []

        def number(found: re.Match[str]) -> str:
            quoted.append(next(group for group in found.groups() if group is not None))
            return f'"{len(quoted) - 1}"'

        text = " ".join(_QUOTES.sub(number, said.replace("’", "'")).split())
        if len(text) > LONGEST:
            return cls("", (), root)
        while (shorter := _CLOSING.sub("", _PUNCTUATION.sub("", _COURTESY.sub("", text)))) != text:
            text = shorter
        text = _TO_WHOM.sub(r"\1", _FILLER.sub("", _EMPHASIS.sub(r"\1 ", text)))
        return cls(text, tuple(quoted), root)

    def quotation(self, word: str) -> str | None:
        """The string a word stands for, if it stands for a quoted one."""
        return self.quoted[int(word[1:-1])] if re.fullmatch(QUOTED, word) else None

    def plain(self, word: str) -> str:
        """A word as the person wrote it, without quotes."""
        quotation = self.quotation(word)
        return word if quotation is None else quotation

    def is_folder(self, path: str) -> bool:
        try:
            return (self.root / path).is_dir()
        except (OSError, ValueError):
            return False

    def is_file(self, path: str) -> bool:
        try:
            return (self.root / path).is_file()
        except (OSError, ValueError):
            return False

    def place(self, phrase: str | None, *, must_exist: bool) -> str | None:
        """The path that a phrase such as `the src folder` names; no phrase, or one for the whole project, is `.`.

        A single word that names nothing here is still taken for a path unless `must_exist`: the tool will say that
        there is no such place.
        """
        if phrase is None:
            return "."
        named = _ARTICLE.sub("", phrase)
        bare = _NOUN.sub("", named)
        path = self.plain(bare)
        is_word = re.fullmatch(WORD, bare) is not None and _COMPARED.fullmatch(bare) is None
        if is_word and (self.is_folder(path) or self.is_file(path)):
            return path
        if _WHOLE.fullmatch(phrase):
            return "."
        if path.startswith("-"):
            return None  # an option of some command
        return path if is_word and (not must_exist or bare != named or "/" in path) else None

    def file(self, word: str, *, must_exist: bool) -> str | None:
        """The path that a word names: a file, the one file of the root with that stem (`the readme`), or, unless
        `must_exist`, whatever is written like a path."""
        path = self.plain(word)
        if self.is_file(path):
            return path
        if self.is_folder(path):
            return None
        if re.fullmatch(r"[A-Za-z]+", path):
            names = [name for name in self._names() if name.partition(".")[0].lower() == path.lower()]
            return names[0] if len(names) == 1 else None
        return path if not must_exist and re.search(r"\w/\S|^[./~]|\.\w+$", path) else None

    def _names(self) -> list[str]:
        try:
            return [entry.name for entry in self.root.iterdir() if entry.is_file()]
        except OSError:
            return []
