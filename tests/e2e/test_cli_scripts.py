"""What scripts need of the command line: standard input, errors as JSON, a reader that ends."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.context.policy_numbers import REFERENCE_WINDOW
from helix_desktop.main import main
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.exit_codes import FAILED, READER_GONE, USAGE
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.cli_rig import Cli

TALK = (
    {"role": "user", "content": "Which port does the shop use?"},
    {"role": "assistant", "content": "8080."},
)
USED = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 7}
CLAUDE: list[dict[str, Any]] = [
    {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "cwd": "/srv/shop"}
    | {"timestamp": f"2026-01-01T00:00:0{second}.000Z", "message": message}
    for second, (kind, uuid, parent, message) in enumerate(
        (
            ("user", "a", None, {"role": "user", "content": "Which port does it use?"}),
            (
                "assistant",
                "b",
                "a",
                {
                    "role": "assistant",
                    "id": "m1",
                    "model": "claude-opus-4-5",
                    "content": [{"type": "text", "text": "8080."}],
                    "usage": USED,
                },
            ),
            ("user", "c", "b", {"role": "user", "content": "Change it to 9090."}),
            ("user", "d", "b", {"role": "user", "content": "Use 7070 instead."}),
        )
    )
]


STOP = {"command": "\x03"}  # Ctrl+C, typed into a program that runs


def lines(records: Any) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


class Shell:
    """Runs commands in this process, on a data directory of the test's own."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        monkeypatch.setenv("HOME", str(folder / "home"))

    def __call__(self, *words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capsys.readouterr()
        try:
            code = main([words[0], "--data-dir", str(self.folder / "data"), *words[1:]])
        except SystemExit as ended:
            code = int(str(ended.code))
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def registry(self) -> WorkspaceRegistry:
        return WorkspaceRegistry(DataDir(self.folder / "data").workspaces_dir, wall_clock_ms)

    def on_workspace(self, *words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        return self(words[0], "--workspace", str(self.workspace), *words[1:], stdin=stdin)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(tmp_path, capsys, monkeypatch)


def test_a_turn_without_a_model_ends_with_2_and_says_how_to_set_one_up(shell: Shell) -> None:
    """The demo model answers only when it is named, and a folder does not become a workspace for nothing."""
    code, out, err = shell.on_workspace("run", "--trust", "--message", "hi")
    assert (code, out) == (USAGE, "")
    assert "No model is set up." in err
    assert "--model PROVIDER/NAME" in err
    assert not shell.registry().list_workspaces(include_removed=True)
    code, out, _ = shell.on_workspace("run", "--trust", "--message", "hi", "--model", "demo/offline")
    assert code == 0
    assert "offline demo model" in out
    code, out, _ = shell.on_workspace("run", "--message", "And now?", "--session", "last")
    assert code == 0, "it was named for this session"


def test_a_message_and_a_session_are_read_from_standard_input(shell: Shell) -> None:
    run = ("run", "--trust", "--model", "demo/offline", "--json", "--message", "-")
    code, out, _ = shell.on_workspace(*run, stdin="Which port?\nAnd why – für mich?\n".encode())
    assert code == 0
    events = [json.loads(line)["event"] for line in out.splitlines()]
    texts = [event["text"] for event in events if event["kind"] == "user-spoke"]
    assert texts == ["Which port?\nAnd why – für mich?"]
    for nothing, said in ((b" \n", "is empty"), (b"\xff\xfe\x00", "isn't text")):
        code, _, err = shell.on_workspace(*run, stdin=nothing)
        assert code == USAGE
        assert said in err

    code, out, _ = shell.on_workspace("import", "-", stdin=lines(TALK))
    assert (code, out) == (0, "1 session imported.\n")
    code, out, _ = shell.on_workspace("import", "-", stdin=lines([*TALK, *TALK]))
    assert (code, out) == (0, "1 continued with what is new.\n"), "it is the same session"


def test_errors_are_json_where_json_is_asked_for(shell: Shell) -> None:
    code, out, err = shell("sessions", "--workspace", str(shell.folder / "none"), "--json")
    error = json.loads(out)["error"]
    assert code == error["code"] == USAGE
    assert error["what"] in err
    assert error["fix"]
    code, out, _ = shell("sessions", "--json", "--no-such-option")
    assert json.loads(out)["error"]["code"] == code == USAGE
    code, out, _ = shell("sessions", "--workspace", str(shell.folder / "none"))
    assert (code, out) == (USAGE, "")


def test_an_unknown_folder_names_only_itself(shell: Shell) -> None:
    registry = shell.registry()
    away = shell.folder / "secret-client"
    away.mkdir()
    registry.add(away)
    away.rmdir()
    _, _, err = shell.on_workspace("sessions")
    assert f"{shell.workspace} isn't a workspace yet." in err
    assert "secret-client" not in err


def test_several_agents_are_chosen(shell: Shell) -> None:
    (shell.folder / "talk.jsonl").write_bytes(lines(TALK))
    (shell.folder / "claude.jsonl").write_bytes(lines(CLAUDE))
    files = [str(shell.folder / name) for name in ("talk.jsonl", "claude.jsonl")]
    listing = ("import", "--list", "--json", *files)
    for chosen in (("claude-code",), ("chat-messages",), ("claude-code", "chat-messages")):
        options = [word for agent in chosen for word in ("--agent", agent)]
        _, out, _ = shell(*listing, *options)
        assert {session["agent"] for session in json.loads(out)} == set(chosen)
    code, out, _ = shell.on_workspace("import", str(shell.folder / "talk.jsonl"), "--agent", "codex")
    assert (code, out) == (0, "Nothing to import: no sessions of Codex were found.\n")


def test_json_of_imports_names_branches_model_and_use(shell: Shell) -> None:
    (shell.folder / "claude.jsonl").write_bytes(lines(CLAUDE))
    code, out, _ = shell.on_workspace("import", str(shell.folder / "claude.jsonl"), "--json")
    (imported,) = json.loads(out)["imported"]
    assert (code, imported["agent"], imported["subagents"]) == (0, "claude-code", [])
    (branch,) = imported["branches"]
    _, out, _ = shell.on_workspace("sessions", "--json")
    sessions = {session["session"]: session for session in json.loads(out)}
    assert sessions.keys() == {imported["session"], branch}
    main_session = sessions[imported["session"]]
    assert main_session["model"] == "claude-opus-4-5"
    use = main_session["imported"]
    assert (use["agent"], use["input"], use["cached"], use["output"]) == ("claude-code", 100, 90, 7)


def test_a_replay_stands_beside_what_the_agent_recorded(shell: Shell) -> None:
    """Requests and tokens are those of the file, the window is that of the session's model."""
    calls = [
        {
            **CLAUDE[1],
            "uuid": f"b{number}",
            "message": {
                **CLAUDE[1]["message"],
                "id": f"m{number}",
                "content": [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": STOP}],
                "usage": {**USED, "cache_read_input_tokens": 90 * number},
            },
        }
        for number in range(5)
    ]
    outputs = [
        {
            **CLAUDE[0],
            "uuid": f"c{number}",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "stopped"}],
            },
        }
        for number in range(5)
    ]
    records = [CLAUDE[0], *(record for pair in zip(calls, outputs, strict=True) for record in pair)]
    for record, former in zip(records[1:], records, strict=False):
        record["parentUuid"] = former["uuid"]
    (shell.folder / "claude.jsonl").write_bytes(lines(records))
    _, out, _ = shell("replay", str(shell.folder / "claude.jsonl"), "--json")
    (measured,) = json.loads(out)["files"]
    usages = [call["message"]["usage"] for call in calls]
    sent = sum(usage["input_tokens"] + usage["cache_read_input_tokens"] for usage in usages)
    assert measured["unmanaged"]["requests"] == len(calls)
    assert measured["recorded"]["input"] == sent
    assert measured["recorded"]["output"] == sum(usage["output_tokens"] for usage in usages)
    published = ModelCatalog.load(resources_dir() / "models.toml").vendors_spec("claude-opus-4-5")
    assert measured["window"] == published.window
    assert measured["window"] > REFERENCE_WINDOW
    _, out, _ = shell("replay", str(shell.folder / "claude.jsonl"), "--window", "64000")
    assert f"sent, as Claude Code recorded it: {sent:,} tokens, in {len(calls)} requests." in out
    assert measured["recorded_requests"] == len(calls)


