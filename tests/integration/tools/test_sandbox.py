"""What a command can reach from its sandbox: tried by real commands, with each sandbox that works here."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from helix_desktop.domain.tools import STOPPED
from helix_desktop.tools.git import GitProgram
from helix_desktop.tools.shell.sandbox_bubblewrap import NAMESPACE_OPTIONS, Bubblewrap, find_network_program
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider, find_sandbox, no_sandbox_provider
from helix_desktop.tools.shell.sandbox_landlock import abi_version, readable_paths
from helix_desktop.tools.shell.sandbox_scope import SandboxScope, confines
from helix_desktop.tools.shell.scratch import temporary_base
from helix_desktop.tools.tool import ToolGrants, ToolRegistry
from tests.support.git_checkouts import git
from tests.support.output_recorder import OutputRecorder
from tests.support.processes import UNIQUE_SLEEP_S, wait_for_exit
from tests.support.sandbox_rig import SANDBOXES, SandboxRig, write_file
from tests.support.tool_rig import make_call, make_tools, request_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sandboxes are for POSIX systems")


class _ThreadRecorder(SandboxProvider):
    """A provider that remembers which threads found scopes."""

    threads: frozenset[threading.Thread] = frozenset()

    def scope_for(self, root: Path, scratch: Path, private: Path | None = None) -> SandboxScope:
        self.threads |= {threading.current_thread()}
        return super().scope_for(root, scratch, private)


async def test_only_the_workspace_is_writable(sandbox_rig: SandboxRig) -> None:
    assert "ok" in await sandbox_rig.text("echo new > a.txt && mkdir -p sub && mv a.txt sub/b.txt && echo ok")
    assert (sandbox_rig.root / "sub/b.txt").read_text() == "new\n"
    for target in ("/etc/helix-test", "/usr/x", "/home/x"):
        assert not (await sandbox_rig.run(f"echo bad > {target}")).ok
    for target in (f"{sandbox_rig.home}/notes.txt", f"{sandbox_rig.home}/.bashrc", "../notes.txt"):
        is_copy = sandbox_rig.sandbox.kind == "bubblewrap"
        assert (await sandbox_rig.run(f"echo bad > {target}")).ok == is_copy
    assert (sandbox_rig.home / "notes.txt").read_text() == "in notes.txt\n"
    assert not (sandbox_rig.home / ".bashrc").exists()


async def test_symlinks_and_hard_links_do_not_escape(sandbox_rig: SandboxRig) -> None:
    await sandbox_rig.run(f"ln -s {sandbox_rig.home}/notes.txt link && echo bad > link")
    assert not (await sandbox_rig.run(f"ln {sandbox_rig.home}/notes.txt name && echo bad > name")).ok
    assert (sandbox_rig.home / "notes.txt").read_text() == "in notes.txt\n"


async def test_the_environment_of_other_programs_cannot_be_read(sandbox_rig: SandboxRig) -> None:
    other = await asyncio.create_subprocess_exec("sleep", "300", env={"SECRET_OF": "somebody else"})
    try:
        text = await sandbox_rig.text("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; echo end")
        assert "somebody else" not in text
        assert text.endswith("end\n")
    finally:
        other.kill()
        await other.wait()


async def test_there_is_no_network_unless_allowed(sandbox_rig: SandboxRig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        assert "reached" not in await sandbox_rig.text(command)
        assert "reached" in await sandbox_rig.text(command, network=True)
        sandbox_rig.grants = ToolGrants(network=True)
        assert "reached" in await sandbox_rig.text(command)


async def test_no_name_can_be_resolved_without_network(sandbox_rig: SandboxRig) -> None:
    """Names carry data out by themselves (CVE-2025-55284)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        await sandbox_rig.run(f"echo stolen > /dev/udp/127.0.0.1/{server.getsockname()[1]}")
        with pytest.raises(BlockingIOError):
            server.recv(100)


async def test_sockets_of_other_programs_are_out_of_reach(sandbox_rig: SandboxRig) -> None:
    """Who reaches the session bus or a container engine has left the sandbox."""
    path = sandbox_rig.home / ".ssh" / "agent"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r}); print('rea' + 'ched')"
        assert "reached" not in await sandbox_rig.text(f'python3 -c "{code}"')


