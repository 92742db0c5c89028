"""What a tool call did, in a few words: its verb, the tests that failed in it; what it was about."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.digest import CACHE_TOOLS, RECALL_TOOL, SEARCH_TOOL
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.failed_tests import failed_tests
from helix_desktop.domain.files.file_use import tool_kind
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_format import one_line
from helix_desktop.words.translation import Translator, translate

tr = Translator("Words")

CallTense: TypeAlias = Literal["to_do", "running", "done"]

_WORKSPACE_FOLDER = "."
_COMPACTED = re.compile(r"(?:(?P<index>index)|(?:[0-9a-f]{8,} )?e\d+(?:-e?\d+)?)(?=, | · |$)")
"""What a recall of compacted messages has as its target: all of them, or some by their events."""
_SEARCHED = re.compile(
    r"""(?: · ([^·]*?) for |, )('(?:[^'\\]|\\.)*(?:'|…$)|"(?:[^"\\]|\\.)*(?:"|…$))(?:, .*)?""", re.DOTALL
)
"""A recall of what holds a pattern: of a content behind what was found, of compacted messages before that."""
_MATCHES = re.compile(r"( · (?:[\d,]+ of )?[\d,]+ lines?) for .*", re.DOTALL)
_LINES = re.compile(r"(?::\d+-\d+)? · lines ([\d,]+)-([\d,]+) of (?:[a-z ]+ )?[\d,-]+.*", re.DOTALL)
_LINE_BREAK = re.compile(r"\s*\n\s*")
_EVENTS = re.compile(r"\sin\se\d+(?:,\se\d+)*(?:\sand\s\d+\smore)?$")


def call_verb(tool: str, tense: CallTense, target: str = "") -> str:
    """Return what a call of a tool does, is doing or did; the name of a tool that is not Helix's own.

    A recall whose `target` has a pattern is a search.
    """
    builtin = BUILTIN_TOOLS.get("search_text" if tool == RECALL_TOOL and _is_search(target) else tool)
    return translate(getattr(builtin, tense)) if builtin is not None else display_name(tool)


def call_title(tool: str, target: str, verb: str = "") -> str:
    """Return what a call did, with what it was about: `Read src/app.py`; `verb` in place of the tool's."""
    verb = verb or call_verb(tool, "done", target)
    target = shown_target(tool, target)
    return verb if target in ("", tool) else f"{verb} {target}"


def output_title(output: ToolAnswered) -> str:
    """Return what the call of an output did, on one line; of a recall also how much it brought."""
    return one_line(call_title(output.name, " · ".join(filter(None, (output.target, output.recalled_part)))))


def failed_tests_text(output: str, *, is_last: bool = True) -> str:
    """Return how many tests failed, as a test run says; empty if it doesn't.

    Unless it `is_last`, what other commands printed may follow.
    """
    count = failed_tests(output, is_last=is_last)
    if count is None:
        return ""
    return tr.plural(count, "%n failed", "%n failed") if count else tr("Tests failed")


def shown_target(tool: str, target: str, *, is_attached: bool = False) -> str:
    """Return a call's target; of a recall what it is of, its pattern, and how much was found.

    What a recall of compacted messages is of is in words in place of their numbers, and so is the workspace,
    which is meant where no folder is named. What the user attached of the outputs `is_attached`.
    """
    builtin = BUILTIN_TOOLS.get(tool)
    if builtin is not None and builtin.kind in ("list", "search") and tool not in CACHE_TOOLS:  # in folders
        pattern, within, folder = (target or _WORKSPACE_FOLDER).rpartition(" in ")
        return pattern + within + target_title(folder)
    if tool == SEARCH_TOOL:
        words, _, of_tool = target.rpartition(" in ")
        return tr("for “{words}”", words=words if of_tool in BUILTIN_TOOLS else target)
    if tool != RECALL_TOOL:
        return target_title(target)
    found = _COMPACTED.match(target)
    if found is None:
        name, _, rest = target.partition(" ")
        content = shown_target(name, rest) if name in BUILTIN_TOOLS and rest else target
        if not is_attached or _is_search(content):  # apart from a search in the files themselves
            content = tr("stored output: {content}", content=content) if content else tr("stored output")
        return _LINES.sub(_lines_text, _MATCHES.sub(r"\1", _with_pattern(content)))
    words = tr("what was compacted") if found["index"] else tr("earlier messages")
    return _with_pattern(words + _EVENTS.sub("", target[found.end() :]))


def _lines_text(lines: re.Match[str]) -> str:
    if lines[1] == lines[2]:
        return tr(" · line {number}", number=lines[1])
    return tr(" · lines {first}–{last}", first=lines[1], last=lines[2])


def _is_search(target: str) -> bool:
    """Return True if a recall's target has a pattern; what is quoted behind lines is their text."""
    found = _SEARCHED.search(target)
    return found is not None and (found[1] is not None or _COMPACTED.match(target) is not None)


def _with_pattern(target: str) -> str:
    """Return a recall's target with its pattern behind what was searched: `a.log for “tide” · 3 lines`."""
    found = _SEARCHED.search(target)
    if found is None:
        return target
    pattern = found[2][1:].removesuffix(found[2][0])
    words = tr("{content} for “{pattern}”", content=target[: found.start()], pattern=pattern)
    return words + (f" · {found[1]}" if found[1] else target[found.end(2) :])


def given_text(tool: str, target: str) -> str:
    """Return what a call was given at length: `Edit of src/app.py`, `Command python -c`."""
    if not target or target == tool:
        return tr("Tool call: {call}", call=display_name(tool))
    match tool_kind(tool):
        case "command":
            return tr("Command {command}", command=target_title(target))
        case "write" | "edit":
            return tr("Edit of {files}", files=target_title(target))
    return tr("Tool call: {call}", call=target_title(target))


def target_title(target: str) -> str:
    """Return a target as it can stand alone, on one line: the dot of the workspace folder says nothing."""
    return tr("the workspace") if target == _WORKSPACE_FOLDER else _LINE_BREAK.sub(" ↵ ", target)
