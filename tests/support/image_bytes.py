"""Small images of each kind: headers as the formats define them, and bytes that make each one its own."""

from __future__ import annotations

import struct
import zlib

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.image import Image, identify_image

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png(width: int, height: int, seed: int = 0) -> bytes:
    """A PNG of one color, which any program can open."""
    line = b"\0" + bytes([seed % 256, 80, 160]) * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(line * height)
    return PNG_SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def minimal_png(width: int, height: int, seed: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        PNG_SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"tEXt", b"Title\0%d" % seed) + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def jpeg(width: int, height: int, comment_size: int = 0) -> bytes:
    """A JPEG as far as its frame header, behind segments of `before` bytes."""
    comment = b"\xff\xfe" + struct.pack(">H", comment_size + 2) + bytes(comment_size)
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + (comment if comment_size else b"") + b"\xff" + frame + b"\xff\xd9"


def webp(width: int, height: int, kind: str) -> bytes:
    """A WebP header: lossy, lossless or extended."""
    match kind:
        case "lossy":
            body = b"VP8 " + bytes(4) + b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
        case "lossless":
            packed = (width - 1) | (height - 1) << 14
            body = b"VP8L" + bytes(4) + b"\x2f" + struct.pack("<I", packed) + bytes(5)
        case _:
            edges = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
            body = b"VP8X" + bytes(4) + bytes(4) + edges
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def image_and_bytes(label: str, seed: int) -> tuple[Image, bytes]:
    data = png(2, 2, seed)
    image = identify_image(data, digest_of(data), label)
    assert image is not None
    return image, data