async def test_temp_files_survive_from_one_command_to_the_next(sandbox_rig: SandboxRig) -> None:
    assert (await sandbox_rig.run('echo kept > "$TMPDIR/passed"')).ok
    assert "kept" in await sandbox_rig.text('cat "$TMPDIR/passed"')
    assert "passed" not in os.listdir("/tmp")


async def test_another_workspace_does_not_see_temp_files(sandbox_rig: SandboxRig) -> None:
    other = sandbox_rig.home / "other"
    other.mkdir()
    box = sandbox_rig.tools(other)
    name = f"passed-{secrets.token_hex(4)}"
    assert (await sandbox_rig.run(f'echo secret > "$TMPDIR/{name}"')).ok
    assert len(list(temporary_base().glob(f"*/{name}"))) == 1
    for path in (f'"$TMPDIR/{name}"', f"{temporary_base()}/*/{name}"):
        assert not (await box.run(make_call("run_command", command=f"cat {path}"))).ok


async def test_the_working_folder_is_respected(sandbox_rig: SandboxRig) -> None:
    (sandbox_rig.root / "deep" / "er").mkdir(parents=True)
    assert await sandbox_rig.text("pwd", folder="deep/er") == f"{sandbox_rig.root}/deep/er\n"
    (sandbox_rig.root / "out").symlink_to(sandbox_rig.home)
    with pytest.raises(Exception, match="out of the workspace"):
        await sandbox_rig.run("pwd", folder="out")


@pytest.mark.parametrize("way", ["", "setsid ", "nohup setsid "])
async def test_background_processes_are_named_and_killed(sandbox_rig: SandboxRig, way: str) -> None:
    begun = "until [ $(cat /proc/$!/comm) = sleep ]; do sleep 0.01; done"  # until then its name is setsid
    result = await sandbox_rig.run(
        f"{way}sleep {UNIQUE_SLEEP_S} >/dev/null 2>&1 </dev/null & {begun}; echo done"
    )
    header, _, text = result.content.decode().partition("\n")
    assert header.endswith(f"; left in the background, and ended: sleep {UNIQUE_SLEEP_S}):")
    assert text == "done\n"
    await wait_for_exit("sleep", UNIQUE_SLEEP_S)


@pytest.mark.parametrize("way", ["setsid ", "env -i setsid -f "])
async def test_stopping_ends_even_those_that_changed_their_group(
    bubblewrap_rig: SandboxRig, way: str
) -> None:
    recorder = OutputRecorder()
    command = f"{way}sleep {UNIQUE_SLEEP_S} >/dev/null 2>&1 & echo begun; sleep {UNIQUE_SLEEP_S}"
    task = asyncio.get_running_loop().create_task(
        bubblewrap_rig.box.run(make_call("run_command", command=command), recorder)
    )
    await recorder.wait_for("begun")
    task.cancel(STOPPED)
    result = await task
    assert result.content.decode().startswith("no exit code: the user stopped it")
    assert "begun" in result.content.decode()
    await wait_for_exit("sleep", UNIQUE_SLEEP_S)  # a namespace of processes ends a moment after its first one


async def test_git_ignores_configuration_written_by_a_command(bubblewrap_rig: SandboxRig) -> None:
    await asyncio.to_thread(git, bubblewrap_rig.root, "init", "-q")
    config, hook = (bubblewrap_rig.root / f".git/{name}" for name in ("config", "hooks/pre-commit"))
    before = config.read_text()
    for command in (
        "echo evil > .git/hooks/pre-commit",
        "echo '[core] fsmonitor = evil' >> .git/config",
        "rm -rf .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
        "mv .git .moved; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
        "mv .git/config .git/other; echo evil > .git/config",
    ):
        await bubblewrap_rig.run(command)
        assert not hook.exists(), command
        assert config.read_text() == before, command
    assert (
        await bubblewrap_rig.run("git add a.txt && git -c user.name=a -c user.email=b@c commit -qm one")
    ).ok


