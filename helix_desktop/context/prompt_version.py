"""Prompts: what a model is told to do, with a version that events can name."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VERSION = re.compile(r"\A\s*<!-- version (\w[\w.]*) -->[ \t]*\n?")


def split_version(name: str, text: str) -> tuple[str, str]:
    """A prompt without its first line `<!-- version 2 -->`, and what events call it: `handover 2`.

    A prompt without such a line goes by its name alone.
    """
    found = _VERSION.match(text)
    if found is None:
        return text.strip(), name
    return text[found.end() :].strip(), f"{name} {found[1]}"


def split_versions(prompts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Prompts by name without their version lines, and what events call each."""
    read = {name: split_version(name, text) for name, text in prompts.items()}
    return {name: text for name, (text, _) in read.items()}, {
        name: called for name, (_, called) in read.items()
    }
