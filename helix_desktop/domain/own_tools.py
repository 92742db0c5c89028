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

ToolKind = Literal["read", "list", "search", "write", "edit", "command", "other"]


class OwnTool(msgspec.Struct, frozen=True):
    """What one tool does with files (`kind`), and what its calls are called before, while and after they run.

    With `shows_lines` its output holds the lines of the file that it reads, with `is_of_file` it is about one
    file, under whose name it opens. A call that `asks` waits for the user, unless a mode or a rule allows it.
    What stands above its output matches `header`; `counted` words the number of lines below that.
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


COMMAND_HEADER = re.compile(
    r"(?:no )?exit code\b[^\n]*(?:\n\((?:left in the background, |[\d,]+ bytes in the middle )[^\n]*)*"
    r"(?:\n\(no output\))?"
)
"""What stands above a command's output."""
_EDIT = OwnTool("edit", text("Edit"), text("Editing"), text("Edited"), "file-pen", asks=True)

OWN_TOOLS: Mapping[str, OwnTool] = {
    "ask_user": OwnTool("other", text("Ask"), text("Asking"), text("Asked"), "circle-question-mark"),
    "call_tool": OwnTool("other", text("Call tool"), text("Calling tool"), text("Called tool"), "wrench"),
    "delegate": OwnTool("other", text("Delegate"), text("Delegating"), text("Delegated"), "bot"),
    "edit_file": msgspec.structs.replace(_EDIT, is_of_file=True),
    "fetch_url": OwnTool("other", text("Fetch"), text("Fetching"), text("Fetched"), "globe", asks=True),
    "find_files": OwnTool(
        "search",
        text("Find files"),
        text("Finding files"),
        text("Found files"),
        "text-search",
        header=re.compile(r"[\d,]+ files?:(?=\n)"),
        counted=lambda lines: text.plural(lines, "%n file", "%n files"),
    ),
    "find_tools": OwnTool(
        "other", text("Find tools"), text("Finding tools"), text("Found tools"), "text-search"
    ),
    "list_cached_content": OwnTool(
        "list", text("List cache"), text("Listing cache"), text("Listed cache"), "folder-tree"
    ),
    "list_directory": OwnTool("list", text("List"), text("Listing"), text("Listed"), "folder-tree"),
    "multi_edit": _EDIT,
    "read_file": OwnTool(
        "read",
        text("Read", "to do"),
        text("Reading"),
        text("Read", "done"),
        "file-text",
        shows_lines=True,
        is_of_file=True,
        header=re.compile(r"Lines \d+-\d+ of \d+ of [^\n]*:(?=\n)"),
        counted=lambda lines: text.plural(lines, "%n line read", "%n lines read"),
    ),
    "recall_cached_content": OwnTool(
        "other",
        text("Recall"),
        text("Recalling"),
        text("Recalled"),
        "archive-restore",
        header=re.compile(r"Recalled (?:[0-9a-f]{8,} )?· [^\n]*"),
        counted=lambda lines: text.plural(lines, "%n line recalled", "%n lines recalled"),
    ),
    "run_command": OwnTool(
        "command",
        text("Run"),
        text("Running"),
        text("Ran"),
        "terminal",
        asks=True,
        header=COMMAND_HEADER,
    ),
    "search_cached_content": OwnTool(
        "search", text("Search cache"), text("Searching cache"), text("Searched cache"), "text-search"
    ),
    "search_text": OwnTool("search", text("Search"), text("Searching"), text("Searched"), "text-search"),
    "show_output": OwnTool("read", text("Show"), text("Showing"), text("Showed"), "eye"),
    "todo": OwnTool("other", *(text("To-do list"),) * 3, "list"),
    "write_file": OwnTool(
        "write", text("Write"), text("Writing"), text("Wrote"), "file-plus", is_of_file=True, asks=True
    ),
}
