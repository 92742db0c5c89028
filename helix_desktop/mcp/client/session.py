"""One session with a server, on the protocol's own package: calls, what it asks the user, what it offers.

It asks with a flat form or a page to open, it offers prompts and resources; all is checked and cleaned.
Imported only when a server starts.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import math
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import mcp_types as types
from mcp.client import ClientRequestContext, ClientSession, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost, ToolsListChanged, listen
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types.methods import validate_server_result
from msgspec.structs import replace
from pydantic import ValidationError

from helix_desktop import __version__
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.files.mention import escape_mentions
from helix_desktop.domain.image import MAX_IMAGE_BYTES, Image, identify_image
from helix_desktop.domain.mcp_server import FilledPrompt, PromptArgument, ServerPrompt, ServerResource
from helix_desktop.domain.question import (
    AskUser,
    FieldKind,
    FieldValue,
    FormField,
    ServerQuestion,
    ServerReply,
)
from helix_desktop.domain.slash_command import FOLDER_MARK, MAX_NAME, is_command_name
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.tools import ToolResult
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import is_hidden
from helix_desktop.mcp.client.exposed_tool import sanitize_text
from helix_desktop.mcp.client.message_repair import plain_result, repair_result
from helix_desktop.mcp.client.process import NOT_TAKEN, fault_place

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams  # named by no public module

_text = TextContext("MCP")
_log = logging.getLogger(__name__)


_MAX_ADDRESS_CHARS = 500
_LONG = 40  # characters of a value that is not by chance the same as a text


def to_tool_result(result: types.CallToolResult, target: str) -> ToolResult:
    """Convert an answer to text; each image is replaced by a summary, its bytes go to `image_data`."""
    image_data: list[bytes] = []
    parts = [_text_of_block(block, image_data) for block in result.content]
    text = "\n\n".join(part for part in (*parts, *_structured(result)) if part)
    if result.is_error and not text.strip():
        text = "The tool reports an error (isError), and no words say which."
    content = text.encode("utf-8", "surrogatepass")
    return ToolResult(content, not result.is_error, target=target, image_data=tuple(image_data))


def _structured(result: types.CallToolResult) -> Iterator[str]:
    """Yield as JSON what the structured content says beyond the blocks, under whatever names it says it."""
    data = result.structured_content
    if data is None:
        return
    blocks = _as_data(result.content)
    if data == {} and blocks:
        return
    rest = _unsaid(data, blocks)
    if rest is not None:
        yield json.dumps(rest, ensure_ascii=False, indent=1)


def _unsaid(data: Any, said: frozenset[str]) -> Any:
    """Return what of structured content the blocks don't say; None if that is nothing."""
    if _canonical(data) in said:
        return None
    if isinstance(data, list):
        return data if not data or any(_canonical(part) not in said for part in data) else None
    if not isinstance(data, dict):
        return data
    is_alone = len(data) == 1
    rest: dict[str, Any] = {}
    for key, value in data.items():
        words = _canonical(value)
        # A short value may be equal by chance: in `{"ok": "yes", "more": "yes"}` both fields say something.
        if words in said and (is_alone or len(words) >= _LONG):
            continue
        unsaid = _unsaid(value, said) if is_alone and isinstance(value, dict | list) else value
        if unsaid is not None:
            rest[key] = unsaid
        elif value is None:
            rest[key] = None
    return rest or None


def _as_data(blocks: Sequence[types.ContentBlock]) -> frozenset[str]:
    """Return what blocks say in each form that structured content may have: texts, JSON, blocks, lists."""
    texts = [block.text for block in blocks if isinstance(block, types.TextContent)]
    plain = [block.model_dump(by_alias=True, exclude_none=True, mode="json") for block in blocks]
    found: list[Any] = [*texts, *plain, plain]
    if texts:
        found += [texts, *(separator.join(texts) for separator in ("", "\n", "\n\n"))]
    parsed: list[Any] = []
    for text in texts:
        with suppress(ValueError, RecursionError):
            parsed.append(json.loads(text))
    found += [*parsed, *([parsed] if len(parsed) == len(texts) else [])]
    return frozenset(map(_canonical, found))


