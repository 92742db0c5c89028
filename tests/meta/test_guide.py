"""What README and the guide say is true: their links and commands, and what the code declares."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path

import msgspec
import pytest
from texts.extract import Entry
from texts.rules import forbidden_words

from helix_desktop.cli.parsers.command_line import build_parser
from helix_desktop.config.paths import DATA_DIR_VARIABLE
from helix_desktop.config.settings import key_variable
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.choices import EFFORT_LEVELS
from helix_desktop.domain.digest import MIN_PREFIX
from helix_desktop.domain.file_history.changes import MAX_FILE, QUOTA
from helix_desktop.domain.retention import TRASH_DAYS
from helix_desktop.domain.skills import MAX_DESCRIPTION, MAX_SKILL_BYTES, MAX_SKILLS, SKILLS_SHARE
from helix_desktop.domain.slash_command import MAX_PROMPT_BYTES, SLASH, WORKSPACE_FOLDERS
from helix_desktop.providers.model_list import DEFAULT_PORTS
from helix_desktop.providers.retry import PATIENCE_S
from helix_desktop.replay.policy.session_replays import MAX_SESSIONS
from helix_desktop.system import exit_codes
from helix_desktop.tools.files.jail import IGNORE_FILE
from helix_desktop.tools.instruction_files import MAX_FILE_BYTES
from helix_desktop.ui.chat.composer.editor import LONG_TEXT_CHARS, LONG_TEXT_LINES
from helix_desktop.ui.help.guide import guide_pages
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.settings.policy.form import FILE_FIELDS
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.slash_commands import SLASH_COMMANDS
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.translation import translate
from tests.support.tables import for_each

ROOT = Path(__file__).parent.parent.parent
GUIDE = ROOT / "resources" / "guide"
PAGES = [ROOT / "README.md", *sorted(GUIDE.glob("*.md"))]
POLICY = ContextPolicy()
KILO = 1024
PROVIDERS = ["openai", "anthropic", "openrouter", "deepseek", "gemini", "groq", "mistral", "together", "xai"]


def _percent(share: float) -> str:
    return format_whole_percent(share).replace("\N{NO-BREAK SPACE}", " ")


def _profile(name: str) -> str:
    policy = PROFILES[name]
    return f"the newest {policy.protect_steps} steps, at most {policy.protect_tokens:,} tokens"


FACTS = [
    ("cached", f"over {POLICY.intake_above:,} tokens"),
    ("messages", f"over {POLICY.intake_above:,} tokens"),
    ("compacted", f"more than {POLICY.fold_after_steps} model calls back"),
    ("compacted", f"that nothing replaces pass {_percent(POLICY.observe_at)} of the context window"),
    ("compacted", f"the context passes {_percent(POLICY.observe_place_at)} of the context window"),
    ("compacted", f"these pass {_percent(POLICY.reflect_at)} of the context window"),
    ("compacted", f"At {_percent(POLICY.handover_at)} of the context window"),
    ("compacted", f"{POLICY.checkpoint_tokens:,} tokens of history"),
    *(
        ("context", f"| **{label}** |")
        for label in sorted({str(words.label) for words in STATE_WORDS.values()})
    ),
    ("policy", f"Below {_percent(POLICY.previous_turn_share)} of the context window"),
    ("policy", f"at most {POLICY.protect_steps} steps and {POLICY.protect_tokens:,} tokens"),
    ("policy", f"compacts at {_percent(POLICY.handover_at)}"),
    ("policy", _profile("balanced")),
    ("policy", _profile("lean")),
    ("policy", _profile("classic")),
    ("policy", f"newest {PROFILES['plain'].protect_steps} steps, a handover summary only"),
    ("policy", f"whole up to {_percent(PROFILES['plain'].preview_above)} of the context window"),
    ("messages", f"over {LONG_TEXT_CHARS:,} characters or {LONG_TEXT_LINES} lines"),
    ("messages", f"the first {MIN_PREFIX} digits of a SHA-256"),
    ("commands", f"up to {MAX_PROMPT_BYTES // KILO} KB each"),
    ("commands", f"`{WORKSPACE_FOLDERS[0]}` and `{WORKSPACE_FOLDERS[1]}` of the workspace"),
    ("instructions", f"at most {MAX_FILE_BYTES // KILO} KB each"),
    ("instructions", f"in `{IGNORE_FILE}`"),
    ("skills", f"at most {MAX_DESCRIPTION:,} characters"),
    ("skills", f"at most {100 // SKILLS_SHARE} % of the context window"),
    ("skills", f"over {MAX_SKILL_BYTES // KILO} KB"),
    ("skills", f"the first {MAX_SKILLS} are read"),
    ("changes", f"files over {MAX_FILE // KILO**2} MB"),
    ("changes", f"({QUOTA // KILO**3} GB; Settings → Data)"),
    ("models", "on the ports {}, {}, {} and {},".format(*DEFAULT_PORTS)),
    *(("models", f"`{key_variable(provider)}`") for provider in PROVIDERS),
    ("models", f"`my-server` reads `{key_variable('my-server')}`"),
    ("models", f"{', '.join(EFFORT_LEVELS[:-1])} or {EFFORT_LEVELS[-1]}"),
    ("models", f"session ({WindowCommands.choose_effort.keys[0]},"),
    ("work", f"or {WindowCommands.side_question.keys[0]} asks"),
    ("work", f"{WindowCommands.steer.fixed_key} sends it after the current step"),
    ("data", f"restored for {TRASH_DAYS} days"),
    ("data", f"at most {MAX_SESSIONS} sessions"),
    ("data", f"`{DATA_DIR_VARIABLE}`"),
    ("command_line", f"waits up to {PATIENCE_S // 60:.0f} minutes"),
    ("command_line", f"| {exit_codes.FAILED} | failure |"),
    ("command_line", f"| {exit_codes.USAGE} | wrong usage"),
    ("command_line", f"| {exit_codes.LOCKED} | another process"),
    ("command_line", f"| {exit_codes.INCOMPLETE} | the last answer isn't whole"),
    ("edge_cases", f"`run` ends with exit code {exit_codes.INCOMPLETE}"),
    ("README", f"{WindowCommands.guide.keys[0]} opens these pages"),
]


def _text(page: str) -> str:
    return " ".join((GUIDE / f"{page}.md").read_text(encoding="utf-8").split())


@for_each(("page", "words"), FACTS)
def test_facts_are_those_of_the_code(page: str, words: str) -> None:
    """A changed default, limit, key or exit code changes the guide."""
    assert words in _text(page)


def test_the_table_of_slash_commands_is_whole() -> None:
    """Each built-in command with its arguments and what it does, in the order of the list, and no other."""
    rows = []
    for command in SLASH_COMMANDS:
        usage = f"{SLASH}{command.name} {command.arguments}".rstrip().replace("|", r"\|")
        rows.append(f"| `{usage}` | {translate(command.summary)} |")
    lines = (GUIDE / "commands.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith(f"| `{SLASH}")] == rows


@for_each("path", PAGES)
def test_keys_are_those_of_the_list(path: Path) -> None:
    """A page names no key that no command has; the list itself is compared with the window."""
    combination = re.compile(r"\b(?:Ctrl|Alt|Shift)\+[A-Z]\w*(?:\+\w+)*")
    keys = set(combination.findall((GUIDE / "keys.md").read_text(encoding="utf-8")))
    assert set(combination.findall(path.read_text(encoding="utf-8"))) <= keys


def test_the_contents_list_every_page_by_its_title() -> None:
    """A page that is not listed would not be in the window."""
    pages = guide_pages()
    assert set(pages) == {path.stem for path in GUIDE.glob("*.md")} - {"README"}
    for topic, page in pages.items():
        first, empty, lead = (GUIDE / f"{topic}.md").read_text(encoding="utf-8").splitlines()[:3]
        assert (first, empty) == (f"# {page.title}", "")
        assert lead[:1].isalpha(), "the first paragraph says in one sentence what the page is about"


@for_each("path", PAGES)
def test_links_point_to_files_that_exist(path: Path) -> None:
    """Those of the guide to its own pages: the window shows no others."""
    links = re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert not [link for link in local if not (path.parent / link).is_file()]
    if path.parent == GUIDE:
        assert all(re.fullmatch(r"[a-z_]+\.md", link) for link in links)


def test_the_guide_lists_every_number_that_only_the_policy_file_has() -> None:
    """With its value in the default profile."""
    rows = re.findall(
        r"^\| (`.+?`) \| (.+?) \|", (GUIDE / "policy.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    listed = {
        name: value
        for names, values in rows
        for name, value in zip(re.findall(r"`(\w+)`", names), values.split(", "), strict=True)
    }
    balanced = msgspec.structs.asdict(PROFILES["balanced"])
    assert listed == {name: json.dumps(balanced[name]) for name in FILE_FIELDS}


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next(
        (
            dict(action.choices)
            for action in parser._actions
            if isinstance(action, argparse._SubParsersAction)
        ),
        {},
    )


def _options(parser: argparse.ArgumentParser) -> set[str]:
    options = {option for action in parser._actions for option in action.option_strings}
    return options.union(*map(_options, _subparsers(parser).values()))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_documented_command_lines_are_understood(path: Path) -> None:
    """Each line of an example is parsed as it is; in a text, commands and options exist."""
    text = path.read_text(encoding="utf-8")
    parser = build_parser()
    for example in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in example.replace("\\\n", " ").splitlines():
            program, *words = shlex.split(line, comments=True) or [""]
            if program == "helix-desktop":
                parser.parse_args(words)
    for line in re.findall(r"`helix-desktop ([^`\n]+)`", text):
        reader = parser
        options = _options(parser)
        for word in line.split():
            if word.startswith("--"):
                assert word in options, line
            elif word in _subparsers(reader):
                reader = _subparsers(reader)[word]
                options = _options(reader)
            else:
                assert reader is not parser or word.isupper() or word == "FILE.helix", line
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", " ".join(re.findall(r"`[^`\n]+`", text))))
    assert named <= _options(parser)


@for_each("path", PAGES)
def test_pages_speak_as_the_product_does(path: Path) -> None:
    """No forbidden word, outside code and the names of commands."""
    prose = re.sub(r"```.*?```|`[^`\n]+`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    entries = [
        Entry("Guide", line, "", "", path.name, number) for number, line in enumerate(prose.splitlines(), 1)
    ]
    assert forbidden_words(entries) == []
