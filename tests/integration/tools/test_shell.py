"""Commands run to a stated end with a folder for temporary files, and nothing they started outlives them."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path

import msgspec
import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.tools import STOPPED, TURN_ENDED, PermissionRule
from helix_desktop.permissions.rules import evaluate, rule_applies
from helix_desktop.tools.process import ProcessResult, ProcessSpec, run_process
from helix_desktop.tools.shell.run_command import describe_result
from helix_desktop.tools.shell.scratch import ScratchDir, temporary_base
from helix_desktop.tools.tool import clean_environment
from tests.support.output_recorder import OutputRecorder
from tests.support.tool_rig import make_call, make_tools, request_for

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are written for a POSIX shell")


async def test_output_and_exit_code_are_stated(tmp_path: Path) -> None:
    result = await make_tools(tmp_path).run(
        make_call("run_command", command="echo out; echo err >&2; pwd; exit 3")
    )
    assert result.content.decode() == f"exit code 3 (not sandboxed):\nout\nerr\n{tmp_path}\n"
    assert (result.exit_code, result.ok, result.target[:8]) == (3, False, "echo out")


async def test_silence_is_stated_and_stdin_is_closed(tmp_path: Path) -> None:
    result = await make_tools(tmp_path).run(make_call("run_command", command="cat"))
    assert (result.content, result.ok) == (b"exit code 0 (not sandboxed)\n(no output)\n", True)


async def test_approval_is_for_exactly_this_command(tmp_path: Path) -> None:
    ask = await request_for(make_tools(tmp_path), make_call("run_command", command="make  test"))
    assert (ask.subject, ask.detail) == ("make  test", "make  test")
    assert ask.rule == PermissionRule("run_command", "make  test")
    other = await request_for(make_tools(tmp_path), make_call("run_command", command="make test"))
    assert not rule_applies(ask.rule, other)


async def test_mode_auto_asks_before_a_write_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "settings").symlink_to(".env")
    (tmp_path / "editor").symlink_to(".vscode")
    for command, effect in (
        ("echo x > settings", "ask"), ("cp a editor/tasks.json", "ask"), ("echo x > $'\\0'", "allow"),
        ("echo x > other", "allow"), ("cat settings > other", "allow"),
    ):  # fmt: skip
        ask = await request_for(make_tools(tmp_path), make_call("run_command", command=command))
        coverage = FileCoverage(places=(UncoveredPlace(".env", "secret"),), is_complete=True)
        confined = msgspec.structs.replace(ask, coverage=coverage, confined=True)
        assert evaluate((), confined, "auto").effect == effect


@pytest.mark.parametrize("command", ["", " \n", "echo \u202eevil", "ls\x1b[2K", "a\0b", "rm\u200b x"])
async def test_commands_with_deceptive_characters_are_refused(tmp_path: Path, command: str) -> None:
    with pytest.raises(ToolError):
        await make_tools(tmp_path).approval(make_call("run_command", command=command))
    with pytest.raises(ToolError):
        await make_tools(tmp_path).run(make_call("run_command", command=command))


async def test_secrets_do_not_reach_commands(tmp_path: Path) -> None:
    box = make_tools(tmp_path, environ={"PATH": os.environ["PATH"], "SOME_API_KEY": "a secret", "KEEP": "x2"})
    text = (await box.run(make_call("run_command", command="env"))).content.decode()
    assert "a secret" not in text
    assert "KEEP=x2" in text


async def test_a_time_limit_kills_the_complete_process_group(tmp_path: Path) -> None:
    command = "sleep 300 & echo $! > pid; trap '' TERM; echo started; wait; sleep 300"
    result = await make_tools(tmp_path).run(make_call("run_command", command=command, timeout_s=3))
    assert result.exit_code is None
    assert not result.ok
    assert result.content.startswith(
        b"no exit code: its time limit of 3 s ended it and all it had started; timeout_s can be up to 1800 ("
    )
    assert b"started" in result.content
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_canceling_kills_the_complete_process_group(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    command = "sleep 300 & echo $! > ready; sleep 300"
    task = asyncio.get_running_loop().create_task(
        make_tools(tmp_path).run(make_call("run_command", command=command))
    )
    child = int(await asyncio.to_thread((tmp_path / "ready").read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(child)


LAUNCHING = """
import asyncio, os, sys
from helix_desktop.tools.process import ProcessSpec, run_process
from helix_desktop.tools.shell.run_command import describe_result
command = ["/bin/sh", "-c", "sleep 300 & echo $! $$ > told; wait"]
asyncio.run(run_process(ProcessSpec(command, sys.argv[1], os.environ, is_guarded=True), 300))
"""


async def test_a_killed_app_leaves_no_command_running(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    app = await asyncio.create_subprocess_exec(sys.executable, "-c", LAUNCHING, str(tmp_path), env=environ)
    pids = [int(word) for word in (await asyncio.to_thread((tmp_path / "told").read_text)).split()]
    app.kill()
    await app.wait()
    assert [await gone(pid) for pid in pids] == [True, True]


async def test_the_guard_is_no_child_of_the_command_and_ends_with_it(tmp_path: Path) -> None:
    # grep ends with 2 when a process of others is gone before it is read
    command = (
        'cat /proc/$$/task/$$/children; echo; echo $$; grep -ls "^NSpgid:.*\\b$$" /proc/[0-9]*/status || true'
    )
    result = await make_tools(tmp_path).run(make_call("run_command", command=command))
    lines = result.content.decode().split("\n")
    assert lines[0] == "exit code 0 (not sandboxed):"
    assert len(lines[1].split()) <= 1  # cat itself
    others = [int(line.split("/")[2]) for line in lines[3:] if line and line.split("/")[2] != lines[2]]
    assert others
    assert [await gone(pid) for pid in others] == [True] * len(others)


@pytest.mark.parametrize("turns", range(12))
async def test_a_cancel_during_startup_leaves_nothing_running(tmp_path: Path, turns: int) -> None:
    """The cancel comes after this many turns of the loop, so that it meets every stage of starting."""
    command = "sleep 300 & echo $! > pid; wait"
    work = make_tools(tmp_path).run(make_call("run_command", command=command))
    task = asyncio.get_running_loop().create_task(work)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pid = await asyncio.to_thread(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    assert not pid or await gone(int(pid))


@pytest.mark.parametrize(
    "command",
    [
        "sleep 300 & echo $! > pid",
        "sleep 300 >/dev/null 2>&1 & echo $! > pid; sleep 0.2",  # until then it is named after the shell
        "setsid sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1 & "
        "until grep -q sleep /proc/$(cat pid)/comm; do :; done 2>/dev/null",
    ],
    ids=["with its output", "without output", "out of the group"],
)
async def test_background_processes_are_killed_and_reported(tmp_path: Path, command: str) -> None:
    result = await make_tools(tmp_path).run(make_call("run_command", command=command))
    assert result.content.startswith(
        b"exit code 0 (not sandboxed; left in the background, and ended: sleep 300)"
    )
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_nothing_runs_where_a_link_replaced_the_folder(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "elsewhere").mkdir()
    box = make_tools(tmp_path / "work")
    (tmp_path / "work").rmdir()
    (tmp_path / "work").symlink_to("elsewhere")
    with pytest.raises(ToolError, match="replaced by a link"):
        await box.run(make_call("run_command", command="touch made"))
    assert not list((tmp_path / "elsewhere").iterdir())


async def test_many_commands_run_concurrently(tmp_path: Path) -> None:
    box = make_tools(tmp_path)
    calls = [box.run(make_call("run_command", command=f"exit {number}")) for number in range(8)]
    assert [result.exit_code for result in await asyncio.gather(*calls)] == list(range(8))


@pytest.mark.qt_loop
async def test_the_same_under_the_qt_loop(tmp_path: Path) -> None:
    box = make_tools(tmp_path)
    (tmp_path / "a.txt").write_text("needle\n")
    result = await box.run(make_call("run_command", command="echo hi; exit 4"))
    assert (result.content, result.exit_code) == (b"exit code 4 (not sandboxed):\nhi\n", 4)
    late = await box.run(make_call("run_command", command="sleep 300", timeout_s=1))
    assert late.exit_code is None
    assert b"a.txt" in (await box.run(make_call("search_text", pattern="needle"))).content
    assert (await box.run(make_call("read_file", path="a.txt"))).content == b"needle\n"


async def gone(pid: int) -> bool:
    """Return True if a process has ended, given half a minute to."""
    for _ in range(3_000):
        if state_of(pid) in ("", "Z"):
            return True
        await asyncio.sleep(0.01)
    return False


def state_of(pid: int) -> str:
    """A process's state letter; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