def _canonical(value: Any) -> str:
    """Return a value as JSON, the same for equal ones; blanks at the ends of a text don't count."""
    return json.dumps(value.strip() if isinstance(value, str) else value, sort_keys=True)


def _text_of_block(block: types.ContentBlock, image_data: list[bytes]) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent(data=data, mime_type=media):
            return _decode_bytes(data, media, "an image", image_data)
        case types.AudioContent(data=data, mime_type=media):
            return _decode_bytes(data, media, "a sound", image_data)
        case types.EmbeddedResource():
            return _resource(block.resource, image_data)
        case types.ResourceLink(uri=uri, name=name, description=link_description):
            label = f"{sanitize_text(name, 200)} {sanitize_text(link_description or '', 500)}"
            return f"[Link to a resource: {_address(uri)}] {label}".rstrip()


def _resource(
    resource: types.TextResourceContents | types.BlobResourceContents, image_data: list[bytes]
) -> str:
    address = _address(resource.uri)
    if isinstance(resource, types.TextResourceContents):
        return f"[Resource {address}]\n{resource.text}"
    return _decode_bytes(resource.blob, resource.mime_type or "", f"the resource {address}", image_data)


def _decode_bytes(encoded: str, media: str, description: str, image_data: list[bytes]) -> str:
    """Collect an image and return its summary; for other bytes return a description."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:
        return f"[{description}, {sanitize_text(media, 80)}: not readable]"
    image = _as_image(data)
    if image is None:
        kind = sanitize_text(media, 80)
        size = format_bytes(len(data))
        return f"[{description}, {kind}, {size}: only text and images can be shown]"
    image_data.append(data)
    return f"[{description}: {image.summary}]"


def _as_image(data: bytes) -> Image | None:
    """Return the image in these bytes; None if it is none that a model can take."""
    return identify_image(data, digest_of(data)) if len(data) <= MAX_IMAGE_BYTES else None


def _address(uri: str) -> str:
    return sanitize_text(str(uri), _MAX_ADDRESS_CHARS)


MAX_PAGES = 100
MAX_TOOLS = 500
_LISTEN_AGAIN_S = 30.0
_LATEST_PLAIN_VERSION = "2025-11-25"  # where none is agreed on yet
_MAX_ROUNDS = 10  # of questions before a result
_ASK_AGAIN_S = 0.25  # pause after a round without questions
_MANY = 100  # a progress of so much is told in whole numbers


class _RepairedResults:
    """A dispatcher of requests whose results are repaired before anything judges them."""

    def __init__(self, dispatcher: Any, version: Callable[[], str | None]) -> None:
        self._dispatcher = dispatcher
        self._version = version

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dispatcher, name)

    async def send_raw_request(self, method: str, params: Any, opts: Any = None) -> dict[str, Any]:
        raw = await self._dispatcher.send_raw_request(method, params, opts)
        result = repair_result(method, raw)
        if method == "tools/call" and not self._is_valid(result):  # of a later protocol than agreed
            return plain_result(result, self._is_valid)
        return result

    def _is_valid(self, result: dict[str, Any]) -> bool:
        """Return True if the protocol that was agreed on has such a result of a call."""
        try:
            validate_server_result("tools/call", self._version() or _LATEST_PLAIN_VERSION, result)
        except ValidationError:
            return False
        except KeyError:
            pass
        return True


class _Session(ClientSession):
    """A session that does not validate results: judging them is left to the model."""

    def __init__(self, *streams: Any, **options: Any) -> None:
        super().__init__(*streams, **options)
        self._dispatcher: Any = _RepairedResults(self._dispatcher, lambda: self.protocol_version)

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
        """Accept anything: a server's own schema proves nothing, and its patterns could match forever."""


