"""What a server's tool answered, as an output like any other: its text, and the images beside it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import mcp_types as types

from helix_desktop.domain.digest import digest_of, format_bytes
from helix_desktop.domain.image import MAX_IMAGE_BYTES, Image, identify_image
from helix_desktop.domain.tools import ToolResult
from helix_desktop.mcp.client.exposed_tool import sanitize_text

_MAX_ADDRESS_CHARS = 500


def to_tool_result(answer: types.CallToolResult, target: str) -> ToolResult:
    """The whole of an answer as text; what it says of images leads to their bytes beside it."""
    pictures: list[bytes] = []
    parts = [_text(block, pictures) for block in answer.content]
    text = "\n\n".join(part for part in (*parts, *_structured(answer)) if part)
    content = text.encode("utf-8", "surrogatepass")
    return ToolResult(content, not answer.is_error, target=target, image_data=tuple(pictures))


def _structured(answer: types.CallToolResult) -> Iterator[str]:
    """What the answer says as data, unless its text says the same."""
    data = answer.structured_content
    if data is None or any(_is_same_data(block, data) for block in answer.content):
        return
    yield json.dumps(data, ensure_ascii=False, indent=1)


def _is_same_data(block: types.ContentBlock, data: object) -> bool:
    if not isinstance(block, types.TextContent):
        return False
    if data == {"result": block.text}:
        return True
    try:
        said = json.loads(block.text)
    except ValueError:
        return False
    return data in (said, {"result": said})


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
        case types.ResourceLink(uri=uri, name=name, description=said):
            described = f"{sanitize_text(name, 200)} {sanitize_text(said or '', 500)}"
            return f"[Link to a resource: {_address(uri)}] {described}".rstrip()


def _resource(
    resource: types.TextResourceContents | types.BlobResourceContents, image_data: list[bytes]
) -> str:
    address = _address(resource.uri)
    if isinstance(resource, types.TextResourceContents):
        return f"[Resource {address}]\n{resource.text}"
    return _decode_bytes(resource.blob, resource.mime_type or "", f"the resource {address}", image_data)


def _decode_bytes(encoded: str, media: str, description: str, image_data: list[bytes]) -> str:
    """A picture is kept and named by its digest; of other bytes it is said what they were."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:
        return f"[{description}, {sanitize_text(media, 80)}: not readable]"
    image = as_image(data)
    if image is None:
        kind, size = sanitize_text(media, 80), format_bytes(len(data))
        return f"[{description}, {kind}, {size}: only text and images can be shown]"
    image_data.append(data)
    return f"[{description}: {image.summary}]"


def as_image(data: bytes) -> Image | None:
    """The image that these bytes are, if a model can be sent it."""
    return identify_image(data, digest_of(data)) if len(data) <= MAX_IMAGE_BYTES else None


def _address(uri: str) -> str:
    return sanitize_text(str(uri), _MAX_ADDRESS_CHARS)