def _codex(model: str, window: int) -> list[dict[str, Any]]:
    """Return a session of Codex with two requests, of which it recorded 1,000 and 2,500 tokens of input."""
    words = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List it"}]}
    call = {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": json.dumps(STOP)}
    output = {"type": "function_call_output", "call_id": "c1", "output": "stopped " * 2_000}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}

    def count(total: int, last: int) -> dict[str, Any]:
        usage = {"input_tokens": last, "cached_input_tokens": 0, "output_tokens": 5}
        info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": usage}
        return {"type": "token_count", "info": {**info, "model_context_window": window}}

    payloads = (
        ("session_meta", {"id": f"of-{model}", "cwd": "/srv/shop", "timestamp": "2026-01-01T00:00:00.000Z"}),
        ("turn_context", {"cwd": "/srv/shop", "model": model}),
        ("response_item", words),
        ("response_item", call),
        ("event_msg", count(1_000, 1_000)),
        ("response_item", output),
        ("response_item", answer),
        ("event_msg", count(3_500, 2_500)),
    )
    return [
        {"timestamp": f"2026-01-01T00:00:0{second}.000Z", "type": kind, "payload": payload}
        for second, (kind, payload) in enumerate(payloads)
    ]


def test_a_replay_has_the_prices_and_the_window_of_the_session(shell: Shell) -> None:
    """GPT-5.1 bills nothing for storing; the window is the one that Codex recorded, of any model."""
    for model in ("gpt-5.1", "unknown-model"):
        (shell.folder / f"{model}.jsonl").write_bytes(lines(_codex(model, 258_400)))
    _, out, _ = shell("replay", str(shell.folder / "gpt-5.1.jsonl"), "--json")
    (measured,) = json.loads(out)["files"]
    assert measured["window"] == 258_400
    assert (measured["recorded"]["input"], measured["unmanaged"]["requests"]) == (3_500, 2)
    assert measured["recorded_requests"] == 2
    first, second = measured["unmanaged_sizes"]
    assert measured["unmanaged"]["billed"] == pytest.approx(second - first + first + 0.1 * first)
    assert measured["cost_unmanaged"] == pytest.approx(measured["unmanaged"]["billed"] * 1.25 / 1_000_000)
    _, out, _ = shell("replay", str(shell.folder / "unknown-model.jsonl"), "--json")
    (measured,) = json.loads(out)["files"]
    assert (measured["window"], measured["cost"]) == (258_400, None)


