"""Options that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeAlias

from helix_desktop.cli import argument_types as types
from helix_desktop.words.translation import Translator

tr = Translator("Command line")

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The type of the object that commands are added to; argparse has no public name for it."""
Arguments: TypeAlias = "argparse._ActionsContainer"
"""A command, or a group of its options that exclude each other."""

_PROFILES = ("balanced", "lean", "classic", "plain", "off")
_KEY_VARIABLES = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "GEMINI_API_KEY"),
    *("GROQ_API_KEY", "MISTRAL_API_KEY", "TOGETHER_API_KEY", "XAI_API_KEY"),
)


def add_flag(command: Arguments, option: str, text: str) -> None:
    command.add_argument(option, action="store_true", help=text)


def add_value(
    command: Arguments,
    name: str,
    metavar: str,
    text: str,
    parse: Callable[[str], object],
    default: object = None,
) -> None:
    command.add_argument(name, type=parse, default=default, metavar=metavar, help=text)


def add_text(command: Arguments, option: str, metavar: str, text: str) -> None:
    """Add an option whose text must not be blank, and is empty without it."""
    command.add_argument(option, action=types.NonEmptyText, default="", metavar=metavar, help=text)


def add_workspace(command: argparse.ArgumentParser, text: str = "") -> None:
    """Add `--workspace`; without a text of its own a command requires it."""
    command.add_argument(
        "--workspace",
        action=types.SinglePath,
        type=types.path,
        required=not text,
        metavar="PATH",
        help=text or tr("project folder"),
    )


def add_json(command: argparse.ArgumentParser) -> None:
    add_flag(command, "--json", tr("print one JSON document"))


def add_model(command: argparse.ArgumentParser) -> None:
    """Add which model to use, at which address, with which window."""
    add_text(command, "--model", "PROVIDER/NAME", tr("model to use"))
    add_text(command, "--base-url", "URL", tr("address of a server with the OpenAI Chat Completions API"))
    add_window(command, default=0)


def add_window(command: argparse.ArgumentParser, default: int) -> None:
    """Add `--window`, in tokens."""
    add_value(
        command,
        "--window",
        "TOKENS",
        tr("size of the model's context window"),
        types.window_tokens,
        default=default,
    )


def add_policy(command: argparse.ArgumentParser) -> None:
    """Add `--policy`: a profile, or a file."""
    add_value(
        command,
        "--policy",
        "NAME",
        tr("TOML file, or one of the profiles {profiles}", profiles=_PROFILES),
        types.non_empty_text,
        default="balanced",
    )


def add_patience(command: argparse.ArgumentParser) -> None:
    add_value(
        command,
        "--patience",
        "SECONDS",
        tr("how long to wait for a model server that doesn't answer (default: 10 minutes)"),
        types.seconds,
    )


def keys_text() -> str:
    return tr(
        "API keys: the key of a provider comes from the keychain, otherwise from an environment variable. "
        "{variables} belong to the provider of that name. Any other provider reads {pattern}: "
        "{provider} reads {variable}. With {base_url}, a provider that isn't set up and isn't one of these "
        "also reads {openai}. A line on standard error shows which variable went to which host.",
        variables=_KEY_VARIABLES,
        pattern="HELIX_NAME_KEY",
        provider="my-server",
        variable="HELIX_MY_SERVER_KEY",
        base_url="--base-url",
        openai="OPENAI_API_KEY",
    )
