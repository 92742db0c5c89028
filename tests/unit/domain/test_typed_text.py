"""What a user said, and what programs put into their messages."""

from __future__ import annotations

import time

import pytest

from helix_desktop.domain.messages import typed_text

CAVEAT = "<local-command-caveat>Caveat: DO NOT respond to these messages.</local-command-caveat>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CAVEAT, ""),
        (f"{CAVEAT}\n\n  <command-name>/exit</command-name>\n<command-args></command-args>", ""),
        (
            "<bash-input>ls</bash-input><bash-stdout>a\nb</bash-stdout>\nDelete b.",
            "Delete b.",
        ),
        ("/them", ""),
        ("/review the parser, and never touch main", "/review the parser, and never touch main"),
        ("What does <command-name> mean?", "What does <command-name> mean?"),
        ("Never use <b>bold</b>.", "Never use <b>bold</b>."),
    ],
)
def test_only_what_the_user_said_counts(text: str, words: str) -> None:
    assert typed_text(text) == words


def test_a_message_full_of_open_tags_takes_no_time() -> None:
    started = time.thread_time()
    assert typed_text("<command-name>" * 2_000 + "</") == "<command-name>" * 2_000 + "</"
    assert time.thread_time() - started < 5
