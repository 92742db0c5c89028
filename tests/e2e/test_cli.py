"""The command line in its own processes: its output, its stored data, its exit codes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import plyvel
import pytest

from helix_desktop import __version__
from helix_desktop.domain.events.conversation import (
    ApprovalGiven,
    AssistantSpoke,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.session import ChangesRecorded, SessionStarted
from helix_desktop.services.diagnostics import SELF_CHECK_FILE
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.remote.server import SharedStore
from tests.support import processes
from tests.support.cli_rig import ROOT, Cli, wait_for_exit
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Hang,
    StreamedReply,
    Text,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.store.damage import compact_tables, flip_bit_near

PARTS = 22  # of the self-check
BLOB = random.Random(5).randbytes(3000)  # incompressible: its bytes are in the store's files unchanged


@pytest.fixture
def cli(cli: Cli) -> Cli:
    (cli.project / "a.txt").write_bytes("eins\r\nzwei é\n".encode())
    (cli.project / "blob.bin").write_bytes(BLOB)
    return cli


async def test_a_turn_is_reported_as_events_in_order_and_continues_its_session(cli: Cli) -> None:
    first = await cli.run("What is in this folder?", "--json")
    assert (first.code, first.err) == (0, "")
    lines = first.lines
    assert [line.seq for line in lines] == list(range(1, len(lines) + 1))
    assert isinstance(lines[0].event, SessionStarted)
    assert [line.event.text for line in lines if isinstance(line.event, UserSpoke)] == [
        "What is in this folder?"
    ]
    assert lines[-1].event == TurnEnded("done")
    assert all(line.event.demo for line in lines if isinstance(line.event, AssistantSpoke))
    (session_id,) = {line.session for line in lines}

    second = await cli.run("And now?", "--json", "--session", "last")
    assert second.code == 0
    assert {line.session for line in second.lines} == {session_id}
    assert second.lines[0].seq == lines[-1].seq + 1

    third = await cli.run("Once more, für mich", "--session", session_id[:10])
    assert third.code == 0
    assert "offline demo model" in third.out.decode()
    assert "[list_directory .: ok, " in third.err
    other = await cli.run("Hello", "--json")
    assert {line.session for line in other.lines} != {session_id}
    listed = await cli("timeline", "--workspace", "ws", "--json")
    assert {row["session"] for row in listed.json} == {session_id, other.lines[0].session}


async def test_files_go_along_with_a_message(cli: Cli) -> None:
    """By --attach, whole or by lines, and by a mention; what cannot be attached says why."""
    (cli.folder / "notes.txt").write_text("one\ntwo\n")
    (cli.project / "app.py").write_text("x = 1\ny = 2\n")
    result = await cli.run("See @app.py", "--attach", "notes.txt:2", "--json")
    assert result.code == 0, result
    (sent,) = [line.event.attachments for line in result.lines if isinstance(line.event, UserSpoke)]
    assert [(attachment.path, attachment.text) for attachment in sent] == [
        ("", "2:two\n"),
        ("app.py", "x = 1\ny = 2\n"),
    ]
    result = await cli.run("See this", "--attach", "app.py:2", "--json")
    (sent,) = [line.event.attachments for line in result.lines if isinstance(line.event, UserSpoke)]
    assert [(attachment.path, attachment.text) for attachment in sent] == [("app.py", "2:y = 2\n")]
    refused = await cli.run("See this", "--attach", "none.py")
    refused.assert_refused(2, f"Couldn't read {cli.folder / 'none.py'}. No such file or directory.")
    refused = await cli.run("See this", "--attach", "ws/blob.bin")
    refused.assert_refused(2, "Couldn't attach blob.bin. It isn't text (binary data")
    listed = await cli("sessions", "--workspace", "ws", "--json")
    assert len(listed.json) == 2, "what was refused leaves no session"


async def test_calls_are_denied_without_yes(cli: Cli) -> None:
    write = StreamedReply(Call("write_file", '{"path": "new.txt", "content": "made"}', id="w"))
    async with ChatServer(
        replies_in_order(write, text_reply("Not allowed."), write, text_reply("Made."))
    ) as server:
        denied = await cli.run_with_server(server.base_url, "Write.")
        assert denied.code == 0, denied
        assert [line.event.outcome for line in denied.lines if isinstance(line.event, ToolAnswered)] == [
            "denied"
        ]
        assert not (cli.project / "new.txt").exists()
        allowed = await cli.run_with_server(server.base_url, "Write.", "--yes")
        assert allowed.code == 0, allowed
        approvals = [line.event.decision for line in allowed.lines if isinstance(line.event, ApprovalGiven)]
        assert approvals == ["once"]
        assert (cli.project / "new.txt").read_text() == "made"


async def test_a_server_gets_the_key_and_its_refusal_names_the_variable(cli: Cli) -> None:
    key = "sk-of-the-environment"
    async with ChatServer(replies_in_order(api_error(401, f"bad key {key}"), text_reply("Hello."))) as server:
        refused = await cli.run_with_server(server.base_url, "Hello?", OPENAI_API_KEY=key)
        sent, error, details = refused.err.splitlines()
        assert sent == f"helix-desktop: The key in OPENAI_API_KEY is sent to {server.base_url.split('/')[2]}."
        assert "local rejected the API key." in error
        assert error.endswith("Set HELIX_LOCAL_KEY or OPENAI_API_KEY to a valid key.")
        assert details == "Details: bad key [key]"
        assert refused.code == 1
        last = refused.lines[-1].event
        assert isinstance(last, TurnEnded)
        assert last.how == "failed"
        assert key not in refused.out.decode() + refused.err
        well = await cli.run_with_server(server.base_url, "Hello?", "--session", "last", HELIX_LOCAL_KEY=key)
        assert well.code == 0
        assert server.requests[-1].headers["authorization"] == f"Bearer {key}"
        assert [body["content"] for body in server.bodies[-1]["messages"][1:]] == ["Hello?", "Hello?"]
    assert not [path for path in cli.data.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


async def look(cli: Cli, command: str) -> None:
    """Run a turn that caches two outputs: of a file, and of a command."""
    calls = StreamedReply(
        Call("read_file", '{"path": "a.txt"}', id="r"),
        Call("run_command", json.dumps({"command": command}), id="c"),
    )
    async with ChatServer(replies_in_order(calls, text_reply("Done."))) as server:
        assert (await cli.run_with_server(server.base_url, "Look.", "--yes")).code == 0


async def test_cached_outputs_are_listed_printed_byte_for_byte_and_verified(cli: Cli) -> None:
    await look(cli, "cat blob.bin")
    entries = {
        entry["tool"]: entry for entry in (await cli("cache", "list", "--workspace", "ws", "--json")).json
    }
    assert set(entries) == {"read_file", "run_command"}
    text = await cli("cache", "list", "--workspace", "ws")
    listed = {line.split()[0]: line.split()[3] for line in text.out.decode().splitlines()}
    assert listed == {entry["digest"]: f"{entry['tokens']:,}" for entry in entries.values()}

    content = await cli("cache", "show", entries["read_file"]["digest"][:12], "--workspace", "ws")
    assert content.out == (cli.project / "a.txt").read_bytes()
    blob = entries["run_command"]["digest"]
    content = await cli("cache", "show", blob, "--workspace", "ws")
    assert hashlib.sha256(content.out).hexdigest() == blob
    assert BLOB in content.out
    document = (await cli("cache", "show", blob, "--workspace", "ws", "--json")).json
    assert (document["digest"], base64.b64decode(document["base64"])) == (blob, content.out)

    verified = await cli("cache", "verify", "--workspace", "ws")
    assert (verified.code, verified.out.splitlines()[0]) == (0, b"2 verified, 0 damaged")
    assert re.fullmatch(rb"File history: \d+ verified, 0 damaged", verified.out.splitlines()[1])
    compact_tables(cli.store)
    assert flip_bit_near(cli.store, BLOB[100:120], 10) == 1
    damaged = await cli("cache", "verify", "--workspace", "ws", "--json")
    assert (damaged.code, damaged.json["verified"], damaged.json["damaged"]) == (1, 2, [blob])
    assert "block" in damaged.json["problems"][0]
    gone = await cli("cache", "show", blob, "--workspace", "ws")
    assert gone.code == 1
    assert "has been repaired" in gone.err
    (await cli("cache", "show", blob, "--workspace", "ws")).assert_refused(1, "bytes are missing")
    assert (await cli("cache", "verify", entries["read_file"]["digest"], "--workspace", "ws")).code == 0


async def test_the_cache_is_sorted_narrowed_and_searched(cli: Cli) -> None:
    await look(cli, "echo The Tide is high; seq 1 900")
    at = ("--workspace", "ws")

    async def listed(*more: str) -> list[str]:
        return [entry["tool"] for entry in (await cli("cache", "list", *at, "--json", *more)).json]

    assert await listed("--sort", "size") == ["run_command", "read_file"]
    assert await listed("--sort", "size", "--reverse", "--limit", "1") == ["read_file"]
    assert await listed("--min-size", "2KB") == ["run_command"]
    assert await listed("--tool", "read_file", "--path", "A.TXT") == ["read_file"]
    assert await listed("--older", "1h") == []
    session = (await cli("timeline", *at, "--json")).json[0]["session"]
    assert len(await listed("--from-session", session[:8])) == 2

    for order in (("--sort", "size"), ("--sort", "created", "--reverse")):
        everything = (await cli("cache", "list", *at, "--json", *order)).json
        first = await cli("cache", "list", *at, "--json", *order, "--limit", "1")
        assert first.json == everything[:1]
        after = everything[0]["digest"]
        assert "1 of 2 entries" in first.err
        assert f"for more: --after {after[:16]}" in first.err
        rest = await cli("cache", "list", *at, "--json", *order, "--limit", "1", "--after", after[:16])
        assert (rest.json, rest.err) == (everything[1:], "")
    (await cli("cache", "list", *at, "--after", "0" * 64)).assert_refused(2, "no cached output")
    (await cli("cache", "list", *at, "--from-session", "zz")).assert_refused(2, "starts with 'zz'")

    matches = await cli("cache", "search", "tide IS", *at)
    assert b"The Tide is high\n" in matches.out
    assert "1 entry · 0 handover summaries · tokens by Helix's count" in matches.err
    document = (await cli("cache", "search", '"tide is"', *at, "--json")).json
    assert [(entry["tool"], entry["lines"]) for entry in document["entries"]] == [("run_command", 1)]
    assert document["more"] is False
    none = await cli("cache", "search", "zebra", *at)
    assert (none.code, none.out) == (0, b"")
    (await cli("cache", "search", " ", *at)).assert_refused(2, "query is empty")

    as_agent = (*at, "--from-session", session[:8])
    found = (await cli("cache", "search", "tide is zebra", *as_agent, "--agent")).out.decode()
    assert "Nothing has all of 'tide is zebra'; 2 hits with some of it" in found
    assert ", turn 1, " in found
    entry = re.search(r"^[0-9a-f]{12} run_command .* (e\d+), turn 1, .*, this session", found, re.MULTILINE)
    assert entry is not None
    recalled = await cli("cache", "recall", entry[1], *as_agent, "--pattern", "Tide", "--context", "0")
    assert b" \xc2\xb7 1 matching line for 'Tide'" in recalled.out
    assert recalled.out.count(b"\n") == 2
    (await cli("cache", "recall", "e999", *as_agent)).assert_refused(2, "names no words and no output")
    recalled_digest = (await cli("cache", "list", *at, "--json")).json[0]["digest"]
    wrong = await cli("cache", "recall", recalled_digest, *at, "--pattern", "(")
    wrong.assert_refused(2, "can't be read. Unclosed group. Correct it")
    short = (await cli("cache", "recall", recalled_digest[:5], *at)).out
    assert short == (await cli("cache", "recall", recalled_digest, *at)).out != b""
    (await cli("cache", "recall", entry[1], *at)).assert_refused(2, "Add --from-session.")


async def test_a_damaged_store_is_repaired_and_the_loss_is_reported(cli: Cli) -> None:
    await look(cli, "cat blob.bin")
    sound = await cli("cache", "repair", "--workspace", "ws", "--json")
    document = sound.json
    history = document.pop("file_history")
    assert (sound.code, document) == (0, {"verified": 2, "damaged": [], "problems": [], "mended": None})
    assert history["contents"] > 0
    assert history["damaged"] == history["lost_lists"] == history["problems"] == []
    blob = next(
        entry["digest"]
        for entry in (await cli("cache", "list", "--workspace", "ws", "--json")).json
        if entry["tool"] == "run_command"
    )
    compact_tables(cli.store)
    assert flip_bit_near(cli.store, BLOB[100:120], 10) == 1
    for path in (cli.store / "db").glob("MANIFEST-*"):
        path.unlink()

    repaired = await cli("cache", "repair", "--workspace", "ws", "--json")
    mended = repaired.json["mended"]
    assert (repaired.code, repaired.json["damaged"]) == (1, [blob])
    assert [(content["digest"], content["tool"]) for content in mended["contents"]] == [(blob, "run_command")]
    assert mended["copy"] == str(cli.store / "kept" / "1" / "db")
    again = await cli("cache", "repair", "--workspace", "ws")
    assert again.code == 1
    assert f"{blob}  LOST  run_command cat blob.bin" in again.out.decode()
    result = await cli("cache", "list", "--workspace", "ws")
    assert "repaired" not in result.err  # it was reported already


async def test_a_repair_that_a_guest_cannot_do_is_explained(cli: Cli) -> None:
    async with ChatServer(
        replies_in_order(StreamedReply(Call("read_file", '{"path": "a.txt"}')), text_reply("Done."))
    ) as server:
        assert (await cli.run_with_server(server.base_url, "Look.")).code == 0
    db = plyvel.DB(str(cli.store / "db"), compression=None)
    (listed,) = (key for key, _ in db.iterator(prefix=b"t"))
    db.delete(listed)
    db.close()
    form = msgspec.json.decode((cli.store / "format").read_bytes())
    owner = await SharedStore.open(cli.store, form["workspace"])
    result = await cli("cache", "repair", "--workspace", "ws")
    assert result.code == 1
    assert b"the index by time doesn't list it\n1 verified, 0 damaged" in result.out
    assert "that command ends. It is repaired the next time it opens." in result.err
    await owner.close()
    mended = await cli("cache", "repair", "--workspace", "ws")
    assert mended.code == 0
    assert b"has been repaired" in mended.out


@pytest.mark.slow
@pytest.mark.timeout(1_200)
async def test_self_check_names_the_problem(cli: Cli, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(
        ROOT / "helix_desktop", broken / "helix_desktop", ignore=shutil.ignore_patterns("*.pyc.*")
    )
    (broken / "resources").mkdir()
    for part in (ROOT / "resources").iterdir():
        if part.name not in {"tokenizers", "icons"}:
            (broken / "resources" / part.name).symlink_to(part)
    shutil.copytree(ROOT / "resources" / "tokenizers", broken / "resources" / "tokenizers")
    vocabulary = broken / "resources" / "tokenizers" / "o200k_base.tiktoken"
    vocabulary.write_bytes(vocabulary.read_bytes().replace(b"IQ== 0", b"IQ== 1", 1))
    # Its own interpreter, so that it is the broken copy that is imported.
    environ = {"PYTHONPATH": str(broken), "QT_QPA_PLATFORM": "nowhere"}
    half = tmp_path / "broken.zip"  # a broken installation, above all, has to be reported
    report = await wait_for_exit(
        await cli.start("self-check", "--keyring", "--bundle", str(half), environ=environ)
    )
    lines = report.out.decode().splitlines()
    failed = {line.split()[1]: line for line in lines if line.startswith("FAIL")}
    assert report.code == 1
    assert report.err == ""
    painted = {"window", "fonts", "icons", "pictures", "formulas", "translations"}
    assert set(failed) == {"resources", "tokens", "keys", *painted}
    assert "icons/helix.svg" in failed["resources"]
    assert all("nowhere" in failed[name] for name in painted)
    assert "The keychain didn't save a key" in failed["keys"]  # tests have none
    assert f"9 of {PARTS} checks failed" in lines
    with zipfile.ZipFile(half) as files:
        saved = json.loads(files.read(SELF_CHECK_FILE))
    assert not saved["ok"]
    assert {check["name"] for check in saved["checks"] if not check["ok"]} == set(failed)


def test_ctrl_c_while_the_program_is_loaded_prints_no_traceback() -> None:
    code = (
        "import sys\n"
        "class Interruption:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'helix_desktop.main':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interruption())\n"
        "from helix_desktop.start import start\n"
        "sys.exit(start())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (130, b"")


def test_garbage_is_looked_for_once_the_modules_are_loaded() -> None:
    """Before the window's first frame that took 10 to 20 ms of processor time, and found nothing."""
    code = (
        "import gc, sys\n"
        "class Watch:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name in ('helix_desktop.main', 'helix_desktop.cli.commands'):\n"
        "            print(gc.isenabled(), file=sys.stderr)\n"
        "sys.meta_path.insert(0, Watch())\n"
        "from helix_desktop.start import start\n"
        "sys.argv = ['helix-desktop', 'licenses']\n"
        "start()\n"
        "print(gc.isenabled(), file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stderr.split() == ["False", "False", "True"]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
async def test_a_workspace_in_use_names_its_owner_and_the_owner_can_be_stopped(
    cli: Cli, number: signal.Signals, code: int
) -> None:
    async with ChatServer(replies_in_order(StreamedReply(Text("I think"), Hang()))) as server:
        address = ("--model", "local/small", "--base-url", server.base_url, "--json")
        owner = await cli.fork("run", "--workspace", "ws", "--trust", "--message", "Think.", *address)
        await asyncio.wait_for(server.waiting.wait(), 60)
        assert (await cli("cache", "list", "--workspace", "ws")).code == 0  # the owner answers
        owner.send_signal(signal.SIGSTOP)
        (await cli("cache", "list", "--workspace", "ws")).assert_refused(3, f"process {owner.pid}")
        owner.send_signal(signal.SIGCONT)
        owner.send_signal(number)
        stopped = await wait_for_exit(owner)
    assert (stopped.code, stopped.err) == (code, "")
    last = stopped.lines[-1]
    assert last.event == TurnEnded("stopped")
    store = await LevelDbStore.open(cli.store, cli.store.parent.name)
    events = await store.events(last.session)
    await store.close()
    assert [event.event for event in events] == [line.event for line in stopped.lines]
    texts = [event.event.text for event in events if isinstance(event.event, AssistantSpoke)]
    assert texts == ["I think"]


async def test_a_turn_is_ended_in_order_when_its_terminal_is_closed(cli: Cli) -> None:
    """Nothing can be printed there any more, and the shell and the system both send the signal."""
    async with ChatServer(replies_in_order(StreamedReply(Text("I think"), Hang()))) as server:
        address = ("--model", "local/small", "--base-url", server.base_url)
        keyboard, terminal = os.openpty()
        run = ("run", "--workspace", "ws", "--trust", "--message", "Think.")
        process = await cli.start(*run, *address, stdout=terminal)
        os.close(terminal)
        assert await asyncio.to_thread(os.read, keyboard, 100) == b"I think"
        os.close(keyboard)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGHUP)
        stopped = await wait_for_exit(process)
    assert (stopped.code, stopped.err) == (129, "")
    store = await LevelDbStore.open(cli.store, cli.store.parent.name)
    (session,) = await store.sessions()
    assert (await store.events(session.id))[-1].event == TurnEnded("stopped")
    await store.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
