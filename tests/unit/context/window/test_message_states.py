"""Whether a message shows all of a content."""

from __future__ import annotations

import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.window_breakdown import is_in_full
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered

LINES = [f"line {number}\n" for number in range(100)]
NUMBERED = [f"{number}:{line}" for number, line in enumerate(LINES[:90], 1)]


@pytest.mark.parametrize(
    ("content", "text", "is_full"),
    [
        ("".join(LINES), "Recalled 0123 · run make\n" + "".join(LINES), True),
        ("".join(LINES), "Recalled 0123 · run make · lines 1-90 of 100\n" + "".join(NUMBERED), False),
        ("a\nb\n", "Recalled 0123 · run make · lines 1-1 of 2\n1:a\n", False),
        ("", "Recalled 0123 · run make · is empty (0 bytes).", True),
    ],
)
def test_a_recall_of_some_lines_does_not_show_all(content: str, text: str, is_full: bool) -> None:
    """Its heading and the numbers of its lines can be longer than what they leave out."""
    data = content.encode()
    digest = digest_of(data)
    recall = ToolAnswered(
        "c", "recall_cached_content", text, digest, len(data), 9, 5, whole=False, recalled=digest
    )
    assert is_in_full(1, recall, Transcript()) == is_full
