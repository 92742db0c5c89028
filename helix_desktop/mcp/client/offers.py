"""What a server offers the user beside tools: prompts and resources, listed, fetched and cleaned."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.files.mention import escape_mentions
from helix_desktop.domain.mcp_server import FilledPrompt, PromptArgument, ServerPrompt, ServerResource
from helix_desktop.domain.slash_command import FOLDER_MARK, MAX_NAME, is_command_name
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import is_hidden
from helix_desktop.mcp.client.exposed_tool import sanitize_text
from helix_desktop.mcp.client.session import with_input

if TYPE_CHECKING:
    from mcp.client import ClientSession

_log = logging.getLogger(__name__)
_text = TextContext("MCP")

MAX_OFFERS, MAX_BYTES = 500, 20_000_000
MAX_FILES = 20  # of a prompt; the names of as many others are told
_MAX_PROMPT_CHARS = 100_000
_MAX_TITLE, _MAX_DESCRIPTION, _MAX_ARGUMENTS = 120, 300, 20


async def list_prompts(server: str, session: ClientSession) -> tuple[ServerPrompt, ...]:
    """Return the prompts that a server lists; none if it can't. Two that are typed alike are one."""
    capabilities = session.server_capabilities
    if capabilities is None or capabilities.prompts is None:
        return ()
    prompts: dict[str, ServerPrompt] = {}
    for prompt in await _all_pages(server, session.list_prompts, lambda page: page.prompts):
        name = re.sub(r"[^a-zA-Z0-9_-]+", "-", prompt.name).strip("-_")
        command = f"{server}{FOLDER_MARK}{name}"[:MAX_NAME]
        if is_command_name(command):
            arguments = tuple(
                PromptArgument(
                    argument.name,
                    sanitize_text(argument.description or "", _MAX_DESCRIPTION),
                    bool(argument.required),
                )
                for argument in (prompt.arguments or ())[:_MAX_ARGUMENTS]
            )
            description = sanitize_text(prompt.description or prompt.title or "", _MAX_DESCRIPTION)
            prompts.setdefault(command, ServerPrompt(server, prompt.name, command, description, arguments))
    return tuple(prompts.values())


async def list_resources(server: str, session: ClientSession) -> tuple[ServerResource, ...]:
    """Return the resources that a server lists; none if it can't."""
    capabilities = session.server_capabilities
    if capabilities is None or capabilities.resources is None:
        return ()
    listed = await _all_pages(server, session.list_resources, lambda page: page.resources)
    return tuple(
        ServerResource(
            server,
            str(resource.uri),
            sanitize_text(resource.title or resource.name or str(resource.uri), _MAX_TITLE),
            sanitize_text(resource.description or "", _MAX_DESCRIPTION),
        )
        for resource in listed
    )


async def _all_pages(
    server: str, ask: Callable[..., Awaitable[Any]], items: Callable[[Any], list[Any]]
) -> list[Any]:
    """Return what a server lists, up to MAX_OFFERS; what it has listed until it fails, then."""
    found: list[Any] = []
    cursor: str | None = None
    try:
        while len(found) < MAX_OFFERS:
            page = await ask(params=types.PaginatedRequestParams(cursor=cursor))
            found += items(page)
            if page.next_cursor in (None, "", cursor) or not items(page):
                break
            cursor = page.next_cursor
    except Exception as error:  # noqa: BLE001 - whatever is wrong, its tools still work
        _log.info("MCP server %s does not list what it offers: %s", server, type(error).__name__)
    return found[:MAX_OFFERS]


async def get_prompt(session: ClientSession, prompt: ServerPrompt, arguments: dict[str, str]) -> FilledPrompt:
    """Return a prompt with its arguments filled in; it mentions only files that these do.

    Raises MCPError, InvalidInput.
    """

    async def send(responses: types.InputResponses | None, state: str | None) -> Any:
        return await session.get_prompt(
            prompt.name, arguments, input_responses=responses, request_state=state, allow_input_required=True
        )

    result = await with_input(session, send)
    if not isinstance(result, types.GetPromptResult):
        raise _no_answer(prompt.server)
    is_dialog = any(message.role == "assistant" for message in result.messages)
    texts, files, left_out = list[str](), list[tuple[str, bytes]](), list[str]()
    for message in result.messages:
        block = message.content
        match block:
            case types.TextContent(text=text):
                words = f"{message.role.capitalize()}:\n{text}" if is_dialog else text
                texts.append("".join(char for char in words if char in "\n\t" or not is_hidden(char)).strip())
            case types.ImageContent(data=data):
                files.append((f"{prompt.command} {len(files) + 1}", _decoded(prompt.server, data)))
            case types.EmbeddedResource(resource=resource):
                files.append((sanitize_text(str(resource.uri), _MAX_TITLE), _data(prompt.server, resource)))
            case types.ResourceLink(uri=uri):
                left_out.append(sanitize_text(str(uri), _MAX_TITLE))
            case _:
                left_out.append(sanitize_text(block.type, _MAX_TITLE))
    text = "\n\n".join(filter(None, texts))
    if len(text) > _MAX_PROMPT_CHARS:
        raise _too_large(prompt.server, len(text))
    left_out += [name for name, _ in files[MAX_FILES:]]
    left_out[MAX_FILES:] = ["…"] if left_out[MAX_FILES:] else []
    text = escape_mentions(text, tuple(arguments.values()))
    return FilledPrompt(text, tuple(files[:MAX_FILES]), tuple(left_out))


async def read_resource(session: ClientSession, resource: ServerResource) -> bytes:
    """Return the bytes of a resource; of several parts their texts. Raises MCPError, InvalidInput."""

    async def send(responses: types.InputResponses | None, state: str | None) -> Any:
        return await session.read_resource(
            resource.uri, input_responses=responses, request_state=state, allow_input_required=True
        )

    result = await with_input(session, send)
    if not isinstance(result, types.ReadResourceResult) or not result.contents:
        raise _no_answer(resource.server)
    is_one = len(result.contents) == 1
    parts = [part for part in result.contents if is_one or isinstance(part, types.TextResourceContents)]
    data = b"\n\n".join(_data(resource.server, part) for part in parts)
    if len(data) > MAX_BYTES:
        raise _too_large(resource.server, len(data))
    return data


def _data(server: str, part: types.TextResourceContents | types.BlobResourceContents) -> bytes:
    if isinstance(part, types.TextResourceContents):
        return part.text.encode("utf-8", "surrogatepass")
    return _decoded(server, part.blob)


def _decoded(server: str, encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        raise InvalidInput(
            _text("{server} sent something that can't be read.", server=server),
            _text("Its Base64 is damaged."),
        ) from None


def _no_answer(server: str) -> InvalidInput:
    return InvalidInput(_text("{server} sent no content.", server=server), fix=_text("Choose another one."))


def _too_large(server: str, size: int) -> InvalidInput:
    return InvalidInput(
        _text("What {server} sent is too large.", server=server),
        _text("It has {size}.", size=format_bytes(size)),
        _text("Choose something smaller."),
    )
