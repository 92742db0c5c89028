"""The commands `commands` and `licenses`: slash commands, and what is shipped."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from helix_desktop.cli.output import print_json, print_notice, print_out
from helix_desktop.cli.workspace_command import resolve_workspace, with_services
from helix_desktop.config.licenses import all_components
from helix_desktop.domain.slash_command import SLASH, PromptFile
from helix_desktop.domain.translatable_text import TextContext, join_sentences, plain_text
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.prompt_files import HiddenFile, PromptCatalog
from helix_desktop.words.prompt_files import cut_description_text, prompt_warnings
from helix_desktop.words.slash_commands import SLASH_COMMANDS
from helix_desktop.words.translation import Translator, translate

tr = Translator("Command line")
text = TextContext("Command line")

_BUILT_IN = "built-in"


def list_commands(args: argparse.Namespace) -> int:
    """Print all slash commands: those of a workspace too, if one is named."""

    async def work(services: AppServices) -> int:
        workspace_id = resolve_workspace(services, args).id if args.workspace else ""
        catalog = await services.prompt_files.read(workspace_id)
        if args.json:
            print_json(_document(catalog))
            return 0
        for line in _lines(catalog):
            print_out(escape_hidden_name(line))
        folder = services.prompt_files.user_folder
        print_out(tr("Prompt files for all workspaces: {folder}", folder=escape_hidden_name(str(folder))))
        return 0

    return with_services(args, work)


def _document(catalog: PromptCatalog) -> dict[str, Any]:
    """Return the catalog as JSON: what can be typed, what another file hides, and what cannot be used."""
    built_in = [
        {
            "name": command.name,
            "source": _BUILT_IN,
            "description": plain_text(command.summary),
            "arguments": command.arguments,
        }
        for command in SLASH_COMMANDS
    ]
    return {
        "commands": [*built_in, *map(_file_document, catalog.files.values())],
        "hidden": [
            {**_file_document(hidden.file), "hidden_by": hidden.by or _BUILT_IN} for hidden in catalog.hidden
        ],
        "unusable": [
            {"path": file.path, "reason": plain_text(join_sentences(file.why, file.fix))}
            for file in catalog.unusable
        ],
        "untrusted": catalog.is_untrusted,
    }


def _file_document(file: PromptFile) -> dict[str, Any]:
    return {
        "name": file.name,
        "source": file.scope,
        "description": file.description,
        "arguments": file.argument_hint,
        "path": file.path,
        "sha256": file.sha256,
        "command_lines": file.command_lines,
    }


def _lines(catalog: PromptCatalog) -> Iterator[str]:
    commands = [(command.name, command.arguments, command.summary, "") for command in SLASH_COMMANDS]
    files = [(file.name, file.argument_hint, file.description, file.path) for file in catalog.files.values()]
    forms = [f"{SLASH}{name} {arguments}".rstrip() for name, arguments, _, _ in (*commands, *files)]
    width = min(max(map(len, forms)), 40)
    for form, (_, _, description, path) in zip(forms, (*commands, *files), strict=True):
        words = " · ".join(filter(None, (translate(description), path)))
        yield f"{form:<{width}}  {words}".rstrip()
    for file in catalog.files.values():
        yield from prompt_warnings(file)
    for skill in catalog.skills.skills.values():
        if cut := cut_description_text(skill):
            yield f"{skill.path}: {cut}"
    for hidden in catalog.hidden:
        yield _hidden_text(hidden, any(skill.path == hidden.file.path for skill in catalog.skills.listed))
    for unusable in catalog.unusable:
        reason = translate(join_sentences(unusable.why, unusable.fix))
        yield tr("{file} can't be used: {reason}", file=unusable.path, reason=reason)
    if catalog.is_untrusted:
        yield tr("Prompt files and skills of this folder aren't read until you trust it.")


def _hidden_text(hidden: HiddenFile, is_listed: bool) -> str:
    """Return whose command a file's name is; `is_listed`: the agent is told of it as a skill."""
    command = SLASH + hidden.file.name
    if is_listed and hidden.by:
        return tr(
            "The agent uses {file}; {command} is {other}.",
            file=hidden.file.path,
            command=command,
            other=hidden.by,
        )
    if is_listed:
        return tr(
            "The agent uses {file}; {command} is a built-in command.", file=hidden.file.path, command=command
        )
    if hidden.by:
        return tr(
            "{file} isn't used: {command} is {other}.",
            file=hidden.file.path,
            command=command,
            other=hidden.by,
        )
    return tr("{file} isn't used: {command} is a built-in command.", file=hidden.file.path, command=command)


def licenses(args: argparse.Namespace) -> int:
    """Print name, version and license of each component; return 1 if a text is missing."""
    components = all_components()
    if args.json:
        documents = [
            {
                "name": component.name,
                "version": component.version,
                "license": component.license_name,
                "licence": component.license_name,  # the spelling of earlier versions
                "where": component.location,
                "files": [name for name, _ in component.texts],
                **({"text": component.text} if args.texts else {}),
            }
            for component in components
        ]
        print_out(json.dumps(documents, indent=1, ensure_ascii=False))
    else:
        for component in components:
            print_out(f"{component.name}  {component.version or '-'}  {component.license_name or '?'}")
            if args.texts:
                print_out(f"\n{component.text}\n\n{'-' * 80}")
    incomplete = [component.name for component in components if not component.is_complete]
    for name in incomplete:
        print_notice(tr("The license text of {name} is missing. Reinstall Helix Desktop.", name=name))
    return 1 if incomplete else 0