async def test_output_is_reported_as_it_arrives(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    recorder = OutputRecorder()
    command = "printf 'h\\303\\244lf'; read x < go; echo ' way'"
    work = make_tools(tmp_path).run(make_call("run_command", command=command), recorder)
    task = asyncio.get_running_loop().create_task(work)
    await recorder.wait_for("hälf")
    assert not task.done()
    await asyncio.to_thread((tmp_path / "go").write_text, "on\n")
    assert (await task).content.endswith("hälf way\n".encode())
    assert recorder.text == "hälf way\n"


async def test_only_the_newest_part_of_a_flood_is_reported(tmp_path: Path) -> None:
    recorder = OutputRecorder()
    command = ["/bin/sh", "-c", "head -c 30000000 /dev/zero | tr '\\0' x; echo end"]
    ran = await run_process(ProcessSpec(command, str(tmp_path), os.environ), 60, on_output=recorder)
    assert len(ran.output) == 30_000_004
    assert recorder.text.endswith("xend\n")
    assert max(len(text) for text in recorder.chunks) <= 16 * 1024


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        (STOPPED, "the user stopped it and all it had started"),
        (TURN_ENDED, "its turn ended, and all it had started with it"),
    ],
)
async def test_a_stopped_command_returns_its_output_so_far(tmp_path: Path, reason: str, ending: str) -> None:
    recorder = OutputRecorder()
    work = make_tools(tmp_path).run(make_call("run_command", command="echo begun; sleep 300"), recorder)
    task = asyncio.get_running_loop().create_task(work)
    await recorder.wait_for("begun")
    task.cancel(reason)
    result = await task
    assert result.content.decode().splitlines() == [
        f"no exit code: {ending}; this is its output until then (not sandboxed):",
        "begun",
    ]
    assert (result.ok, result.exit_code) == (False, None)


