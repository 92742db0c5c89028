"""The interface for scripts: commands, options, exit codes, JSON, links, variables, entry points."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import inspect
import io
import json
import re
import runpy
import shutil
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import zstandard

import helix_desktop
from helix_desktop.app.launch_targets import SAMPLE_TARGET, launch_target, parse_target
from helix_desktop.cli.mcp_serve import TOKEN_VARIABLE
from helix_desktop.cli.output import JsonLine
from helix_desktop.cli.parsers.command_line import build_parser
from helix_desktop.cli.workspace_command import with_workspace
from helix_desktop.config.build_info import Build
from helix_desktop.config.paths import DataDir
from helix_desktop.config.settings import key_variable
from helix_desktop.diagnostics.self_check import CheckResult, _checks
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.file_history.changes import FileSummary, RecordedChanges, RevertPlan
from helix_desktop.domain.redaction import RedactionMatches
from helix_desktop.domain.retention import CleanupPlan, CleanupResult, TrashContents
from helix_desktop.domain.store import CacheEntry, Commit, Content
from helix_desktop.domain.store_reports import ExportResult, ImportResult, RepairReport
from helix_desktop.main import main, resolve_command
from helix_desktop.replay import Replayer
from helix_desktop.replay.measure import RecordingFigures, Totals
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system import exit_codes
from tests.support.command_parsers import command_parsers
from tests.support.interface_golden import assert_matches_golden, document_shape, fields_of_type
from tests.support.store.builders import (
    START_MS,
    WORKSPACE,
    TickingClock,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)
from tests.support.store.golden import STORE

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = "Scripts"

EXIT_CODES = {
    "failed": exit_codes.FAILED,
    "usage": exit_codes.USAGE,
    "locked": exit_codes.LOCKED,
    "incomplete": exit_codes.INCOMPLETE,
    "hung up": exit_codes.HUNG_UP,
    "interrupted": exit_codes.INTERRUPTED,
    "reader gone": exit_codes.READER_GONE,
    "terminated": exit_codes.TERMINATED,
}
PRINTED: dict[str, Any] = {
    "an entry of cache list": CacheEntry,
    "what cache export and backup wrote": ExportResult,
    "what cache import did": ImportResult,
    "what cache gc plans": CleanupPlan,
    "what lies in the trash": TrashContents,
    "what left the trash": CleanupResult,
    "what cache forget finds": RedactionMatches,
    "what cache repair mended": RepairReport,
    "the build of self-check": Build,
    "a check of self-check": CheckResult,
    "a file of replay": RecordingFigures,
    "a sum of replay": Totals,
    "a line of run": JsonLine,
    "a step of changes list": RecordedChanges,
    "a file of changes list": FileSummary,
    "what changes revert and redo plan": RevertPlan,
}
"""What stands in JSON documents, where the small store here shows no example of each field."""

SAMPLES = ("", " ", "x", "-1", "0", "0.5", "1", "1.5", "64", "65", "1000", "70000", "2GB", "7d", "AB1")
"""What the options are tried with: what each takes it for is part of the command line."""
DOCUMENTED = ("feed", "request", "end_turn", "recall", "summaries", "close")
"""What the page on benchmarks names of the replayer."""
PROVIDERS = (
    *("openai", "openrouter", "anthropic", "deepseek", "gemini", "google", "groq", "mistral", "together"),
    *("xai", "My-Server", "x.y"),
)


@pytest.mark.parametrize(("name", "parser"), [*command_parsers("", build_parser())])
def test_an_option_that_its_command_does_not_read_is_named(
    name: str, parser: argparse.ArgumentParser
) -> None:
    """The module of the command's function reads it, or one that many commands share."""
    command, _, verb = name.partition(" ")
    function = resolve_command(argparse.Namespace(command=command, verb=verb))
    modules = (getattr(function, "func", function), resolve_command, with_workspace, parse_target)
    source = "".join(inspect.getsource(sys.modules[module.__module__]) for module in modules)
    read = re.findall(r"\bargs\.(\w+)|getattr\(args, \"(\w+)\"", source)
    options = {action.dest for action in parser._actions} - {"help", "version"}
    assert options - set(chain.from_iterable(read)) == set()


