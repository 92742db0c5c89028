"""What commands in a sandbox plant for git and other programs: real sandboxes, real git outside."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidInput, StoreError, ToolError
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.permissions.rules import evaluate
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.shell.sandbox_scope import Sandbox
from tests.support.planting_process import kill_hard, start_planting
from tests.support.sandbox_rig import SANDBOXES, outside_tmp, write_file
from tests.support.tool_rig import make_call, make_tools, request_for

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

IDENTITY = ("-c", "user.name=a", "-c", "user.email=b@c", "-c", "protocol.file.allow=always")


def _scripts(name: str) -> tuple[str, dict[str, str]]:
    first, *parts = (SUPPORT / name).read_text(encoding="utf-8").split("\n## ")
    return first, {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


SUPPORT = Path(__file__).parents[2] / "support"
FUNCTIONS, PLANTED = _scripts("planted_for_git.sh")
PLANTED_IN_GIT = _scripts("planted_in_git.sh")[1]
MOVED_AWAY = ("another git folder", "hooks that are a link", "a folder of hooks that is a link")
"""Ways that leave a whole folder of the user at another place: it stays there, and nothing of it runs."""
USUAL = _scripts("usual_git.sh")[1]
USES = """
flag=$1; shift
for words in "rebase --continue" status show diff st "add -A" "commit -qm two --allow-empty" \\
  "commit -q --amend --allow-empty" "checkout -q -b branch" "fetch -q"
do git "$@" $words; [ ! -e "$flag" ] || exit; done
"""


class GuardRig:
    """A repository, a program that must not run, and commands that are confined."""

    def __init__(self, home: Path, sandbox: Sandbox) -> None:
        self.home = home
        self.root = home / "work"
        self.saved = home / "saved"
        self.sandbox = sandbox
        self.flag = home / "ran"
        self.guard = self.new_guard()

    def new_guard(self) -> AutoRunGuard:
        """As another process has it."""
        return AutoRunGuard(self.root, self.home, self.saved)

    def plant_hook(self, name: str = "pre-commit") -> Path:
        (hook := self.root / ".git/hooks" / name).write_text("#!/bin/sh\n")
        hook.chmod(0o755)
        return hook

    def git(self, *arguments: str, folder: str = "") -> subprocess.CompletedProcess[str]:
        """Run git as the user does: outside, with nothing off."""
        return self._outside("git", *IDENTITY, *arguments, folder=folder)

    def _outside(self, *words: str, folder: str = "") -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "EDITOR": "true"}
        environment["FILTER_BRANCH_SQUELCH_WARNING"] = "1"  # else it waits for ten seconds
        return subprocess.run(
            words, cwd=self.root / folder, env=environment, capture_output=True, text=True, check=False
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
        script = self._beginning() + script
        provider = SandboxProvider(lambda: self.sandbox, self.home)
        environ = {**os.environ, "HOME": str(self.home)}
        tools = make_tools(self.root, sandbox_provider=provider, guard=self.guard, environ=environ)
        result = await tools.run(make_call("run_command", command=script), on_output)
        assert result.ok, result.content.decode()
        return result

    def _beginning(self) -> str:
        return f"EVIL=\"sh -c 'touch {self.flag}'\"\n{FUNCTIONS}\n"

    def run_unguarded(self, script: str) -> None:
        """Run a script as `run` does, with no sandbox around it and no guard after it."""
        self._outside("sh", "-c", self._beginning() + script)

    def use_git_everywhere(self) -> None:
        """Do what users, their editors and their prompts do with git in every folder, until `flag` exists."""
        folders = {Path(path).parent for path in self.root.rglob(".git")} | {self.root}
        folders |= {path.parent for path in self.root.rglob("HEAD")}
        for folder in sorted(folders):
            if ".git" in folder.parts and "modules" not in folder.parts:
                continue
            place = str(folder.relative_to(self.root))
            self._outside("sh", "-c", USES, "sh", str(self.flag), *IDENTITY, folder=place)
            if self.flag.exists():
                return
            self.log_on_terminal(place)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One commit; each rig has a copy, since git starts several programs to make it."""
    root = tmp_path_factory.mktemp("repository")
    (root / "a.txt").write_text("one\n")
    worktrees = ("config", "extensions.worktreeConfig", "true")
    for words in (("init", "-q", "-b", "main", "."), worktrees, ("add", "-A"), ("commit", "-qm", "one")):
        subprocess.run(["git", *IDENTITY, *words], cwd=root, check=True)
    for sample in (root / ".git/hooks").iterdir():
        sample.unlink()  # half of all its files
    return root


@pytest.fixture
def guard_rig(repository: Path) -> Iterator[GuardRig]:
    with _new_rig(repository, "bubblewrap") as rig:
        yield rig


@pytest.fixture
def landlock_rig(repository: Path) -> Iterator[GuardRig]:
    with _new_rig(repository, "landlock") as rig:
        yield rig


