"""Skills on disk: where they are found, which one of a name is used, and what is refused and named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.skills import MAX_SKILLS
from helix_desktop.tools.files.jail import Jail
from helix_desktop.tools.files.skills import SkillCatalog, read_skills
from helix_desktop.tools.workspace_tools import open_jail

posix = pytest.mark.skipif(os.name == "nt", reason="links that Windows does not have for everybody")


class Folders:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.home = folder / "home"
        self.root.mkdir()
        self.home.mkdir()

    def write(self, name: str, top: Path | None = None, place: str = ".agents", body: str = "Do it.") -> Path:
        """Write a skill of a workspace's or the user's folder."""
        file = (top or self.root) / place / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: {name}\ndescription: What {name} is for\n---\n{body}\n")
        return file

    @property
    def jail(self) -> Jail:
        return open_jail(self.root)

    def read(self, is_trusted: bool = True) -> SkillCatalog:
        return read_skills(self.jail, is_trusted)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    folders = Folders(tmp_path)
    monkeypatch.setenv("USERPROFILE" if os.name == "nt" else "HOME", str(folders.home))
    return folders


def _reasons(catalog: SkillCatalog) -> dict[str, str]:
    return {file.path: file.why for file in catalog.unusable}


def test_the_workspace_comes_before_the_user(folders: Folders) -> None:
    """Of one name the first is used, and the others are named; without trust the workspace has none."""
    folders.write("pdf")
    folders.write("pdf", place=".claude")
    folders.write("pdf", folders.home)
    folders.write("docx", folders.home, ".claude")
    (folders.root / ".agents/skills/README.md").write_text("no skill")
    (folders.root / ".agents/skills/empty").mkdir()
    catalog = folders.read()
    assert {skill.name: (skill.scope, skill.path) for skill in catalog.skills.values()} == {
        "pdf": ("workspace", ".agents/skills/pdf/SKILL.md"),
        "docx": ("user", "~/.claude/skills/docx/SKILL.md"),
    }
    assert [(hidden.skill.path, hidden.by) for hidden in catalog.hidden] == [
        (".claude/skills/pdf/SKILL.md", ".agents/skills/pdf/SKILL.md"),
        ("~/.agents/skills/pdf/SKILL.md", ".agents/skills/pdf/SKILL.md"),
    ]
    assert catalog.unusable == ()
    untrusted = folders.read(is_trusted=False)
    assert [skill.path for skill in untrusted.skills.values()] == [
        "~/.agents/skills/pdf/SKILL.md",
        "~/.claude/skills/docx/SKILL.md",
    ]


def test_where_there_are_no_folders_there_are_no_skills(folders: Folders) -> None:
    assert folders.read() == SkillCatalog({})


def test_a_workspace_that_is_the_home_folder_has_each_skill_once(folders: Folders) -> None:
    folders.write("pdf", folders.home)
    catalog = read_skills(open_jail(folders.home), True)
    assert [skill.path for skill in catalog.skills.values()] == [".agents/skills/pdf/SKILL.md"]
    assert (catalog.hidden, catalog.unusable) == ((), ())


def test_a_folder_that_is_named_as_the_users_home_is_has_no_skills_of_the_user(folders: Folders) -> None:
    """Where the workspace is the home folder, or one above it; there the user's own skills are found."""
    folders.write("docx", folders.home)
    for root, found in ((folders.home, []), (folders.home.parent, ["~/.agents/skills/docx/SKILL.md"])):
        folders.write("planted", root / "~")
        skills = read_skills(open_jail(root), False).skills
        assert [skill.path for skill in skills.values()] == found


def test_broken_ones_are_named_and_the_others_are_used(folders: Folders) -> None:
    """Ten megabytes, a wrong name, no text; none of them keeps the next one away."""
    folders.write("huge", body="x" * (10 * 1024 * 1024))
    folders.write("right").write_text("---\nname: wrong\ndescription: x\n---\n")
    folders.write("binary").write_bytes(b"\x89PNG\r\n\x1a\n\xff")
    (folders.root / ".agents/skills/folder/SKILL.md").mkdir(parents=True)
    folders.write("sound")
    catalog = folders.read()
    assert list(catalog.skills) == ["sound"]
    reasons = _reasons(catalog)
    assert set(reasons) == {
        f".agents/skills/{name}/SKILL.md" for name in ("huge", "right", "binary", "folder")
    }
    assert "128 KB" in reasons[".agents/skills/huge/SKILL.md"]
    assert {file.name for file in catalog.unusable} == {"huge", "right", "binary", "folder"}