async def test_a_command_changes_nothing_that_git_follows_from_its_configuration(
    bubblewrap_rig: SandboxRig,
) -> None:
    """Read-only is what exists: included files, hooks elsewhere, and a git folder that is named by a file."""
    root = bubblewrap_rig.root
    deep = root / "a/b/c/d/e/f"

    def prepare() -> None:
        git(root, "init", "-q")
        git(root, "init", "-q", str(deep))
        git(root, "commit", "-qm", "one", "--allow-empty")
        git(root, "init", "-q", "--separate-git-dir", "free", "lib")
        git(root, "worktree", "add", "-q", "tree")
        for name in ("team/more.inc", "my hooks/pre-commit", "team/when.inc"):
            write_file(root, name, "")
        write_file(root, "shared.inc", "[include]path = team/more.inc\n")
        config = (
            '[include] path = ../shared.inc ; of all\n[core]\n\tHooksPath = "my\\\n hooks"\n'
            f'[includeIf "gitdir:{root}/"]\n\tpath = {root}/team/when.inc # here\n'
        )
        with (root / ".git/config").open("a") as file:
            file.write(config)

    await asyncio.to_thread(prepare)
    followed = (
        *("lib/.git", "free/config", "tree/.git", ".git/worktrees/tree/commondir"),
        *("shared.inc", "team/more.inc", "team/when.inc", "my hooks/pre-commit", "a/b/c/d/e/f/.git/config"),
    )
    before = {name: (root / name).read_bytes() for name in followed}
    for name in followed:
        for command in (f"echo evil > '{name}'", f"rm -f '{name}' && echo evil > '{name}'"):
            assert not (await bubblewrap_rig.run(command)).ok, command
    assert not (await bubblewrap_rig.run("mv free moved")).ok
    assert not (await bubblewrap_rig.run("echo evil > 'my hooks/pre-push'")).ok
    assert {name: (root / name).read_bytes() for name in followed} == before
    assert not (root / ".git/commondir").exists(), "nothing is made in the user's repository"
    identity = "-c user.name=a -c user.email=b@c"
    for command in (
        "git init -q new && echo x > new/x && git -C new add x",
        f"git -C lib add -A && git -C lib {identity} commit -qm one --allow-empty",
        f"git -C tree {identity} commit -qm two --allow-empty",
        f"git checkout -qb side && echo 1 > f && git add f && git {identity} commit -qm side",
        f"git checkout -qb other HEAD~ && echo 2 > f && git add f && git {identity} commit -qm other",
        f"! git {identity} rebase side && echo 3 > f && git add f && "
        f"GIT_EDITOR=true git {identity} rebase --continue",
        "mkdir -p build && git init -q build/dep",
        "rm -rf build",
    ):
        result = await bubblewrap_rig.run(command)
        assert result.ok, result.content


async def test_hooks_that_another_folder_of_git_names_are_read_only(bubblewrap_rig: SandboxRig) -> None:
    """The workspace is a linked worktree, a part of a checkout, or has its hooks beside its files."""
    home = bubblewrap_rig.home
    root = bubblewrap_rig.root

    def prepare() -> None:
        git(home, "init", "-q", "main")
        git(home / "main", "commit", "-qm", "one", "--allow-empty")
        git(home / "main", "config", "core.hooksPath", ".hooks")
        git(home / "main", "worktree", "add", "-q", str(root / "tree"))
        git(home, "init", "-q")
        git(home, "config", "core.hooksPath", "work/team")
        (root / "link").mkdir()
        git(root, "init", "-q", "elsewhere")
        (root / "link/.git").symlink_to(root / "elsewhere/.git")
        for folder in ("tree/.hooks", "team", "flat"):
            write_file(root, f"{folder}/pre-commit", "")
        git(root, "init", "-q", "flat")
        git(root / "flat", "config", "core.hooksPath", ".")

    await asyncio.to_thread(prepare)
    for name in ("tree/.hooks/pre-commit", "team/pre-commit", "flat/pre-commit", "elsewhere/.git/config"):
        assert not (await bubblewrap_rig.run(f"echo evil > {name}")).ok, name
    assert (await bubblewrap_rig.run("echo x > flat/a.txt && echo x > tree/a.txt && echo x > new.txt")).ok