@pytest.mark.parametrize("turns_of_the_loop", [1, 2, 3])
async def test_a_program_stopped_while_it_starts_was_stopped(tmp_path: Path, turns_of_the_loop: int) -> None:
    """It may have done something by then: it was not merely interrupted."""
    spec = ProcessSpec(["/bin/sleep", "300"], str(tmp_path), os.environ)
    task = asyncio.get_running_loop().create_task(run_process(spec, 60))
    for _ in range(turns_of_the_loop):
        await asyncio.sleep(0)
    task.cancel(TURN_ENDED)
    ran = await task
    assert (ran.ending, ran.exit_code) == ("cut off", None)


async def run_capped(folder: Path, script: str, spill_path: Path) -> ProcessResult:
    spec = ProcessSpec(["/bin/sh", "-c", script], str(folder), os.environ)
    return await run_process(spec, 60, 2 * 1024 * 1024, spill_path=spill_path)


async def test_a_flood_is_capped_in_the_middle_and_complete_in_a_file(tmp_path: Path) -> None:
    script = "echo first; head -c 9000000 /dev/zero | tr '\\0' x; echo; echo last"
    ran = await run_capped(tmp_path, script, tmp_path / "aside.txt")
    assert ran.exit_code == 0
    assert ran.output.startswith(b"first\nxxx")
    assert ran.output.endswith(b"xxx\nlast\n")
    assert ran.dropped_bytes == 9_000_012 - 2 * 1024 * 1024
    assert f"{ran.dropped_bytes:,} bytes of output dropped".encode() in ran.output
    assert (ran.spilled_bytes, ran.is_spill_complete) == (9_000_012, True)
    assert (tmp_path / "aside.txt").read_bytes() == b"first\n" + b"x" * 9_000_000 + b"\nlast\n"


async def test_small_output_leaves_no_file_and_a_full_disk_is_reported(tmp_path: Path) -> None:
    small = await run_capped(tmp_path, "head -c 1500000 /dev/zero", tmp_path / "aside.txt")
    assert (len(small.output), small.spilled_bytes) == (1_500_000, 0)
    assert not (tmp_path / "aside.txt").exists()
    ran = await run_capped(tmp_path, "head -c 9000000 /dev/zero", tmp_path / "missing" / "aside.txt")
    assert (ran.exit_code, ran.spilled_bytes, ran.is_spill_complete) == (0, 0, False)
    assert "could not be kept" in describe_result(ran, 60, "not sandboxed", "aside.txt")


