"""Commands that only read, run without asking: what holds them, with each sandbox that works here."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.tools import PathProtection, PermissionRule, RuleEffect
from helix_desktop.permissions.reading_programs import DEFAULT_LINES
from helix_desktop.permissions.rules import evaluate
from helix_desktop.tools.shell.sandbox_detect import no_sandbox_provider
from helix_desktop.tools.tool import ToolGrants
from tests.support.git_checkouts import git
from tests.support.sandbox_rig import SandboxRig, write_file
from tests.support.tool_rig import make_call, make_tools, request_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sandboxes are for POSIX systems")

OWN_LINES = (
    "touch FILES", "cp FILES", "mv FILES", "rm FILES -r -f", "mkdir FILES", "ln FILES -s", "tee FILES",
    "dd TEXTS",
    "truncate FILES -s=TEXT", "chmod TEXT FILES", "sort FILES -o=PATH", "sed TEXT FILES -i -n",
    "uniq FILES",
    "tree FILES -o=PATH", "install FILES", "git add FILES", "git commit -m=TEXT", "git branch TEXT -D",
    "git checkout TEXT -b", "git config TEXTS", "git stash push", "git tag TEXT",
    "git diff FILES --out=PATH",
    "git update-index -q --refresh", "git gc", "git fetch TEXT", "git ls-remote TEXT",
    "git clone TEXTS", "curl TEXTS",
    "git grep TEXT -O=TEXT", "cmp FILES", "hexdump FILES", "patch FILES", "tar TEXTS",
    *(line for line in DEFAULT_LINES if line.split()[0] in ("cat", "ls", "echo", "find", "head", "rg",
    "grep")),
)  # fmt: skip
"""A list by which programs that write may run unasked, to see what then holds them."""

WRITES = [
    "touch new.txt", "cp a.txt b.txt", "mv a.txt b.txt", "rm -rf a.txt sub", "mkdir new",
    "ln -s a.txt link",
    "cat a.txt | tee new.txt", "dd if=a.txt of=new.txt", "truncate -s 0 a.txt", "chmod 777 a.txt",
    "sort -o a.txt sub/b.txt", "sed -i s/in/out/ a.txt", "sed -n 'w new.txt' a.txt",
    "sed 1e\\ touch\\ new.txt a.txt",
    "uniq a.txt new.txt", "install a.txt new.txt", "git add new.txt", "git commit -m x", "git branch new",
    "git branch -D other", "git checkout -b new", "git config a.b c", "git stash push", "git tag new",
    "git update-index --refresh", "git gc", "tar cf new.tar a.txt", "touch .git/hooks/pre-commit",
    "git clone . new",
]  # fmt: skip


def workspace_state(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return each file and folder of a workspace, git's own too, with its mode and content."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
        )
        for path in sorted(root.rglob("*"))
    }


def make_repository(root: Path) -> None:
    """Make a workspace a repository with a commit, a change, and a branch."""
    (root / "sub").mkdir(exist_ok=True)
    (root / "sub" / "b.txt").write_text("in sub/b.txt\n")
    git(root, "init", "-q")
    git(root, "add", "a.txt", "sub")
    git(root, "commit", "-qm", "first")
    git(root, "branch", "other")
    (root / "a.txt").write_text("in a.txt, changed\n")


def plant_programs(root: Path, outside: Path) -> None:
    """Configure git in a repository to run a program wherever it can, and prove that it does."""
    script = f"#!/bin/sh\necho ran > {root}/evil.txt\necho ran > {outside}\ntouch {root}/.git/evil\ncat\n"
    write_file(root, "evil.sh", script).chmod(0o755)
    for hook in ("post-index-change", "post-checkout", "fsmonitor-watchman", "pre-auto-gc"):
        write_file(root, f"hooks/{hook}", script).chmod(0o755)
    write_file(root, ".gitattributes", "*.txt diff=evil filter=evil\n")
    with open(root / ".git" / "config", "a", encoding="utf-8") as config:
        config.write(PLANTED_CONFIG.format(root=root))
    subprocess.run(["git", "status"], cwd=root, check=False, capture_output=True, timeout=60)
    assert (root / "evil.txt").exists(), "what is planted runs outside"
    for path in (root / "evil.txt", root / ".git" / "evil", outside):
        path.unlink(missing_ok=True)


async def test_nothing_is_written_whatever_is_on_the_list(sandbox_rig: SandboxRig) -> None:
    make_repository(sandbox_rig.root)
    sandbox_rig.reading_lines = OWN_LINES
    before = workspace_state(sandbox_rig.root)
    ran = 0
    for command in WRITES:
        with suppress(ToolError):  # some are not found to read, whatever the list says
            await sandbox_rig.read(command)
            ran += 1
        assert workspace_state(sandbox_rig.root) == before, command
    assert ran >= len(WRITES) - 4, "all but a few are held by the sandbox alone"


async def test_no_network_is_reached_even_where_commands_may_use_it(sandbox_rig: SandboxRig) -> None:
    sandbox_rig.reading_lines = OWN_LINES
    sandbox_rig.grants = ToolGrants(network=True)
    make_repository(sandbox_rig.root)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for command in (
            f"curl -s --max-time 2 http://127.0.0.1:{port}/stolen",
            f"git ls-remote http://127.0.0.1:{port}/x.git",
            f"git fetch git://127.0.0.1:{port}/x.git",
        ):
            try:
                assert not (await sandbox_rig.read(command)).ok
            except ToolError:
                continue  # the program is not here, or the list can't have it
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


PLANTED_CONFIG = """
[core]
    fsmonitor = {root}/evil.sh
    pager = {root}/evil.sh
    hooksPath = {root}/hooks
    editor = {root}/evil.sh
    sshCommand = {root}/evil.sh
    attributesFile = {root}/.gitattributes
