"""What a tool call did, in a few words: its verb, the tests that failed in it; what it was about."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.translation import Translator, translate

tr = Translator("Words")
text = TextContext("Words")

CallTense: TypeAlias = Literal["to_do", "running", "done"]

_WORKSPACE_FOLDER = "."


class _Verb(NamedTuple):
    to_do: TranslatableText
    running: TranslatableText
    done: TranslatableText


_EDIT = _Verb(text("Edit"), text("Editing"), text("Edited"))
_VERBS: dict[str, _Verb] = {
    "ask_user": _Verb(text("Ask"), text("Asking"), text("Asked")),
    "delegate": _Verb(text("Delegate"), text("Delegating"), text("Delegated")),
    "edit_file": _EDIT,
    "fetch_url": _Verb(text("Fetch"), text("Fetching"), text("Fetched")),
    "find_files": _Verb(text("Find files"), text("Finding files"), text("Found files")),
    "list_cached_content": _Verb(text("List cache"), text("Listing cache"), text("Listed cache")),
    "list_directory": _Verb(text("List"), text("Listing"), text("Listed")),
    "multi_edit": _EDIT,
    "read_file": _Verb(text("Read", "to do"), text("Reading"), text("Read", "done")),
    "recall_cached_content": _Verb(text("Recall"), text("Recalling"), text("Recalled")),
    "run_command": _Verb(text("Run"), text("Running"), text("Ran")),
    "search_cached_content": _Verb(text("Search cache"), text("Searching cache"), text("Searched cache")),
    "search_text": _Verb(text("Search"), text("Searching"), text("Searched")),
    "todo": _Verb(*(text("To-do list"),) * 3),
    "show_output": _Verb(text("Show"), text("Showing"), text("Showed")),
    "write_file": _Verb(text("Write"), text("Writing"), text("Wrote")),
}


def call_verb(tool: str, tense: CallTense) -> str:
    """Return what a call of a tool does, is doing or did; the name of a tool that is not Helix's own."""
    verb = _VERBS.get(tool)
    return translate(getattr(verb, tense)) if verb is not None else display_name(tool)


_TEST_SUMMARIES = tuple(
    re.compile(form)
    for form in (
        r"=* ?(?P<n>\d+) (?:failed|errors?)\b.* in \d[\d.:]*m?s\b.*",  # pytest
        r"\s*Tests:?\s+(?P<n>\d+) failed\b.*",  # jest, vitest
        r"test result: FAILED\. .*; (?P<n>\d+) failed;.*",  # cargo
        r"FAILED \((?:failures=(?P<n>\d+))?(?:, )?(?:errors=(?P<m>\d+))?.*\)",  # unittest
        r"\s*(?P<n>\d+) failing",  # mocha
        r"# fail (?P<n>\d+)",  # node, TAP
        r"\d+ examples?, (?P<n>\d+) failures?.*",  # rspec
        r"\d+ tests? completed, (?P<n>\d+) failed.*",  # gradle
        r"(?:\[\w+\] )?Tests run: \d+, Failures: (?P<n>\d+), Errors: (?P<m>\d+).*",  # maven
        r"\d+% tests passed, (?P<n>\d+) tests? failed out of \d+",  # ctest
        r"(?P<go>FAIL)(?:\s.*)?",  # go test
    )
)
_SUMMARY_LINES = 8  # from the end: jest and cargo say more below


def failed_tests_text(output: str) -> str:
    """Return how many tests failed, as the last lines of a test run say; empty if they don't."""
    for line in reversed(output.rstrip().split("\n")[-_SUMMARY_LINES:]):
        found = next(filter(None, (form.fullmatch(line) for form in _TEST_SUMMARIES)), None)
        if found is None:
            continue
        numbers = found.groupdict()
        if numbers.get("go"):
            return tr("Tests failed")
        count = int(numbers["n"] or 0) + int(numbers.get("m") or 0)
        return tr.plural(count, "%n failed", "%n failed") if count else ""
    return ""


def target_title(target: str) -> str:
    """Return a target as it can stand alone: the dot of the workspace folder says nothing."""
    return tr("Workspace folder") if target == _WORKSPACE_FOLDER else target
