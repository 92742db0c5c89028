"""Bad input: one line that states what, why and what to do, exit code 2, and nothing lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.store import Commit, SessionSummary
from helix_desktop.main import main
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.exit_codes import READER_GONE, USAGE
from tests.support.cli_rig import ROOT, Cli, CommandResult, wait_for_exit
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Text,
    Wait,
    replies_in_order,
)
from tests.support.model_servers.chat_server import text_reply as answer

URL = "http://127.0.0.1:9/v1"


@pytest.fixture
def cli(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    (cli.project / "a.txt").write_text("alpha")
    monkeypatch.chdir(cli.folder)
    monkeypatch.setenv("HELIX_DATA_DIR", str(cli.data))
    return cli


Refuse = Callable[..., str]


@pytest.fixture
def refuse(cli: Cli, capsys: pytest.CaptureFixture[str]) -> Refuse:
    """Run a command in this process; assert that it was refused in one line, and return that line."""

    def run(*words: str, code: int = 2) -> str:
        capsys.readouterr()
        assert say(*words) == code
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) == 1, captured.err
        assert captured.err.startswith("helix-desktop: ")
        assert "Traceback" not in captured.err
        return captured.err

    return run


def test_an_unknown_language_is_named_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command does its work in English; what it prints holds nothing else."""
    monkeypatch.setenv("HELIX_LANGUAGE", "xx")
    assert say("--version") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("Helix Desktop ")
    assert captured.err == (
        "helix-desktop: Unknown language in HELIX_LANGUAGE: xx. English is used. Helix Desktop has: en.\n"
    )


def say(*words: str) -> int:
    """Run a command in this process; its exit code."""
    try:
        return main(words)
    except SystemExit as left:  # argparse leaves by itself
        return int(left.code or 0)


DEMO = ("--model", "demo/offline")


UNNAMED = ("run", "--workspace", "ws", "--trust", "--message", "hi")
"""A turn for which no model is named."""


def turn(*words: str) -> tuple[str, ...]:
    model = () if {"--model", "--base-url"} & {*words} else DEMO
    return (*UNNAMED, *model, *words)


