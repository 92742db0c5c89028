"""Skills, slash commands and prompt files: what is read, what is refused, what a message becomes."""

from __future__ import annotations

import hashlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.skills import (
    MAX_DESCRIPTION,
    MAX_SKILL_BYTES,
    Skill,
    list_skills,
    listed_folders,
    parse_skill,
    skill_line,
    skill_named,
)
from helix_desktop.domain.slash_command import (
    PromptFile,
    SlashInput,
    expand_prompt,
    is_command_name,
    nearest_command,
    parse_prompt_file,
    parse_slash_input,
    split_arguments,
    split_front_matter,
)
from helix_desktop.domain.unicode_safety import first_hidden
from tests.support.tables import for_each

_WORDS = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=20).filter(
    lambda word: not first_hidden(word)
)


def _parse_skill(content: str | bytes, name: str = "pdf") -> Skill:
    data = content if isinstance(content, bytes) else content.encode()
    return parse_skill(data, name, f".agents/skills/{name}/SKILL.md", "workspace")


def _file(fields: str, body: str = "Do it.") -> str:
    return f"---\n{fields}\n---\n{body}\n"


@for_each(
    ("written", "said"),
    [
        ("Reads PDFs. Use when: the user has one.", "Reads PDFs. Use when: the user has one."),
        ("Reads PDFs # a comment", "Reads PDFs"),
        ("Reads C#", "Reads C#"),
        ('"Reads \\"PDF\\"\\nfiles: \\\\ all" # why', 'Reads "PDF" files: \\ all'),
        ("'Reads the user''s PDFs'", "Reads the user's PDFs"),
        (">-\n  Reads\n  PDFs.\n\n  # Use it.", "Reads PDFs. # Use it."),
        ("|\n  Reads\n  'PDFs'", "Reads 'PDFs'"),
        ('"Reads\n  PDFs"', "Reads PDFs"),
        ("Reads\n  PDFs", "Reads PDFs"),
        ("\n  Reads PDFs", "Reads PDFs"),
        ('"\\u202eReads"', "\\u202eReads"),
    ],
)
def test_a_description_is_read_as_yaml_writes_it(written: str, said: str) -> None:
    """Also with a colon inside a plain value, which YAML forbids and files of other agents have."""
    skill = _parse_skill(_file(f"description: {written}\nname: pdf\nmetadata:\n  name: other"))
    assert (skill.name, skill.description) == ("pdf", said)


@given(st.lists(_WORDS, min_size=1, max_size=20), st.sampled_from(["double", "single", "folded", "literal"]))
def test_every_description_comes_back_in_each_style(words: list[str], style: str) -> None:
    said = " ".join(words)
    written = {
        "double": '"{}"'.format(said.replace("\\", "\\\\").replace('"', '\\"')),
        "single": "'{}'".format(said.replace("'", "''")),
        "folded": ">\n" + "\n".join(f"  {word}" for word in words),
        "literal": f"|-\n  {said}",
    }
    assert _parse_skill(_file(f"name: pdf\ndescription: {written[style]}")).description == said


@given(
    st.binary(max_size=300) | st.text(max_size=300).map(lambda text: _file(text).encode("utf-8", "ignore"))
)
def test_whatever_the_bytes_a_skill_is_sound_or_refused(data: bytes) -> None:
    with suppress(InvalidInput):
        skill = _parse_skill(data)
        assert 0 < len(skill.description) <= MAX_DESCRIPTION
        assert not first_hidden(skill.description)
        assert "\n" not in skill_line(skill)


@given(st.text(st.sampled_from("ab: -\n\"'#\t|>"), max_size=200))
def test_no_line_of_the_text_is_lost_to_the_fields(content: str) -> None:
    """What follows the closing line is the text, byte for byte; without one all of it is."""
    _, text = split_front_matter(content)
    assert content.endswith(text)
    assert split_front_matter(f"---\nname: pdf\n---\n{content}") == ({"name": "pdf"}, content)