async def test_shell_startup_files_stay_unchanged_when_home_is_the_workspace(
    bubblewrap_rig: SandboxRig,
) -> None:
    (bubblewrap_rig.home / ".bashrc").write_text("mine\n")
    bubblewrap_rig.box = bubblewrap_rig.tools(bubblewrap_rig.home)
    assert not (await bubblewrap_rig.run("echo evil > .bashrc")).ok
    assert not (await bubblewrap_rig.run("mv .bashrc .old")).ok
    assert (bubblewrap_rig.home / ".bashrc").read_text() == "mine\n"
    assert "id_ed25519" not in await bubblewrap_rig.text("ls -a .ssh")


async def test_no_scope_is_found_in_the_thread_of_the_window(bubblewrap_rig: SandboxRig) -> None:
    recorder = _ThreadRecorder(lambda: bubblewrap_rig.sandbox, bubblewrap_rig.home)
    bubblewrap_rig.sandboxes = recorder
    bubblewrap_rig.box = bubblewrap_rig.tools(bubblewrap_rig.root)
    program = GitProgram(bubblewrap_rig.root, dict(os.environ), recorder, lambda: bubblewrap_rig.grants)
    for find in (bubblewrap_rig.run("true"), program.run(["status"], 10)):
        recorder.threads = frozenset()
        await find
        assert recorder.threads
        assert threading.main_thread() not in recorder.threads


async def test_startup_files_in_a_workspace_stay_unchanged(bubblewrap_rig: SandboxRig) -> None:
    config = bubblewrap_rig.home / ".config"
    (config / "fish").mkdir(parents=True)
    bubblewrap_rig.box = bubblewrap_rig.tools(config)
    assert not (await bubblewrap_rig.run("echo evil > fish/config.fish")).ok
    assert (await bubblewrap_rig.run("echo mine > other.txt")).ok


async def test_only_enforced_limits_count_as_confined(sandbox_rig: SandboxRig) -> None:
    kind = sandbox_rig.sandbox.kind
    assert confines(kind, contains_home=False, network=False) == (kind == "bubblewrap")
    assert not confines(kind, contains_home=False, network=True)
    assert not confines(kind, contains_home=True, network=False)


async def test_the_approval_names_the_limits_of_the_command(bubblewrap_rig: SandboxRig, home: Path) -> None:
    async def approval_of(box: ToolRegistry, **more: object) -> tuple[bool, str, str]:
        ask = await request_for(box, make_call("run_command", command="make", **more))
        assert ask.detail == "make"
        return ask.confined, ask.subject, ask.effect

    assert await approval_of(bubblewrap_rig.box) == (
        True,
        "make",
        "Sandboxed: writes only in the workspace and a temporary folder; no network.",
    )
    assert (await approval_of(bubblewrap_rig.box, network=True))[:2] == (False, "make  # with network")
    bubblewrap_rig.grants = ToolGrants(sandbox=False)
    assert (await approval_of(bubblewrap_rig.box, folder="sub dir"))[:2] == (False, "cd 'sub dir' && make")
    bare = make_tools(home / "work", sandbox_provider=no_sandbox_provider())
    assert (await approval_of(bare))[2].endswith(
        "Not sandboxed: it can do anything you can, on this computer and the network."
    )


def test_the_strictest_sandbox_is_used() -> None:
    best = find_sandbox().kind
    assert best == next((kind for kind, sandbox in SANDBOXES.items() if sandbox is not None), "none")


def test_readable_folders_contain_no_hidden_one(home: Path) -> None:
    cell = SandboxProvider(home=home, hidden=(home / "data",)).scope_for(home / "work", home / "work")
    allowed = readable_paths(cell)
    covered = [folder for folder in cell.hidden if not folder.is_relative_to("/proc")]
    assert not [
        folder for folder in (home / "notes.txt", *covered) for path in allowed if folder.is_relative_to(path)
    ]