UNUSABLE = [
    (("nonsense",), "Unknown command or file: 'nonsense'. It must be"),
    (("",), "Unknown command or file: ''"),
    (("--data-dir", "d", "a\x1b[2Jb"), "Unknown command or file: 'a\\u001b[2Jb'"),
    (("nowhere.helix",), "nowhere.helix. It doesn't exist"),
    (("ws.helix",), "ws.helix. It doesn't exist, or is a folder."),
    (("file:///nowhere/a%20b.helix",), "File not found: /nowhere/a b.helix."),
    (("file://elsewhere/a.helix",), "doesn't point to a file on this computer."),
    (("file:///etc/passwd",), "The name of an exported workspace must end in .helix."),
    (("file:///a%0ab.helix",), "contains hidden characters."),
    (("a\nb.helix",), "a\\u000ab.helix contains hidden characters."),
    (("helix:open",), "Unknown command or file: 'helix:open'. It must be"),
    (("--demo", "."), "Only one thing can be opened at a time."),
    (("--workspace", "ws", "."), "Only one thing can be opened at a time."),
    (("open",), "the following arguments are required: SESSION"),
    (("open", "last"), "must be the ID of a session or its beginning"),
    (("--nonsense",), "unrecognized arguments"),
    (("--datadir", "x", "sessions"), "Unknown option: --datadir. See helix-desktop --help."),
    (("run",), "--workspace, --message"),
    (("cache",), "list|search|recall|show|verify|repair|export|import|gc|trash|restore|delete|forget ("),
    (("changes",), "list|diff|revert|redo|accept ("),
    (("cache", "burn"), "invalid choice: 'burn'"),
    (("cache", "--workspace", "ws"), "required: list|search|recall|show|verify"),
    (("cache", "--workspace"), "required: list|search|recall|show|verify"),
    (("--workspace", "ws", "sessions", "--workspace", "other"), "must be one folder (got ws and other)"),
    (("--data-dir", "d", "cache", "--data-dir", "e", "list"), "must be one folder (got d and e)"),
    (("--demo", "sessions", "--workspace", "ws"), "unrecognized arguments: --demo"),
    (("cache", "show", "--workspace", "ws"), "SHA (see helix-desktop cache show --help)"),
    (("cache", "recall", "e3-e5", "--workspace", "ws"), "e3-e5 belong to a session. Add --from-session."),
    (("cache", "restore", "--all", "abc", "--workspace", "ws"), "--all restores everything. Leave it out"),
    (("changes", "accept", "--file", "other.txt", "--workspace", "ws"), "The session has no such changes."),
    (("mcp", "--port", "8000", "--workspace", "ws"), "--port goes with --http only."),
    (("mcp", "--workspace", "elsewhere"), "elsewhere isn't a folder."),
    (("sessions", "--workspace", "ws/inside"), "It's a folder inside the workspace ws. Use --workspace /"),
    (("demo",), "--out"),
    (("run", "--workspace", "nowhere", "--message", "hi"), "nowhere isn't a folder."),
    (("run", "--workspace", "ws/a.txt", "--message", "hi"), "ws/a.txt isn't a folder."),
    (("run", "--workspace", "", "--message", "hi"), "must not be empty"),
    (("run", "--workspace", "w" * 5000, "--message", "hi"), "isn't a folder."),
    (("run", "--workspace", "ws", "--message", " "), "must not be empty"),
    (("run", "--workspace", "other", "--message", "hi"), "other isn't trusted yet."),
    (turn("--mode", "yolo"), "invalid choice: 'yolo'"),
    (turn("--window", "0"), "must be a number from 1,000 to 1,000,000,000 (got '0')"),
    (turn("--window", "-5"), "must be a number from 1,000 to 1,000,000,000 (got '-5')"),
    (turn("--window", "many"), "must be a number from 1,000 to 1,000,000,000 (got 'many')"),
    (turn("--window", "9" * 5000), f"(got '{'9' * 70}…')"),
    (turn("--budget-tokens", "9" * 40), "must be a number from 0 to 1,000,000,000,000 (got '999"),
    (turn("--budget-tokens=-1"), "must be a number from 0 to 1,000,000,000,000 (got '-1')"),
    (turn("--budget-usd", "1e9"), "such as 2.50, at most 1,000,000 (got '1e9')"),
    (turn("--budget-usd", "nan"), "--budget-usd: must be an amount in US dollars"),
    (turn("--budget-usd", "a lot"), "--budget-usd: must be an amount in US dollars"),
    (turn("--patience", "1e9"), "must be a number of seconds, at most 604,800 (got '1e9')"),
    (turn("--from-handover", "last:e" + "9" * 5000), "isn't the event of a handover summary."),
    (turn("--from-handover", "last:"), "isn't the event of a handover summary."),
    (turn("--from-handover", "last:e0"), "isn't the event of a handover summary."),
    (turn("--from-handover", ":e3"), "No session of this workspace starts with ''."),
    (turn("--session", "a", "--from-handover", "b"), "can't be used with --session"),
    (turn("--session", ""), "--session: must not be empty"),
    (turn("--base-url", " "), "--base-url: must not be empty"),
    (("changes", "revert", "--workspace", "ws", "--session", ""), "--session: must not be empty"),
    (("cache", "verify", "", "--workspace", "ws"), "SHA: must not be empty"),
    (("cache", "export", ".", "--workspace", "ws"), ". is a folder. Add the name of the file to write"),
    (("cache", "list", "--workspace", "ws", "--min-size", "9" * 400), "must be a size such as 500MB"),
    (("cache", "list", "--workspace", "ws", "--newer", "9" * 12 + "w"), "must be at most 100 years"),
    (("cache", "gc", "--workspace", "ws", "--quota", "many"), "must be a size such as 500MB"),
    (("cache", "gc", "--workspace", "ws", "--quota", "0"), "must be a"),
    (("cache", "gc", "--workspace", "ws", "--older-than", "soon"), "must be a"),
    (turn("--model", "nobody/small"), "Unknown provider: nobody. No provider is set up yet."),
    (turn("--model", "/small"), "must be named PROVIDER/NAME"),
    (turn("--model", "a b/c", "--base-url", URL), "The model must be PROVIDER/NAME (got 'a b/c')."),
    (turn("--model", "a/", "--base-url", URL), "The model is missing."),
    (turn("--base-url", URL), "The model is missing."),
    (turn("--model", "a/b", "--base-url", "localhost:11434"), "must be a web address (got "),
    (turn("--model", "a/b", "--base-url", "ftp://host/v1"), "must be a web address (got "),
    (turn("--model", "a/b", "--base-url", "http://"), "must be a web address (got "),
    (turn("--model", "a/b", "--base-url", "http://[/v1"), "must be a web address (got "),
    (turn("--model", "a/b", "--base-url", "http://host:99999/v1"), "must be a web address (got "),
    (turn("--attach", "ws/a.txt:10-5"), "its lines end before they begin; write ws/a.txt:5-10"),
    (turn("--session", "nothing-like-it"), "No session of this workspace starts with 'nothing-like-it'."),
    (("timeline", "--workspace", "other"), "other isn't a workspace yet."),
    (("cache", "list", "--workspace", "nowhere"), "nowhere isn't a folder. It doesn't exist, or is a file."),
    (("cache", "recall", "f" * 64, "--workspace", "ws", "--context", "21"), "from 0 to 20 (got '21')"),
    (
        ("cache", "recall", "f" * 64, "--workspace", "ws", "--max-tokens", "99"),
        "100 to 16,000 (got '99')",
    ),
    (("cache", "import", "nowhere.helix", "--workspace", "ws"), "Choose a file that an export wrote."),
    (("sessions", "--workspace", "ws", "--data-dir", "ws/a.txt"), "It isn't a folder. Check that it's"),
    (("changes", "diff", "--workspace", "ws", "--file", "../a.txt"), "It lies outside of the folder"),
    (("cache", "show", "xyz", "--workspace", "ws"), "No cached output starts with 'xyz'."),
    (("cache", "show", "f" * 64, "--workspace", "ws"), "This workspace has no cached output ffff"),
    (("cache", "recall", "foo", "--workspace", "ws"), "with helix-desktop cache search, or list"),
    (("cache", "recall", "007aec2", "--workspace", "ws"), "No cached output starts with '007aec2'."),
    (("cache", "recall", "e30-e20", "--workspace", "ws", "--from-session", "last"), "Write e20-e30."),
    (("cache", "show", "f" * 65, "--workspace", "ws"), "No cached output starts with"),
    (("cache", "verify", "0123", "--workspace", "ws"), "No cached output starts with '0123'."),
    (("demo", "--out", "ws/a.txt"), "a.txt can't be used. It isn't a folder. Choose"),
    (("demo", "--out", "d" * 300), "can't be used. File name too long."),
    (("backup", "d/saved", "--data-dir", "d"), "It's in the data folder /"),
    (
        ("cache", "list", "--workspace", "ws", "--data-dir", "typo"),
        "typo doesn't exist. Check --data-dir and",
    ),
    (("self-check", "--with-names"), "--with-names goes with --bundle only. Add --bundle, or leave"),
    (("sessions", "--workspace", "ws", "--data-dir", "d" * 300), "can't be used. File name too long."),
    (("demo", "--out", "ws/a.txt/x"), "ws/a.txt isn't a folder."),
]


