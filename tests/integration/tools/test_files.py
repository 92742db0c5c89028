"""Reading, listing, searching, writing, editing through the tool registry; also where the folder is gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.image import MAX_IMAGE_BYTES
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import ANY, PermissionRule
from helix_desktop.permissions.rules import evaluate
from helix_desktop.tools.files.find import SearchText, SearchTextArguments
from helix_desktop.tools.files.jail_posix import PosixJail
from helix_desktop.tools.process import CappedOutput, ProcessResult, Ripgrep
from helix_desktop.ui.chat.rows.changed_file_rows import edited_file_lines
from tests.support.image_bytes import png
from tests.support.tool_rig import make_call, make_tools, request_for, text_of
from tests.support.workspace_away import away


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (root / "src" / "b.txt").write_text("two again\n")
    return root


async def test_a_complete_file_is_returned_byte_for_byte(root: Path) -> None:
    data = b"\xff\xfe-ish but no NUL \r\nline\r\n\xe9"
    (root / "odd.txt").write_bytes(data)
    result = await make_tools(root).run(make_call("read_file", path="odd.txt"))
    assert (result.content, result.model_text, result.target, result.ok) == (data, "", "odd.txt", True)


async def test_a_file_that_may_hold_keys_is_read_with_approval_and_left_out_of_searches(root: Path) -> None:
    (root / ".env").write_text("KEY=two\n")
    (root / ".env.example").write_text("KEY=two\n")
    (root / "settings").symlink_to(".env")
    tools = make_tools(root)
    (root / "prod.env").write_text("KEY=two\n")
    assert await tools.approval(make_call("read_file", path="prod.env")) is not None
    for path in (".env", "settings"):
        request = await request_for(tools, make_call("read_file", path=path))
        assert (request.kind, request.subject, request.may_change_files) == ("read", ".env", False)
        assert request.rule.text == "Read the file .env"
        for mode in ("ask", "plan", "auto"):
            assert evaluate((), request, mode).effect == "ask"
        assert evaluate((request.rule,), request).effect == "allow"
    assert await tools.approval(make_call("read_file", path=".env.example")) is None
    assert await tools.approval(make_call("read_file", path="missing.pem")) is None
    text = await text_of(root, "search_text", pattern="two", path=".")
    assert text.startswith("3 matching lines in 3 files:\n.env.example\n")
    text = await text_of(root, "search_text", pattern="KEY=t", path=".env")
    assert text.startswith("No match"), "not even that there is one"
    assert "files that may hold keys, such as .env, are not searched: read_file asks the user" in text


@pytest.mark.parametrize(
    ("arguments", "is_said"),
    [
        ({}, True),
        ({"glob": ".e*"}, True),
        ({"path": ".env"}, True),
        ({"glob": "*.py"}, False),
        ({"path": "src"}, False),
    ],
)
async def test_a_search_without_a_match_says_that_it_left_out_files_with_keys_where_there_are_some(
    root: Path, arguments: dict[str, object], is_said: bool
) -> None:
    """It said so after each search without a match, also in folders without such files."""
    (root / ".env").write_text("KEY=two\n")
    assert ("may hold keys" in await text_of(root, "search_text", pattern="zebra", **arguments)) is is_said
    (root / ".gitignore").write_text(".env\n")
    assert "may hold keys" not in await text_of(root, "search_text", pattern="zebra"), "as git leaves it out"


async def test_a_search_that_is_cut_shows_the_first_lines_of_each_file(root: Path) -> None:
    """The first file had them all: two thousand lines of a log hid the one place in the code."""
    (root / "a.log").write_text("two\n" * 3_000)
    (root / "b.log").write_text("one\n\n\n" + "two\n" * 2_000)
    head, *lines = (await text_of(root, "search_text", pattern="two")).splitlines()
    assert head == "5,002 matching lines in 4 files:"
    assert len(lines) <= 2_001
    assert lines[:2] == ["a.log", "  1:two"]
    second = lines.index("b.log")
    assert lines[second - 1] == f"  … {3_000 - (second - 2):,} more matching lines"
    assert lines[second + 1] == "  4:two"
    code = lines.index("src/a.py")
    assert lines[code - 1] == f"  … {2_000 - (code - second - 2):,} more matching lines"
    assert abs(second - (code - second)) <= 2, "both are cut alike"
    assert lines[code:] == [
        "src/a.py",
        "  2:two",
        "src/b.txt",
        "  1:two again",
        "(… narrow the path, the glob or the pattern)",
    ]


async def test_a_file_keeps_a_hit_however_much_stands_around_the_others(root: Path) -> None:
    for number in range(600):
        (root / f"f{number:03}.txt").write_text("\n" * 9 + "zebra\n" + "\n" * 9)
    head, *lines = (await text_of(root, "search_text", pattern="zebra", context=9)).splitlines()
    assert head == "600 matching lines in 600 files:"
    assert lines == [
        *(line for number in range(500) for line in (f"f{number:03}.txt", "  10:zebra")),
        "(… 100 more files with 100 matching lines; not all lines around matches are shown; "
        "narrow the path, the glob or the pattern)",
    ]


async def test_what_stands_behind_dropped_bytes_of_a_search_is_not_shown(root: Path) -> None:
    """The half of a line there lacks its file, which may be one that holds keys."""

    class CutSearch(Ripgrep):
        async def run(self, args: Sequence[str], cwd: str, stdin_data: bytes | None = None) -> ProcessResult:
            output = CappedOutput(1024 * 1024 + 24)
            output.add(b"./src/a.py\0002:two\n./.env\0001:" + b"x" * 4_000_000)
            output.add(b"PASSWORD=two\n./src/b.txt\0001:two\n")
            return ProcessResult(0, output.joined(), b"", output.dropped, ())

    result = await SearchText(PosixJail(root), CutSearch(None, {})).run("c", SearchTextArguments("two"))
    assert result.content.decode() == (
        "1 matching line in 1 file:\nsrc/a.py\n  2:two\n"
        "(there is too much to look at all of it; narrow the path, the glob or the pattern)\n"
    )


async def test_a_range_is_labeled_with_its_lines(root: Path) -> None:
    result = await make_tools(root).run(make_call("read_file", path="src/a.py", start_line=2, end_line=9))
    assert result.content == b"Lines 2-3 of 3 of src/a.py:\n2:two\n3:three\n"
    assert result.target == "src/a.py:2-3"


async def test_empty_and_binary_files_are_described(root: Path) -> None:
    (root / "empty").touch()
    (root / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    empty = await make_tools(root).run(make_call("read_file", path="empty"))
    assert (empty.content, empty.model_text) == (b"", "empty is empty (0 bytes).")
    assert "PNG image. Size: 11 bytes" in await text_of(root, "read_file", path="x.png")


async def test_an_image_is_returned_as_an_image(root: Path) -> None:
    data = png(40, 30)
    (root / "shot.png").write_bytes(data)
    result = await make_tools(root).run(make_call("read_file", path="shot.png"))
    assert result.content == data
    assert result.model_text == f"shot.png: PNG image, 40 × 30 pixels, {len(data)} B."
    assert result.image is not None
    assert (result.image.digest, result.image.label) == (digest_of(data), "shot.png")


async def test_an_image_that_no_provider_accepts_is_described(root: Path) -> None:
    (root / "huge.png").write_bytes(png(40, 30) + bytes(MAX_IMAGE_BYTES))
    result = await make_tools(root).run(make_call("read_file", path="huge.png"))
    assert result.image is None
    assert b"PNG image. Size: 5," in result.content


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "nope.txt"}, r"no such file .* List its folder"),
        ({"path": "src/no/deep/x.py"}, r"no such file .* Its folder is not there either: list src\.$"),
        ({"path": "a.py"}, r"no such file .* There is src/a\.py\.$"),
        ({"path": "src/no/deep/b.txt"}, r"no such file .* There is src/b\.txt\.$"),
        ({"path": "src/aa.py"}, r"no such file .* nearest name there is src/a\.py\.$"),
        ({"path": "src"}, "is a folder"),
        ({"path": "src/a.py/x"}, "not a folder"),
        ({"path": "src/a.py", "start_line": 9}, "has 3 lines"),
        ({"path": "src/a.py", "start_line": 3, "end_line": 2}, "before start_line"),
        ({"path": "/etc/passwd"}, "outside the workspace"),
    ],
)
async def test_read_failures_are_explained(root: Path, arguments: dict[str, object], expected: str) -> None:
    with pytest.raises(ToolError, match=expected):
        await text_of(root, "read_file", **arguments)


async def test_a_listing_is_a_tree_with_sizes(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "config").touch()
    (root / "latest").symlink_to("src/a.py")
    assert await text_of(root, "list_directory") == (
        "./ (5 entries)\n  .git/ (not opened)\n  src/\n"
        "    a.py  14 B\n    b.txt  10 B\n  latest -> src/a.py\n"
    )
    assert "b.txt" not in await text_of(root, "list_directory", depth=1)
    with pytest.raises(ToolError, match="no such file or folder"):
        await text_of(root, "list_directory", path="nope")


async def test_a_huge_folder_is_cut_with_a_note(root: Path) -> None:
    for number in range(1_200):
        (root / "src" / f"f{number}").touch()
    text = await text_of(root, "list_directory")
    assert "(1,203 entries)" in text
    assert "only the first 1,000 shown" in text


async def test_a_search_groups_lines_by_file(root: Path) -> None:
    (root / ".gitignore").write_text("ignored.txt\n")
    (root / "ignored.txt").write_text("two\n")
    assert await text_of(root, "search_text", pattern="two") == (
        "2 matching lines in 2 files:\nsrc/a.py\n  2:two\nsrc/b.txt\n  1:two again\n"
    )
    assert "b.txt" not in await text_of(root, "search_text", pattern="two", glob="*.py")
    assert "src/b.txt\n  1:two" in await text_of(root, "search_text", pattern="two", path="src/b.txt")
    assert "  1-one\n  2:two\n  3-three" in await text_of(
        root, "search_text", pattern="two", path="src", context=1
    )
    no_match = await text_of(root, "search_text", pattern="zebra")
    assert no_match == "No match for 'zebra' in the workspace.\n", "nothing was left out"
    in_some = await text_of(root, "search_text", pattern="two", glob="*.md", path="src")
    assert in_some.startswith("No match for 'two' in src (only *.md)"), "a glob may be why"
    assert (await text_of(root, "search_text", pattern=r"zebra\d")).startswith(r"No match for 'zebra\d' in")


async def test_a_search_below_the_workspace_knows_what_its_git_ignores(root: Path) -> None:
    """Binary files too, and only what the rule means there; a folder's own file can take a rule back."""
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("__pycache__/\n/build\n*.log\n")
    for name in ("__pycache__/a.pyc", "build/b.txt", "left.log", "kept.log"):
        (root / "src" / name).parent.mkdir(exist_ok=True)
        (root / "src" / name).write_bytes(b"two\0" if name.endswith("pyc") else b"two\n")
    (root / "src" / ".gitignore").write_text("!kept.log\n")
    found = await text_of(root, "search_text", pattern="two", path="src")
    listed = await text_of(root, "find_files", pattern="**", path="src")
    for text in (found, listed):
        assert "a.pyc" not in text
        assert "left.log" not in text
        assert "src/build/b.txt" in text
        assert "src/kept.log" in text


