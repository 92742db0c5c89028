"""The command line in a language that nobody speaks: help changes, JSON does not; English needs no Qt."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from texts import pseudo

from helix_desktop import __version__
from helix_desktop.cli.parsers.command_line import build_parser
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Commit, Content
from helix_desktop.services.diagnostics import FILE_NAMES, SELF_CHECK_FILE
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.cli_rig import ROOT, Cli, CommandResult
from tests.support.command_parsers import command_parsers
from tests.support.model_servers.chat_server import ChatServer, api_error, replies_in_order
from tests.support.pseudo_languages import pseudo_catalog, pseudo_language
from tests.support.store.builders import START_MS, WORKSPACE, TickingClock, make_summary, user_message_event
from tests.support.store.golden import STORE

LITTER = b"litter"
SELF_CHECK_PARTS = 22
RECORDING = (
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "t", "arguments": "{}"}]},
    {"role": "tool", "content": "out", "tool_call_id": "1", "name": "t"},
    {"role": "assistant", "content": "done"},
)
HERE = ("--workspace", "ws")
COMMANDS: Sequence[tuple[str, ...]] = (
    ("cache list", *HERE),
    ("cache show", digest_of(LITTER), *HERE),
    ("cache search", "output", *HERE),
    ("cache recall", digest_of(LITTER), *HERE),
    ("cache verify", *HERE),
    ("cache gc", "--quota", "1B", *HERE),
    ("cache trash", *HERE),
    ("cache delete", digest_of(LITTER), *HERE),
    ("cache restore", digest_of(LITTER), *HERE),
    ("cache forget", digest_of(LITTER), *HERE),
    ("timeline", *HERE),
    ("commands", *HERE),
    ("sessions", *HERE),
    ("search", "output", *HERE),
    ("branch", "last", *HERE),
    ("changes list", *HERE),
    ("changes accept", *HERE),
    ("cache export", "out.helix", *HERE),
    ("cache import", "out.helix", *HERE),
    ("backup", "backups"),
    ("replay", "one.jsonl"),
    ("import", "one.jsonl", "--list"),
    ("licenses",),
    ("cache repair", *HERE),
)
"""Each command once, in an order in which it has something to print; two more have tests of their own."""
CHANGING = (
    *((r"\b1[0-9]{12}\b", "TIME"), (r"\b[0-9a-f]{32}\b", "ID"), (r"\b[0-9]{8}-[0-9]{6}\b", "DAY")),
    (r'("(?:\w*ms|\w*_cpu|size|file_size|p50_ms|p95_ms)": )[\d.]+', r"\1NUMBER"),
)
"""What differs between two runs of the same command: moments, ids and durations."""


@dataclass(frozen=True)
class Language:
    """How commands are run in one language: with a data directory as a released version leaves it."""

    cli: Cli
    environ: dict[str, str]

    async def __call__(self, *words: str) -> CommandResult:
        return await self.cli(*words, "--json", **self.environ)


@pytest.fixture
async def languages(tmp_path: Path) -> Iterator[Language]:
    """English, then a pseudo-language: each finds the same folders and files."""
    template = tmp_path / "template"
    stored = template / "data" / "workspaces" / WORKSPACE
    (template / "ws").mkdir(parents=True)
    stored.mkdir(parents=True)
    shutil.copytree(STORE, stored / "store")
    path = json.dumps(str(tmp_path / "here" / "ws"))
    (stored / "workspace.toml").write_text(f'path = {path}\nname = "ws"\n', encoding="utf-8")
    store = await LevelDbStore.open(stored / "store", WORKSPACE, TickingClock(START_MS))
    contents = [Content(digest_of(LITTER), LITTER, "read_file", "notes.md")]
    await store.commit(Commit("old", [user_message_event(1)], contents, summary=make_summary("old")))
    await store.retention.trash_session("old")
    await store.close()
    lines = (json.dumps(message) + "\n" for message in RECORDING)
    (template / "one.jsonl").write_text("".join(lines), encoding="utf-8")

    def speak() -> Iterator[Language]:
        for language in ("en", str(pseudo_catalog(pseudo.LONG))):
            shutil.rmtree(tmp_path / "here", ignore_errors=True)
            shutil.copytree(template, tmp_path / "here")
            yield Language(Cli.create(tmp_path / "here"), {"HELIX_LANGUAGE": language})

    return speak()


def _lasting(output: bytes) -> str:
    text = output.decode()
    for pattern, replacement in CHANGING:
        text = re.sub(pattern, replacement, text)
    return text


@pytest.mark.slow
@pytest.mark.timeout(1_200)
async def test_json_does_not_depend_on_the_language(languages: Iterator[Language]) -> None:
    """Every document is byte for byte that of English, also where it has words of the product."""
    printed: list[dict[str, str]] = []
    for language in languages:
        documents = {}
        for name, *words in COMMANDS:
            if name == "cache repair":
                (current,) = language.cli.data.glob("workspaces/*/store/db/CURRENT")
                current.write_bytes(b"rubbish")
            result = await language(*name.split(), *words)
            assert "Traceback" not in result.err
            assert result.out, (name, result)
            documents[name] = _lasting(result.out)
        printed.append(documents)
    english, other = printed
    for name, document in english.items():
        assert other[name] == document, name
    assert '"wrong": [' in english["cache repair"], "what was repaired is in the document"


@pytest.mark.slow
@pytest.mark.timeout(1_200)
async def test_a_self_check_is_reported_in_english(tmp_path: Path) -> None:
    """Every part is there, and no word is translated, neither in the document nor in the saved report."""
    cli = Cli.create(tmp_path)
    bundle = tmp_path / "report.zip"
    language = Language(cli, {"HELIX_LANGUAGE": str(pseudo_catalog(pseudo.LONG))})
    well = await language("self-check", "--bundle", str(bundle))
    assert (well.code, well.err) == (0, ""), well
    with zipfile.ZipFile(bundle) as files:
        assert set(files.namelist()) == set(FILE_NAMES)
        saved = json.loads(files.read(SELF_CHECK_FILE))
        assert str(Path.home()).encode() not in b"".join(map(files.read, FILE_NAMES))
    assert saved["ok"]
    assert saved["build"]["version"] == __version__
    texts = {check["name"]: check["text"] for check in saved["checks"]}
    assert len(texts) == SELF_CHECK_PARTS
    assert all(texts.values())
    assert not [text for text in texts.values() if "[" in text], "each text of this language is in brackets"
    printed = {check["name"]: check for check in well.json["checks"]}
    assert {name: check["ok"] for name, check in printed.items()} == dict.fromkeys(texts, True)
    assert not [check for check in printed.values() if "[" in check["text"]]
    again = await cli("self-check", "--bundle", str(bundle))
    assert (again.code, "already exists" in again.err) == (2, True)


async def test_events_do_not_depend_on_the_language(languages: Iterator[Language]) -> None:
    """Those of a turn that fails hold the words of its error, in English."""
    async with ChatServer(replies_in_order(*[api_error(401, "bad key")] * 2)) as server:
        model = ("--model", "local/small", "--base-url", server.base_url)
        turn = ("run", *HERE, "--trust", "--message", "hello", *model)
        english, other = [await language(*turn) for language in languages]
    assert _lasting(english.out) == _lasting(other.out)
    assert b'"how":"failed"' in english.out
    assert english.err != other.err, "what a user reads is translated"


def test_every_command_with_json_is_tried() -> None:
    """A new one has to be added here."""
    with_json = {
        name
        for name, parser in command_parsers("", build_parser())
        if any("--json" in action.option_strings for action in parser._actions)
    }
    elsewhere = {"run", "self-check", "licences"}  # the last is a former name
    need_changed_files = {"changes diff", "changes revert", "changes redo"}
    assert with_json == {name for name, *_ in COMMANDS} | elsewhere | need_changed_files


NAMES_IN_HELP = """
FILE.helix helix: helix-desktop last my-server OPENAI_API_KEY ANTHROPIC_API_KEY OPENROUTER_API_KEY
DEEPSEEK_API_KEY GEMINI_API_KEY GROQ_API_KEY MISTRAL_API_KEY TOGETHER_API_KEY XAI_API_KEY HELIX_NAME_KEY
HELIX_MY_SERVER_KEY balanced lean classic plain off recall_cached_content search_cached_content
list_cached_content role system user assistant tool content TEXT tool_calls id name arguments tool_call_id
created size tokens used digest target src app py md --message --session ID --trust --yes --http --base-url
html jsonl Claude Code Codex opencode Cline Roo Pi chat messages
claude-code codex cline roo-code pi chat-messages
and
"""
"""Names of commands, files, fields and variables are the same in every language; "and" is the locale's."""


