"""Edits: several as one, in whatever encoding a file has."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.tools import ANY, PermissionRule
from helix_desktop.permissions.rules import evaluate
from helix_desktop.tools.files.jail import FileStamp
from helix_desktop.tools.files.jail_posix import PosixJail
from tests.support.tool_rig import make_call, make_tools, request_for, text_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (root / "src" / "deep" / "b.ts").write_text("two\n")
    return root


def edit(path: str, old: str, new: str, **more: object) -> dict[str, object]:
    return {"path": path, "old_text": old, "new_text": new, **more}


async def test_several_edits_need_one_approval_and_make_one_change(root: Path) -> None:
    edits = [
        edit("src/a.py", "one", "1"),
        edit("src/deep/b.ts", "two", "2"),
        edit("src/a.py", "1\ntwo", "1\n2"),
    ]
    box = make_tools(root)
    call = make_call("multi_edit", edits=edits)
    ask = await request_for(box, call)
    assert (ask.summary, ask.subject, ask.other_paths) == ("Edit 2 files", "src/a.py", ("src/deep/b.ts",))
    assert [(edit.path, edit.diff.after_lines) for edit in ask.edits] == [
        ("src/a.py", ("1\n", "2\n", "three\n")), ("src/deep/b.ts", ("2\n",)),
    ]  # fmt: skip
    text = (await box.run(call)).content.decode()
    assert "Edited src/a.py: 2 replacements at lines 1, 1. Lines: 3 -> 3.\n" in text
    assert (root / "src" / "a.py").read_text() == "1\n2\nthree\n"
    assert (root / "src" / "deep" / "b.ts").read_text() == "2\n"


@pytest.mark.parametrize("digits", [8, 12, 64])
@pytest.mark.parametrize("about", ["", " 2 KB, chain, def read_gauge\n"])
async def test_a_marker_is_not_written_in_place_of_the_text_it_stands_for(
    root: Path, digits: int, about: str
) -> None:
    """A model copies it from its own older calls; the user is not asked about it."""
    text = bare_marker(digest_of(b"x"), digits) + about
    box = make_tools(root)
    for call in (
        make_call("write_file", path="src/a.py", content=text),
        make_call("edit_file", **edit("src/a.py", "one", text)),
        make_call("multi_edit", edits=[edit("src/a.py", "two", "2"), edit("src/a.py", "one", text)]),
    ):
        with pytest.raises(ToolError, match=r"\[CACHED\] marker.*recall_cached_content gives it"):
            await box.approval(call)
    quoted = make_call("edit_file", **edit("src/a.py", "one", f"# A marker: {text}"))
    await box.run(quoted)
    assert text.strip() in (root / "src" / "a.py").read_text()


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("x\n" * 8, "8 replacements at lines 1, 2, 3, 4, 5, 6, 7, 8."),
        ("x\n" * 1_500, "1,500 replacements, the first 8 at lines 1, 2, 3, 4, 5, 6, 7, 8."),
        ("\nx x\nx\n", "3 replacements at lines 2, 3."),
        ("x x", "2 replacements at line 1."),
    ],
)
async def test_an_edit_names_the_lines_of_its_replacements(root: Path, text: str, places: str) -> None:
    (root / "src" / "a.py").write_text(text)
    call = make_call("edit_file", **edit("src/a.py", "x", "long", replace_all=True))
    assert f"Edited src/a.py: {places} Lines:" in (await make_tools(root).run(call)).content.decode()


@pytest.mark.parametrize(
    ("data", "edits", "result", "places"),
    [
        (
            "one\ntwo\nthree\n",
            [("three", "3"), ("two\n", ""), ("one", "1\none\none"), ("one", "a\nb")],
            "1\na\nb\na\nb\n3\n",
            "1 replacement at line 6; 1 replacement at line 6; 1 replacement at line 1; "
            "2 replacements at lines 2, 4. Lines: 3 -> 6.",
        ),
        (
            "top\r\nfirst second third\r\nfourth\r\nfifth\r\n",
            [("third", "3"), ("fifth", "5"), ("first", "1\n1\n1"), ("fourth\n5", "4 and 5"), ("top\n", "")],
            "1\r\n1\r\n1 second 3\r\n4 and 5\r\n",
            "5 replacements at lines 3, 4, 1, 4, 1. Lines: 4 -> 4.",
        ),
    ],
)
async def test_lines_are_those_after_all_edits(
    root: Path, data: str, edits: list[tuple[str, str]], result: str, places: str
) -> None:
    """Of one above the place, before it in its line, and over it: then it is where the new text begins."""
    (root / "src" / "a.py").write_bytes(data.encode())
    calls = [edit("src/a.py", old, new, replace_all=new == "a\nb") for old, new in edits]
    text = await text_of(root, "multi_edit", edits=calls)
    assert (root / "src" / "a.py").read_bytes() == result.encode()
    assert f"Edited src/a.py: {places}\n" in text


async def test_one_edit_that_fails_refuses_all_and_says_why(root: Path) -> None:
    for second, why in (
        (edit("src/deep/b.ts", "absent", "x"), r"old_text was not found in src/deep/b\.ts"),
        (edit("src/a.py", "one\ntwo", "2"), "An earlier edit of this call has changed that text"),
    ):
        for method in (make_tools(root).approval, make_tools(root).run):
            with pytest.raises(ToolError, match=rf"No edit was made, .* 2 of 2 fails: .*{why}"):
                await method(make_call("multi_edit", edits=[edit("src/a.py", "one", "1"), second]))
    assert (root / "src" / "a.py").read_text() == "one\ntwo\nthree\n"


PROSE = "".join(f"Some words here, {n}, and there they go on.\n" for n in range(200))
BRANCHES = (
    "head\n    if args.json:\n        begin()\n    if args.json:\n        done(3)\n"
    "newest entries of each session (default: all)\n"
)


@pytest.mark.parametrize(
    ("text", "old_text", "hint"),
    [
        (f"{PROSE}The quick brown fox jumps over a dog.\n", "The quick brown fox jumps over the dog.",
         r"Line 201 is like its first line\."),
        ("one\ntwo\n", "1:one\n2:two", "It is there without the line numbers: leave them out"),
        ("one\ntwo\nthree\n", "\n  two\n\n", r"Line 2 is like its first line\. .* file has:\ntwo\nthree$"),
        ("one\ntwo\nthree\n", "four", r"Read the file again\.$"),
        ("one\r\n\x0c\r\ntwo\r\n", " two", r"Line 3 is like .* file has:\ntwo$"),
        (BRANCHES, "    if args.json: # as JSON\n",
         "Line 2 is like its first line. From there the file has:\n    if args.json:"),
        (BRANCHES, "    if args.json:\n        done(3)\nold",
         "Line 4 is like .*\n    if args.json:\n        done\\(3\\)"),
        (BRANCHES, "newest N entries of each session (all)",
         "Line 6 .*\nnewest entries of each session \\(default: all\\)$"),
        (BRANCHES, "}\n", "Read the file again.$"),
    ],
)  # fmt: skip
async def test_a_text_that_is_only_alike_is_answered_with_what_the_file_has(
    root: Path, text: str, old_text: str, hint: str
) -> None:
    """So that the file need not be read again, unless the text is nowhere, or is a bracket.

    Of several lines, that where more of the lines behind it are the same; numbered as read_file does.
    """
    (root / "src" / "a.py").write_bytes(text.encode())
    with pytest.raises(ToolError, match=hint):
        await make_tools(root).run(make_call("edit_file", **edit("src/a.py", old_text, "x")))


async def test_lines_of_a_file_with_keys_are_in_no_answer(root: Path) -> None:
    """They are read with approval only."""
    (root / ".env").write_text("# Keys\nKEY=two\n")
    with pytest.raises(ToolError, match=r"\.env\. Read the file again\.$"):
        await make_tools(root).run(make_call("edit_file", **edit(".env", "# Keys\nKEY=one", "x")))


async def test_a_failing_write_rolls_back_the_previous_ones(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths: list[str] = []
    write = PosixJail.write

    def failing(self: PosixJail, path: str, data: bytes, stamp: FileStamp | None) -> str:
        paths.append(path)
        if path == "src/deep/b.ts":
            raise ToolError("The disk is full.")
        return write(self, path, data, stamp)

    monkeypatch.setattr(PosixJail, "write", failing)
    edits = [edit("src/a.py", "one", "1"), edit("src/deep/b.ts", "two", "2")]
    with pytest.raises(ToolError, match=r"The disk is full\. Nothing was changed\."):
        await make_tools(root).run(make_call("multi_edit", edits=edits))
    assert paths == ["src/a.py", "src/deep/b.ts", "src/a.py"]
    assert (root / "src" / "a.py").read_text() == "one\ntwo\nthree\n"


async def test_rules_judge_every_file_of_a_change(root: Path) -> None:
    (root / ".github").mkdir()
    (root / ".github" / "ci.yml").write_text("two\n")
    edits = [edit("src/a.py", "one", "1"), edit(".github/ci.yml", "two", "2")]
    ask = await request_for(make_tools(root), make_call("multi_edit", edits=edits))
    allow = PermissionRule(ANY, "src", kind="folder")
    assert evaluate((), ask, "auto").effect == "ask"
    assert evaluate((allow,), ask).effect == "ask"
    assert evaluate((allow, PermissionRule(ANY, ".github/ci.yml", kind="path")), ask).effect == "allow"
    assert (
        evaluate((allow, PermissionRule(ANY, ".github", kind="folder", effect="deny")), ask, "auto").effect
        == "deny"
    )
    edits = [edit("src/a.py", "one", "1"), edit("src/deep/b.ts", "two", "2")]
    ask = await request_for(make_tools(root), make_call("multi_edit", edits=edits))
    assert ask.suggested_rules == (allow, PermissionRule(ANY, "", kind="folder"))
    assert evaluate((ask.suggested_rules[0],), ask).effect == "allow"


@pytest.mark.parametrize(
    "encoding", ["utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-8"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_encoding_byte_order_mark_and_line_ends_are_preserved(
    root: Path, encoding: str, end: str
) -> None:
    file = root / "x.txt"
    mark = "" if encoding.startswith("utf-8") else "\ufeff"
    file.write_bytes(f"{mark}größe{end}zwei{end}".encode(encoding))
    box = make_tools(root)
    assert "größe" in (await box.run(make_call("read_file", path="x.txt"))).content.decode()
    await box.run(make_call("edit_file", path="x.txt", old_text="größe\nzwei", new_text="maß\n2"))
    assert file.read_bytes() == f"{mark}maß{end}2{end}".encode(encoding)
    await box.run(make_call("write_file", path="x.txt", content="neu\nganz\n"))
    assert file.read_bytes() == f"{mark}neu{end}ganz{end}".encode(encoding)


async def test_utf_16_is_read_as_text(root: Path) -> None:
    (root / "x.txt").write_bytes("\ufeffgröße\nzwei\n".encode("utf-16-le"))
    box = make_tools(root)
    content = (await box.run(make_call("read_file", path="x.txt"))).content.decode()
    assert content == "x.txt is in UTF-16 (24 bytes); as UTF-8:\ngröße\nzwei\n"
    part = (await box.run(make_call("read_file", path="x.txt", start_line=2))).content.decode()
    assert part == "Lines 2-2 of 2 of x.txt:\n2:zwei\n"


async def test_bytes_that_only_look_like_utf_16_are_unchanged(root: Path) -> None:
    data = b"\xff\xfea\0\x00\xd8b"
    (root / "x.bin").write_bytes(data)
    with pytest.raises(ToolError, match="begins like UTF-16"):
        await make_tools(root).run(make_call("edit_file", path="x.bin", old_text="a", new_text="b"))
    assert (root / "x.bin").read_bytes() == data