[pager]
    log = {root}/evil.sh
    diff = {root}/evil.sh
[diff "evil"]
    textconv = {root}/evil.sh
    command = {root}/evil.sh
[diff]
    external = {root}/evil.sh
[filter "evil"]
    clean = {root}/evil.sh
    smudge = {root}/evil.sh
    process = {root}/evil.sh
[alias]
    status = !{root}/evil.sh
    st = !{root}/evil.sh
[gpg]
    program = {root}/evil.sh
[log]
    showSignature = true
"""


async def test_what_a_repository_configures_writes_nothing(sandbox_rig: SandboxRig) -> None:
    """`git status` runs core.fsmonitor, `git diff` runs text converters and filters."""
    root = sandbox_rig.root
    make_repository(root)
    outside = sandbox_rig.home / "reached.txt"
    plant_programs(root, outside)
    before = workspace_state(root)
    for command in (
        "git status", "git status --short", "git diff", "git diff HEAD", "git diff --stat",
        "git log -p -2",
        "git show HEAD", "git blame a.txt", "git grep in", "git branch -a", "git stash list",
        "git ls-files -m",
        "git log --format=%G?", "git cat-file -p HEAD:a.txt", "git describe --always --dirty",
    ):  # fmt: skip
        assert (await sandbox_rig.asks(command)).is_reading, command
        await sandbox_rig.read(command)
        assert workspace_state(root) == before, command
        assert not outside.exists(), command
    assert not (await sandbox_rig.asks("git st")).is_reading, "an alias is no subcommand of the list"


async def test_it_shows_what_was_asked_for(sandbox_rig: SandboxRig) -> None:
    root = sandbox_rig.root
    make_repository(root)
    for command, line in {
        "cat a.txt": "in a.txt, changed", "cd sub && cat b.txt": "in sub/b.txt", "ls | sort": "a.txt",
        "grep -rn sub .": "in sub/b.txt", "git status --short": " M a.txt",
        "git diff --stat | head -1": "a.txt",
        "sed -n 1p a.txt": "in a.txt", "find . -name '*.txt' | wc -l": "2", "git log --oneline": "first",
        "cat a.txt gone 2>/dev/null | head": "in a.txt", "cat gone 2>&1 | cat": "No such file",
        f"cat {root}/a.txt": "in a.txt", "cat sub/*.txt": "in sub/b.txt",
    }.items():  # fmt: skip
        assert (await sandbox_rig.asks(command)).is_reading, command
        result = await sandbox_rig.read(command)
        head, _, output = result.content.decode().partition("\n")
        assert head == "exit code 0 (sandboxed to read only, no network):"
        assert line in output
        assert not result.auto_run
    assert "in sub/b.txt" in (await sandbox_rig.read("cat b.txt", folder="sub")).content.decode()


async def test_files_with_keys_are_neither_shown_nor_searched(sandbox_rig: SandboxRig) -> None:
    root = sandbox_rig.root
    for name in (".env", "sub/.env.local", "deploy/server.pem", ".ssh/id_x"):
        write_file(root, name, f"secret of {name}\n")
    (root / "link.txt").symlink_to(".env")
    (root / "out.txt").symlink_to(sandbox_rig.home / "notes.txt")
    (root / "sublink").symlink_to("sub")
    write_file(root, "other/.env.local", "another\n")
    write_file(root, "other/link", "another\n")
    (root / "sub" / "link").symlink_to("../.env")
    (root / "away").symlink_to(sandbox_rig.home)
    for command in (
        "cat .env",
        "cat link.txt",
        "cat out.txt",
        "ls away",
        "cd away && ls",
        "cat deploy/*.pem",
        "cat away/*",
        "grep -r secret .ssh",
        "cd .ssh && grep -r secret",
        "ls .ssh",
    ):
        assert not (await sandbox_rig.asks(command)).is_reading, command
    assert not (await sandbox_rig.asks("ls", folder="away")).is_reading
    for command in (
        "grep -r secret .",
        "grep -rn secret",
        "rg --hidden -uu secret",
        "grep -r secret sublink",
        "diff sub other",
    ):
        request = await sandbox_rig.asks(command)
        assert request.is_reading or command.startswith("rg"), command
        if request.is_reading:
            assert "secret of" not in (await sandbox_rig.read(command)).content.decode()
    assert "in work/a.txt" in (await sandbox_rig.read("grep -r in .")).content.decode()


async def test_what_git_tracks_of_keys_is_asked_about(sandbox_rig: SandboxRig) -> None:
    root = sandbox_rig.root
    make_repository(root)
    shows = ("git diff", "git show HEAD", "git log -p", "git grep x", "git blame a.txt")
    for command in shows:
        assert (await sandbox_rig.asks(command)).is_reading
    write_file(root, "sub/.env", "KEY=1\n")
    assert (await sandbox_rig.asks("git diff")).is_reading, "git does not track it"
    git(root, "add", "-f", "sub/.env")
    for command in shows:
        assert not (await sandbox_rig.asks(command)).is_reading
    assert (await sandbox_rig.asks("git status --short")).is_reading, "it shows no content"
    git(root, "update-index", "--index-version", "4")
    assert not (await sandbox_rig.asks("git diff")).is_reading, "a form that is not read"


async def test_what_the_user_excludes_is_asked_about(sandbox_rig: SandboxRig) -> None:
    root = sandbox_rig.root
    make_repository(root)
    write_file(root, ".agentignore", "private/\n")
    write_file(root, "private/a.txt", "x\n")
    for command, is_reading in {
        "cat private/a.txt": False, "ls private": False, "cat a.txt": True, "grep -r x .": False,
        "git diff": False, "git status": True, "find . -name a.txt": True,
    }.items():  # fmt: skip
        assert (await sandbox_rig.asks(command)).is_reading == is_reading, command


async def test_a_program_of_the_workspace_is_asked_about(sandbox_rig: SandboxRig) -> None:
    if shutil.which("rev") is None:
        pytest.skip("there is no rev here")
    tool = write_file(sandbox_rig.root, "bin/rev", "#!/bin/sh\ntouch planted\n")
    tool.chmod(0o755)
    (sandbox_rig.home / "tools").symlink_to(tool.parent)
    (sandbox_rig.home / "links").mkdir()
    (sandbox_rig.home / "links" / "rev").symlink_to(tool)
    command = make_call("run_command", command="rev a.txt")
    box = sandbox_rig.box
    for folder in (
        str(tool.parent),
        "bin",
        "./bin",
        f"{sandbox_rig.home}/tools",
        f"{sandbox_rig.home}/links",
    ):
        environ = {"HOME": str(sandbox_rig.home), "PATH": f"{folder}:{os.environ['PATH']}"}
        box = make_tools(sandbox_rig.root, sandbox_provider=sandbox_rig.sandboxes, environ=environ)
        request = await request_for(box, command)
        assert not request.is_reading, folder
    tool.unlink()
    sandbox_rig.box = box
    assert (await sandbox_rig.asks("rev a.txt")).is_reading, "the system's own"


async def test_without_a_sandbox_and_with_network_it_is_asked_about(
    sandbox_rig: SandboxRig, tmp_path: Path
) -> None:
    assert (await sandbox_rig.asks("ls")).is_reading
    assert not (await sandbox_rig.asks("ls", network=True)).is_reading
    sandbox_rig.grants = ToolGrants(sandbox=False)
    assert not (await sandbox_rig.asks("ls")).is_reading
    sandbox_rig.grants = ToolGrants()
    sandbox_rig.reading_lines = ()
    assert not (await sandbox_rig.asks("ls")).is_reading, "the user switched it off"
    box = make_tools(tmp_path, sandbox_provider=no_sandbox_provider())
    request = await request_for(box, make_call("run_command", command="ls"))
    assert not request.is_reading


async def test_a_command_that_was_allowed_as_reading_does_no_more_after_a_change(
    sandbox_rig: SandboxRig,
) -> None:
    assert (await sandbox_rig.asks("cat a.txt")).is_reading
    sandbox_rig.reading_lines = ("ls FILES",)
    with pytest.raises(ToolError, match="may do more than read by now"):
        await sandbox_rig.read("cat a.txt")
    with pytest.raises(ToolError, match="may do more"):
        await sandbox_rig.read("touch new.txt")
    assert not (sandbox_rig.root / "new.txt").exists()


async def test_a_rule_for_tests_covers_them_beside_what_only_reads(sandbox_rig: SandboxRig) -> None:
    if not (await sandbox_rig.asks("pytest")).confined:
        pytest.skip("rules need a sandbox that confines all")
    root = sandbox_rig.root
    make_repository(root)
    write_file(root, ".env", "KEY=1\n")
    (root / "link.txt").symlink_to(".env")
    (root / "out.txt").symlink_to("/etc/hostname")
    sandbox_rig.reading_lines = (*DEFAULT_LINES, "touch FILES")
    rules = {
        name: PermissionRule("run_command", f"{name} *", kind="pattern", confined=True)
        for name in ("pytest", "black")
    }
    for command, rule in {
        "pytest -q && git status --short": "pytest",
        "git diff; pytest -q 2>&1 | tail -3; cat a.txt": "pytest",
        "black . && cat a.txt": "black", "cd sub && pytest && cat b.txt": "pytest",
    }.items():  # fmt: skip
        request = await sandbox_rig.asks(command)
        assert rules[rule] in request.suggested_rules, command
        assert evaluate([rules[rule]], request).effect == "allow", command
        denied = PermissionRule("*", "git *", kind="pattern", effect="deny")
        assert evaluate([rules[rule], denied], request).effect == ("deny" if "git" in command else "allow")
    for command in (
        "black . && git status", "cat a.txt && git status && black .", "pytest && touch new.txt",
        "pytest && cat link.txt", "pytest && cat out.txt", "pytest && grep -r x .", "pytest && cat .env",
        "pytest && git status > a.txt", "pytest && make", "cat sub/b.txt && rm a.txt",
    ):  # fmt: skip
        request = await sandbox_rig.asks(command)
        assert evaluate(rules.values(), request).effect == "ask", command
        assert not set(rules.values()) & set(request.suggested_rules), command
    assert evaluate(rules.values(), await sandbox_rig.asks("pytest && ls", network=True)).effect == "ask"
    for command in ("pytest -v a 2>&1; pytest 2>&1 | tail -3", "pytest -q && black . ; git diff --stat"):
        assert evaluate(rules.values(), await sandbox_rig.asks(command)).effect == "allow", "each has a rule"


async def test_a_rule_for_first_words_covers_no_protected_path(sandbox_rig: SandboxRig) -> None:
    """Also where a link leads to it, an ignore file lists it, a search finds it, or git tracks it."""
    root = sandbox_rig.root
    write_file(root, ".env", "KEY=1\n")
    (root / "keys.txt").symlink_to(".env")
    (root / "etc").symlink_to("/etc")
    make_repository(root)

    async def answer(command: str) -> tuple[RuleEffect, set[PathProtection], list[str]]:
        name = " ".join(command.split()[: 2 if command.startswith("git") else 1])
        saved = [
            PermissionRule("run_command", f"{each} *", kind="pattern", confined=True)
            for each in (name, "cat")
        ]
        request = await sandbox_rig.asks(command)
        exact = PermissionRule("run_command", command, confined=request.confined)
        assert evaluate([exact], request).effect == "allow", command
        protections = {each.protection for each in request.protected_paths}
        effect = evaluate(saved, request).effect
        return effect, protections, [each.path for each in request.protected_paths]

    for command, protection, path in (
        ("cat .env", "secret", ".env"), ("cat .env | head -1", "secret", ".env"),
        ("cat sub/../.env.local", "secret", ".env.local"), ("cat keys.txt", "secret", "keys.txt"),
        ("tail -n 1 .env", "secret", ".env"), ("less .env", "secret", ".env"),
        ("cp .env b.txt", "secret", ".env"), ("cd sub && cat ../.env", "secret", ".env"),
        ("git show HEAD:.env", "secret", ".env"), ("rg --replace=x KEY", "secret", ".env"),
        ("grep -R KEY .", "secret", ".env"),
        ("cat /etc/hostname", "outside", "/etc/hostname"), ("cat etc/hostname", "outside", "etc/hostname"),
        ("cd etc && cat hostname", "outside", "etc"), ("head -c 1 ../x", "outside", "../x"),
        ("grep -rn x /etc", "outside", "/etc"), ("git -C /etc log", "outside", "/etc"),
    ):  # fmt: skip
        effect, protections, paths = await answer(command)
        assert (effect, protection in protections, path in paths) == ("ask", True, True), command
    assert (await answer("cat --squeeze a.txt"))[1] == set()
    assert (await answer("git log -1"))[1] == set()
    git(root, "add", "-f", ".env")
    for command in ("git log -1", "git diff --output=x"):
        assert (await answer(command))[:2] == ("ask", {"secret"}), command
    git(root, "rm", "-q", "--cached", ".env")
    write_file(root, ".agentignore", "sub/\n")
    for command, path in (("cat sub/b.txt", "sub/b.txt"), ("git log -1", "."), ("rg KEY a.txt sub", "sub")):
        effect, protections, paths = await answer(command)
        assert (effect, "ignored" in protections, path in paths) == ("ask", True, True), command


async def test_a_rule_for_first_words_covers_what_it_is_for(sandbox_rig: SandboxRig) -> None:
    write_file(sandbox_rig.root, ".env", "KEY=1\n")
    sandbox_rig.reading_lines = ()
    if not (await sandbox_rig.asks("pytest")).confined:
        pytest.skip("rules need a sandbox that confines all")
    for command in (
        "cat a.txt", "cat a.txt | head -1", "pytest --basetemp=/tmp/x", "npm test -- --config /tmp/c.json",
        "python3 a.py /etc/hostname", "git commit -m 'Say it'", "cp a.txt b.txt",
    ):  # fmt: skip
        request = await sandbox_rig.asks(command)
        assert not request.protected_paths, command
        (*_, pattern) = request.suggested_rules
        assert evaluate([pattern], request).effect == "allow", command
