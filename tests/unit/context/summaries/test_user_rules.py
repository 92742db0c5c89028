"""Rules in the user's messages: which sentences set one, and which say how the user wants things done."""

from __future__ import annotations

import pytest

from helix_desktop.context.summaries.message_facts import instructions_in, preferences_in


def test_instructions_are_sentences_that_set_a_rule() -> None:
    """Each on its own; what only asks or tells, or heads others, is none."""
    text = "Look at the parser. You must keep Python 3.9!\n- don't rename files\nMust it work without a net?"
    text += "\n## Must have\nKeep in mind:\nI don't know why `run` is never called.\nThe hook never fires."
    assert list(instructions_in(text)) == ["You must keep Python 3.9!", "don't rename files"]


def test_of_a_long_message_only_commands_are_rules() -> None:
    """Most of it is a plan, a log or a page that others wrote."""
    pasted = "The flag should default to off, so the caller ensures that it is set. " * 40
    assert list(instructions_in(f"{pasted}\n- Never touch the table of users.\n{pasted}")) == [
        "Never touch the table of users."
    ]
    assert list(instructions_in("The flag should default to off.")) == ["The flag should default to off."]


@pytest.mark.parametrize(
    ("message", "is_preference"),
    [
        ("Use tabs, never spaces.", True),
        ("Please don't commit anything.", True),
        ("I'd prefer small commits.", True),
        ("Themes must never break the app.", True),
        ("- keep each commit working", True),
        ("Make sure the docs stay true.", True),
        ("Please continue.", False),
        ("The hook never writes to stdout.", False),
        ("`run` is defined but never called.", False),
        ("I don't know why it fails.", False),
        ("We don't have that field any more.", False),
        ("I'll make sure to look it up.", False),
    ],
)
def test_a_preference_says_how_things_are_to_be_done(message: str, is_preference: bool) -> None:
    """What never happens, or isn't there, says nothing of how the user wants to have it."""
    assert preferences_in(message) == ((message,) if is_preference else ())
