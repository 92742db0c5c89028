"""Prompt versions: each prompt has a version that events can name."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VERSION = re.compile(r"\A\s*<!-- version (\w[\w.]*) -->[ \t]*\n?")


def split_version(name: str, text: str) -> tuple[str, str]:
    """Return a prompt without its first line `<!-- version 2 -->`, and its name for events: `handover 2`.

    A prompt without such a line has its plain name.
    """
    match = _VERSION.match(text)
    if match is None:
        return text.strip(), name
    return text[match.end() :].strip(), f"{name} {match[1]}"


def split_versions(prompts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return prompts by name without their version lines, and their names for events."""
    parts = {name: split_version(name, text) for name, text in prompts.items()}
    return {name: text for name, (text, _) in parts.items()}, {
        name: versioned_name for name, (_, versioned_name) in parts.items()
    }
