"""Skills: what is read, what is refused, what a request says of them."""

from __future__ import annotations

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
        (_file("name: pdf"), "has no description"),
        (_file("name: pdf\ndescription: ''"), "has no description"),
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


@pytest.mark.parametrize(("count", "told"), [(1024, "x" * 1024), (1025, "x" * 1023 + "…")])
def test_a_long_description_is_cut_and_its_length_kept(count: int, told: str) -> None:
    skill = _parse_skill(_file(f"name: pdf\ndescription: {'x' * count}"))
    assert (skill.description, skill.description_chars) == (told, count)


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