_SOCKET_SCOPE_ABI = 6


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root could write them")
async def test_root_changes_nothing_of_the_machine(sandbox_rig: SandboxRig) -> None:
    """Each is opened to be written, with what it holds already; nothing is changed on the way."""
    pattern = _CORE_PATTERN.read_text()  # noqa: ASYNC240 - the kernel has it in memory
    code = (
        "import sys\nfor name in sys.argv[1:]:\n  try:\n    open(name, 'r+b', 0).close()\n"
        "    print('opened', name)\n  except OSError: pass\n"
    )
    write_file(sandbox_rig.root, "open.py", code)
    assert "opened" not in await sandbox_rig.text(f"python3 open.py {' '.join(_MACHINE_FILES)}")
    await sandbox_rig.run("echo '|/bin/evil' > /proc/sys/kernel/core_pattern")
    undo = (
        "umount /proc/sys; mount -o remount,rw /proc/sys; echo '|/bin/evil' > /proc/sys/kernel/core_pattern"
    )
    await sandbox_rig.run(f'unshare -Urm sh -c "{undo}"; {undo}')
    assert _CORE_PATTERN.read_text() == pattern  # noqa: ASYNC240 - the kernel has it in memory


_CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")

_MACHINE_FILES = (
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
    "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/file-max", "/proc/sysrq-trigger", "/proc/mtrr",
    "/proc/irq/default_smp_affinity", "/proc/acpi/wakeup", "/proc/kcore", "/proc/timer_list",
    "/proc/latency_stats", "/proc/pressure/cpu", "/proc/slabinfo", "/sys/kernel/uevent_helper",
    "/sys/kernel/mm/ksm/run", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/cgroup.subtree_control", "/sys/devices/system/cpu/cpu1/online",
    "/sys/module/printk/parameters/time", "/sys/kernel/mm/transparent_hugepage/enabled",
)  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root could read them")
async def test_root_reads_no_keys_of_the_system(sandbox_rig: SandboxRig) -> None:
    for name in ("/etc/shadow", "/etc/gshadow", "/proc/kcore"):
        assert (await sandbox_rig.text(f"head -c 10 {name} 2>/dev/null | wc -c")).strip() == "0", name


async def test_no_variable_leads_to_other_programs(sandbox_rig: SandboxRig) -> None:
    names = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "TMUX")
    environ = {**os.environ, **dict.fromkeys(names, "leads-out")}
    box = make_tools(sandbox_rig.root, sandbox_provider=sandbox_rig.sandboxes, environ=environ)
    result = await box.run(make_call("run_command", command="env", network=True))
    assert "leads-out" not in result.content.decode()


async def test_the_card_says_where_programs_can_be_reached_with_network(bubblewrap_rig: SandboxRig) -> None:
    """With a kernel that can't keep a command from sockets without a path."""
    sentence = "It can also reach your other programs, such as your display and keyboard."
    program = shutil.which("bwrap")
    assert program is not None
    for abi, says_so in ((5, True), (6, False)):
        sandbox = Bubblewrap(program, landlock_abi=abi)
        box = SandboxRig(bubblewrap_rig.home, sandbox).box
        for network in (False, True):
            ask = await request_for(box, make_call("run_command", command="make", network=network))
            assert (sentence in ask.effect) == (says_so and network)


@pytest.mark.skipif(abi_version() < _SOCKET_SCOPE_ABI, reason="this kernel has no scope for sockets")
async def test_no_socket_without_a_path_leads_out_with_network(sandbox_rig: SandboxRig) -> None:
    """As an X server has: who reaches it can photograph the display, and type."""
    name = f"helix-test-{secrets.token_hex(4)}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}'); print('rea' + 'ched')"
        write_file(sandbox_rig.root, "connect.py", code)
        text = await sandbox_rig.text("python3 connect.py", network=True)
        assert "reached" not in text
        assert "Error" in text
    own = f"import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0{name}'); s.listen()\n"
    write_file(sandbox_rig.root, "own.py", own + code)
    assert "reached" in await sandbox_rig.text("python3 own.py", network=True), "its own it reaches"


