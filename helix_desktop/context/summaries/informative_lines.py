"""Result lines: those of an output that say what it came to, or why it failed."""

from __future__ import annotations

import re

from helix_desktop.context.intake.descriptions import MENTION, REPORT, RESULT, find_error
from helix_desktop.context.summaries.message_facts import cut_between_words
from helix_desktop.domain.unicode_safety import without_direction_signs

_SEARCHED = 2_000  # characters of a line that are searched
_TAIL_CHARS = 20_000  # characters of an output in which an error line is looked for, from its end
_SAYS_WHY = re.compile(r"^E {2,}\S|(?:Error|Exception|error|ERROR|fatal|FATAL)\b[^:]{0,40}: *\S")
_FAILED_TEST = re.compile(r"(?:FAILED|ERROR) \S+::|--- FAIL: |test \S+ \.\.\. FAILED|\s*● .+ \u203a ")
_FAILED_TESTS, _FAILED_TEST_CHARS = 3, 160  # of a run, that are named; characters of each line
_NOISE = re.compile(
    r"^(?:\[CACHED\]|\[…|exit (?:code|status) \d|--- Observation ---|[-=_*~#.\s]*$)", re.IGNORECASE
)


def last_informative_line(text: str) -> str:
    """Return the last line of an output that says something; empty if none does."""
    end = len(text)
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        if line and not _NOISE.match(line):
            return without_direction_signs(line[:_SEARCHED])
        end = start - 1
    return ""


def described_result(about: str, exit_code: int | None) -> str:
    """Return what the description of an output says besides its exit code, without the quotes around it."""
    result = about if exit_code is None else about.removeprefix(f"exit {exit_code}").removeprefix(", ")
    return result[1:].removesuffix('"') if result.startswith('"') else result


def short_text(text: str, max_chars: int) -> str:
    """Return an output on one line if what it says has no more characters; else nothing."""
    if len(text) > 2 * max_chars:
        return ""
    lines = (" ".join(line.split()) for line in without_direction_signs(text).splitlines())
    line = " / ".join(line for line in lines if line and not _NOISE.match(line))
    return line if len(line) <= max_chars else ""


def error_line(text: str) -> str:
    """Return the line of an output that says why it failed, the most informative; empty if none."""
    found: dict[int, str] = {}
    for line in text[-_TAIL_CHARS:].splitlines():
        part = line[:_SEARCHED].rstrip()
        if part and not _NOISE.match(part) and (error := find_error(part)) is not None:
            found[-1 if _SAYS_WHY.search(part) else error.rank] = part.strip()
    informative = next((found[rank] for rank in (-1, REPORT, RESULT, MENTION) if rank in found), "")
    return without_direction_signs(informative)


def reports_failure(result: str) -> bool:
    """Return True for the result of a command that says that something failed, whatever its exit code."""
    error = find_error(result)
    return error is not None and error.rank == RESULT


def failure_lines(text: str) -> list[str]:
    """Return the lines of a command's output that name what failed: of tests up to three, else one line."""
    lines = text[-_TAIL_CHARS:].splitlines()
    failed = [line for line in lines if _FAILED_TEST.match(line)][:_FAILED_TESTS] or [error_line(text)]
    return [without_direction_signs(cut_between_words(line, _FAILED_TEST_CHARS)) for line in failed if line]
