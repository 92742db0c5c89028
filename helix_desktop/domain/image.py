"""Images: their properties without decoding, their cost in tokens, and the text that replaces one."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.text_format import format_bytes

MAX_IMAGE_BYTES = (
    5 * 1024 * 1024
)  # bytes of one image that every known provider takes (Anthropic's limit is the least)
MAX_EDGE_PX = 1_568  # pixels; providers scale down what is larger (Anthropic, "Vision", 2026)
_PIXELS_PER_TOKEN = 750  # the same source; OpenAI's tiles cost less, and calibration corrects the rest
_MIN_TOKENS = 85  # what OpenAI counts for any image
_MARKER_TOKENS = 66  # of a marker without its label
_CHARS_PER_TOKEN = 3  # of a label
_MAX_HEADER_EDGE_PX = 65_535  # per edge; a header that claims more is no image of ours
_PNG = b"\x89PNG\r\n\x1a\n"
_GIF = (b"GIF87a", b"GIF89a")
_JPEG = b"\xff\xd8\xff"
_JPEG_SEARCHED = 256 * 1024  # bytes of a JPEG in which its size is looked for, behind comments and previews
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})


class Image(msgspec.Struct, frozen=True):
    """A stored image: the digest of its bytes, its media type, its size in pixels and in bytes."""

    digest: str
    media: str
    width: int
    height: int
    size: int
    label: str = ""

    @property
    def tokens(self) -> int:
        scale = min(1.0, MAX_EDGE_PX / max(self.width, self.height))
        return max(_MIN_TOKENS, round(self.width * scale * self.height * scale / _PIXELS_PER_TOKEN))

    @property
    def summary(self) -> str:
        """Its type, pixels and bytes, for users and models."""
        kind = self.media.removeprefix("image/").upper()
        return f"{kind} image, {self.width} × {self.height} pixels, {format_bytes(self.size)}"

    @property
    def text(self) -> str:
        return f"[Image: {self.label or self.summary}]"

    @property
    def marker(self) -> str:
        """The text that replaces it where it is not sent: its description, and the marker to recall it."""
        name = f"{self.label}, " if self.label else ""
        return f"[Image left out: {name}{self.summary}] {bare_marker(self.digest)}"

    @property
    def saving(self) -> int:
        """The tokens that its marker saves, as that is counted: most of it is the digest."""
        return self.tokens - _MARKER_TOKENS - len(self.label) // _CHARS_PER_TOKEN


def identify_image(data: bytes, digest: str, label: str = "") -> Image | None:
    """Read the header of an image; None if it is no PNG, JPEG, GIF or WebP of a valid size."""
    header = _header(data)
    if header is None or not all(0 < edge <= _MAX_HEADER_EDGE_PX for edge in header[1:]):
        return None
    return Image(digest, *header, len(data), " ".join(label.split()))


def _header(data: bytes) -> tuple[str, int, int] | None:
    if data.startswith(_PNG) and data[12:16] == b"IHDR" and len(data) >= 24:  # noqa: PLR2004 - the PNG layout
        return "image/png", int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if data.startswith(_GIF) and len(data) >= 10:  # noqa: PLR2004 - the GIF layout
        return "image/gif", int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if data.startswith(_JPEG):
        return _jpeg(data[:_JPEG_SEARCHED])
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    return None


def _jpeg(data: bytes) -> tuple[str, int, int] | None:
    """Return the size in the first frame header of a JPEG."""
    offset = 2
    while offset + 9 <= len(data) and data[offset] == 0xFF:  # noqa: PLR2004 - every segment begins with FF
        marker = data[offset + 1]
        if marker in _FRAME_MARKERS:
            height = data[offset + 5 : offset + 7]
            width = data[offset + 7 : offset + 9]
            return "image/jpeg", int.from_bytes(width, "big"), int.from_bytes(height, "big")
        if marker == 0xFF or marker in _BARE_MARKERS:  # noqa: PLR2004 - FF again is padding
            offset += 1 if marker == 0xFF else 2  # noqa: PLR2004 - the same
            continue
        offset += 2 + max(2, int.from_bytes(data[offset + 2 : offset + 4], "big"))
    return None


def _webp(data: bytes) -> tuple[str, int, int] | None:
    kind = data[12:16]
    body = data[20:30]
    if len(body) < 10:  # noqa: PLR2004 - the shortest header of the three
        return None
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        width, height = (int.from_bytes(body[n : n + 2], "little") & 0x3FFF for n in (6, 8))
        return "image/webp", width, height
    if kind == b"VP8L" and body[0] == 0x2F:  # noqa: PLR2004 - the signature of lossless WebP
        bits = int.from_bytes(body[1:5], "little")
        return "image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        width, height = (int.from_bytes(body[n : n + 3], "little") + 1 for n in (4, 7))
        return "image/webp", width, height
    return None