async def test_a_wrong_pattern_and_a_pattern_like_an_option_do_no_harm(root: Path) -> None:
    with pytest.raises(ToolError, match="regex parse error"):
        await text_of(root, "search_text", pattern="(")
    assert "No match" in await text_of(root, "search_text", pattern="--files", glob="-x")


async def test_a_search_ignores_outside_files_and_the_apps_own_data(root: Path) -> None:
    (root.parent / "secret.txt").write_text("two outside\n")
    (root / "out").symlink_to(root.parent)
    (root / "data").mkdir()
    (root / "data" / "k.txt").write_text("two of another workspace\n")
    box = make_tools(root, protected=(root / "data",))
    for arguments in ({"pattern": "two"}, {"pattern": "two", "glob": "*.txt"}):
        text = (await box.run(make_call("search_text", **arguments))).content.decode()
        assert "outside" not in text
        assert "another" not in text
    for path in ("out", "data", ".."):
        with pytest.raises(ToolError):
            await box.run(make_call("search_text", pattern="two", path=path))
    assert "data" not in (await box.run(make_call("list_directory"))).content.decode()


async def test_a_write_shows_its_diff_for_approval_and_reports_the_result(root: Path) -> None:
    box = make_tools(root)
    call = make_call("write_file", path="src/new.py", content="x = 1\n")
    ask = await request_for(box, call)
    assert (ask.subject, ask.rule) == ("src/new.py", PermissionRule(ANY, "src/new.py", kind="path"))
    assert [(edit.path, edit.diff.after_lines) for edit in ask.edits] == [("src/new.py", ("x = 1\n",))]
    assert not (root / "src" / "new.py").exists()
    assert (await box.run(call)).content.decode() == ("Wrote 6 bytes to src/new.py (new file). Lines: 1.\n")
    assert (await box.run(call)).content.endswith(b"exactly this content (6 bytes); nothing was written.\n")
    again = make_call("write_file", path="src/new.py", content="x = 2")
    assert (await box.run(again)).content.decode() == (
        "Wrote 5 bytes to src/new.py (replaced 6 bytes). Lines: 1 -> 1.\n"
    )