async def test_a_signal_ends_a_run_that_waits_for_the_end_of_its_instructions(
    cli: Cli, number: signal.Signals, code: int
) -> None:
    os.mkfifo(cli.folder / "pipe")
    waiting = await cli.start(
        *("run", "--workspace", "ws", "--trust", "--message", "Hello", "--instructions", "pipe")
    )
    with await asyncio.to_thread((cli.folder / "pipe").open, "wb"):  # there as soon as it is read
        waiting.send_signal(number)
        stopped = await wait_for_exit(waiting)
    assert (stopped.code, stopped.err) == (code, "")


async def read_text(path: Path) -> str:
    """The first line of a file that another process writes, once it is there."""
    for _ in range(3_000):
        with contextlib.suppress(FileNotFoundError):
            text = await asyncio.to_thread(path.read_text)
            if text.endswith("\n"):
                return text.strip()
        await asyncio.sleep(0.02)
    raise AssertionError(f"{path.name} was not written")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
async def test_stopping_ends_the_command_that_a_tool_started(cli: Cli) -> None:
    command = StreamedReply(
        Call("run_command", f'{{"command": "echo $$ > pid; exec sleep {processes.UNIQUE_SLEEP_S}"}}')
    )
    async with ChatServer(replies_in_order(command)) as server:
        address = ("--model", "local/small", "--base-url", server.base_url, "--json", "--yes")
        process = await cli.fork("run", "--workspace", "ws", "--trust", "--message", "Wait.", *address)
        assert process.stdout is not None
        while b"approval-given" not in await process.stdout.readline():
            pass
        await read_text(cli.project / "pid")
        process.terminate()
        stopped = await wait_for_exit(process)
    assert (stopped.code, stopped.err) == (143, "")
    answer, changes, last = stopped.lines
    assert isinstance(answer.event, ToolAnswered)
    assert answer.event.outcome == "stopped"
    assert isinstance(changes.event, ChangesRecorded)
    assert changes.event.first_path == "pid"
    assert last.event == TurnEnded("stopped")
    await processes.wait_for_exit("sleep", processes.UNIQUE_SLEEP_S)  # what was killed takes a moment to end