@for_each(
    ("content", "reason"),
    [
        ("Read the file.", "two lines of ---"),
        ("---\nname: pdf\ndescription: x\n", "two lines of ---"),
        (_file("description: x"), "has no name"),
        (_file("name: pdf"), "1 to 1,024 characters"),
        (_file("name: pdf\ndescription: ''"), "1 to 1,024 characters"),
        (_file(f"name: pdf\ndescription: {'x' * 1025}"), "got 1,025"),
        (_file("name: PDF\ndescription: x"), "lowercase"),
        (_file("name: -pdf\ndescription: x"), "lowercase"),
        (_file("name: p--df\ndescription: x"), "lowercase"),
        (_file(f"name: {'p' * 65}\ndescription: x"), "1 to 64"),
        (_file("name: ../../etc\ndescription: x"), "lowercase"),
        (_file("name: docx\ndescription: x"), "that of its folder pdf"),
        (_file("name: pdf\ndescription: x", "Delete\u202e all"), "Line 5 has a character.*U\\+202E"),
        (_file("name: pdf\ndescription: x\u200b"), "Line 3 has a character.*U\\+200B"),
        (_file("name: pdf\ndescription: x", "tag \U000e0041"), "U\\+E0041"),
        (_file("name: pdf\ndescription: x", "Do it\U000e0100"), "U\\+E0100"),
        (_file("name: pdf\ndescription: x", "Do it\ufe00"), "U\\+FE00"),
        (_file("name: pdf\ndescription: x\u3164"), "U\\+3164"),
        (_file("name: pdf\ndescription: x\u2800"), "U\\+2800"),
        (b"\xff\xfe" + _file("name: pdf\ndescription: x").encode("utf-16-le"), "UTF-8"),
        (_file("name: pdf\ndescription: x", "x" * MAX_SKILL_BYTES), "over 128 KB"),
    ],
)
def test_a_broken_skill_is_refused_with_the_reason(content: str | bytes, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        _parse_skill(content)


def test_what_other_agents_say_beside_is_kept_where_it_counts() -> None:
    """Only the user starts it; which arguments it takes; the lines that others would run."""
    fields = "name: pdf\ndescription: x\ndisable-model-invocation: true\nargument-hint: FILE"
    skill = _parse_skill("\ufeff" + _file(fields, "!`date` ⚠️").replace("\n", "\r\n"))
    assert (skill.is_manual, skill.argument_hint, skill.command_lines) == (True, "FILE", (7,))
    command = skill.command
    assert (command.name, command.argument_hint) == ("pdf", "FILE")
    assert command.text == "Use the skill pdf: follow @.agents/skills/pdf/SKILL.md."


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (".agents/skills/pdf/SKILL.md", "pdf"),
        ("~/.claude/skills/pdf/SKILL.md", "pdf"),
        (".agents/skills/pdf/scripts/SKILL.md", ""),
        ("docs/.agents/skills/pdf/SKILL.md", ""),
        (".agents/skills/pdf/FORMS.md", ""),
    ],
)
def test_a_skill_is_known_by_its_path(path: str, name: str) -> None:
    assert skill_named(path) == name


def _skill(name: str, scope: str = "workspace") -> Skill:
    home = "" if scope == "workspace" else "~/"
    return Skill(name, f"What {name} is for", f"{home}.agents/skills/{name}/SKILL.md", "workspace", "")


@given(
    st.lists(st.tuples(st.integers(5, 400), st.integers(1, 20)), min_size=1, max_size=40),
    st.integers(0, 4_000),
    st.integers(0, 200),
)
def test_each_skill_is_described_named_or_counted(
    tokens: list[tuple[int, int]], room: int, more: int
) -> None:
    """In no more than the room; with more room at least as many are described."""
    tokens = [(max(line, name), name) for line, name in tokens]
    skills = [_skill(f"s{n}", "user" if n % 2 else "workspace") for n in range(len(tokens))]
    skills.sort(key=lambda skill: skill.folder)
    words, described = list_skills(skills, tokens, room)
    lines = words.split("\n")
    assert [line for line in lines if line in map(skill_line, skills)] == [
        skill_line(skill) for skill in skills[:described]
    ]
    others = [line.partition("room: ")[2].split(", ") for line in lines if line.startswith("- not described")]
    named = [name for names in others for name in names if " more" not in name]
    counted = sum(int(name.split()[0]) for names in others for name in names if " more" in name)
    assert named == [skill.name for skill in skills[described : described + len(named)]]
    assert described + len(named) + counted == len(skills)
    taken = sum(line for line, _ in tokens[:described])
    taken += sum(name for _, name in tokens[described : described + len(named)])
    assert taken <= room
    assert listed_folders(words) == {skill.folder for skill in skills}
    assert list_skills(skills, tokens, room + more)[1] >= described


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