async def test_an_approved_write_does_not_run_over_newer_work(root: Path) -> None:
    box = make_tools(root)
    call = make_call("write_file", path="src/a.py", content="mine\n")
    await box.approval(call)
    (root / "src" / "a.py").write_text("typed by the user meanwhile\n")
    with pytest.raises(ToolError, match="changed after the change was approved"):
        await box.run(call)
    assert (root / "src" / "a.py").read_text() == "typed by the user meanwhile\n"


async def test_an_edit_changes_only_its_match(root: Path) -> None:
    (root / "crlf.txt").write_bytes(b"a\r\nb\r\n\xff\r\n")
    box = make_tools(root)
    call = make_call("edit_file", path="crlf.txt", old_text="a\nb\n", new_text="a\nc\n")
    ask = await request_for(box, call)
    lines = [(line.kind, line.text) for hunk in ask.edits[0].diff.hunks for line in hunk.lines]
    assert lines[1:3] == [("removed", "b\r"), ("added", "c\r")]
    assert (await box.run(call)).content == (b"Edited crlf.txt: 1 replacement at line 1. Lines: 3 -> 3.\n")
    assert (root / "crlf.txt").read_bytes() == b"a\r\nc\r\n\xff\r\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("e", "x", "occurs 3 times in src/a.py, at lines 1, 3, 3"),
        ("", "x", "is empty"),
        ("two", "two", "the same"),
    ],
)
async def test_an_ambiguous_edit_is_refused_before_approval(
    root: Path, old: str, new: str, expected: str
) -> None:
    call = make_call("edit_file", path="src/a.py", old_text=old, new_text=new)
    for method in (make_tools(root).approval, make_tools(root).run):
        with pytest.raises(ToolError, match=expected):
            await method(call)
    assert (root / "src" / "a.py").read_text() == "one\ntwo\nthree\n"


