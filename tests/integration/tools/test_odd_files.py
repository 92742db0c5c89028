"""Files that are not as they should be: other encodings, odd names, NUL bytes, marks in ignore files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.files.content import declared_encoding, text_encoding
from tests.support.cli_rig import Cli
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.pdf_bytes import pdf, protected_pdf
from tests.support.tool_rig import text_of

posix_names = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")


async def edit(root: Path, old: str, new: str, path: str = "f.txt") -> str:
    return await text_of(root, "edit_file", path=path, old_text=old, new_text=new)


@pytest.mark.parametrize(
    ("codec", "head", "word"),
    [
        ("latin-1", "# -*- coding: latin-1 -*-\n", "café"),
        ("shift_jis", "# vim: set fileencoding=shift_jis :\n", "表示"),
        ("cp1251", '<?xml version="1.0" encoding="windows-1251"?>\n', "Привет"),
        ("gb18030", '<html><meta charset="gb18030">\n', "中文"),
        ("koi8-r", '@charset "koi8-r";\n', "Привет"),
    ],
)
async def test_a_declared_encoding_stays_through_every_edit(
    codec: str, head: str, word: str, tmp_path: Path
) -> None:
    file = tmp_path / "f.txt"
    file.write_bytes(f"{head}{word}\nname=x\n".encode(codec))
    assert word in await text_of(tmp_path, "read_file", path="f.txt")
    await edit(tmp_path, "name=x", f"name={word}")
    assert file.read_bytes().decode(codec) == f"{head}{word}\nname={word}\n"
    await edit(tmp_path, f"{word}\nname", "plain\nname")
    assert file.read_bytes().decode(codec) == f"{head}plain\nname={word}\n"
    note = await text_of(tmp_path, "write_file", path="f.txt", content=f"{head}{word}\n")
    assert file.read_bytes() == f"{head}{word}\n".encode(codec)
    assert "kept" in note


async def test_a_pdf_is_read_as_its_text(tmp_path: Path) -> None:
    """Whole or by lines; without text it says why, and what only begins like a PDF is text."""
    (tmp_path / "plan.pdf").write_bytes(pdf("Hello\nworld", "", "The end"))
    text = await text_of(tmp_path, "read_file", path="plan.pdf")
    assert text == ("plan.pdf is a PDF; the text of 3 pages:\n[Page 1]\nHello\nworld\n\n[Page 3]\nThe end\n")
    lines = await text_of(tmp_path, "read_file", path="plan.pdf", start_line=3, end_line=6)
    assert lines == "Lines 3-6 of 6 of plan.pdf:\n3:world\n4:\n5:[Page 3]\n6:The end\n"
    (tmp_path / "shut.pdf").write_bytes(protected_pdf("xyzzy"))
    shut = await text_of(tmp_path, "read_file", path="shut.pdf")
    assert shut.startswith("The content of shut.pdf is not shown: it is protected by a password.\nKind: PDF")
    (tmp_path / "note.txt").write_text("%PDF is how they begin\n")
    assert await text_of(tmp_path, "read_file", path="note.txt") == "%PDF is how they begin\n"


async def test_a_character_that_the_encoding_lacks_is_refused(tmp_path: Path) -> None:
    content = "# coding: latin-1\ncafé\n".encode("latin-1")
    (tmp_path / "f.txt").write_bytes(content)
    with pytest.raises(ToolError, match="can't be written in ISO8859-1"):
        await edit(tmp_path, "café", "中")
    assert (tmp_path / "f.txt").read_bytes() == content


async def test_an_unknown_encoding_takes_ascii_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes(b"a\0b\nname=x\n")
    with pytest.raises(ToolError, match="it has NUL bytes, so its encoding isn't known"):
        await edit(tmp_path, "=x", "=ë")
    content = "café\nname=x\n".encode("latin-1")
    (tmp_path / "f.txt").write_bytes(content)
    with pytest.raises(ToolError, match="isn't UTF-8"):
        await edit(tmp_path, "name=x", "name=Zoë")
    with pytest.raises(ToolError, match="isn't UTF-8"):
        await text_of(tmp_path, "write_file", path="f.txt", content="Zoë\n")
    assert (tmp_path / "f.txt").read_bytes() == content
    await edit(tmp_path, "name=x", "name=y")
    assert (tmp_path / "f.txt").read_bytes() == "café\nname=y\n".encode("latin-1")


@pytest.mark.parametrize(
    ("start", "codec"),
    [
        (b"# coding: utf-8\n", ""),
        (b"# coding: rot13\n", ""),
        (b"# coding: no-such-thing\n", ""),
        (b"the coding: latin-1 of a sentence\n", ""),
        (b"\n# -*- coding: latin-1 -*-\n", "iso8859-1"),
        (b"\\usepackage[latin1]{inputenc}\n", "iso8859-1"),
    ],
)
def test_what_a_text_says_of_its_encoding(start: bytes, codec: str) -> None:
    assert declared_encoding(start) == codec


def test_a_wrong_declaration_is_not_believed() -> None:
    assert text_encoding("# coding: latin-1\ncafé\n".encode()) == "utf-8"
    assert text_encoding(b"# coding: shift_jis\n\xff\xff\n") == ""


async def test_a_text_with_a_nul_is_named_as_a_binary_file_that_matches(tmp_path: Path) -> None:
    (tmp_path / "f.bin").write_bytes(b"text\0more\nline2\n")
    found = await text_of(tmp_path, "search_text", pattern="line2")
    assert "1 binary file has it, not shown: f.bin" in found
    (tmp_path / "a.txt").write_text("line2\n")
    (tmp_path / "z.bin").write_bytes(b"line2\0")
    found = await text_of(tmp_path, "search_text", pattern="line2")
    assert found.startswith("1 matching line in 1 file:\na.txt\n  1:line2\n")
    assert "2 binary files have it, not shown: f.bin, z.bin" in found


@pytest.mark.parametrize("name", [".gitignore", ".ignore"])
async def test_a_mark_at_the_start_of_an_ignore_file_is_no_part_of_a_rule(name: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / name).write_bytes(b"\xef\xbb\xbfsecret/\r\n*.log\r\n!keep.log\r\n")
    for file in ("secret/a.txt", "x.log", "keep.log", "ok.txt"):
        (tmp_path / "sub" / file).parent.mkdir(exist_ok=True)
        (tmp_path / "sub" / file).write_text("needle\n")
    files = await text_of(tmp_path, "find_files", pattern="*")
    hits = await text_of(tmp_path, "search_text", pattern="needle")
    for answer in (files, hits):
        assert "keep.log" in answer
        assert "ok.txt" in answer
        assert "secret" not in answer
        assert "x.log" not in answer


@posix_names
@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        (b"new\nline.txt", "new\\u000aline.txt"),
        (b"caf\xe9.txt", "caf\\udce9.txt"),
        (b"dir\xff/a\tb.txt", "dir\\udcff/a\\u0009b.txt"),
        (b"carriage\rreturn.txt", "carriage\\u000dreturn.txt"),
        (b"red\x1b[31m/a\x7fb.txt", "red\\u001b[31m/a\\u007fb.txt"),
        ("next\x85line\u2028.txt".encode(), "next\\u0085line\\u2028.txt"),
    ],
)
async def test_an_odd_name_has_one_spelling_that_every_tool_prints_and_takes(
    name: bytes, spelling: str, tmp_path: Path
) -> None:
    place = tmp_path / os.fsdecode(name)
    place.parent.mkdir(exist_ok=True)
    place.write_text("needle\n")
    assert f"\n{spelling}\n" in await text_of(tmp_path, "find_files", pattern="*")
    assert f"\n{spelling}\n  1:needle" in await text_of(tmp_path, "search_text", pattern="needle")
    assert spelling.rpartition("/")[2] in await text_of(tmp_path, "list_directory")
    assert await text_of(tmp_path, "read_file", path=spelling) == "needle\n"
    assert "1:needle" in await text_of(tmp_path, "search_text", pattern="needle", path=spelling)
    edited = await edit(tmp_path, "needle", "thread", path=spelling)
    with pytest.raises(ToolError) as refused:
        await edit(tmp_path, "no such text", "x", path=spelling)
    written = await text_of(tmp_path, "write_file", path=spelling, content="all new\n")
    both = [{"path": spelling, "old_text": "all", "new_text": "quite"}]
    undone = [{"path": spelling, "old_text": "quite", "new_text": "all"}]
    several = await text_of(tmp_path, "multi_edit", edits=both + undone)
    for told in (edited, str(refused.value), written, several):
        assert spelling in told
        assert all(char.isprintable() for char in told.replace("\n", ""))
    assert place.read_text() == "all new\n"
    assert len(os.listdir(tmp_path)) == len(os.listdir(place.parent)) == 1, "no other file was made"


@posix_names
async def test_a_name_that_looks_like_a_spelling_is_itself(tmp_path: Path) -> None:
    (tmp_path / "a\nb.txt").write_text("line feed\n")
    (tmp_path / "a\\u000ab.txt").write_text("backslash\n")
    assert await text_of(tmp_path, "read_file", path="a\\u000ab.txt") == "backslash\n"


@posix_names
async def test_an_edit_of_an_odd_name_in_a_run_is_the_change_of_its_call(tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    (cli.project / "new\nline.txt").write_text("needle\n")
    change = {"path": "new\\u000aline.txt", "old_text": "needle", "new_text": "thread"}
    edit = StreamedReply(Call("edit_file", json.dumps(change), "c4"))
    async with ChatServer(replies_in_order(edit, text_reply("Done."))) as server:
        result = await cli.run_with_server(server.base_url, "Go.", "--yes")
    assert result.code == 0, result.err
    assert (cli.project / "new\nline.txt").read_text() == "thread\n"
    (recorded,) = [line.event for line in result.lines if isinstance(line.event, ChangesRecorded)]
    assert (recorded.call_id, recorded.changed) == ("c4", 1)


async def test_line_ends_of_old_macs_and_those_that_differ_are_matched_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_bytes(b"one\rtwo\rthree\r")
    await edit(tmp_path, "one\ntwo", "eins\nzwei")
    await edit(tmp_path, "three", "drei\nvier")
    assert file.read_bytes() == b"eins\rzwei\rdrei\rvier\r"
    file.write_bytes(b"one\r\ntwo\nthree\r\none\r\nfour\n")
    assert "line 1" in await edit(tmp_path, "one\ntwo\nthree", "eins\nzwei\ndrei\nmehr")
    assert file.read_bytes() == b"eins\r\nzwei\ndrei\nmehr\r\none\r\nfour\n"
    file.write_bytes(b"b\na\nb\r\n\nb\r\na\r\nb\r\n")
    with pytest.raises(ToolError, match=r"2 times in f\.txt, with different line ends"):
        await edit(tmp_path, "b\na\nb\n", "c\n")
    file.write_bytes(b"a\r\nb\r\na\nc\r\n\na\r\nb\r\n")
    await text_of(tmp_path, "edit_file", path="f.txt", old_text="a\nb\n", new_text="x\n", replace_all=True)
    assert file.read_bytes() == b"x\r\na\nc\r\n\nx\r\n"


async def test_a_refused_path_is_spelled_as_everywhere(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"^'\.\./new\\u000aline\.txt' was refused: "):
        await text_of(tmp_path, "read_file", path="../new\nline.txt")


@pytest.mark.parametrize(
    ("data", "old", "reason"),
    [
        ("beta\n".encode("utf-16-le"), "beta", "NUL bytes"),
        (b"5 \x80 \x96\n", "5 \ufffd", "only stands for bytes"),
    ],
)
async def test_a_text_that_can_t_be_found_for_its_encoding_is_refused_with_that_reason(
    data: bytes, old: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "f.txt").write_bytes(data)
    with pytest.raises(ToolError, match=rf"old_text was not found in f\.txt.*{reason}"):
        await edit(tmp_path, old, "new")


ROUTES = (
    "app/[id]/page.tsx", "app/[...slug]/page.tsx", "app/[[...all]]/page.tsx", "app/[z-a]/x.ts", "a{b}.txt",
    "app/(group)/p.tsx", "{x,y}/z.ts",
)  # fmt: skip


@pytest.fixture
def routes(tmp_path: Path) -> Path:
    for name in ROUTES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("needle\n")
    return tmp_path


@posix_names
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("app/[...slug]/**", "app/[...slug]/page.tsx"),
        ("app/[[...all]]/*", "app/[[...all]]/page.tsx"),
        ("app/[id]/*.{ts,tsx}", "app/[id]/page.tsx"),
        (r"app/\[id\]/page.tsx", "app/[id]/page.tsx"),
        ("app/[z-a]/*", "app/[z-a]/x.ts"),
        ("app/(group)/*", "app/(group)/p.tsx"),
        ("a{b}.txt", "a{b}.txt"),
        ("{x,y}/*", "{x,y}/z.ts"),
    ],
)
async def test_brackets_and_braces_of_names_are_found_as_they_are_written(
    routes: Path, pattern: str, found: str
) -> None:
    text = await text_of(routes, "find_files", pattern=pattern)
    assert text == f"1 file:\n{found}\n"
    if "\\" not in pattern:
        text = await text_of(routes, "search_text", pattern="needle", glob=pattern)
        assert text == f"1 matching line in 1 file:\n{found}\n  1:needle\n"


async def test_brackets_still_stand_for_sets_and_braces_for_choices(routes: Path) -> None:
    (routes / "i.txt").write_text("needle\n")
    assert "i.txt" in await text_of(routes, "find_files", pattern="[hij].txt")
    assert "i.txt" in await text_of(routes, "search_text", pattern="needle", glob="{i,k}.txt")
    assert "i.txt" not in await text_of(routes, "find_files", pattern="[!hij].txt")
    assert "i.txt" not in await text_of(routes, "search_text", pattern="needle", glob="!i.txt")


COMPOSED = "caf\u00e9 \uac01"
DECOMPOSED = "cafe\u0301 \u1100\u1161\u11a8"


@posix_names
@pytest.mark.parametrize(
    ("stored", "given", "form"), [(DECOMPOSED, COMPOSED, "decomposed"), (COMPOSED, DECOMPOSED, "composed")]
)
async def test_letters_are_found_and_edited_whether_composed_or_not(
    tmp_path: Path, stored: str, given: str, form: str
) -> None:
    """A model writes one form, and sees no difference to the other."""
    file = tmp_path / "f.txt"
    file.write_text(f"a {stored} b\n")
    text = await text_of(tmp_path, "search_text", pattern=f"{given} .")
    assert text.startswith(
        f"1 matching line in 1 file:\nf.txt\n  1:a {stored} b\n(the letters of the text are"
    )
    assert f"its letters are {form}" in await edit(tmp_path, f"a {given}", f"x {given} y")
    assert file.read_text() == f"x {stored} y b\n"
    file.write_text(f"{COMPOSED} {DECOMPOSED}\n{COMPOSED}, {DECOMPOSED}\n")
    with pytest.raises(ToolError, match="2 times"):
        await edit(tmp_path, given, "one")
    half = "caf\u00e9 \u1100\u1161\u11a8"
    with pytest.raises(ToolError, match=r"not found|composed and with decomposed"):
        await edit(tmp_path, half, "one")
    file.write_text("e\u0301 is no plain e\n")
    assert (await text_of(tmp_path, "search_text", pattern="[\u00e9]")).startswith("No match")


@posix_names
@pytest.mark.parametrize(("stored", "given"), [(DECOMPOSED, COMPOSED), (COMPOSED, DECOMPOSED)])
async def test_names_are_found_whether_composed_or_not(tmp_path: Path, stored: str, given: str) -> None:
    (tmp_path / stored).mkdir()
    (tmp_path / stored / f"{stored}.txt").write_text("needle\n")
    assert await text_of(tmp_path, "read_file", path=f"{given}/{given}.txt") == "needle\n"
    assert f"{stored}.txt" in await text_of(tmp_path, "find_files", pattern=f"{given}.*")
    assert f"{stored}.txt" in await text_of(tmp_path, "search_text", pattern="needle", glob=f"{given}.*")
    await text_of(tmp_path, "write_file", path=f"{given}/{given}.txt", content="new\n")
    assert os.listdir(tmp_path / stored) == [f"{stored}.txt"], "no second file that looks the same"
    (tmp_path / stored / f"{given}.txt").write_text("other\n")
    assert await text_of(tmp_path, "read_file", path=f"{stored}/{stored}.txt") == "new\n"
    assert await text_of(tmp_path, "read_file", path=f"{stored}/{given}.txt") == "other\n"


@posix_names
@pytest.mark.parametrize(
    "path",
    [
        "C:\\Users\\me\\a.txt",
        "c:/code/a.txt",
        "\\\\wsl$\\Ubuntu\\a.txt",
        "\\\\?\\C:\\a.txt",
        "Z:\\",
        "src\\a.py",
    ],
)
async def test_paths_of_windows_make_no_files_elsewhere(tmp_path: Path, path: str) -> None:
    with pytest.raises(ToolError, match=r"path of Windows|separates no folders"):
        await text_of(tmp_path, "write_file", path=path, content="x\n")
    assert os.listdir(tmp_path) == []


@posix_names
async def test_a_file_with_a_backslash_in_its_name_can_still_be_changed(tmp_path: Path) -> None:
    (tmp_path / "a\\b.txt").write_text("one\n")
    await text_of(tmp_path, "write_file", path="a\\b.txt", content="two\n")
    assert (tmp_path / "a\\b.txt").read_text() == "two\n"