def test_commands_and_options() -> None:
    commands = command_parsers("helix-desktop", build_parser())
    now = {name: dict(_arguments(command)) for name, command in commands}
    assert_matches_golden("commands", now, SCRIPTS)


def _arguments(command: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    place = 0
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield "(command)", "must be there" if action.required else "may be left out"
            continue
        if not action.option_strings:
            place += 1
        parts = [
            "must be there" if _is_required(action) else "may be left out",
            "flag" if action.nargs == 0 else _values(action),
            *([f"times {action.nargs}"] if action.nargs not in {0, None} else []),
            *([f"only {', '.join(sorted(map(repr, action.choices)))}"] if action.choices else []),
            "no default" if action.default is argparse.SUPPRESS else f"default {action.default!r}",
            *(["not in the help"] if action.help == argparse.SUPPRESS else []),
        ]
        yield (
            ", ".join(action.option_strings) or f"{place}. {action.metavar or action.dest}",
            "; ".join(parts),
        )


def _is_required(action: argparse.Action) -> bool:
    return action.required if action.option_strings else action.nargs not in {"?", "*"}


def _values(action: argparse.Action) -> str:
    """Return which of the samples an argument accepts."""
    if action.type is None:
        return "any text"
    assert callable(action.type)
    values = {sample: _value(action.type, sample) for sample in SAMPLES}
    refused = ", ".join(repr(sample) for sample, value in values.items() if value is None)
    if all(value in {sample, None} for sample, value in values.items()):
        return f"text, not {refused}"
    changed = [f"{sample} as {value}" for sample, value in values.items() if value not in {sample, None}]
    return f"text, not {refused}, takes {', '.join(changed)}"


def _value(kind: Callable[[str], object], sample: str) -> str | None:
    try:
        return str(kind(sample))
    except argparse.ArgumentTypeError:
        return None


def test_mistakes_have_their_exit_codes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = ("--data-dir", str(tmp_path / "data"))
    lines: dict[str, list[str]] = {
        "--version": ["--version"],
        "no such command": ["no-such-command"],
        "no such option": ["timeline", "--no-such-option"],
        "an option is missing": ["cache", "list"],
        "no workspace": ["cache", "list", *data, "--workspace", str(tmp_path)],
        "no such recording": ["replay", str(tmp_path / "no.jsonl")],
        "not trusted": [
            "run",
            *data,
            "--workspace",
            str(tmp_path),
            "--message",
            "x",
            "--model",
            "demo/offline",
        ],
    }
    now = {
        "codes": {name: str(code) for name, code in EXIT_CODES.items()},
        "examples": {name: str(_code(words)) for name, words in lines.items()},
    }
    capsys.readouterr()
    assert_matches_golden("exit_codes", now, SCRIPTS)
    public = {name for name in vars(exit_codes) if name.isupper()}
    assert len(public) == len(EXIT_CODES), "a code is not in the table here"


def _code(words: list[str]) -> object:
    try:
        return main(words)
    except SystemExit as ended:
        return ended.code


@dataclass
class InProcessCli:
    """A data directory as released versions leave it, and its commands, run in this process."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str, typed: str = "", alone: bool = False) -> str:
        """Run a command; return its output."""
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        place = () if alone else ("--workspace", str(self.folder / "ws"))
        with contextlib.suppress(SystemExit):
            main([*words, "--json", "--data-dir", str(self.folder / "data"), *place])
        return self.capture.readouterr().out

    def shape(self, *words: str, typed: str = "", alone: bool = False) -> dict[str, str]:
        return document_shape(json.loads(self(*words, typed=typed, alone=alone)))

    @property
    def workspace(self) -> Path:
        return self.folder / "data" / "workspaces" / WORKSPACE


@pytest.fixture
async def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> InProcessCli:
    """A store with every kind of event, something that nothing names, and a session in the trash."""
    commands = InProcessCli(tmp_path, monkeypatch, capsys)
    (tmp_path / "ws").mkdir()
    commands.workspace.mkdir(parents=True)
    record = {"path": str(tmp_path / "ws"), "name": "ws"}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in record.items()]
    (commands.workspace / "workspace.toml").write_text("".join(lines), encoding="utf-8")
    shutil.copytree(STORE, commands.workspace / "store")
    store = await LevelDbStore.open(commands.workspace / "store", WORKSPACE, TickingClock(START_MS))
    litter = [Content(digest_of(data), data, "read_file", "notes.md") for data in (b"litter", b"more litter")]
    await store.commit(Commit("old", [user_message_event(1)], litter, summary=make_summary("old")))
    await store.retention.trash_session("old")
    output = make_content(b"output 1")
    answer = tool_answer_event(1, output.data)
    await store.commit(Commit("new", [answer], [output], summary=make_summary("new")))
    await store.close()
    return commands


def test_documents_of_the_cache(here: InProcessCli) -> None:
    digest = json.loads(here("cache", "list"))[0]["digest"]
    now = {
        "cache list": here.shape("cache", "list"),
        "cache show": here.shape("cache", "show", digest),
        "cache search": here.shape("cache", "search", "output"),
        "cache search of handovers": here.shape("cache", "search", "fact"),
        "cache verify": here.shape("cache", "verify"),
        "cache verify SHA": here.shape("cache", "verify", digest),
        "cache repair": here.shape("cache", "repair"),
        "timeline": here.shape("timeline"),
        "cache gc --dry-run": here.shape("cache", "gc", "--dry-run"),
        "cache gc": here.shape("cache", "gc"),
        "cache trash": here.shape("cache", "trash"),
        "cache delete": here.shape("cache", "delete", "old"),
        "cache restore": here.shape("cache", "restore", digest_of(b"litter"), "old"),
        "cache trash --empty": here.shape("cache", "trash", "--empty"),
        "cache forget --stdin": here.shape("cache", "forget", "--stdin", typed="output 1"),
        "cache forget --yes": here.shape("cache", "forget", "--yes", digest),
        "cache forget --lift": here.shape("cache", "forget", "--lift", digest),
    }
    assert_matches_golden("documents_cache", now, SCRIPTS)


def test_documents_of_bundled_software(here: InProcessCli) -> None:
    target = here.folder / "out.helix"
    now = {
        "cache export": here.shape("cache", "export", str(target)),
        "cache import": here.shape("cache", "import", str(target)),
        "backup": here.shape("backup", str(here.folder / "backups")),
        "an archive": _members(target),
    }
    assert_matches_golden("documents_carried", now, "Scripts and people's archives")


def _members(path: Path) -> dict[str, str]:
    """Describe each kind of file in an archive."""
    data = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
    members: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tape:
        for member in tape:
            file = tape.extractfile(member)
            assert file is not None
            text = file.read()
            name = re.sub(r"[0-9a-f]{64}", "DIGEST", re.sub(r"\b\d+\b", "N", member.name))
            members.setdefault(name, "file")
            if name.endswith(".json"):
                members |= {
                    f"{name} {place}": kind for place, kind in document_shape(json.loads(text)).items()
                }
            if name.endswith(".jsonl"):
                lines = [json.loads(line) for line in text.splitlines()]
                members |= {f"{name} {place}": kind for place, kind in document_shape(lines).items()}
    return members


def test_documents_of_other_commands(here: InProcessCli, capsys: pytest.CaptureFixture[str]) -> None:
    lines = here("run", "--trust", "--message", "hello", "--model", "demo/offline")
    recording = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "t", "arguments": "{}"}]},
        {"role": "tool", "content": "out", "tool_call_id": "1", "name": "t"},
        {"role": "assistant", "content": "done"},
    ]
    _write_prompt_files(here)
    (here.folder / "source").mkdir()
    place = here.folder / "source" / "one.jsonl"
    place.write_text("".join(json.dumps(message) + "\n" for message in recording), encoding="utf-8")
    now = {
        "run": document_shape([json.loads(line) for line in lines.splitlines()]),
        "licenses": here.shape("licenses", alone=True),
        "licenses --texts": here.shape("licenses", "--texts", alone=True),
        "replay": here.shape("replay", str(place), alone=True),
        "commands": here.shape("commands"),
        "names of checks of self-check": dict.fromkeys(_checks(DataDir(here.folder), True), "a check"),
    }
    assert_matches_golden("documents_other", now, SCRIPTS)


def _write_prompt_files(here: InProcessCli) -> None:
    """Give the workspace a prompt file that is used, one that another hides, and one that is refused."""
    for folder, name, content in (
        (".agents", "fix.md", b"Fix $1."),
        (".claude", "fix.md", b"Fix it."),
        (".claude", "b.md", b"\xff"),
    ):
        file = here.folder / "ws" / folder / "commands" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def test_fields_of_documents() -> None:
    now = {name: fields_of_type(kind) for name, kind in PRINTED.items()}
    assert_matches_golden("documents_fields", now, SCRIPTS)


def test_second_starts_keep_their_form(tmp_path: Path) -> None:
    """With which lines a second start wakes the window."""
    file = tmp_path / "some.helix"
    file.touch()
    opening = argparse.Namespace(demo=False, workspace=None, session="0c7f")
    assert SAMPLE_TARGET == "sample:"
    assert parse_target(str(file)) == f"import:{file}"
    assert launch_target(opening) == "session:0c7f"


def test_variables_of_the_environment(tmp_path: Path) -> None:
    names = {
        folder: dict.fromkeys(sorted(_names_in(ROOT / folder)), "named")
        for folder in ("helix_desktop", "packaging")
    }
    now = {**names, "keys of providers": {name: key_variable(name) for name in PROVIDERS}}
    assert_matches_golden("variables", now, "Scripts and packages")
    assert DataDir.locate(None, {"HELIX_DATA_DIR": str(tmp_path)}).root == tmp_path
    assert TOKEN_VARIABLE == "HELIX_MCP_TOKEN"


def _names_in(folder: Path) -> set[str]:
    """Return the variables used in code and scripts of a folder."""
    files = [path for path in folder.rglob("*") if path.suffix in {".py", ".sh", ".spec", ".ps1", ".iss"}]
    return {
        name for path in files for name in re.findall(r"\bHELIX_[A-Z][A-Z0-9_]*\b", path.read_text("utf-8"))
    }


def test_the_program_starts_by_its_name_and_as_a_module(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert list(scripts) == ["helix-desktop"]
    script = importlib.metadata.EntryPoint(
        "helix-desktop", scripts["helix-desktop"], "console_scripts"
    ).load()
    monkeypatch.setattr(sys, "argv", ["helix-desktop", "--version"])
    for start in (script, lambda: runpy.run_module("helix_desktop", run_name="__main__")):
        with pytest.raises(SystemExit) as ended:
            start()
        assert ended.value.code == 0
        assert re.fullmatch(r"Helix Desktop \S+ \(.+\)\n", capsys.readouterr().out)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", helix_desktop.__version__)


def test_the_replayer_keeps_its_methods_and_parameters() -> None:
    """The interface for programs: `from helix_desktop.replay import Replayer`, methods and parameters."""
    now = {"Replayer": {"(constructor)": _parameters(Replayer)}}
    for name in DOCUMENTED:
        value = vars(Replayer)[name]
        now["Replayer"][name] = "property" if isinstance(value, property) else _parameters(value)
    replayer = Replayer()
    replayer.feed({"role": "user", "content": "hello"})
    now["a request"] = document_shape(replayer.request())
    replayer.close()
    assert_matches_golden("replayer", now, "Programs that measure")


def _parameters(what: Callable[..., object]) -> str:
    parameters = list(inspect.signature(what).parameters.values())
    return ", ".join(
        each.name if each.default is each.empty else f"{each.name}={each.default!r}" for each in parameters
    )