def test_a_replay_takes_what_an_import_takes(shell: Shell) -> None:
    """Also standard input, a file of Helix, and a folder in which a session has no answer."""
    folder = shell.folder / "sessions"
    folder.mkdir()
    (folder / "claude.jsonl").write_bytes(lines(CLAUDE))
    (folder / "nothing.jsonl").write_bytes(lines([{**CLAUDE[0], "sessionId": "s2"}]))
    code, out, err = shell("replay", str(folder), "--json")
    (measured,) = json.loads(out)["files"]
    assert code == FAILED, "not all were measured"
    assert "nothing.jsonl can't be read. It has no answer of a model to replay." in err
    code, out, _ = shell("replay", "-", "--json", stdin=lines(CLAUDE))
    (from_input,) = json.loads(out)["files"]
    assert (code, from_input["managed"]) == (0, measured["managed"])
    shell.on_workspace("import", str(folder / "claude.jsonl"))
    archive = str(shell.folder / "all.helix")
    shell.on_workspace("cache", "export", archive)
    code, out, _ = shell("replay", archive, "--json")
    exported = json.loads(out)["files"]
    assert code == 0
    assert len(exported) == 2, "the session and its branch"
    assert [each["managed"] for each in exported] == [measured["managed"]] * 2
    assert exported[0]["recorded"]["input"] == 100
    code, _, err = shell("replay", str(shell.folder / "none.helix"))
    assert code == USAGE
    assert "none.helix can't be read" in err


def test_a_branch_says_where_it_went(shell: Shell) -> None:
    run = ("run", "--trust", "--model", "demo/offline", "--json", "--message", "hi")
    _, out, _ = shell.on_workspace(*run)
    events = [json.loads(line) for line in out.splitlines()]
    called = next(line["seq"] for line in events if line["event"].get("calls"))
    _, out, err = shell.on_workspace("branch", "last", "--at", f"e{called}", "--json")
    seq = json.loads(out)["branch_seq"]
    assert seq != called
    assert f"e{called} isn't the end of a step; branched at e{seq}." in err


def test_the_content_of_an_entry_is_text_in_json_where_it_is_text(shell: Shell) -> None:
    (shell.workspace / "a.txt").write_text("words\n")
    shell.on_workspace("run", "--trust", "--model", "demo/offline", "--message", "hi")
    _, out, _ = shell.on_workspace("cache", "list", "--json", "--limit", "1")
    (entry,) = json.loads(out)
    _, out, _ = shell.on_workspace("cache", "show", entry["digest"], "--json")
    shown = json.loads(out)
    assert "a.txt" in shown["text"]
    assert "base64" not in shown


def test_the_demo_refuses_a_data_folder(shell: Shell) -> None:
    """It has data of its own, in the folder that it is to write."""
    code, _, err = shell("demo", "--out", str(shell.folder / "out"))
    assert code == USAGE
    assert "--data-dir" in err


def test_the_folder_storage_of_opencode_is_recognized(shell: Shell) -> None:
    storage = shell.folder / "opencode" / "storage"
    message = {"id": "msg_1", "role": "user"}
    part = {"id": "prt_1", "type": "text", "text": "List it."}
    info = {"id": "ses_1", "title": "Files", "directory": "/srv/shop", "time": {"created": 1, "updated": 2}}
    for name, content in (
        ("session/p/ses_1.json", info),
        ("message/ses_1/msg_1.json", message),
        ("part/msg_1/prt_1.json", part),
    ):
        (storage / name).parent.mkdir(parents=True)
        (storage / name).write_text(json.dumps(content))
    for folder in (storage, storage.parent):
        _, out, _ = shell("import", "--list", "--json", str(folder))
        assert [session["title"] for session in json.loads(out)] == ["Files"]
    code, out, _ = shell.on_workspace("import", str(storage))
    assert (code, out) == (0, "1 session imported.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_reader_that_ends_ends_a_command_as_other_programs(cli: Cli) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "helix_desktop", "licenses", "--texts"]
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=120)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (READER_GONE, b"")
    assert done.returncode != FAILED
