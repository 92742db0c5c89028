"""What a server's tool answered, as an output like any other: its text, and the images beside it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import mcp_types as types

from helix_desktop.context.digest import digest_of, size_text
from helix_desktop.context.image import LARGEST, Image, image_of
from helix_desktop.context.tool import ToolResult
from helix_desktop.mcp.offer import plain

_LONGEST_ADDRESS = 500


def result_of(answer: types.CallToolResult, target: str) -> ToolResult:
    """The whole of an answer as text; what it says of images leads to their bytes beside it."""
    pictures: list[bytes] = []
    parts = [_text(block, pictures) for block in answer.content]
    text = "\n\n".join(part for part in (*parts, *_structured(answer)) if part)
    content = text.encode("utf-8", "surrogatepass")
    return ToolResult(content, not answer.is_error, target=target, pictures=tuple(pictures))


def _structured(answer: types.CallToolResult) -> Iterator[str]:
    """What the answer says as data, unless its text says the same."""
    data = answer.structured_content
    if data is None or any(_same(block, data) for block in answer.content):
        return
    yield json.dumps(data, ensure_ascii=False, indent=1)


def _same(block: types.ContentBlock, data: object) -> bool:
    if not isinstance(block, types.TextContent):
        return False
    if data == {"result": block.text}:
        return True
    try:
        said = json.loads(block.text)
    except ValueError:
        return False
    return data in (said, {"result": said})


def _text(block: types.ContentBlock, pictures: list[bytes]) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent(data=data, mime_type=media):
            return _bytes(data, media, "an image", pictures)
        case types.AudioContent(data=data, mime_type=media):
            return _bytes(data, media, "a sound", pictures)
        case types.EmbeddedResource():
            return _resource(block.resource, pictures)
        case types.ResourceLink(uri=uri, name=name, description=said):
            return (
                f"[Link to a resource: {_address(uri)}] {plain(name, 200)} {plain(said or '', 500)}".rstrip()
            )


def _resource(found: types.TextResourceContents | types.BlobResourceContents, pictures: list[bytes]) -> str:
    address = _address(found.uri)
    if isinstance(found, types.TextResourceContents):
        return f"[Resource {address}]\n{found.text}"
    return _bytes(found.blob, found.mime_type or "", f"the resource {address}", pictures)


def _bytes(encoded: str, media: str, what: str, pictures: list[bytes]) -> str:
    """A picture is kept and named by its digest; of other bytes it is said what they were."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:
        return f"[{what}, {plain(media, 80)}: not readable]"
    image = seen(data)
    if image is None:
        return f"[{what}, {plain(media, 80)}, {size_text(len(data))}: only text and images can be shown]"
    pictures.append(data)
    return f"[{what}: {image.about}]"


def seen(data: bytes) -> Image | None:
    """The image that these bytes are, if a model can be sent it."""
    return image_of(data, digest_of(data)) if len(data) <= LARGEST else None


def _address(uri: str) -> str:
    return plain(str(uri), _LONGEST_ADDRESS)
