"""Prompts: what a model is told to do, with a version that events can name."""

from __future__ import annotations

import re

_VERSION = re.compile(r"\A\s*<!-- version (\w[\w.]*) -->[ \t]*\n?")


def versioned(name: str, text: str) -> tuple[str, str]:
    """A prompt without its first line `<!-- version 2 -->`, and what events call it: `handover 2`.

    A prompt without such a line goes by its name alone.
    """
    found = _VERSION.match(text)
    if found is None:
        return text.strip(), name
    return text[found.end() :].strip(), f"{name} {found[1]}"