@asynccontextmanager
async def open_session(
    streams: TransportStreams,
    root: Path,
    server: str,
    on_tools_changed: Callable[[], Awaitable[None]],
    on_offers_changed: Callable[[], None],
    ask: AskUser,
    on_page_done: Callable[[], None],
) -> AsyncIterator[ClientSession]:
    """Open an initialized session with `server`, as the user calls it.

    `on_tools_changed` is awaited when the server reports changed tools, `on_offers_changed` is called for
    changed prompts and resources, `ask` puts what it asks to the user,
    `on_page_done` is called when it says that a page which the user opened is done. The server may ask for
    the workspace's folder; requests to a model are refused.
    """

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": root.as_uri()})])

    async def on_message(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            await on_tools_changed()
        elif isinstance(message, types.PromptListChangedNotification | types.ResourceListChangedNotification):
            on_offers_changed()
        elif isinstance(message, types.ElicitCompleteNotification):
            on_page_done()

    async def elicit(
        _: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        try:
            question = read_question(server, params)
        except ValueError as error:
            return types.ErrorData(code=types.INVALID_PARAMS, message=f"The user can't be asked: {error}")
        return to_result(await ask(question))

    session = _Session(
        *streams,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        message_handler=on_message,
        client_info=types.Implementation(name="helix-desktop", version=__version__),
    )
    async with session:
        await _negotiate(session)
        async with asyncio.TaskGroup() as group:
            watcher = group.create_task(
                _follow_changes(session, on_tools_changed, on_offers_changed), name="mcp changes"
            )
            try:
                yield session
            finally:
                watcher.cancel()


async def _negotiate(session: ClientSession) -> None:
    """Agree on the newest protocol that both support; older servers do not know the first request."""
    try:
        await session.discover()
    except (MCPError, RuntimeError, ValidationError) as error:
        if getattr(error, "code", None) == NOT_TAKEN:  # it wants a sign-in first, or can't be reached
            raise
        try:
            await session.initialize()
        except MCPError as error:
            if error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
                raise
            await session.discover()  # it was slow to start, and answered the first request after we gave up


async def _follow_changes(
    session: ClientSession,
    on_tools_changed: Callable[[], Awaitable[None]],
    on_offers_changed: Callable[[], None],
) -> None:
    """Subscribe to changes at servers of the newest protocol, which notify only subscribers."""
    if session.initialize_result is not None:
        return
    while True:
        try:
            async with listen(
                session, tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as events:
                async for event in events:
                    if isinstance(event, ToolsListChanged):
                        await on_tools_changed()
                    else:
                        on_offers_changed()
            return
        except SubscriptionLost:
            await asyncio.sleep(_LISTEN_AGAIN_S)
            await on_tools_changed()
            on_offers_changed()
        except (MCPError, TimeoutError):  # it does not support subscriptions
            return


async def list_tools(session: ClientSession) -> list[types.Tool]:
    """Return all tools that the server lists, page by page, up to `MAX_TOOLS`.

    Raises HelixError that says what in the list breaks the protocol.
    """
    tools: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        except ValidationError as error:
            raise HelixError(
                _text("The server's list of tools breaks the protocol."),
                _text("What it sends in {place} is something else.", place=fault_place(error)),
                _text("Update the server, or report this to its author."),
            ) from error
        tools += page.tools
        cursor = page.next_cursor
        if not cursor or len(tools) >= MAX_TOOLS:
            break
    return tools[:MAX_TOOLS]


async def call_tool(
    session: ClientSession,
    tool: str,
    args: dict[str, Any],
    on_progress: Callable[[str, float | None], None],
    are_pages_done: Callable[[], Awaitable[bool]],
) -> types.CallToolResult | None:
    """Return the result of a call; None if the server asks again and again before. Raises MCPError.

    `on_progress` gets what the server says of its progress and the share that is done, if that is known.
    `are_pages_done` is awaited when the user has opened the pages that the call needs: then it is repeated.
    """

    async def report_progress(progress: float, total: float | None, message: str | None) -> None:
        share = min(1.0, max(0.0, progress / total)) if total and math.isfinite(progress / total) else None
        amount = _progress_amount(progress, total)
        on_progress(": ".join(filter(None, (amount, message or ""))), share)

    send = partial(
        session.call_tool,
        tool,
        args,
        progress_callback=report_progress,
        allow_input_required=True,
        allow_claimed=True,
    )
    try:
        result = await with_input(session, send)
    except MCPError as error:
        if error.code != types.URL_ELICITATION_REQUIRED:
            raise
        if not (await _pages_opened(session, error) and await are_pages_done()):
            raise
        result = await with_input(session, send)
    return result if isinstance(result, types.CallToolResult) else None


async def _pages_opened(session: ClientSession, error: MCPError) -> bool:
    """Ask the user to open the pages that a call needs before; return True if all were."""
    pages = UrlElicitationRequiredError.from_error(error.error).elicitations
    context = ClientRequestContext(session=session, request_id="page")
    for params in pages:
        response = await session.dispatch_input_request(context, types.ElicitRequest(params=params))
        if not isinstance(response, types.ElicitResult) or response.action != "accept":
            return False
    return bool(pages)


async def with_input(session: ClientSession, send: Callable[..., Awaitable[Any]]) -> Any:
    """Return the result of a request; what a server of the newest protocol asks before it is answered.

    After too many rounds the result is still a question. Raises MCPError.
    """
    result = await send()
    for _ in range(_MAX_ROUNDS):
        if not isinstance(result, types.InputRequiredResult):
            break
        responses: types.InputResponses = {}
        for key, request in (result.input_requests or {}).items():
            context = ClientRequestContext(session=session, request_id=key)
            response = await session.dispatch_input_request(context, request)
            if isinstance(response, types.ErrorData):
                raise MCPError.from_error_data(response)
            responses[key] = response
        if not responses:  # it only wants to be asked again
            await asyncio.sleep(_ASK_AGAIN_S)
        result = await send(input_responses=responses or None, request_state=result.request_state)
    return result


def _progress_amount(progress: float, total: float | None) -> str:
    """Return how far a call is, as precisely as a reader needs; empty for what is no number."""
    if not math.isfinite(progress) or not math.isfinite(total or 0):
        return ""
    scale = abs(total or progress)
    decimals = 1 if scale > 1 else 2  # of seconds, files, percent or a share
    if scale >= _MANY:
        decimals = 0
    done, *totals = (
        f"{value:.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{value:.0f}"
        for value in ((progress, total) if total else (progress,))
    )
    return f"{done} of {totals[0]}" if totals else done


MAX_FIELDS = 30
MAX_CHOICES = 200
MAX_MESSAGE = 2_000
_MAX_TITLE = 120  # characters
_MAX_DESCRIPTION = 300  # characters
_MAX_URL = 2_000  # characters
_FORMATS: Mapping[str, Literal["email", "uri", "date", "date-time"]] = {
    "email": "email", "uri": "uri", "date": "date", "date-time": "date-time",
}  # fmt: skip
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_SECRET = re.compile(
    r"(?i)pass(word|phrase|code|wort)|passwd|secret|api.?key|private.?key|credential|access.?token"
    r"|token\b|\bpin\b|\bcvv\b|card.?number"
)


def read_question(server: str, params: types.ElicitRequestParams) -> ServerQuestion:
    """Return what a server asks. Raises ValueError with the reason if it can't be shown to the user."""
    text = sanitize_text(params.message, MAX_MESSAGE)
    if isinstance(params, types.ElicitRequestURLParams):
        url = params.url
        parts = urlsplit(url)  # raises ValueError
        if parts.scheme not in ("https", "http") or not parts.hostname or len(url) > _MAX_URL:
            raise ValueError("only a web address can be opened")
        if parts.username is not None or re.search(r"[^\x21-\x7e]", url):
            raise ValueError("the address has a user name, spaces or characters beyond ASCII")
        if not _HOST.fullmatch(parts.hostname):  # a browser would read %78 and a backslash as something else
            raise ValueError("the host has characters that no name has")
        return ServerQuestion("", text, server=server, url=url)
    properties = params.requested_schema.get("properties", {})
    required = params.requested_schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list) or len(properties) > MAX_FIELDS:
        raise ValueError(f"a form has at most {MAX_FIELDS} fields")
    fields = tuple(_read_field(name, schema, name in required) for name, schema in properties.items())
    return ServerQuestion("", text, server=server, fields=fields)


def _read_field(name: str, schema: Any, is_required: bool) -> FormField:
    if not isinstance(schema, dict):
        raise ValueError(f"the field {name[:80]!r} has no schema")
    title = sanitize_text(str(schema.get("title") or name), _MAX_TITLE)
    description = sanitize_text(str(schema.get("description") or ""), _MAX_DESCRIPTION)
    default = schema.get("default")
    kind = schema.get("type")
    field_kind: FieldKind
    match kind:
        case "array":
            field_kind = "choices"
            items = schema.get("items")
            choices = _choices(items if isinstance(items, dict) else {})
            least = schema.get("minItems")
            most = schema.get("maxItems")
            default = _string_tuple(default)
        case "string":
            choices = _choices(schema)
            field_kind = "choice" if choices else "text"
            least = schema.get("minLength")
            most = schema.get("maxLength")
        case "number" | "integer" | "boolean":
            field_kind = kind
            choices = ()
            least = schema.get("minimum")
            most = schema.get("maximum")
        case _:
            raise ValueError(f"the field {name[:80]!r} is not flat: it is of the type {str(kind)[:40]!r}")
    if kind == "array" and not choices:
        raise ValueError(f"the field {name[:80]!r} is a list without choices")
    field = FormField(
        name,
        field_kind,
        title,
        description,
        is_required,
        choices=choices,
        least=least if _is_number(least) else None,
        most=most if _is_number(most) else None,
        format=_FORMATS.get(str(schema.get("format")), ""),
        is_secret=bool(_SECRET.search(f"{name.replace('_', ' ')} {title}")),
    )
    return _with_default(field, default)


def _with_default(field: FormField, default: Any) -> FormField:
    """Return a field with the default that the server offers, if it can have that value."""
    values = {value for value, _ in field.choices}
    is_usable = {
        "text": isinstance(default, str),
        "number": _is_number(default),
        "integer": _is_number(default) and default == int(default),
        "boolean": isinstance(default, bool),
        "choice": isinstance(default, str) and default in values,
        "choices": isinstance(default, tuple) and values.issuperset(default),
    }[field.kind]
    return replace(field, default=default) if is_usable and not field.is_secret else field


def _choices(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the values to choose from, each with its title; none for a text. Raises ValueError."""
    titled = schema.get("oneOf") or schema.get("anyOf")
    pairs: Sequence[tuple[Any, Any]]
    if isinstance(titled, list):
        pairs = [(part.get("const"), part.get("title")) for part in titled if isinstance(part, dict)]
    elif isinstance(values := schema.get("enum"), list):
        names = schema.get("enumNames")
        names = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = list(zip(values, names, strict=True))
    else:
        return ()
    if len(pairs) > MAX_CHOICES:
        raise ValueError(f"a field has at most {MAX_CHOICES} choices")
    texts = [(value, str(title or value)) for value, title in pairs if isinstance(value, str)]
    return tuple((value, sanitize_text(title, _MAX_TITLE)) for value, title in texts)


def _string_tuple(default: Any) -> FieldValue:
    is_list = isinstance(default, list) and all(isinstance(name, str) for name in default)
    return tuple(default) if is_list else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def to_result(reply: ServerReply | None) -> types.ElicitResult:
    """Return a reply as the server gets it; None, without a user, declines."""
    if reply is None:
        return types.ElicitResult(action="decline")
    if reply.action != "accept" or reply.url:
        return types.ElicitResult(action=reply.action)
    content = {name: list(value) if isinstance(value, tuple) else value for name, value in reply.content}
    return types.ElicitResult(action="accept", content=content)


MAX_OFFERS = 500
MAX_BYTES = 20_000_000
MAX_FILES = 20  # of a prompt; the names of as many others are told
_MAX_PROMPT_CHARS = 100_000
_MAX_ARGUMENTS = 20


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
    send = partial(session.get_prompt, prompt.name, arguments, allow_input_required=True)
    result = await with_input(session, send)
    if not isinstance(result, types.GetPromptResult):
        raise _no_answer(prompt.server)
    is_dialog = any(message.role == "assistant" for message in result.messages)
    texts = list[str]()
    files = list[tuple[str, bytes]]()
    left_out = list[str]()
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
    send = partial(session.read_resource, resource.uri, allow_input_required=True)
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
