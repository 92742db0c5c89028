"""Finding files by name."""

from __future__ import annotations

import shutil
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ToolError
from tests.support.tool_rig import make_call, make_tools, text_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (root / "src" / "deep" / "b.ts").write_text("two\n")
    return root


async def glob_lines(root: Path, pattern: str, **more: object) -> list[str]:
    text = await text_of(root, "find_files", pattern=pattern, **more)
    return text.splitlines()[1:]


async def test_files_match_a_glob_the_way_git_does(root: Path) -> None:
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    for name in ("x.log", "build/c.py", ".git/hooks/d.py", ".hidden.py", "src/deep/e f.py", "src/g[1].py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    assert await glob_lines(root, "*.py") == [".hidden.py", "src/a.py", "src/deep/e f.py", "src/g[1].py"]
    assert await glob_lines(root, "*.log") == []
    assert await glob_lines(root, "src/*.py") == ["src/a.py", "src/g[1].py"]
    assert await glob_lines(root, "src/**/*.{py,ts}") == [
        "src/a.py",
        "src/deep/b.ts",
        "src/deep/e f.py",
        "src/g[1].py",
    ]
    assert await glob_lines(root, "**/deep/*") == ["src/deep/b.ts", "src/deep/e f.py"]
    assert await glob_lines(root, "?.[!t]*", path="src") == ["src/a.py"]
    assert await glob_lines(root, "deep/*", path="src") == ["src/deep/b.ts", "src/deep/e f.py"]


async def test_a_long_file_list_is_cut_with_a_note(root: Path) -> None:
    (root / "many").mkdir()
    for number in range(1_003):
        (root / "many" / f"{number:04}.txt").touch()
    text = (await text_of(root, "find_files", pattern="*.txt")).splitlines()
    assert (text[0], len(text)) == ("1,003 files:", 1_002)
    assert text[-1] == "(… 3 more files; narrow the pattern or the path)"


async def test_finding_stays_inside(root: Path) -> None:
    (root.parent / "outside.py").touch()
    (root / "link").symlink_to(root.parent)
    assert "outside.py" not in " ".join(await glob_lines(root, "**"))
    for path in ("link", "..", "/"):
        with pytest.raises(ToolError, match="was refused"):
            await glob_lines(root, "*", path=path)


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "list_directory", "find_files"])
async def test_a_parent_folder_swapped_for_a_link_is_not_followed(root: Path, name: str) -> None:
    """A thread swaps a folder for a link to a place outside, as fast as it can, while the tools use it."""
    outside = root.parent / "outside"
    real = root / "real"
    link = root / "link"
    outside.mkdir()
    (outside / "f.txt").write_text("secret word\n")
    real.mkdir()
    (real / "f.txt").write_text("plain word\n")
    link.symlink_to(outside)
    over = threading.Event()

    def swap() -> None:
        spot = root / "d"
        spare = root / "spare"
        while not over.is_set():
            for path in (real, link):
                with suppress(OSError):  # a write may have made the folder in between
                    path.rename(spot)
                    spot.rename(spare)
                    spare.rename(path)
                    continue
                shutil.rmtree(spot, ignore_errors=True)

    thread = threading.Thread(target=swap)
    thread.start()
    box = make_tools(root)
    answers = 0
    try:
        for turn in range(50):
            events = {
                "read_file": {"path": "d/f.txt"},
                "write_file": {"path": "d/f.txt", "content": f"written {turn}\n"},
                "edit_file": {"path": "d/f.txt", "old_text": " word", "new_text": " word word"},
                "list_directory": {"path": "d"},
                "find_files": {"path": "d", "pattern": "*"},
            }[name]
            try:
                text = (await box.run(make_call(name, **events))).content.decode()
            except ToolError:
                continue
            answers += 1
            assert "secret" not in text
    finally:
        over.set()
        thread.join()
    assert (outside / "f.txt").read_text() == "secret word\n"
    assert sorted(path.name for path in outside.iterdir()) == ["f.txt"]
