"""Convert the result of a server's tool to a ToolResult: its text, and its images."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import mcp_types as types

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.image import MAX_IMAGE_BYTES, Image, identify_image
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.tools import ToolResult
from helix_desktop.mcp.client.exposed_tool import sanitize_text

_MAX_ADDRESS_CHARS = 500


def to_tool_result(result: types.CallToolResult, target: str) -> ToolResult:
    """Convert an answer to text; each image is replaced by a summary, its bytes go to `image_data`."""
    image_data: list[bytes] = []
    parts = [_text(block, image_data) for block in result.content]
    text = "\n\n".join(part for part in (*parts, *_structured(result)) if part)
    content = text.encode("utf-8", "surrogatepass")
    return ToolResult(content, not result.is_error, target=target, image_data=tuple(image_data))


def _structured(result: types.CallToolResult) -> Iterator[str]:
    """Yield the structured content as JSON, unless a text block says the same."""
    data = result.structured_content
    if data is None or any(_is_same_data(block, data) for block in result.content):
        return
    yield json.dumps(data, ensure_ascii=False, indent=1)


def _is_same_data(block: types.ContentBlock, data: object) -> bool:
    if not isinstance(block, types.TextContent):
        return False
    if data == {"result": block.text}:
        return True
    try:
        parsed = json.loads(block.text)
    except (ValueError, RecursionError):
        return False
    return data in (parsed, {"result": parsed})


def _text(block: types.ContentBlock, image_data: list[bytes]) -> str:
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
        kind, size = sanitize_text(media, 80), format_bytes(len(data))
        return f"[{description}, {kind}, {size}: only text and images can be shown]"
    image_data.append(data)
    return f"[{description}: {image.summary}]"


def _as_image(data: bytes) -> Image | None:
    """Return the image in these bytes; None if it is none that a model can take."""
    return identify_image(data, digest_of(data)) if len(data) <= MAX_IMAGE_BYTES else None


def _address(uri: str) -> str:
    return sanitize_text(str(uri), _MAX_ADDRESS_CHARS)
