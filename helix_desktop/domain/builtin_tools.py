"""The tools that Helix offers to a model, each described once: what it does, its words, its output.

Events, screens and summaries know a tool by its name alone; `tools/` has what it runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from helix_desktop.domain.translatable_text import TextContext, TranslatableText

text = TextContext("Words")
_rule = TextContext("Tools")

ToolKind = Literal["read", "list", "search", "write", "edit", "command", "other"]


class BuiltinTool(msgspec.Struct, frozen=True):
    """What one tool does with files (`kind`), and what its calls are called before, while and after they run.

    With `shows_lines` its output holds the lines of the file that it reads, with `is_of_file` it is about one
    file, under whose name it opens. A call that `asks` waits for the user, unless a mode or a rule allows it.
    What stands above its output matches `header`; `counted` words the number of lines below that, of lines
    that are `grouped` below headings the number that the header says. `exact` and `any_use` are what a rule
    allows: one call by its subject, or all; each as a title, and within a sentence.
    """

    kind: ToolKind
    to_do: TranslatableText
    running: TranslatableText
    done: TranslatableText
    icon: str
    shows_lines: bool = False
    is_of_file: bool = False
    asks: bool = False
    header: re.Pattern[str] | None = None
    counted: Callable[[int], TranslatableText] | None = None
    grouped: bool = False
    exact: Callable[[str], tuple[TranslatableText, TranslatableText]] | None = None
    any_use: tuple[TranslatableText, TranslatableText] | None = None


COMMAND_HEADER = re.compile(
    r"(?:no )?exit code\b[^\n]*(?:\n\((?:left in the background, |[\d,]+ bytes in the middle )[^\n]*)*"
    r"(?:\n\(no output\))?"
)
"""What stands above a command's output."""
MATCHES_HEADER = re.compile(r"(?P<count>[\d,]+ matching lines?) in (?P<files>[\d,]+ files?):\n")
_EDIT = BuiltinTool("edit", text("Edit"), text("Editing"), text("Edited"), "file-pen", asks=True)

BUILTIN_TOOLS: Mapping[str, BuiltinTool] = {
    "ask_user": BuiltinTool("other", text("Ask"), text("Asking"), text("Asked"), "circle-question-mark"),
    "call_tool": BuiltinTool("other", text("Call tool"), text("Calling tool"), text("Called tool"), "wrench"),
    "delegate": BuiltinTool("other", text("Delegate"), text("Delegating"), text("Delegated"), "bot"),
    "edit_file": msgspec.structs.replace(
        _EDIT, is_of_file=True, any_use=(_rule("Edit any file"), _rule("edit any file"))
    ),
    "fetch_url": BuiltinTool("other", text("Fetch"), text("Fetching"), text("Fetched"), "globe", asks=True),
    "find_files": BuiltinTool(
        "search",
        text("Find files"),
        text("Finding files"),
        text("Found files"),
        "text-search",
        header=re.compile(r"[\d,]+ files?:(?=\n)"),
        counted=lambda lines: text.plural(lines, "%n file", "%n files"),
    ),
    "find_tools": BuiltinTool(
        "other", text("Find tools"), text("Finding tools"), text("Found tools"), "text-search"
    ),
    "list_cached_content": BuiltinTool(
        "list",
        text("List stored outputs"),
        text("Listing stored outputs"),
        text("Listed stored outputs"),
        "folder-tree",
    ),
    "list_directory": BuiltinTool("list", text("List"), text("Listing"), text("Listed"), "folder-tree"),
    "multi_edit": msgspec.structs.replace(_EDIT, any_use=(_rule("Edit any files"), _rule("edit any files"))),
    "read_file": BuiltinTool(
        "read",
        text("Read", "to do"),
        text("Reading"),
        text("Read", "done"),
        "file-text",
        shows_lines=True,
        is_of_file=True,
        header=re.compile(r"Lines \d+-\d+ of \d+ of [^\n]*:(?=\n)"),
        counted=lambda lines: text.plural(lines, "%n line read", "%n lines read"),
        exact=lambda file: (
            _rule("Read the file {file}", file=file),
            _rule("read the file {file}", file=file),
        ),
    ),
    "recall_cached_content": BuiltinTool(
        "other",
        text("Recall"),
        text("Recalling"),
        text("Recalled"),
        "archive-restore",
        header=re.compile(r"Recalled (?:[0-9a-f]{8,} )?· [^\n]*"),
        counted=lambda lines: text.plural(lines, "%n line recalled", "%n lines recalled"),
    ),
    "run_command": BuiltinTool(
        "command",
        text("Run"),
        text("Running"),
        text("Ran"),
        "terminal",
        asks=True,
        header=COMMAND_HEADER,
        exact=lambda command: (
            _rule("Run: {command}", command=command),
            _rule("run: {command}", command=command),
        ),
        any_use=(_rule("Run any command"), _rule("run any command")),
    ),
    "search_cached_content": BuiltinTool(
        "search",
        text("Search stored outputs"),
        text("Searching stored outputs"),
        text("Searched stored outputs"),
        "text-search",
    ),
    "search_text": BuiltinTool(
        "search",
        text("Search"),
        text("Searching"),
        text("Searched"),
        "text-search",
        header=MATCHES_HEADER,
        counted=lambda lines: text.plural(lines, "%n matching line", "%n matching lines"),
        grouped=True,
    ),
    "todo": BuiltinTool("other", *(text("To-do list"),) * 3, "list"),
    "write_file": BuiltinTool(
        "write",
        text("Write"),
        text("Writing"),
        text("Wrote"),
        "file-plus",
        is_of_file=True,
        asks=True,
        any_use=(_rule("Write any file"), _rule("write any file")),
    ),
}