async def test_two_edits_of_one_file_approved_together_both_run(root: Path) -> None:
    box = make_tools(root)
    calls = [
        make_call("edit_file", path="src/a.py", old_text=old, new_text=new)
        for old, new in (("one", "1"), ("three", "3"))
    ]
    for call in calls:
        await box.approval(call)
    for call in calls:
        await box.run(call)
    assert (root / "src" / "a.py").read_text() == "1\ntwo\n3\n"


async def test_forbidden_writes_are_refused_before_approval(root: Path) -> None:
    for path in (".git/hooks/post-commit", "../x", "/tmp/x"):
        with pytest.raises(ToolError):
            await make_tools(root).approval(make_call("write_file", path=path, content="x"))


async def test_reading_tools_need_no_approval_and_unknown_tools_are_named(root: Path) -> None:
    box = make_tools(root)
    for call in (
        make_call("read_file", path="a"),
        make_call("search_text", pattern="a"),
        make_call("list_directory"),
    ):
        assert await box.approval(call) is None
    with pytest.raises(ToolError, match=r"There is no tool 'fly'\. The tools are: read_file, "):
        await box.run(ToolCall("1", "fly", "{}"))


def test_every_argument_of_the_tools_is_described(root: Path) -> None:
    specs = make_tools(root).specs
    assert [spec.name for spec in specs] == [
        "read_file", "list_directory", "find_files", "search_text", "write_file", "edit_file", "multi_edit",
        "run_command", "todo", "ask_user",
        "recall_cached_content", "search_cached_content", "list_cached_content",
    ]  # fmt: skip
    for spec in specs:
        assert spec.description
        bare = {name for name, schema in properties_of(spec.parameters) if not schema.get("description")}
        assert bare <= {"path", "edits", "items", "question", "description"}, "their names say it"