async def test_signals_are_named(tmp_path: Path) -> None:
    for command, end in {
        "kill -SEGV $$": "exit code -11, ended by SIGSEGV (not sandboxed)",
        "sh -c 'kill -TERM $$'; exit $?": "exit code 143, as after SIGTERM (not sandboxed):",  # printed
        "exit 200": "exit code 200 (not sandboxed)",
    }.items():
        result = await make_tools(tmp_path).run(make_call("run_command", command=command))
        assert result.content.decode().splitlines()[0] == end


async def test_it_runs_in_the_requested_folder_and_never_outside(tmp_path: Path) -> None:
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "work" / "out").symlink_to(tmp_path)
    box = make_tools(tmp_path / "work")
    result = await box.run(make_call("run_command", command="pwd", folder="sub"))
    assert result.content.decode().splitlines()[1] == str(tmp_path / "work" / "sub")
    for folder in ("..", "out", "/etc", "sub/../.."):
        with pytest.raises(ToolError, match="was refused"):
            await box.run(make_call("run_command", command="touch made", folder=folder))
    assert sorted(os.listdir(tmp_path)) == ["work"]
    assert sorted(os.listdir(tmp_path / "work")) == ["out", "sub"]


def is_private(folder: Path) -> bool:
    """Whether only its owner gets into a folder."""
    return folder.stat().st_mode & 0o077 == 0


async def test_commands_without_a_sandbox_share_it_too(tmp_path: Path) -> None:
    """It is private, and the workspace's own."""
    box = make_tools(tmp_path)
    assert (await box.run(make_call("run_command", command='echo kept > "$TMPDIR/passed"'))).ok
    result = await box.run(make_call("run_command", command='cat "$TMPDIR/passed" && echo "$TMPDIR"'))
    _, name, folder = result.content.decode().splitlines()
    assert (name, Path(folder).parent) == ("kept", temporary_base())
    assert is_private(Path(folder))


def test_it_is_removed_with_its_workspace(tmp_path: Path) -> None:
    scratch = ScratchDir(tmp_path / "base")
    folder = scratch.folder()
    (folder / "file").write_text("words")
    assert scratch.folder() == folder
    del scratch
    gc.collect()
    assert list((tmp_path / "base").iterdir()) == []


def test_folders_of_killed_processes_are_removed_and_those_in_use_kept(tmp_path: Path) -> None:
    base = tmp_path / "base"
    scratch = ScratchDir(base)
    used = scratch.folder()
    for name in ("left", "older"):
        (base / name).mkdir()
        (base / name / "file").write_text("words")
    (base / "left.lock").touch()
    new = ScratchDir(base).folder()
    assert {path for path in base.iterdir() if path.is_dir()} <= {used, new}
    assert scratch.folder() == used


def test_a_folder_that_another_user_could_have_created_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir(mode=0o777)
    (tmp_path / "base").chmod(0o777)
    folder = ScratchDir(tmp_path / "base").folder()
    assert not folder.is_relative_to(tmp_path)
    assert is_private(folder.parent)


def test_secrets_and_our_own_additions_are_removed() -> None:
    expected = ("PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "MONKEY", "KUBECONFIG")
    removed = (
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "my_api_key", "FOO_KEY"),
        *("QT_PLUGIN_PATH", "QT_QPA_PLATFORM", "QML2_IMPORT_PATH", "HELIX_DATA_DIR", "LD_LIBRARY_PATH"),
        "DATABASE_URL",
    )
    environment = clean_environment(dict.fromkeys((*expected, *removed), "x"))
    assert set(environment) & {*expected, *removed} == set(expected)
    assert environment["TERM"] == "dumb"


def test_the_user_s_values_from_before_the_frozen_program_are_restored() -> None:
    environment = clean_environment({"LD_LIBRARY_PATH": "/frozen", "LD_LIBRARY_PATH_ORIG": "/mine"})
    assert environment["LD_LIBRARY_PATH"] == "/mine"
    assert "LD_LIBRARY_PATH_ORIG" not in environment
