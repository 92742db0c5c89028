"""Prompts and their versions."""

from __future__ import annotations

import pytest

from helix_desktop.agent.session_services import split_version
from helix_desktop.config.paths import load_prompts


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<!-- version 2 -->\nWrite.\n", ("Write.", "handover 2")),
        ("\n<!-- version 2.1b -->\r\n\nWrite.", ("Write.", "handover 2.1b")),
        ("Write.", ("Write.", "handover")),
        ("Write.\n<!-- version 2 -->", ("Write.\n<!-- version 2 -->", "handover")),
        ("<!-- version -->\nWrite.", ("<!-- version -->\nWrite.", "handover")),
    ],
)
def test_a_version_line_is_read_and_removed(text: str, read: tuple[str, str]) -> None:
    """Only the first line can carry a version."""
    assert split_version("handover", text) == read


def test_shipped_prompts_have_versions() -> None:
    """Each prompt has a version line and text after it."""
    for name, text in load_prompts().items():
        body, version = split_version(name, text)
        assert version.startswith(f"{name} "), name
        assert body
        assert "<!--" not in body