def properties_of(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of a schema by its name, also of the objects in lists."""
    for name, property_schema in schema["properties"].items():
        yield name, property_schema
        if property_schema["type"] == "array":
            yield from properties_of(property_schema["items"])


async def test_diffs_and_listings_hide_and_forge_nothing(tmp_path: Path) -> None:
    box = make_tools(tmp_path)
    call = make_call("write_file", path="a\n+++ b/safe.txt", content="x = '\u202e'\n\x1b[1A\n")
    ask = await request_for(box, call)
    assert ask.summary == "Write a\\u000a+++ b/safe.txt"
    shown = edited_file_lines(ask.edits[0], 9)
    assert shown.name == "a\\u000a+++ b/safe.txt"
    assert [line.text for line in shown.lines] == ["+ x = '\\u202e'", "+ \\u001b[1A"]
    await box.run(call)
    listed = (await box.run(make_call("list_directory"))).content.decode()
    assert "a\\u000a+++ b/" in listed


async def test_the_apps_own_data_is_not_searched_under_any_name(tmp_path: Path) -> None:
    own = tmp_path / "da[t]a {x}*" / "workspaces"
    own.mkdir(parents=True)
    (own / "record.toml").write_text("precious")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "workspaces").write_text("precious")
    box = make_tools(tmp_path, protected=(own,))
    content = (await box.run(make_call("search_text", pattern="precious"))).content.decode()
    assert "1 matching line in 1 file:\ndata/workspaces\n" in content


async def test_no_tool_touches_what_the_ignore_file_lists(root: Path) -> None:
    """Read, list, find, search, write and edit; also through a link, and not by changing the file itself."""
    (root / ".agentignore").write_text("*.keys.txt\nsecrets/\n!public.keys.txt\n")
    (root / "secrets" / "deep").mkdir(parents=True)
    (root / "secrets" / "deep" / "plan.txt").write_text("two secrets\n")
    (root / "a.keys.txt").write_text("two keys\n")
    (root / "public.keys.txt").write_text("two for all\n")
    (root / "link").symlink_to("a.keys.txt")
    for name, arguments in (
        ("read_file", {"path": "a.keys.txt"}),
        ("read_file", {"path": "link"}),
        ("list_directory", {"path": "secrets"}),
        ("search_text", {"pattern": "two", "path": "secrets/deep/plan.txt"}),
        ("find_files", {"pattern": "*", "path": "secrets/deep"}),
        ("write_file", {"path": "new.keys.txt", "content": "x"}),
        ("edit_file", {"path": "a.keys.txt", "old_text": "two", "new_text": "no"}),
        ("write_file", {"path": ".agentignore", "content": ""}),
    ):
        with pytest.raises(ToolError, match="was refused"):
            await text_of(root, name, **arguments)
    with pytest.raises(ToolError, match="List its folder"):  # no error names it either
        await text_of(root, "read_file", path="secret")
    for answer in (
        await text_of(root, "list_directory", depth=5),
        await text_of(root, "find_files", pattern="**"),
        await text_of(root, "search_text", pattern="two"),
    ):
        assert "public.keys.txt" in answer
        assert "src" in answer
        assert "a.keys.txt\n" not in answer.replace("-> a.keys.txt", "")
        assert "plan.txt" not in answer
        assert answer.endswith("(what .agentignore lists is left out)\n")
    request = await request_for(make_tools(root), make_call("run_command", command="cat a.keys.txt"))
    assert "It can read what .agentignore excludes: commands can't be held to it." in request.effect_details

    (root / ".agentignore").unlink()
    (root / ".agentignore").symlink_to("/etc/hostname")
    with pytest.raises(ToolError, match=r"\.agentignore of this workspace cannot be read"):
        await text_of(root, "read_file", path="src/a.py")


CALLS = (
    make_call("read_file", path="src/a.py"),
    make_call("list_directory", path="."),
    make_call("write_file", path="new.py", content="x = 1\n"),
    make_call("run_command", command="ls"),
)


async def test_each_tool_says_that_the_folder_is_missing(root: Path) -> None:
    """They told the model to list the folder above, which no path reaches."""
    box = make_tools(root)
    moved = shutil.move(root, root.with_name("moved"))
    for call in CALLS:
        with pytest.raises(ToolError, match="workspace's folder is missing"):
            await box.run(call)
    assert "work" not in os.listdir(root.parent)
    shutil.move(moved, root)
    assert b"one" in (await box.run(CALLS[0])).content


async def test_a_folder_made_anew_is_the_workspace(root: Path) -> None:
    """As by a clone into the same place."""
    box = make_tools(root)
    shutil.rmtree(root)
    os.mkdir(root)
    await box.run(CALLS[2])
    assert os.listdir(root) == ["new.py"]


async def test_nothing_is_written_to_another_drive_in_its_place(root: Path) -> None:
    """As into an empty mount point: the file was hidden once the drive was back."""
    box = make_tools(root)
    with away(root, "behind another drive") as other:
        for call in CALLS:
            with pytest.raises(ToolError, match=r"on another drive|a link to another place"):
                await box.run(call)
        assert os.listdir(other) == []