def test_options_can_be_typed_before_a_command(
    cli: Cli, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert say(*turn()) == 0
    capsys.readouterr()
    data = str(cli.data)
    monkeypatch.setenv("HELIX_DATA_DIR", "elsewhere")
    for words in (
        ("--workspace", "ws", f"--data-dir={data}", "sessions"),
        ("--data-dir", data, "--", "sessions", "--workspace", "ws"),
        ("--work", "ws", "cache", "--data-dir", data, "list"),
        ("--workspace", "ws", "changes", "--data-dir", data, "list", "--workspace", "./ws"),
    ):
        assert say(*words, "--json") == 0, (words, capsys.readouterr().err)
    assert not (cli.folder / "elsewhere").exists()


def test_invalid_input_is_named_in_one_line(
    cli: Cli, refuse: Refuse, capsys: pytest.CaptureFixture[str]
) -> None:
    (cli.folder / "other").mkdir()
    (cli.folder / "plain.txt").touch()
    (cli.project / "inside").mkdir()
    assert say(*turn()) == 0
    before = sorted(cli.data.glob("workspaces/*"))
    for words, expected in UNUSABLE:
        message = refuse(*words)
        assert expected in message, (words, message)
    assert sorted(cli.data.glob("workspaces/*")) == before
    assert sorted(path.name for path in cli.project.iterdir()) == ["a.txt", "inside"]
    capsys.readouterr()
    assert say("timeline", "--workspace", "ws") == 0
    assert "  hi · 3 messages" in capsys.readouterr().out, "and the workspace is as it was"


def test_a_backup_to_a_file_is_refused_once(cli: Cli, refuse: Refuse) -> None:
    """Not once for each workspace."""
    (cli.folder / "plain.txt").touch()
    (cli.folder / "other").mkdir()
    for folder in ("ws", "other"):
        assert say("run", "--workspace", folder, "--trust", "--message", "hi", *DEMO) == 0
    assert "plain.txt. It isn't a folder. Choose another folder." in refuse("backup", "plain.txt", code=1)


def test_an_ambiguous_prefix_needs_more_digits(
    cli: Cli, refuse: Refuse, capsys: pytest.CaptureFixture[str]
) -> None:
    assert say(*turn()) == 0

    async def add_two() -> None:
        store = await LevelDbStore.open(cli.store, cli.store.parent.name)
        for name in ("zz1", "zz2"):
            started = RecordedEvent(1, 5, SessionStarted(name))
            await store.commit(Commit(name, [started], summary=SessionSummary(name, name, 5, 5)))
        await store.close()

    asyncio.run(add_two())
    assert "Several sessions start with 'zz'. Enter more" in refuse(*turn("--session", "zz"))
    capsys.readouterr()
    assert say(*turn("--json", "--session", "zz2")) == 0
    assert capsys.readouterr().out.startswith('{"session":"zz2","seq":2,')


def test_a_file_in_the_place_of_the_data_directory(cli: Cli, refuse: Refuse) -> None:
    cli.data.write_text("mine")
    for words in (turn(), ("cache", "list", "--workspace", "ws"), ("timeline", "--workspace", "ws")):
        message = refuse(*words)
        assert f"The data directory {cli.data} can't be used." in message
        assert "--data-dir or HELIX_DATA_DIR" in message
    assert cli.data.read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_data_directory_without_the_right_to_write(cli: Cli, refuse: Refuse) -> None:
    cli.data.mkdir(mode=0o500)
    assert "Permission denied" in refuse(*turn())


def test_damaged_settings_are_reported_kept_and_not_replaced_by_defaults(
    cli: Cli, refuse: Refuse, capsys: pytest.CaptureFixture[str]
) -> None:
    assert say(*turn()) == 0
    settings = cli.data / "settings.toml"
    settings.write_text('model = "openai/gpt')
    message = refuse(*UNNAMED)
    assert "settings.toml is damaged." in message
    assert (cli.data / "settings.damaged-1.toml").read_text() == 'model = "openai/gpt'
    capsys.readouterr()
    assert say("timeline", "--workspace", "ws") == 0
    captured = capsys.readouterr()
    assert "  hi · 3 messages" in captured.out
    assert len(captured.err.splitlines()) == 1
    assert "settings.toml is damaged." in captured.err
    assert say(*turn("--model", "demo/offline")) == 0, "a model that is named needs no settings"
    assert settings.read_text() == 'model = "openai/gpt'
    settings.write_text("model = 9000\n")
    assert "model: The value must be text (got a whole number)." in refuse(*UNNAMED)
    settings.write_text('model = "demo/offline"\ntext_size = 9000\n')
    capsys.readouterr()
    assert say(*UNNAMED) == 0, "it is known which model was chosen"
    assert "text_size: The value must be at most" in capsys.readouterr().err


def test_a_damaged_policy_is_reported_with_its_field(cli: Cli, refuse: Refuse) -> None:
    assert say(*turn()) == 0
    (record,) = cli.data.glob("workspaces/*")
    for text, expected in (("handover_at = 7.0", "handover_at"), ("speed = 1", "speed"), ("= =", "damaged")):
        (record / "policy.toml").write_text(text)
        message = refuse(*turn())
        assert "policy.toml" in message
        assert expected in message
        assert (record / "policy.toml").read_text() == text
    (record / "policy.toml").unlink()
    assert say(*turn("--session", "last")) == 0


READING = (
    ("sessions",),
    ("cache", "list"),
    ("cache", "search", "hi"),
    ("cache", "verify"),
    ("changes", "list"),
    ("branch", "last"),
    ("search", "hi"),
    ("cache", "export", "all.helix"),
)


def test_a_damaged_policy_leaves_what_needs_none(
    cli: Cli, refuse: Refuse, capsys: pytest.CaptureFixture[str]
) -> None:
    assert say(*turn()) == 0
    (policy_file,) = cli.data.glob("workspaces/*/policy.toml")
    policy_file.write_text("protect_steps = 14\nhandover_att = 0.7\n")
    for words in READING:
        capsys.readouterr()
        assert say(*words, "--workspace", "ws") == 0, words
        assert "policy" not in capsys.readouterr().err, words

    assert say("timeline", "--workspace", "ws") == 0
    captured = capsys.readouterr()
    assert "  hi · 3 messages" in captured.out
    (line,) = captured.err.splitlines()
    assert f"{policy_file} is invalid. Line 2: Unknown field handover_att." in line

    assert "Line 2: Unknown field handover_att." in refuse(*turn("--session", "last"))
    assert "Line 2" in refuse(*turn("--from-handover", "last"))
    assert policy_file.read_text() == "protect_steps = 14\nhandover_att = 0.7\n"


def test_a_damaged_record_does_not_hide_its_sessions_behind_a_second_one(
    cli: Cli, refuse: Refuse, capsys: pytest.CaptureFixture[str]
) -> None:
    assert say(*turn()) == 0
    (place,) = cli.data.glob("workspaces/*")
    original = (place / "workspace.toml").read_text()
    for text in ('path = "', "name = 3\npath = 4\n"):
        (place / "workspace.toml").write_text(text)
        for words in (turn(), ("cache", "list", "--workspace", "ws")):
            assert "workspace.toml" in refuse(*words)
    assert list(cli.data.glob("workspaces/*")) == [place]
    (place / "workspace.toml").write_text(original)
    capsys.readouterr()
    assert say("timeline", "--workspace", "ws") == 0
    assert "  hi · 3 messages" in capsys.readouterr().out


def test_a_copy_of_a_record_next_to_it_is_ignored(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    assert say(*turn()) == 0
    (place,) = cli.data.glob("workspaces/*")
    for name in (f"{place.name}.bak", "0 old copy"):
        shutil.copytree(place, place.with_name(name))
    capsys.readouterr()
    assert say(*turn("--json", "--session", "last")) == 0
    assert capsys.readouterr().out.startswith('{"session":'), "the original goes on"


def test_a_missing_folder_is_named_and_its_stored_data_is_readable(
    cli: Cli, refuse: Refuse, capsys: pytest.CaptureFixture[str]
) -> None:
    assert say(*turn()) == 0
    cli.project.rename(cli.folder / "moved")
    (cli.folder / "other").mkdir(exist_ok=True)
    assert "ws isn't a folder." in refuse(*turn())
    assert str(cli.project) not in refuse("sessions", "--workspace", "moved"), "it names only itself"
    (cli.folder / "moved").rename(cli.folder / "other" / "ws")
    message = refuse("sessions", "--workspace", "other/ws")
    assert (
        f"The folder of the workspace ws is missing: {cli.project}. If you moved it here, open ws" in message
    )
    capsys.readouterr()
    assert say("timeline", "--workspace", "ws") == 0
    assert "  hi · 3 messages" in capsys.readouterr().out
    assert say("cache", "verify", "--workspace", "ws") == 0
    (cli.folder / "other" / "ws").rename(cli.project)
    assert say(*turn("--session", "last")) == 0


def test_a_corrupt_store_is_repaired_and_a_copy_is_kept(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    assert say(*turn()) == 0
    (cli.store / "db" / "CURRENT").write_bytes(b"rubbish")
    capsys.readouterr()
    assert say("timeline", "--workspace", "ws") == 0
    captured = capsys.readouterr()
    assert "  hi · 3 messages" in captured.out, "the session is there"
    assert "was damaged" in captured.err
    assert (cli.store / "kept" / "1" / "db" / "CURRENT").read_bytes() == b"rubbish"
    assert say("timeline", "--workspace", "ws") == 0
    assert capsys.readouterr().err == "", "it is told once"


async def test_arguments_that_are_no_text(cli: Cli) -> None:
    odd = b"ca\xff\xfe"
    (await cli(*turn()[:-1], odd)).assert_refused(2, "An argument isn't valid UTF-8.")
    os.mkdir(os.fsencode(cli.folder) + b"/" + odd)
    (await cli("run", "--workspace", odd, "--message", "hi")).assert_refused(2, "isn't valid UTF-8")


async def test_an_output_without_reader_ends_the_turn_and_is_recorded(cli: Cli) -> None:
    closed = asyncio.Event()
    reader, writer = os.pipe()
    async with ChatServer(
        replies_in_order(StreamedReply(Call("list_directory"), Wait(closed)), answer("Unheard."))
    ) as server:
        address = ("--model", "local/small", "--base-url", server.base_url)
        process = await cli.fork(*turn("--json", *address), stdout=writer)
        os.close(writer)
        await asyncio.wait_for(server.waiting.wait(), 60)
        output = os.read(reader, 65_536).decode()
        os.close(reader)
        closed.set()
        ran = await wait_for_exit(process)
    assert (ran.code, ran.err) == (READER_GONE, "")
    store = await LevelDbStore.open(cli.store, cli.store.parent.name)
    events = await store.events(output.split('"')[3])
    await store.close()
    assert len(events) > len(output.splitlines())
    assert events[-1].event == TurnEnded("stopped")


async def test_plain_answers_are_read_as_they_come_and_end_the_turn_without_a_reader(cli: Cli) -> None:
    """As in `run | tee`: an answer is readable before the next request is answered."""
    is_read = asyncio.Event()
    is_closed = asyncio.Event()
    answers = replies_in_order(
        StreamedReply(Text("First."), Call("list_directory")),
        StreamedReply(Wait(is_read), Text("Second."), Call("list_directory")),
        StreamedReply(Wait(is_closed), Text("Third."), Call("list_directory")),
        answer("Unheard."),
    )
    end, writer = os.pipe()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(end, "rb", 0)
    )
    async with ChatServer(answers) as server:
        address = ("--model", "local/small", "--base-url", server.base_url)
        process = await cli.fork(*turn(*address), stdout=writer)
        os.close(writer)
        assert await asyncio.wait_for(reader.readline(), 60) == b"First.\n"
        is_read.set()
        assert await asyncio.wait_for(reader.readline(), 60) == b"Second.\n"
        pipe.close()
        is_closed.set()
        ran = await wait_for_exit(process)
        assert len(server.bodies) == 3, "nothing more is spent"
    assert (ran.code, "Traceback" in ran.err) == (READER_GONE, False), ran.err
    store = await LevelDbStore.open(cli.store, cli.store.parent.name)
    (summary,) = await store.sessions()
    events = [recorded.event for recorded in await store.events(summary.id)]
    await store.close()
    assert [event.text for event in events if isinstance(event, AssistantSpoke)] == [
        "First.",
        "Second.",
        "Third.",
    ]
    assert events[-1] == TurnEnded("stopped")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
async def test_streams_that_are_full_closed_or_plain_ascii(cli: Cli) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    (await wait_for_exit(await cli.fork(*turn("--json"), stdout=full))).assert_refused(
        1, "No space left on device"
    )
    listed = await wait_for_exit(await cli.start("commands", stdout=full))
    listed.assert_refused(1, "Couldn't read or write. No space left on device. Check the disk")
    os.close(full)
    shell = await _shell(cli, f"{sys.executable} -m helix_desktop {' '.join(turn())} >&- 2>&- <&-")
    assert (shell.code, shell.err) == (0, "")
    turn_in_signs = ("run", "--workspace", "ws", "--trust", "--message", "→ é", "--json", *DEMO)
    plain = await wait_for_exit(await cli.start(*turn_in_signs, environ={"PYTHONIOENCODING": "ascii"}))
    assert (plain.code, plain.err) == (0, "")
    assert "→ é" in [getattr(line.event, "text", "") for line in plain.lines]


async def _shell(cli: Cli, command: str) -> CommandResult:
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=cli.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return await wait_for_exit(process)


@pytest.mark.parametrize("name", ["data", "projects"])
def test_the_demo_refuses_a_folder_that_it_did_not_create(tmp_path: Path, refuse: Refuse, name: str) -> None:
    precious = tmp_path / "mine" / name / "precious.txt"
    precious.parent.mkdir(parents=True)
    precious.write_text("kept")
    assert "already exists" in refuse("demo", "--out", str(tmp_path / "mine"))
    assert precious.read_text() == "kept"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there always is a display")
def test_a_window_without_a_display_is_refused(refuse: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert "The window can't open without a display." in refuse()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there always is a display")
@pytest.mark.parametrize(
    "variable",
    ["DISPLAY=:977", "DISPLAY=no display", "WAYLAND_DISPLAY=wayland-977", "QT_QPA_PLATFORM=strange"],
)
def test_a_window_on_a_display_that_does_not_answer_is_refused(tmp_path: Path, variable: str) -> None:
    """Qt ended the process with a core dump, and advised to install the application again."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    environ = {name: value for name, value in os.environ.items() if name not in names}
    name, _, value = variable.partition("=")
    environ |= {name: value, "PYTHONPATH": str(ROOT), "HELIX_DATA_DIR": str(tmp_path)}
    environ["XDG_RUNTIME_DIR"] = str(tmp_path)  # without it, Wayland's library writes a line of its own
    command = [sys.executable, "-m", "helix_desktop"]
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == USAGE
    (line,) = ended.stderr.splitlines()
    assert f"The window can't open on this display ({variable}). Qt reports: " in line
    assert "use a command" in line