def test_of_five_hundred_the_first_are_read_and_it_says_so(folders: Folders) -> None:
    for number in range(500):
        folders.write(f"skill-{number:03}")
    folders.write("mine", folders.home)
    catalog = folders.read()
    assert len(catalog.skills) == MAX_SKILLS + 1
    assert "mine" in catalog.skills
    assert _reasons(catalog) == {
        ".agents/skills/skill-200/SKILL.md": "Only the first 200 skills of a folder are read."
    }


@posix
def test_what_leads_out_is_refused_and_a_link_to_a_skill_that_is_read_is_no_second_one(
    folders: Folders, tmp_path: Path
) -> None:
    """As installers link one folder into the other."""
    folders.write("pdf")
    folders.write("docx", folders.home)
    secret = folders.write("secret", tmp_path / "elsewhere")
    for top, name in ((folders.root, "pdf"), (folders.home, "docx")):
        (top / ".claude/skills").mkdir(parents=True)
        (top / ".claude/skills" / name).symlink_to(f"../../.agents/skills/{name}")
        (top / ".claude/skills/leak").symlink_to(secret.parent)
    (folders.root / ".agents/skills/file").mkdir()
    (folders.root / ".agents/skills/file/SKILL.md").symlink_to(secret)
    os.mkfifo(folders.root / ".agents/skills/pipe")
    (folders.root / ".agents/skills/fifo").mkdir()
    os.mkfifo(folders.root / ".agents/skills/fifo/SKILL.md")
    catalog = folders.read()
    assert set(catalog.skills) == {"pdf", "docx"}
    assert catalog.hidden == ()
    reasons = _reasons(catalog)
    assert reasons[".claude/skills/leak/SKILL.md"] == "It's a link that leads out of .claude/skills."
    assert reasons["~/.claude/skills/leak/SKILL.md"] == "It's a link that leads out of ~/.claude/skills."
    assert "leads out" in reasons[".agents/skills/file/SKILL.md"]
    assert ".agents/skills/fifo/SKILL.md" in reasons
    assert len(reasons) == 4


def test_the_users_skills_are_read_by_the_tools_and_never_written(folders: Folders) -> None:
    """By a path from `~` on, or the whole one; nothing beside them, and no way around."""
    file = folders.write("docx", folders.home)
    (file.parent / "scripts").mkdir()
    (file.parent / "scripts/run.py").write_text("print()\n")
    (folders.home / ".ssh").mkdir()
    (folders.home / ".ssh/id").write_text("key")
    jail = folders.jail
    for path in ("~/.agents/skills/docx/scripts/run.py", str(file.parent / "scripts/run.py")):
        with jail.open_file(path) as opened:
            assert (opened.path, opened.file.read()) == ("~/.agents/skills/docx/scripts/run.py", b"print()\n")
    place, entries = jail.list_entries("~/.agents/skills/docx")
    assert (place, {entry.name for entry in entries}) == ("~/.agents/skills/docx", {"SKILL.md", "scripts"})
    with jail.hold_folder("~/.agents/skills/docx/scripts") as root:
        assert (root.path, os.listdir(root.cwd)) == ("~/.agents/skills/docx/scripts", ["run.py"])
    for path in (
        "~/.ssh/id",
        "~/.agents/skills/../../.ssh/id",
        "~/.agents/skillsx/a",
        str(folders.home / ".ssh/id"),
        "~/.claude/skills/docx/SKILL.md",
    ):
        with pytest.raises(ToolError), jail.open_file(path):
            pass
    for path in ("~/.agents/skills/docx/SKILL.md", str(file), "~/.agents/skills/new/SKILL.md"):
        with pytest.raises(ToolError, match="only the user changes"):
            jail.write(path, b"mine", None)
        with pytest.raises(ToolError, match="only the user changes"):
            jail.resolve_writable(path)
    assert "What docx is for" in file.read_text()