@pytest.fixture(params=["bubblewrap", "landlock"])
def any_rig(request: pytest.FixtureRequest, repository: Path) -> Iterator[GuardRig]:
    with _new_rig(repository, request.param) as rig:
        yield rig


@contextmanager
def _new_rig(repository: Path, kind: str) -> Iterator[GuardRig]:
    """A repository in a home of its own, outside `/tmp`, which no command sees, and one kind of sandbox."""
    sandbox = SANDBOXES[kind]
    if sandbox is None:
        pytest.skip(f"{kind} does not work here")
    home = Path(tempfile.mkdtemp(prefix=".helix-test-", dir=outside_tmp()))
    try:
        shutil.copytree(repository, home / "work")
        yield GuardRig(home, sandbox)
    finally:
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


async def test_without_bubblewrap_all_of_it_is_found_at_once(landlock_rig: GuardRig) -> None:
    """One command plants each of them in a repository of its own."""
    folders = {way: f"way{number}" for number, way in enumerate(PLANTED)}
    for folder in folders.values():
        shutil.copytree(landlock_rig.root / ".git", landlock_rig.root / folder / ".git")
        (landlock_rig.root / folder / "a.txt").write_text("one\n")
    script = "\n".join(f"(\ncd {folder}\n{PLANTED[way]}\n) || true" for way, folder in folders.items())
    result = await landlock_rig.run(script)
    taken_out = {change.path.partition("/")[0] for change in result.auto_run if change.outcome == "removed"}
    assert [way for way, folder in folders.items() if folder not in taken_out] == []


