"""The files of a workspace by name, and the list of a folder that goes with a message."""

from __future__ import annotations

import asyncio
from pathlib import Path

from helix_desktop.services.message_files import MAX_LISTED, FileIndex, list_folder
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.tools.workspace_tools import open_jail


async def test_it_lists_what_the_tools_may_read_and_follows_the_disk(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for path in (
        "src/app.py",
        "src/deep/größe 表.md",
        "build/out.o",
        "secret/key.txt",
        ".github/ci.yml",
        "odd\nname",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    (root / ".gitignore").write_text("build/\n")
    index = FileIndex(open_jail(root, (root / "secret",)), Ripgrep(find_ripgrep(), {}))

    everything = {match.path for match in await index.search("", 50)}
    files = {".gitignore", ".github/ci.yml", "src/app.py", "src/deep/größe 表.md"}
    assert everything == files | {".github/", "src/", "src/deep/"}

    (root / "src" / "new_app.py").write_text("x")
    (root / "src" / "app.py").unlink()
    await asyncio.gather(*(index.refresh() for _ in range(3)))
    assert [match.path for match in await index.search("app", 5)] == ["src/new_app.py"]

    (root / ".agentignore").write_text("src/deep/\n")
    await index.refresh()
    assert await index.search("größe", 5) == []
    assert await index.kind("src/deep/größe 表.md") is None

    kinds = [
        await index.kind(path) for path in ("src", "src/", "build/out.o", "gone", "secret/key.txt", "../x")
    ]
    assert kinds == ["folder", "folder", "file", None, None, None]


async def test_lines_that_end_before_they_begin_name_no_file(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("x\n" * 20)
    index = FileIndex(open_jail(tmp_path), Ripgrep(find_ripgrep(), {}))
    found = await index.look_up("See @README.md:10-5 and @README.md:5-10, not @gone.md:9-3.")
    assert [mention[:3] for mention in found.files] == [("README.md", 5, 10)]
    assert found.missing == ("README.md:10-5", "gone.md")
    assert found.missing_text == "File not found: README.md:10-5 and gone.md (sent as text)"


def test_a_list_of_a_folder_is_bounded_and_follows_no_link(tmp_path: Path) -> None:
    """A loop of links ends; what package managers bring is named only."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "node_modules" / "left").mkdir(parents=True)
    assert list_folder(tmp_path).splitlines() == ["a/", "node_modules/", "a/b/", "a/b/up (link)"]
    for number in range(MAX_LISTED + 5):
        (inner / f"{number:05}").touch()
    assert len(list_folder(tmp_path).splitlines()) == MAX_LISTED + 1