@pytest.fixture(params=["pasta", "slirp4netns"])
def own_network_rig(request: pytest.FixtureRequest, home: Path) -> SandboxRig:
    """As on a kernel that can't keep a command from sockets without a path."""
    bwrap = shutil.which("bwrap")
    program = shutil.which(request.param)
    if SANDBOXES["bubblewrap"] is None or bwrap is None or program is None:
        pytest.skip(f"{request.param} or bubblewrap is not installed")
    own_network = find_network_program([bwrap, *NAMESPACE_OPTIONS], (request.param,))
    if own_network is None:
        pytest.skip(f"{request.param} does not work here")
    return SandboxRig(home, Bubblewrap(bwrap, landlock_abi=5, own_network=own_network))


async def test_a_network_of_its_own_has_no_socket_of_others(own_network_rig: SandboxRig) -> None:
    name = f"helix-test-{secrets.token_hex(4)}"
    tries = {
        "connect.py": f"s = socket.socket(socket.AF_UNIX); s.connect('\\0{name}')",
        "localhost.py": "socket.create_connection(('127.0.0.1', PORT), 3)",
    }
    with socket.socket(socket.AF_UNIX) as display, socket.create_server(("127.0.0.1", 0)) as local_server:
        display.bind(f"\0{name}")
        display.listen()
        for file_name, line in tries.items():
            code = line.replace("PORT", str(local_server.getsockname()[1]))
            write_file(own_network_rig.root, file_name, f"import socket\n{code}\nprint('rea' + 'ched')\n")
            text = await own_network_rig.text(f"python3 {file_name}", network=True)
            assert "reached" not in text
            assert "Error" in text


async def test_a_network_of_its_own_has_servers_of_the_command(own_network_rig: SandboxRig) -> None:
    write_file(
        own_network_rig.root,
        "serve.py",
        "import socket, threading\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "threading.Thread(target=lambda: server.accept()[0].send(b'ser' + b'ved')).start()\n"
        "print(socket.create_connection(server.getsockname(), 3).recv(9))\n",
    )
    assert "b'served'" in await own_network_rig.text("python3 serve.py", network=True)
    interfaces = await own_network_rig.text("tail -n +3 /proc/net/dev; cat /etc/resolv.conf", network=True)
    assert ("eth0" in interfaces and "169.254.1.1" in interfaces) or (
        "tap0" in interfaces and "10.0.2.3" in interfaces
    )
    assert "eth0" not in await own_network_rig.text("tail -n +3 /proc/net/dev")


async def test_a_network_of_its_own_ends_with_its_command(own_network_rig: SandboxRig) -> None:
    """However the command ends; and nothing of it counts as left in the background."""
    before = _network_programs()
    result = await own_network_rig.run("cat; echo out; echo err >&2; exit 7", network=True)
    assert (result.exit_code, result.content.decode().splitlines()[1:]) == (7, ["out", "err"])
    assert not (await own_network_rig.run("sleep 60", network=True, timeout_s=1)).ok
    recorder = OutputRecorder()
    command = make_call("run_command", command="echo started; sleep 60", network=True)
    running = asyncio.get_running_loop().create_task(own_network_rig.box.run(command, recorder))
    await recorder.wait_for("started")
    assert _network_programs() - before
    running.cancel(STOPPED)
    await running
    async with asyncio.timeout(10):
        while _network_programs() - before:  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.01)


def _network_programs() -> set[str]:
    listed = ("ps", "-C", "pasta,passt,pasta.avx2,passt.avx2,slirp4netns", "-o", "pid=,stat=")
    lines = subprocess.run(listed, capture_output=True, check=False, text=True).stdout.splitlines()
    return {pid for pid, state in map(str.split, lines) if not state.startswith("Z")}


async def test_the_card_says_what_a_network_of_its_own_does_not_reach(own_network_rig: SandboxRig) -> None:
    sentence = "It can't reach servers on your computer's localhost."
    for network in (False, True):
        ask = await own_network_rig.asks("make", network=network)
        assert ask.effect_details == ((sentence,) if network else ())
        assert "other programs" not in ask.effect