@given(way=st.sampled_from(sorted(PLANTED)))
@settings(max_examples=max(4, settings().max_examples // 5), deadline=None)
def test_without_the_guard_it_would_run(repository: Path, way: str) -> None:
    with _new_rig(repository, "bubblewrap") as rig:
        rig.run_unguarded(PLANTED[way])
        rig.use_git_everywhere()
        assert rig.flag.exists()


@given(ways=st.lists(st.sampled_from(sorted(PLANTED)), min_size=2, max_size=4, unique=True))
@settings(max_examples=max(4, settings().max_examples // 5), deadline=None)
def test_ways_of_planting_combined_do_not_run_outside_either(repository: Path, ways: list[str]) -> None:
    script = "\n".join(f"(\n{PLANTED[way]}\n) || true" for way in ways)
    with _new_rig(repository, "bubblewrap") as rig:
        result = asyncio.run(rig.run(script))
        assert any(change.outcome == "removed" for change in result.auto_run)
        rig.use_git_everywhere()
        assert not rig.flag.exists(), "nothing of it ran"


def _prepare_what_git_follows(rig: GuardRig) -> dict[Path, tuple[bytes, int]]:
    rig.git("init", "-q", "-b", "main", "--separate-git-dir", f"{rig.root}/lib-git", "lib")
    rig.git("init", "-q", "-b", "main", "hooked")
    rig.git("config", "core.hooksPath", "../team", folder="hooked")
    rig.git("worktree", "add", "-q", "tree")
    rig.git("config", "core.pager", "less -F")
    rig.git("config", "include.path", "../shared.inc")
    (rig.root / "shared.inc").write_text("[user]\n\tname = Ann\n")
    for name in ("team/pre-commit", ".git/hooks/pre-commit"):
        write_file(rig.root, name, "#!/bin/sh\nexit 0\n").chmod(0o755)
    write_file(rig.root, ".git/hooks/post-checkout", f"#!/bin/sh\ntouch {rig.flag}\n").chmod(0o644)
    followed = (
        ".git/config", ".git/hooks/pre-commit", ".git/hooks/post-checkout", "shared.inc", "team/pre-commit",
        "lib/.git", "lib-git/config", "tree/.git", ".git/worktrees/tree/commondir",
    )  # fmt: skip
    paths = [rig.root / name for name in followed]
    return {path: (path.read_bytes(), path.stat().st_mode) for path in paths}


@pytest.mark.parametrize("way", PLANTED_IN_GIT)
async def test_without_bubblewrap_what_was_there_is_there_again(landlock_rig: GuardRig, way: str) -> None:
    """Landlock can't have a part of a folder read-only: what a command changed is put back after it."""
    before = await asyncio.to_thread(_prepare_what_git_follows, landlock_rig)
    result = await landlock_rig.run(PLANTED_IN_GIT[way])
    taken_out = [change for change in result.auto_run if change.outcome == "removed"]
    assert taken_out, "it was found"
    await asyncio.to_thread(landlock_rig.use_git_everywhere)
    assert not landlock_rig.flag.exists(), "nothing of it ran"
    assert landlock_rig.git("status", "--porcelain").returncode == 0, "git works as before"
    if way not in MOVED_AWAY:
        assert {path: (path.read_bytes(), path.stat().st_mode) for path in before} == before


@given(way=st.sampled_from(sorted(PLANTED_IN_GIT)))
@settings(max_examples=max(4, settings().max_examples // 5), deadline=None)
def test_without_the_guard_what_was_there_would_run_changed(repository: Path, way: str) -> None:
    with _new_rig(repository, "landlock") as rig:
        _prepare_what_git_follows(rig)
        rig.run_unguarded(PLANTED_IN_GIT[way])
        rig.use_git_everywhere()
        assert rig.flag.exists()


@pytest.mark.parametrize("command", USUAL)
async def test_usual_commands_of_git_work_as_before(any_rig: GuardRig, command: str) -> None:
    result = await any_rig.run(USUAL[command])
    assert not [change for change in result.auto_run if change.reasons]
    assert any_rig.git("status").returncode == 0
    assert not list(any_rig.saved.iterdir()), "nothing was taken out"


async def test_a_hook_of_the_users_own_template_stays(guard_rig: GuardRig) -> None:
    write_file(guard_rig.home, "template/hooks/pre-commit", "#!/bin/sh\nexit 0\n").chmod(0o755)
    (guard_rig.home / ".gitconfig").write_text("[init]\n\ttemplateDir = ~/template\n")
    result = await guard_rig.run(
        f"command git -c init.templateDir={guard_rig.home}/template init -q new; git init -q other"
    )
    assert (guard_rig.root / "new/.git/hooks/pre-commit").exists()
    assert not result.auto_run


async def test_what_was_taken_out_is_saved_byte_for_byte_and_can_be_restored(guard_rig: GuardRig) -> None:
    result = await guard_rig.run(
        r'git init -q -b main sub; printf "# caf\351\n[core]\n\tpager = x y # why\n[user]\n\tname = me\n" '
        r'>> sub/.git/config; printf "[core]\n\tpager = z\n" >> sub/.git/config; cp sub/.git/config copy; '
        "hook sub/.git/hooks pre-push"
    )
    config, hook = sorted(result.auto_run, key=lambda change: change.path)
    assert (config.path, hook.path) == ("sub/.git/config", "sub/.git/hooks/pre-push")
    assert config.reasons == ("core.pager = x y", "core.pager = z")
    written = guard_rig.root / "sub/.git/config"
    copy = (guard_rig.root / "copy").read_bytes()
    assert guard_rig.guard.saved_changes.place(config.change_id).read_bytes() == copy
    assert written.read_bytes() == copy.replace(b"\tpager = x y # why\n", b"").replace(b"\tpager = z\n", b"")
    assert not (guard_rig.root / "sub/.git/hooks/pre-push").exists()
    guard_rig.git("config", "user.name", "other", folder="sub")
    changed = written.read_bytes()
    for change in (config, hook):
        guard_rig.guard.put(change.change_id, restore=True)
    assert written.read_bytes() == copy
    assert os.access(guard_rig.root / "sub/.git/hooks/pre-push", os.X_OK)
    beside = [path.read_bytes() for path in guard_rig.saved.rglob("replaced-*")]
    assert beside == [changed], "what stood there meanwhile is saved too"
    assert not (await guard_rig.run("touch sub/b.txt")).auto_run, "what the user restored stays"
    guard_rig.guard.put(hook.change_id, restore=False)
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
    scope = TaskScope()
    is_planted = asyncio.Event()
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
        guard_rig.guard.put(change.change_id, restore=False)
    assert (guard_rig.root / ".envrc").read_text() == "export A=1\n"
    assert (guard_rig.root / ".vscode/settings.json").read_text() == "{}"
    assert not (guard_rig.root / ".claude/hooks/a").exists()
    assert not (await guard_rig.run("true")).auto_run


async def test_other_version_control_is_found_by_what_it_runs_and_works_as_before(
    guard_rig: GuardRig,
) -> None:
    for name in (".hg/store/data", ".hg/cache", ".jj/repo/op_heads", "shared"):
        (guard_rig.root / name).mkdir(parents=True)
    (guard_rig.root / ".hg/hgrc").write_text("[ui]\nusername = a\n")
    (guard_rig.root / "shared/config.toml").write_text("[build]\n")
    result = await guard_rig.run(
        "echo x > .hg/store/data/a.i; echo x > .hg/dirstate; echo x > .hg/cache/tags2; "
        "echo x > .jj/repo/op_heads/a; echo 'evil = x.py' >> .hg/hgrc; echo x > .hg/sharedpath; "
        "mkdir -p web/.hg .config/mise mise/src; echo x > web/.hg/hgrc; echo x > .jj/repo/config.toml; "
        "echo x > .config/mise/config.toml; echo x > mise/src/main.rs; echo x > .config/other; "
        "ln -s shared .cargo; ln -s nowhere .vim; echo x > Web.Code-Workspace; echo x > AGENTS.md"
    )
    effects = {change.path: f"{change.effect}" for change in result.auto_run}
    assert sorted(effects) == [
        ".cargo", ".config/mise/config.toml", ".hg/hgrc", ".hg/sharedpath", ".jj/repo/config.toml", ".vim",
        "AGENTS.md", "Web.Code-Workspace", "web/.hg/hgrc",
    ]  # fmt: skip
    assert effects[".cargo"] == "programs that cargo and editors for Rust run", "by what may lie there"
    for change in result.auto_run:
        guard_rig.guard.put(change.change_id, restore=False)
    assert (guard_rig.root / ".hg/hgrc").read_text() == "[ui]\nusername = a\n"
    assert ".cargo" not in os.listdir(guard_rig.root)
    assert (guard_rig.root / "shared/config.toml").exists()
    assert not (await guard_rig.run("echo y > .hg/store/data/a.i")).auto_run


async def test_what_runs_at_the_next_login_is_found_where_the_home_is_the_workspace(
    any_rig: GuardRig,
) -> None:
    """Also what a link in the home leads to, as with a repository of such files."""
    home = any_rig.home
    any_rig.root = home
    any_rig.guard = AutoRunGuard(home, home, any_rig.saved)
    (home / "work/zsh").write_text("mine\n")
    (home / ".zshrc").symlink_to(home / "work/zsh")
    result = await any_rig.run(
        "cd work; echo evil > zsh || true; cd ..; echo evil > .profile; mkdir -p .config/autostart; "
        "echo evil > .config/autostart/a.desktop; printf '[core]\\n\\tfsmonitor = evil\\n' > .gitconfig"
    )
    is_written = any_rig.sandbox.kind == "landlock"  # bubblewrap has it read-only, as it was there
    assert {change.path: (change.outcome, change.waits) for change in result.auto_run} == {
        **({"work/zsh": ("named", True)} if is_written else {}), ".profile": ("named", True),
        ".config/autostart/a.desktop": ("named", True), ".gitconfig": ("removed", True),
    }  # fmt: skip
    assert all(change.effect or change.reasons for change in result.auto_run)
    for change in result.auto_run:
        any_rig.guard.put(change.change_id, restore=False)
    assert (home / "work/zsh").read_text() == "mine\n"
    assert not (home / ".profile").exists()


def test_keys_of_a_home_that_is_the_workspace_are_never_copied(guard_rig: GuardRig) -> None:
    home = guard_rig.home
    guard = AutoRunGuard(guard_rig.home, guard_rig.home, guard_rig.saved)
    names = {
        ".ssh/id_ed25519", ".npmrc", "work/npm", ".config/git/credentials", ".claude/.credentials.json",
        ".ssh/authorized_keys",
    }  # fmt: skip
    for name in names - {".npmrc"}:
        (home / name).parent.mkdir(exist_ok=True, parents=True)
        (home / name).write_text("mine" if name == ".ssh/authorized_keys" else "SECRET one")
    (home / ".npmrc").symlink_to(home / "work/npm")
    before = guard.begin()
    for name in (*names, ".pypirc"):
        (home / name).write_text("evil" if name == ".ssh/authorized_keys" else "SECRET two")
    assert _are_copied(guard_rig.saved, b"mine"), "what is no key can be restored after a crash"
    assert not _are_copied(guard_rig.saved)
    changes = {change.path: change for change in guard.end(before)}
    assert changes.keys() == names - {".ssh/id_ed25519", ".npmrc"} | {".pypirc"}
    for path, change in changes.items():
        assert ("no copy" in change.effect) == (path != ".ssh/authorized_keys")
        guard.put(change.change_id, restore=False)
    assert (home / ".ssh/authorized_keys").read_text() == "mine"
    for path in (".pypirc", "work/npm"):
        assert not (home / path).exists()
        (home / path).write_text("SECRET three")
        guard.put(changes[path].change_id, restore=True)
        assert (home / path).read_text() == "SECRET two"
        (beside,) = home.glob(f"{path}.taken-out-*")
        assert beside.read_text() == "SECRET three", "nothing is lost"
    assert not _are_copied(guard_rig.saved)
    with pytest.raises(InvalidInput, match="can't be compared"):
        guard.patch(changes[".pypirc"].change_id)


def _are_copied(saved: Path, words: bytes = b"SECRET") -> bool:
    return any(words in path.read_bytes() for path in saved.rglob("*") if path.is_file())


def test_a_link_in_the_place_of_a_file_with_keys_is_taken_back(guard_rig: GuardRig) -> None:
    home = guard_rig.home
    guard = AutoRunGuard(guard_rig.home, guard_rig.home, guard_rig.saved)
    (home / ".claude").mkdir()
    (keys := home / ".claude/auth.json").write_text("SECRET one")
    before = guard.begin()
    keys.unlink()
    keys.symlink_to("/dev/null")
    (change,) = guard.end(before)
    guard.put(change.change_id, restore=False)
    assert not os.path.lexists(keys), "no empty file in the place of what it was"
    keys.write_text("SECRET two")
    guard.put(change.change_id, restore=True)
    assert keys.is_symlink()
    assert not _are_copied(guard_rig.saved)
    (beside,) = home.glob(".claude/auth.json.taken-out-*")
    assert beside.read_text() == "SECRET two"


NAMED_PROGRAMS = {
    "core.fsmonitor": "./tools/run.sh",
    "diff.external": "tools/run.sh --color",
    "alias.st": "!sh tools/run.sh",
    "diff.c.command": "cd tools && ./run.sh",
    "diff.c.textconv": "python3 -c 'import os; os.system(\"tools/run.sh\")'",
}


@pytest.mark.parametrize("setting", NAMED_PROGRAMS)
async def test_a_program_that_the_users_settings_name_stays_as_it_was(
    any_rig: GuardRig, setting: str
) -> None:
    """Where it was not there before, it is taken out; else it is read-only, or put back."""
    any_rig.git("config", setting, NAMED_PROGRAMS[setting])
    program, other = (
        write_file(any_rig.root, f"tools/{name}.sh", "#!/bin/sh\nexit 0\n") for name in ("run", "other")
    )
    program.chmod(0o755)
    other.chmod(0o755)
    plant = "\n".join(
        f"printf '#!/bin/sh\\ntouch {any_rig.flag}\\n' > tools/{name} && chmod +x tools/{name} || true"
        for name in ("run.sh", "other.sh")
    )
    result = await any_rig.run(plant)
    is_written = any_rig.sandbox.kind == "landlock"
    assert [change.path for change in result.auto_run] == (["tools/run.sh"] if is_written else [])
    assert program.read_text() == "#!/bin/sh\nexit 0\n"
    assert "touch" in other.read_text(), "what git does not run is written"
    await asyncio.to_thread(any_rig.use_git_everywhere)
    assert not any_rig.flag.exists(), "nothing of it ran"
    program.unlink()
    (change,) = (await any_rig.run(plant)).auto_run
    assert (change.path, change.outcome) == ("tools/run.sh", "removed"), "it was not there before"
    assert not program.exists()


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("setting", [*NAMED_PROGRAMS, "core.hooksPath", "include.path"])
async def test_auto_asks_before_an_edit_of_what_the_users_settings_name(
    guard_rig: GuardRig, setting: str, is_there: bool
) -> None:
    """An edit runs in no sandbox, so nothing compares the file after it."""
    places = {"core.hooksPath": "tools", "include.path": "tools/run.sh"}
    value = NAMED_PROGRAMS.get(setting) or str(guard_rig.root / places[setting])
    guard_rig.git("config", "--global", setting, value)
    (guard_rig.root / "tools").mkdir()
    if is_there:
        (guard_rig.root / "tools/run.sh").write_text("exit 0\n")
    tools = make_tools(
        guard_rig.root, sandbox_provider=SandboxProvider(lambda: guard_rig.sandbox, guard_rig.home)
    )
    effects = []
    for name in ("tools/run.sh", "src.py"):
        request = await request_for(tools, make_call("write_file", path=name, content="exit 1\n"))
        decision = evaluate((), request, "auto")
        effects.append((decision.effect, decision.auto_executed))
    assert effects == [("ask", ("tools/run.sh",)), ("allow", ())]


async def test_a_script_that_a_planted_setting_names_stays(guard_rig: GuardRig) -> None:
    result = await guard_rig.run(
        "echo exit > build.sh; git init -q new; git -C new config alias.b '!../build.sh'"
    )
    assert [change.path for change in result.auto_run] == ["new/.git/config"]
    assert (guard_rig.root / "build.sh").exists()


@pytest.mark.parametrize("is_same", [True, False])
def test_an_answer_is_about_the_change_that_it_was_asked_for(guard_rig: GuardRig, is_same: bool) -> None:
    """While a question is on screen, another command changes the file too, and that is decided on first."""
    guard = guard_rig.guard
    file = guard_rig.root / ".envrc"
    other = guard if is_same else guard_rig.new_guard()

    def change(by: AutoRunGuard, text: str) -> str:
        before = by.begin()
        file.write_text(text)
        (found,) = by.end(before)
        return found.change_id

    first = change(guard, "one")
    second = change(other, "two")
    guard.put(first, restore=False)
    other.put(second, restore=False)
    assert not file.exists(), "not what the first one left, as that was taken back"
    first = change(guard, "one")
    second = change(other, "two")
    guard.put(first, restore=False)
    other.settle([second], [second])
    assert file.read_text() == "two", "it was kept"
    file.unlink()
    first = change(guard, "one")
    other.put(first, restore=False)
    guard.settle([first], [first])
    assert file.read_text() == "one"
    file.write_text("mine")
    guard.settle([first], [first])
    assert file.read_text() == "mine", "what the user wrote meanwhile"


async def test_another_name_of_a_hidden_file_is_taken_out(landlock_rig: GuardRig) -> None:
    """Landlock allows a hard link in the same folder, and `read_file` would read it without a question."""
    home = landlock_rig.home
    (home / ".npmrc").write_text("SECRET one")
    assert not (await landlock_rig.run("ln ~/.npmrc notes.txt || true")).auto_run
    assert not (home / "work/notes.txt").exists(), "the kernel refuses it from outside the workspace"
    landlock_rig.root = home
    landlock_rig.guard = AutoRunGuard(home, home, landlock_rig.saved)
    os.link(home / ".npmrc", home / "mine.txt")
    result = await landlock_rig.run("cd ~; ln .npmrc notes.txt; ln .npmrc work/notes.txt || true")
    assert not (home / "work/notes.txt").exists(), "the kernel refused it"
    (change,) = result.auto_run
    assert (change.path, change.outcome) == ("notes.txt", "removed")
    assert change.reasons == ("another name of .npmrc, which is hidden from commands",)
    assert not (home / "notes.txt").exists()
    assert (home / ".npmrc").read_text() == (home / "mine.txt").read_text() == "SECRET one"
    assert not _are_copied(landlock_rig.saved)
    with pytest.raises(InvalidInput, match="can't be compared"):
        landlock_rig.guard.patch(change.change_id)
    for _ in range(2):
        landlock_rig.guard.put(change.change_id, restore=True)
        assert (home / "notes.txt").samefile(home / ".npmrc")
    assert not (await landlock_rig.run("true")).auto_run, "it was there before"
    landlock_rig.guard.put(change.change_id, restore=False)
    assert not (home / "notes.txt").exists()
    assert not list(home.glob(".notes.txt*")), "nothing is left behind"
    before = landlock_rig.guard.begin(hidden=[home / ".npmrc"])
    (home / "notes.txt").write_text("other")
    landlock_rig.guard.end(before)
    assert (home / "notes.txt").read_text() == "other"
    assert not _are_copied(landlock_rig.saved)


async def test_a_link_to_what_only_commands_write_is_taken_out(any_rig: GuardRig) -> None:
    """The temporary folder of commands is no place of the workspace: nobody looks at what git finds there."""
    script = (
        "evil_repository $TMPDIR/evil; at=$(awk '$5 == \"/tmp\" {print $4}' /proc/self/mountinfo | tail -1); "
        'case $TMPDIR in /tmp) ln -s "$at/evil" sub;; *) ln -s $TMPDIR/evil sub;; esac'
    )
    (change,) = (await any_rig.run(script)).auto_run
    assert (change.path, change.outcome) == ("sub", "removed")
    assert "sub" not in os.listdir(any_rig.root)


async def test_what_is_not_sandboxed_is_named_only(guard_rig: GuardRig) -> None:
    """The user allowed a command that may do anything: `pre-commit install` does what it is for."""
    tools = make_tools(guard_rig.root, guard=guard_rig.guard)
    script = "printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"
    result = await tools.run(make_call("run_command", command=script))
    (change,) = result.auto_run
    assert (change.path, change.outcome) == (".git/hooks/pre-commit", "named")
    assert os.access(guard_rig.root / ".git/hooks/pre-commit", os.X_OK)


async def test_two_commands_at_once_miss_nothing_and_take_nothing_twice(guard_rig: GuardRig) -> None:
    """The second begins after the first has planted, and plants the same again once the first has ended."""
    (guard_rig.root / "build").mkdir()
    guard_rig.git("init", "-q", "build/sub")
    (guard_rig.root / ".envrc").write_text("export A=1\n")
    plant = (
        'git -C build/sub config core.pager "$EVIL"; hook build/sub/.git/hooks pre-commit; '
        "echo export B=2 > .envrc"
    )
    first = await _Running.start(guard_rig, f"{plant}; echo ready; cat first > /dev/null", "first")
    second = await _Running.start(guard_rig, f"echo ready; cat second > /dev/null; {plant}", "second")
    one = (await first.end()).auto_run
    assert {change.path: change.outcome for change in one} == {
        "build/sub/.git/config": "removed", "build/sub/.git/hooks/pre-commit": "removed", ".envrc": "named",
    }  # fmt: skip
    assert guard_rig.git("config", "core.pager", folder="build/sub").stdout == ""
    two = (await second.end()).auto_run
    assert {change.path for change in two} == {"build/sub/.git/config", "build/sub/.git/hooks/pre-commit"}
    assert guard_rig.git("config", "core.pager", folder="build/sub").stdout == ""
    assert not (guard_rig.root / "build/sub/.git/hooks/pre-commit").exists()
    envrc = next(change for change in one if change.path == ".envrc")
    guard_rig.guard.put(envrc.change_id, restore=False)
    assert (guard_rig.root / ".envrc").read_text() == "export A=1\n"
    assert not (await guard_rig.run("true")).auto_run


async def test_what_the_user_takes_back_or_restores_holds_for_a_command_that_still_runs(
    guard_rig: GuardRig,
) -> None:
    other = await _Running.start(guard_rig, "echo ready; cat other > /dev/null; cp .envrc seen", "other")
    result = await guard_rig.run("hook build/.git/hooks pre-commit; git init -q build; echo x > .envrc")
    hook, envrc = sorted(result.auto_run, key=lambda change: change.path, reverse=True)
    assert (hook.path, envrc.path) == ("build/.git/hooks/pre-commit", ".envrc")
    guard_rig.guard.put(hook.change_id, restore=True)
    guard_rig.guard.put(envrc.change_id, restore=False)
    (guard_rig.root / ".envrc").write_text("")
    again = (await other.end()).auto_run
    assert [change.path for change in again] == [".envrc"], "only what has changed since then"
    assert (guard_rig.root / "build/.git/hooks/pre-commit").exists()


class _Running:
    """A command that has begun, and goes on to its end once its pipe is written to."""

    def __init__(self, task: asyncio.Task[ToolResult], pipe: Path) -> None:
        self._task = task
        self._pipe = pipe

    @classmethod
    async def start(cls, rig: GuardRig, script: str, pipe: str) -> _Running:
        """Start a script that says `ready` and reads a named pipe."""
        os.mkfifo(rig.root / pipe)
        is_ready = asyncio.Event()
        running = TaskScope().start(rig.run(script, lambda _: is_ready.set()), pipe)
        await is_ready.wait()
        return cls(running, rig.root / pipe)

    async def end(self) -> ToolResult:
        await asyncio.to_thread(self._pipe.write_text, "go")
        return await self._task


@pytest.mark.parametrize("is_same", [True, False], ids=["one process", "two processes"])
async def test_what_the_user_allowed_elsewhere_meanwhile_stays(guard_rig: GuardRig, is_same: bool) -> None:
    """While a command runs in the sandbox, the user allows a hook, and restores another one."""
    guard = guard_rig.guard
    allowed = []
    other = guard if is_same else guard_rig.new_guard()
    running = guard.begin()
    for name, takes_out in (("pre-commit", False), ("pre-push", True)):
        before = other.begin(takes_out)
        allowed.append(guard_rig.plant_hook(name))
        (change,) = other.end(before, takes_out)
        if takes_out:
            assert not allowed[-1].exists()
            other.put(change.change_id, restore=True)
        other.settle([change.change_id], [change.change_id])
    guard_rig.plant_hook("post-commit")
    (change,) = guard.end(running)
    assert (change.path, change.outcome) == (".git/hooks/post-commit", "removed")
    assert all(hook.exists() for hook in allowed)


@pytest.mark.parametrize("is_same", [True, False], ids=["one process", "two processes"])
async def test_what_is_planted_again_before_it_is_settled_is_not_allowed(
    guard_rig: GuardRig, is_same: bool
) -> None:
    """The user clicks Take back while another command that still runs writes the same once more."""

    def plant() -> Path:
        (guard_rig.root / ".envrc").write_text("export A=1\n")
        return guard_rig.plant_hook()

    guard = guard_rig.guard
    other = guard if is_same else guard_rig.new_guard()
    running = guard.begin()
    before = other.begin()
    plant()
    changes = other.end(before)
    hook = plant()
    for change in changes:
        if change.path == ".envrc":
            other.put(change.change_id, restore=False)
            plant()
    other.settle([change.change_id for change in changes])
    again = {change.path: change.outcome for change in guard.end(running)}
    assert again == {".git/hooks/pre-commit": "removed", ".envrc": "named"}
    assert not hook.exists()


async def test_what_the_user_kept_and_changed_later_is_not_listed_as_taken_back(guard_rig: GuardRig) -> None:
    result = await guard_rig.run(
        "git init -q sub; git -C sub config core.pager x; echo x > .envrc; echo > .exrc"
    )
    ids = {change.path: change.change_id for change in result.auto_run}
    guard_rig.guard.put(ids["sub/.git/config"], restore=True)
    guard_rig.guard.put(ids[".exrc"], restore=False)
    guard_rig.guard.settle(ids.values(), [ids[".envrc"]])
    guard_rig.git("config", "user.name", "Ann", folder="sub")
    (guard_rig.root / ".envrc").write_text("mine\n")
    (guard_rig.root / ".exrc").write_text("\n")
    assert {change.path: change.outcome for change in guard_rig.guard.auto_run_changes()} == {
        "sub/.git/config": "kept", ".envrc": "kept", ".exrc": "removed",
    }  # fmt: skip


async def test_what_a_command_of_another_process_planted_is_never_what_one_found(guard_rig: GuardRig) -> None:
    other = guard_rig.new_guard()
    first = guard_rig.guard.begin()
    guard_rig.plant_hook()
    second = other.begin()
    assert [change.outcome for change in guard_rig.guard.end(first)] == ["removed"]
    hook = guard_rig.plant_hook()
    assert [change.outcome for change in other.end(second)] == ["removed"]
    assert not hook.exists()


async def test_what_a_killed_process_left_is_taken_out_at_the_next_opening(guard_rig: GuardRig) -> None:
    process = start_planting(guard_rig.root, guard_rig.home, guard_rig.saved)
    other = guard_rig.new_guard()
    assert other.recover() == (), "it still runs"
    assert (guard_rig.root / ".git/hooks/pre-commit").exists()
    kill_hard(process)
    changes = guard_rig.guard.recover()
    assert {change.path: (change.outcome, change.waits) for change in changes} == {
        ".git/hooks/pre-commit": ("removed", False), ".envrc": ("removed", False),
    }  # fmt: skip
    assert guard_rig.git("commit", "-qm", "two", "--allow-empty").returncode == 0
    assert not guard_rig.flag.exists()
    assert not (guard_rig.root / ".envrc").exists()
    again = guard_rig.new_guard()
    assert again.recover() == (), "this process reports it"
    assert (await guard_rig.run("true")).auto_run == changes, "a command reports it, once"
    assert not (await guard_rig.run("true")).auto_run
    for change in changes:
        guard_rig.guard.put(change.change_id, restore=True)
    assert os.access(guard_rig.root / ".git/hooks/pre-commit", os.X_OK)
    assert (guard_rig.root / ".envrc").read_text() == "planted"


def test_a_pipe_among_the_saved_changes_does_not_hang(guard_rig: GuardRig) -> None:
    before = guard_rig.guard.begin()
    (guard_rig.root / ".envrc").write_text("one")
    (change,) = guard_rig.guard.end(before)
    os.mkfifo(guard_rig.saved / "open-0123456789abcdef")
    (noted := guard_rig.saved / change.change_id / "restored").unlink(missing_ok=True)
    os.mkfifo(noted)
    other = guard_rig.new_guard()
    assert other.recover() == ()
    assert [found.path for found in other.auto_run_changes()] == [".envrc"]


async def test_what_a_killed_process_left_undecided_is_taken_back(guard_rig: GuardRig) -> None:
    """The question was on screen: git's part is out, the rest is there."""
    kill_hard(start_planting(guard_rig.root, guard_rig.home, guard_rig.saved, is_over=True))
    assert (guard_rig.root / ".envrc").exists()
    changes = guard_rig.guard.recover()
    assert {change.path for change in changes} == {".git/hooks/pre-commit", ".envrc"}
    assert not (guard_rig.root / ".envrc").exists()


async def test_a_command_does_not_run_if_what_to_compare_it_with_cannot_be_saved(
    guard_rig: GuardRig,
) -> None:
    guard_rig.saved.write_text("not a folder")
    provider = SandboxProvider(lambda: guard_rig.sandbox, guard_rig.home)
    tools = make_tools(guard_rig.root, sandbox_provider=provider, guard=guard_rig.guard)
    with pytest.raises(ToolError, match="could not be started"):
        await tools.run(make_call("run_command", command="touch ran"))
    assert not (guard_rig.root / "ran").exists()


async def test_a_copy_that_cannot_be_read_is_an_error_of_the_store(guard_rig: GuardRig) -> None:
    await guard_rig.run("git init -q sub; git -C sub config core.pager evil")
    assert guard_rig.guard.saved_copies_size() == guard_rig.guard.saved_changes.size() > 0
    (guard_rig.saved / "0123456789abcdef").write_text("no folder")
    with pytest.raises(StoreError, match="can't be read"):
        guard_rig.guard.saved_copies_size()


async def test_what_is_saved_goes_only_when_it_is_old_and_too_much(guard_rig: GuardRig) -> None:
    (change,) = (await guard_rig.run("git init -q sub; git -C sub config core.pager evil")).auto_run
    saved = guard_rig.guard.saved_changes
    at_ms = guard_rig.guard.saved_changes.entry(change.change_id).at_ms
    month_ms = 30 * 24 * 3600 * 1000
    assert saved.clean_up(at_ms + month_ms) == 0, "it is little"
    assert saved.clean_up(at_ms + month_ms - 1, max_bytes=0) == 0, "it is young"
    size = saved.size()
    assert saved.clean_up(at_ms + month_ms, max_bytes=0) == size > 0
    with pytest.raises(InvalidInput, match="no longer kept"):
        guard_rig.guard.put(change.change_id, restore=True)
