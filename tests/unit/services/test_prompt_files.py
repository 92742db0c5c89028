"""Prompt files on disk: which command is which file's, what is refused and named, and that nothing is run."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.slash_command import MAX_PROMPT_BYTES, SlashInput
from helix_desktop.services.prompt_files import PromptFiles
from helix_desktop.tools.files import attach
from helix_desktop.tools.workspace_tools import open_jail
from helix_desktop.workspaces.registry import WorkspaceRegistry

posix = pytest.mark.skipif(os.name == "nt", reason="names and links that Windows does not have")


class Prompts:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.user = folder / "commands"
        self.root.mkdir()
        self.registry = WorkspaceRegistry(folder / "workspaces", lambda: 1)
        self.id = self.registry.add(self.root, trusted=True).id
        self.files = PromptFiles(self.user, self.registry, open_jail)

    def write(self, path: str, content: bytes = b"Text", folder: Path | None = None) -> Path:
        place = (folder or self.root) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        return place

    async def reasons(self) -> dict[str, str]:
        catalog = await self.files.read(self.id)
        return {file.path: file.why for file in catalog.unusable}


@pytest.fixture
def prompts(tmp_path: Path) -> Prompts:
    return Prompts(tmp_path)


async def test_a_command_is_expanded_from_the_file_as_it_is_now(prompts: Prompts) -> None:
    """Below a folder its name has a prefix; the message says which bytes it was made from."""
    content = b"---\nargument-hint: FILE\n---\nReview $1.\n"
    prompts.write(".agents/commands/web/review.md", content)
    expanded = await prompts.files.expand(prompts.id, SlashInput("Web:REVIEW", "a.py"))
    assert expanded.text == "Review a.py."
    source = expanded.source
    assert (source.typed_text, source.path) == ("/web:review a.py", ".agents/commands/web/review.md")
    assert source.sha256 == hashlib.sha256(content).hexdigest()
    assert await prompts.files.preview(prompts.id, "/web:review a.py") == expanded.text
    assert await prompts.files.preview(prompts.id, "/usr/bin") == "/usr/bin"
    assert [await prompts.files.preview(prompts.id, typed) for typed in ("/undo", "/nope")] == ["", ""]
    prompts.write(".agents/commands/web/review.md", b"Look at $1.")
    assert (await prompts.files.expand(prompts.id, SlashInput("web:review", "b"))).text == "Look at b."


async def test_of_two_files_of_one_name_the_nearest_is_used_and_both_are_listed(prompts: Prompts) -> None:
    """The workspace's before the user's, a built-in command before all."""
    prompts.write(".agents/commands/fix.md", b"first")
    prompts.write(".claude/commands/FIX.md", b"second")
    prompts.write("fix.md", b"third", prompts.user)
    prompts.write("compact.md", b"mine", prompts.user)
    prompts.write("daily.md", b"daily", prompts.user)
    catalog = await prompts.files.read(prompts.id)
    assert {file.name: (file.scope, file.text) for file in catalog.files.values()} == {
        "fix": ("workspace", "first"),
        "daily": ("user", "daily"),
    }
    assert [(hidden.file.path, hidden.by) for hidden in catalog.hidden] == [
        (".claude/commands/FIX.md", ".agents/commands/fix.md"),
        ("commands/compact.md", ""),
        ("commands/fix.md", ".agents/commands/fix.md"),
    ]
    assert set((await prompts.files.read()).files) == {"fix", "daily"}, "the user's, in no workspace"


async def test_nothing_of_an_untrusted_folder_is_read(prompts: Prompts) -> None:
    """Its commands do not exist, and the error says why; those of the user do."""
    prompts.write(".agents/commands/fix.md")
    prompts.write("daily.md", b"daily", prompts.user)
    prompts.registry.change(prompts.id, trusted=False)
    catalog = await prompts.files.read(prompts.id)
    assert set(catalog.files) == {"daily"}
    assert catalog.is_untrusted
    with pytest.raises(InvalidInput, match="until you trust it"):
        await prompts.files.expand(prompts.id, SlashInput("fix"))


@posix
async def test_what_leads_out_of_the_workspace_is_refused_and_named(prompts: Prompts, tmp_path: Path) -> None:
    """Links to files and folders outside; links within it are followed."""
    secret = prompts.write("secret.md", b"the secret", tmp_path)
    folder = prompts.write(".claude/commands/web/a.md", b"inside").parent.parent
    (folder / "leak.md").symlink_to(secret)
    (folder / "up.md").symlink_to("../../../secret.md")
    (folder / "all").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    (folder / "same").symlink_to("web")
    (folder / "note").symlink_to("web/a.md")
    (prompts.root / ".agents").symlink_to(tmp_path)
    catalog = await prompts.files.read(prompts.id)
    assert set(catalog.files) == {"web:a", "same:a"}
    reasons = await prompts.reasons()
    names = ("leak.md", "up.md", "all", "loop")
    assert {path for path in reasons if path.startswith(".claude")} == {
        f".claude/commands/{name}" for name in names
    }
    assert any(path.startswith(".agents/commands") for path in reasons)
    assert all("leads out" in why for path, why in reasons.items() if "loop" not in path)
    with pytest.raises(InvalidInput, match=r"/leak can't be used: \.claude/commands/leak\.md"):
        await prompts.files.expand(prompts.id, SlashInput("leak"))


@posix
async def test_files_that_are_no_prompts_are_refused_and_named(prompts: Prompts) -> None:
    """Too large, not text, a pipe that would block, a folder, names that nobody can type."""
    folder = ".agents/commands"
    prompts.write(f"{folder}/big.md", b"x" * (MAX_PROMPT_BYTES + 1))
    huge = prompts.write(f"{folder}/huge.md")
    os.truncate(huge, 10_000_000_000)
    prompts.write(f"{folder}/image.md", b"\x89PNG\r\n\x1a\n")
    for name in ("my prompt.md", "a:b.md", "a\\b.md", "ev\x1b[31mil\n.md", "\u202etxt.md", ".md"):
        prompts.write(f"{folder}/{name}")
    os.mkfifo(prompts.root / folder / "pipe.md")
    (prompts.root / folder / "sub.md").mkdir()
    prompts.write(f"{folder}/good.md")
    reasons = {path.removeprefix(f"{folder}/"): why for path, why in (await prompts.reasons()).items()}
    unnamable = {"my prompt.md", "a:b.md", "a\\b.md", "ev\\u001b[31mil\\u000a.md", "\\u202etxt.md", ".md"}
    assert set(reasons) == {"big.md", "huge.md", "image.md", "pipe.md", "sub.md", *unnamable}
    assert reasons["huge.md"] == "It has 9.3 GB; the limit is 64 KB."
    assert reasons["image.md"] == "It isn't UTF-8 text."
    assert "named pipe" in reasons["pipe.md"]
    assert all("can't be typed" in reasons[name] for name in unnamable)


async def test_a_folder_of_very_many_files_is_read_to_a_limit(
    prompts: Prompts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first by name, and the list says that there are more."""
    monkeypatch.setattr(attach, "MAX_FILES", 3)
    for number in range(5):
        prompts.write(f".agents/commands/p{number}.md")
    catalog = await prompts.files.read(prompts.id)
    assert set(catalog.files) == {"p0", "p1", "p2"}
    assert [(file.path, file.why) for file in catalog.unusable] == [
        (".agents/commands/p3.md", "Only the first 3 prompt files of a folder are read.")
    ]


@pytest.mark.parametrize(
    ("typed", "words"),
    [("revew", "Did you mean /review"), ("compct", "Did you mean /compact"), ("empty", "is empty")],
)
async def test_what_cannot_be_sent_names_what_is_near(prompts: Prompts, typed: str, words: str) -> None:
    """An unknown command, and a file without text."""
    prompts.write(".agents/commands/review.md")
    prompts.write(".agents/commands/empty.md", b"---\ndescription: x\n---\n")
    with pytest.raises(InvalidInput, match=words):
        await prompts.files.expand(prompts.id, SlashInput(typed))


async def test_lines_that_other_agents_run_are_sent_as_text(prompts: Prompts) -> None:
    """Nothing of a prompt file is run."""
    prompts.write(
        ".claude/commands/evil.md",
        b"!touch ran.txt\nand !`touch ran.txt` $ARGUMENTS\n```!\ntouch ran.txt\n```",
    )
    expanded = await prompts.files.expand(prompts.id, SlashInput("evil", "!`touch ran.txt`"))
    assert expanded.text.startswith("!touch ran.txt\nand !`touch ran.txt` !`touch ran.txt`")
    assert expanded.file.command_lines == (1, 2, 3)
    assert not (prompts.root / "ran.txt").exists()
