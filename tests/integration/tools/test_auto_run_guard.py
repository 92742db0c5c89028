"""What commands in the sandbox plant for git and other programs: real bubblewrap, and real git outside it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_desktop.domain.tools import AutoRunChange, OutputCallback, ToolResult, ignore_output
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard, AutoRunState
from helix_desktop.tools.shell.sandbox import NoSandbox
from helix_desktop.tools.shell.sandbox_bwrap import find_bwrap
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from tests.support.tool_rig import make_call, make_tools

BWRAP, GIT = find_bwrap(), shutil.which("git")
pytestmark = [
    pytest.mark.skipif(BWRAP is None, reason="bubblewrap does not work here"),
    pytest.mark.skipif(GIT is None, reason="git is not installed"),
]

IDENTITY = ("-c", "user.name=a", "-c", "user.email=b@c", "-c", "protocol.file.allow=always")


def _scripts(name: str) -> tuple[str, dict[str, str]]:
    """Return the beginning of a file of scripts, and the scripts by their names."""
    first, *parts = (SUPPORT / name).read_text(encoding="utf-8").split("\n## ")
    return first, {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


SUPPORT = Path(__file__).parents[2] / "support"
FUNCTIONS, PLANTED = _scripts("planted_for_git.sh")
USUAL = _scripts("usual_git.sh")[1]


class GuardRig:
    """A repository, a program that must not run, and commands that are confined by bubblewrap."""

    def __init__(self, home: Path) -> None:
        self.home, self.root, self.kept = home, home / "work", home / "kept"
        self.root.mkdir()
        self.flag = home / "ran"
        self.guard = AutoRunGuard(self.root, home, self.kept)
        self.git("init", "-q", "-b", "main", ".")
        self.git("config", "extensions.worktreeConfig", "true")
        (self.root / "a.txt").write_text("one\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "one")

    def git(self, *arguments: str, folder: str = "") -> subprocess.CompletedProcess[str]:
        """Run git as the user does: outside, with nothing off."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "EDITOR": "true"}
        return subprocess.run(
            ["git", *IDENTITY, *arguments],
            cwd=self.root / folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def log_on_terminal(self, folder: str) -> None:
        """Show the log where git uses a pager."""
        leader, terminal = os.openpty()
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LESS": "FEX", "TERM": "xterm"}
        subprocess.run(
            ["git", "log"],
            cwd=self.root / folder,
            env=environment,
            stdin=terminal,
            stdout=terminal,
            check=False,
        )
        os.close(leader)
        os.close(terminal)

    async def run(self, script: str, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a script of commands in the sandbox; `$EVIL` is a program that must not run outside."""
        script = f"EVIL=\"sh -c 'touch {self.flag}'\"\n{FUNCTIONS}\n{script}"
        provider = SandboxProvider(lambda: BWRAP or NoSandbox(), self.home)
        tools = make_tools(self.root, sandbox_provider=provider, guard=self.guard)
        result = await tools.run(make_call("run_command", command=script), on_output)
        assert result.ok, result.content.decode()
        return result

    def use_git_everywhere(self) -> None:
        """Do what users, their editors and their prompts do with git in every folder."""
        folders = {Path(path).parent for path in self.root.rglob(".git")} | {self.root}
        folders |= {path.parent for path in self.root.rglob("HEAD")}
        for folder in sorted(folders):
            if ".git" in folder.parts and "modules" not in folder.parts:
                continue
            place = str(folder.relative_to(self.root))
            for words in (
                "rebase --continue", "status", "show", "diff", "st", "add -A", "commit -qm two --allow-empty",
                "commit -q --amend --allow-empty", "checkout -q -b branch", "fetch -q",
            ):  # fmt: skip
                self.git(*words.split(), folder=place)
            self.log_on_terminal(place)

    def content_kept(self, change: AutoRunChange) -> bytes:
        """Return the bytes that are kept of a change."""
        return self.guard.kept_place(change.kept_id).read_bytes()


@pytest.fixture
def guard_rig() -> Iterator[GuardRig]:
    """A repository in a home of its own, outside `/tmp`, which no command sees."""
    places = (Path.home(), Path(__file__).parents[3])
    place = next((path for path in places if os.access(path, os.W_OK)), None)
    if place is None or place.is_relative_to("/tmp"):
        place = next(path for path in (Path("/var/tmp"), Path("/opt")) if os.access(path, os.W_OK))
    home = Path(tempfile.mkdtemp(prefix=".helix-test-", dir=place))
    yield GuardRig(home)
    shutil.rmtree(home)


@pytest.mark.parametrize("way", PLANTED)
async def test_what_a_command_plants_for_git_does_not_run_outside(guard_rig: GuardRig, way: str) -> None:
    result = await guard_rig.run(PLANTED[way])
    taken_out = [change for change in result.auto_run if change.outcome == "removed"]
    assert taken_out, "it was found"
    assert all(change.reasons for change in taken_out)
    await asyncio.to_thread(guard_rig.use_git_everywhere)
    assert not guard_rig.flag.exists(), "nothing of it ran"
    assert guard_rig.git("status", "--porcelain").returncode == 0, "git works as before"


@pytest.mark.parametrize("way", PLANTED)
async def test_without_the_guard_it_would_run(guard_rig: GuardRig, way: str) -> None:
    guard_rig.guard = _Idle(guard_rig.root, guard_rig.home, guard_rig.kept)
    await guard_rig.run(PLANTED[way])
    await asyncio.to_thread(guard_rig.use_git_everywhere)
    assert guard_rig.flag.exists()


class _Idle(AutoRunGuard):
    """A guard that takes nothing out."""

    def end(self, before: AutoRunState, takes_out: bool = True) -> tuple[AutoRunChange, ...]:
        return super().end(before, takes_out=False)


@pytest.mark.parametrize("command", USUAL)
async def test_usual_commands_of_git_work_as_before(guard_rig: GuardRig, command: str) -> None:
    before = (guard_rig.root / ".git/config").read_bytes()
    result = await guard_rig.run(USUAL[command])
    assert not [change for change in result.auto_run if change.reasons]
    assert guard_rig.git("status").returncode == 0
    assert (guard_rig.root / ".git/config").read_bytes() == before
    assert not guard_rig.kept.exists(), "nothing was taken out"


async def test_a_hook_of_the_users_own_template_stays(guard_rig: GuardRig) -> None:
    template = guard_rig.home / "template/hooks/pre-commit"
    template.parent.mkdir(parents=True)
    template.write_text("#!/bin/sh\nexit 0\n")
    template.chmod(0o755)
    (guard_rig.home / ".gitconfig").write_text("[init]\n\ttemplateDir = ~/template\n")
    result = await guard_rig.run(
        f"command git -c init.templateDir={guard_rig.home}/template init -q new; git init -q other"
    )
    assert (guard_rig.root / "new/.git/hooks/pre-commit").exists()
    assert not result.auto_run


async def test_what_was_taken_out_is_kept_byte_for_byte_and_can_be_restored(guard_rig: GuardRig) -> None:
    result = await guard_rig.run(
        r'git init -q -b main sub; printf "# caf\351\n[core]\n\tpager = x y # why\n[user]\n\tname = me\n" '
        r'>> sub/.git/config; printf "[core]\n\tpager = z\n" >> sub/.git/config; cp sub/.git/config copy; '
        "hook sub/.git/hooks pre-push"
    )
    config, hook = sorted(result.auto_run, key=lambda change: change.path)
    assert (config.path, hook.path) == ("sub/.git/config", "sub/.git/hooks/pre-push")
    assert config.reasons == ("core.pager = x y", "core.pager = z")
    written, copy = guard_rig.root / "sub/.git/config", (guard_rig.root / "copy").read_bytes()
    assert guard_rig.content_kept(config) == copy
    assert written.read_bytes() == copy.replace(b"\tpager = x y # why\n", b"").replace(b"\tpager = z\n", b"")
    assert not (guard_rig.root / "sub/.git/hooks/pre-push").exists()
    guard_rig.git("config", "user.name", "other", folder="sub")
    changed = written.read_bytes()
    for change in (config, hook):
        guard_rig.guard.put(change.kept_id, found=True)
    assert written.read_bytes() == copy
    assert os.access(guard_rig.root / "sub/.git/hooks/pre-push", os.X_OK)
    beside = [path.read_bytes() for path in guard_rig.kept.rglob("replaced-*")]
    assert beside == [changed], "what stood there meanwhile is kept too"
    assert not (await guard_rig.run("touch sub/b.txt")).auto_run, "what the user restored stays"
    guard_rig.guard.put(hook.kept_id, found=False)
    assert not (guard_rig.root / "sub/.git/hooks/pre-push").exists()


async def test_what_the_user_has_stays_and_what_a_command_puts_in_its_place_does_not(
    guard_rig: GuardRig,
) -> None:
    """Below `build` nothing is bound read-only: a build removes it as a whole."""
    (guard_rig.root / "build").mkdir()
    guard_rig.git("init", "-q", "build/dep")
    guard_rig.git("config", "core.pager", "less -F", folder="build/dep")
    config = guard_rig.root / "build/dep/.git/config"
    (hook := config.parent / "hooks/pre-commit").write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    before = config.read_text()
    assert not (await guard_rig.run("git -C build/dep config user.signingKey you")).auto_run
    assert guard_rig.git("config", "core.pager", folder="build/dep").stdout == "less -F\n"
    result = await guard_rig.run(
        'git -C build/dep config core.pager "$EVIL"; touch -d "2001-01-01" build/dep/.git/config; '
        "cd build/dep/.git; hook hooks pre-commit; touch -d '2001-01-01' hooks/* hooks"
    )
    assert {change.outcome for change in result.auto_run} == {"removed"}
    assert len(result.auto_run) == 2
    assert guard_rig.git("config", "core.pager", folder="build/dep").stdout == "less -F\n"
    assert guard_rig.git("config", "user.signingKey", folder="build/dep").stdout == "you\n"
    assert before.splitlines()[0] in config.read_text()
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"


async def test_what_is_prepared_in_steps_is_found_at_the_last_one(guard_rig: GuardRig) -> None:
    parts = (
        'mkdir -p free/objects; hook free/hooks pre-commit; git config -f free/config core.fsmonitor "$EVIL"'
    )
    assert not (await guard_rig.run(parts)).auto_run, "no repository yet"
    result = await guard_rig.run("mkdir free/refs; echo ref: refs/heads/main > free/HEAD")
    assert {change.path for change in result.auto_run} == {"free/config", "free/hooks/pre-commit"}


async def test_what_a_stopped_command_planted_is_taken_out_and_reported_by_the_next(
    guard_rig: GuardRig,
) -> None:
    script = "evil_repository sub; echo planted; sleep 600"
    scope, is_planted = TaskScope(), asyncio.Event()
    task = scope.start(guard_rig.run(script, lambda _: is_planted.set()), "a command")
    await is_planted.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert guard_rig.git("config", "core.fsmonitor", folder="sub").stdout == ""
    (change,) = (await guard_rig.run("true")).auto_run
    assert (change.path, change.outcome) == ("sub/.git/config", "removed")


async def test_what_other_programs_run_is_found_and_left_where_it_is(guard_rig: GuardRig) -> None:
    (guard_rig.root / ".vscode").mkdir()
    (guard_rig.root / ".vscode/settings.json").write_text("{}")
    (guard_rig.root / ".envrc").write_text("export A=1\n")
    result = await guard_rig.run(
        "for name in .vscode/settings.json .claude/hooks/a .mcp.json .cursor/mcp.json web/.vscode/tasks.json "
        "node_modules/x/.vscode/tasks.json conftest.py package.json; do mkdir -p $(dirname $name); "
        "echo x > $name; done; echo export B=2 >> .envrc; hook .husky pre-commit"
    )
    assert sorted(change.path for change in result.auto_run) == [
        ".claude/hooks/a", ".cursor/mcp.json", ".envrc", ".husky/pre-commit", ".mcp.json",
        ".vscode/settings.json", "web/.vscode/tasks.json",
    ]  # fmt: skip
    assert all(change.waits and change.effect and change.outcome == "named" for change in result.auto_run)
    for change in result.auto_run:
        assert (guard_rig.root / change.path).exists()
        guard_rig.guard.put(change.kept_id, found=False)
    assert (guard_rig.root / ".envrc").read_text() == "export A=1\n"
    assert (guard_rig.root / ".vscode/settings.json").read_text() == "{}"
    assert not (guard_rig.root / ".claude/hooks/a").exists()
    assert not (await guard_rig.run("true")).auto_run


async def test_what_is_not_sandboxed_is_named_only(guard_rig: GuardRig) -> None:
    """The user allowed a command that may do anything: `pre-commit install` does what it is for."""
    tools = make_tools(guard_rig.root, guard=guard_rig.guard)
    script = "printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"
    result = await tools.run(make_call("run_command", command=script))
    (change,) = result.auto_run
    assert (change.path, change.outcome) == (".git/hooks/pre-commit", "named")
    assert os.access(guard_rig.root / ".git/hooks/pre-commit", os.X_OK)