def test_help_has_no_line_that_is_not_translated() -> None:
    """Every word that is no name comes from the catalog, argparse's own words too."""
    try:
        with pseudo_language(pseudo.LONG):
            helps = {
                name: (parser.format_help(), parser) for name, parser in command_parsers("", build_parser())
            }
    finally:
        build_parser()  # argparse speaks English again
    commands = " ".join(helps)
    for name, (help_text, parser) in helps.items():
        names = set(re.findall(r"[A-Za-z]{2,}", f"{NAMES_IN_HELP} {commands} {_synopsis(parser)}"))
        for line in help_text.splitlines():
            strange = set(re.findall(r"\b[A-Za-z]{2,}\b", line)) - names
            assert not strange, (name, line)
    assert "usage" not in helps[""][0]


def _synopsis(parser: argparse.ArgumentParser) -> str:
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    return " ".join(
        " ".join((*action.option_strings, str(action.metavar or ""), *map(str, action.choices or ())))
        for action in actions
    )


def test_errors_of_arguments_are_translated(tmp_path: Path) -> None:
    """What argparse says and what a type says are one sentence of the same language."""
    environ = {**os.environ, "HELIX_LANGUAGE": str(pseudo_catalog(pseudo.LONG)), "PYTHONPATH": str(ROOT)}
    command = (sys.executable, "-m", "helix_desktop", "run", "--window", "12")
    done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    strange = set(re.findall(r"\b[A-Za-z]{2,}\b", done.stderr)) - {
        "helix",
        "desktop",
        "run",
        "window",
        "help",
    }
    assert not strange, done.stderr


@pytest.mark.parametrize(
    ("words", "code"), [(("--help",), 0), (("run", "--nonsense"), 2), (("timeline", "--workspace", "x"), 2)]
)
def test_english_needs_no_qt(words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    """Neither help nor an error nor a command on a workspace waits for it."""
    script = (
        "import sys\n"
        "from helix_desktop.main import main\n"
        "try:\n    code = main(sys.argv[1:])\n"
        "except SystemExit as left:\n    code = left.code\n"
        "assert not [name for name in sys.modules if name.startswith('PySide6')]\n"
        "sys.exit(code)\n"
    )
    environ = {**os.environ, "HELIX_LANGUAGE": "en_US", "PYTHONPATH": str(ROOT)}
    environ["HELIX_DATA_DIR"] = str(tmp_path / "data")
    command = (sys.executable, "-c", script, *words)
    done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
