"""Options that several commands have."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from helix_desktop.cli import argument_types
from helix_desktop.words.translation import Translator

tr = Translator("Command line")

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The type of the object that commands are added to; argparse has no public name for it."""

_PROFILES = ("balanced", "lean", "classic", "plain", "off")
_KEY_VARIABLES = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "GEMINI_API_KEY"),
    *("GROQ_API_KEY", "MISTRAL_API_KEY", "TOGETHER_API_KEY", "XAI_API_KEY"),
)


def add_workspace(command: argparse.ArgumentParser) -> None:
    """Add `--workspace`, which is required."""
    command.add_argument(
        "--workspace",
        action=argument_types.SinglePath,
        type=argument_types.path,
        required=True,
        metavar="PATH",
        help=tr("project folder"),
    )


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help=tr("print one JSON document"))


def add_model(command: argparse.ArgumentParser) -> None:
    """Add which model to use, at which address, with which window."""
    argument_types.add_text(command, "--model", "PROVIDER/NAME", tr("model to use"))
    argument_types.add_text(
        command, "--base-url", "URL", tr("address of a server with the OpenAI Chat Completions API")
    )
    add_window(command, default=0)


def add_window(command: argparse.ArgumentParser, default: int) -> None:
    """Add `--window`, in tokens."""
    command.add_argument(
        "--window",
        type=argument_types.window_tokens,
        default=default,
        metavar="TOKENS",
        help=tr("size of the model's context window"),
    )


def add_policy(command: argparse.ArgumentParser) -> None:
    """Add `--policy`: a profile, or a file."""
    command.add_argument(
        "--policy",
        type=argument_types.non_empty_text,
        default="balanced",
        metavar="NAME",
        help=tr("TOML file, or one of the profiles {profiles}", profiles=_PROFILES),
    )


def add_patience(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--patience",
        type=argument_types.seconds,
        metavar="SECONDS",
        help=tr("how long to wait for a model server that doesn't answer (default: 10 minutes)"),
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
