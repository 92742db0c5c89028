"""The demo model's choice of the form of a large output, and its extracts: lines that have some words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from helix_desktop.providers.demo.script import LargeOutputForm, Script

_OUTPUT = re.compile(r'^(\d+)\. "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)" \(.*Options: (.+)$', re.MULTILINE)
_EXTRACT = re.compile(
    r"^\[Extract\][^\n]*\n(?P<instructions>[\s\S]*?)\n\nWrite at most (?P<words>\d+) words\.[^\n]*\n"
    r"<output \w+>\n(?P<output>[\s\S]*)\n</output \w+>\n"
)
_PATTERN = re.compile(r"`([^`]+)`")
_WORD = re.compile(r"\w{4,}")


def choose_forms(question: str, scripts: Sequence[Script]) -> str:
    """Return a line for each large output in the question: what a script says, else a preview."""
    forms = [form for script in scripts for form in script.large]
    return "\n".join(
        f"{number}: {_choice(tool, target, options, forms)}"
        for number, tool, target, options in _OUTPUT.findall(question)
    )


def _choice(tool: str, target: str, options: str, forms: Sequence[LargeOutputForm]) -> str:
    for form in forms:
        if (form.tool, form.target) == (tool, target) and form.form in options.split(", "):
            return f"compact: the lines with `{form.extract}` only" if form.form == "compact" else form.form
    return "preview"


def write_extract(request: str) -> str:
    """Return the lines of an output that match the instructions: words in backticks, else its long words.

    `a|b` is one or the other. No other sign means anything: a pattern of the user's could take for ever.
    """
    parts = _EXTRACT.match(request)
    if parts is None:
        return "Not in the output: the offline demo model can't read this request."
    quoted = _PATTERN.search(parts["instructions"])
    words = [*filter(None, quoted[1].split("|") if quoted else _WORD.findall(parts["instructions"]))]
    matches = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    lines = [line for line in parts["output"].splitlines() if words and matches.search(line)]
    if not lines:
        return f"Not in the output: lines with `{'|'.join(words)}`."
    return _within(lines, int(parts["words"]))


def _within(lines: Sequence[str], max_words: int) -> str:
    """Return the first lines that have so few words, and say how many were left out."""
    words, count = 0, 0
    for line in lines:
        words += max(len(line.split()), len(line) // 4)
        if words > max_words and count:
            break
        count += 1
    left_out = len(lines) - count
    return "\n".join([*lines[:count], *([f"{left_out} more lines were left out."] if left_out else [])])
