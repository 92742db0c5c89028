"""Slash commands and prompt files: what is read, what is refused, what a message becomes."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.slash_command import (
    PromptFile,
    SlashInput,
    expand_prompt,
    is_command_name,
    nearest_command,
    parse_prompt_file,
    parse_slash_input,
    split_arguments,
)
from tests.support.tables import for_each


@for_each(
    ("message", "typed"),
    [
        ("/compact", SlashInput("compact")),
        ("/compact keep the API \n", SlashInput("compact", "keep the API")),
        ("/web:test\nfirst\n\nsecond", SlashInput("web:test", "first\n\nsecond")),
        ("/überprüfe  zweimal", SlashInput("überprüfe", "zweimal")),
        ("/2nd-pass", SlashInput("2nd-pass")),
        ("/usr/bin is full", None),
        ("/etc/hosts", None),
        ("/notes.txt is empty", None),
        ("/", None),
        ("/ compact", None),
        ("/\ncompact", None),
        ("/* a comment */", None),
        ("// another", None),
        ("/a: b", None),
        ("/C:\\windows", None),
        (" /compact", None),
        ("say /compact", None),
        ("/a\u202eb", None),
        ("/" + "a" * 65, None),
        ("", None),
    ],
)
def test_a_command_is_the_first_word_of_a_message(message: str, typed: SlashInput | None) -> None:
    """Paths, comments and a slash behind a space are text."""
    assert parse_slash_input(message) == typed


@given(st.text())
def test_any_text_is_read_as_a_command_or_not_at_all(message: str) -> None:
    """A command found in it is one that can be typed, and the name is what follows the slash."""
    typed = parse_slash_input(message)
    if typed is not None:
        assert is_command_name(typed.name)
        assert message.startswith(f"/{typed.name}")
        assert message[len(typed.name) + 1 :].strip() == typed.arguments.strip()


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("revew", "review"), ("REVIEW", "review"), ("comp", "compact"), ("xyzzy", "")],
)
def test_the_nearest_name_is_proposed_where_it_is_plain(name: str, nearest: str) -> None:
    """A slip of the keys, or the only one that begins so; nothing where none is near."""
    assert nearest_command(name, ["review", "compact", "rename", "redo"]) == nearest


def _parse(content: str) -> PromptFile:
    return parse_prompt_file(content.encode(), "review", "workspace", ".agents/commands/review.md")


def test_front_matter_gives_description_and_arguments_and_is_not_sent() -> None:
    """Fields of other agents are passed over; the digest is that of the file's bytes."""
    content = (
        "---\r\ndescription: 'Review a file'\r\nallowed-tools: Bash(git:*)\r\nargument-hint: [file] [focus]"
        "\r\n---\r\n\r\nReview $1.\r\n"
    )
    file = _parse(content)
    assert (file.description, file.argument_hint, file.text) == (
        "Review a file",
        "[file] [focus]",
        "Review $1.",
    )
    assert file.sha256 == hashlib.sha256(content.encode()).hexdigest()


def test_a_folded_description_is_one_line() -> None:
    """As YAML writes long ones."""
    assert _parse("---\ndescription: >\n  Review\n  a file\n---\nText").description == "Review a file"


@pytest.mark.parametrize("content", ["---\ndescription: x\nReview it.", "Review it.\n---\nmore\n---\n"])
def test_lines_that_are_not_front_matter_are_text(content: str) -> None:
    """An open fence, or one further below: nothing of the file is dropped."""
    file = _parse(content)
    assert file.text == content.strip()
    assert file.description


def test_lines_that_other_agents_run_are_named_and_stay_text() -> None:
    """By their numbers in the file, in each of the forms that are in use."""
    text = "!git status\nSee !`rm -rf ~` here\n![image](a.png)\n```!\nls\n```\nHi!"
    file = _parse(f"---\ndescription: d\n---\n{text}")
    assert file.command_lines == (4, 5, 7)
    assert expand_prompt(file.text, "") == text


def test_characters_that_cannot_be_seen_are_named() -> None:
    """What the user reads of a message must be all that is sent, or be called otherwise."""
    assert _parse("Review\u202e it").has_hidden
    assert not _parse("Prüfe\tdas\n").has_hidden


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x89PNG\r\n", b"text\0more"])
def test_bytes_that_are_not_text_are_refused(data: bytes) -> None:
    """A program, an image, or a text with NUL characters."""
    with pytest.raises(UnicodeDecodeError):
        parse_prompt_file(data, "x", "user", "x.md")


@for_each(
    ("prompt", "arguments", "message"),
    [
        ("Fix $ARGUMENTS now", "issue 12", "Fix issue 12 now"),
        ("Compare $1 with $2", '"a b.py" c.py', "Compare a b.py with c.py"),
        ("Compare $1 with $2.", "a.py", "Compare a.py with ."),
        ("It costs $100, $15 or \\$1", "", "It costs $100, $15 or $1"),
        ("Run $ARGUMENTS_X and \\$ARGUMENTS", "", "Run $ARGUMENTS_X and $ARGUMENTS"),
        ("Review it", "src/app.py\nand more", "Review it\n\nsrc/app.py\nand more"),
        ("Review $1", "a.py b.py c.py", "Review a.py\n\nb.py c.py"),
        ("Say $1 and $ARGUMENTS", "$2 $ARGUMENTS", "Say $2 and $2 $ARGUMENTS"),
        ("$ARGUMENTS", "", ""),
    ],
)
def test_arguments_are_filled_in_once(prompt: str, arguments: str, message: str) -> None:
    """By their place or all together; what has no place stands at the end."""
    assert expand_prompt(prompt, arguments) == message


@given(st.text(), st.text(alphabet='ab \n"$1\\ü'))
def test_nothing_that_was_typed_is_lost(prompt: str, arguments: str) -> None:
    """Every word of the arguments is in the message, whatever the prompt does with them."""
    message = expand_prompt(prompt, arguments)
    assert all(word in message for word in split_arguments(arguments))


@given(st.text(), st.text(), st.text(alphabet="$12ARGUMENTS\\ \n"))
def test_arguments_are_never_read_as_placeholders(before: str, after: str, arguments: str) -> None:
    """They stand in the message as they were typed."""
    message = expand_prompt(f"{before.replace('$', '')}($ARGUMENTS){after.replace('$', '')}", arguments)
    assert f"({arguments.strip()})" in message or before.endswith("\\")