async def test_bundled_software_is_listed_with_its_licenses(cli: Cli) -> None:
    listed = await cli("licenses")
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.decode().splitlines()[0] == f"Helix Desktop  {__version__}  MIT"
    parts = (await cli("licenses", "--json", "--texts")).json
    assert len(parts) == len(listed.out.splitlines())
    assert all(part["name"] and part["license"] and part["text"] for part in parts)
    texts = (await cli("licenses", "--texts")).out.decode()
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in texts


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop", "nested"])
async def test_files_that_are_no_files_hold_up_no_run(cli: Cli, kind: str) -> None:
    """What a program, or a checkout, may leave where a state or the user's words are read."""
    words = ("--model", "local/small", "--base-url")
    async with ChatServer(replies_in_order(text_reply("One."), text_reply("Two."))) as server:
        first = await cli.run("Hello", *words, server.base_url)
        assert first.code == 0, first
        places = [cli.data / "views.json", cli.data / "AGENTS.md", cli.store / "clean"]
        names = ("AGENTS.md", "CLAUDE.md", ".gitignore", ".git/HEAD", ".env", "package.json", ".helixignore")
        for path in (*places, *(cli.project / name for name in names)):
            path.parent.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
            if kind == "pipe":
                os.mkfifo(path)
            elif kind == "folder":
                path.mkdir()
            elif kind == "nested":
                path.write_text('{"x": ' + "[" * 5_000 + "]" * 5_000 + "}")
            else:
                path.symlink_to("/dev/zero" if kind == "device" else path.name)
        second = await cli.run("Go on", *words, server.base_url)
    assert second.code == 0, second
    assert "Traceback" not in second.err
