"""Which images a server means when it refuses a request because of them."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from helix_desktop.domain.errors import RefusedImages
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import ModelRequest

_LISTS = ("messages", "input")
"""The fields of bodies that hold what was said, in the three dialects."""

_PLACE = re.compile(r"\b(?:messages|input|contents)\s*((?:[.\[]\s*\w+\s*\]?)+)")
_IMAGE_WORD = r"(?:images?(?:_url)?|pictures?|photos?)"
_INDEX = re.compile(
    rf"\b{_IMAGE_WORD}(?:\[|\.)\s*(\d+)|\b{_IMAGE_WORD}\s*(?:at\s+|with\s+)?(?:index|position)\s*[:=#]?\s*(\d+)"
    rf"|\bindex\s*[:=]?\s*(\d+)"
)
_ORDINAL = re.compile(
    rf"\b{_IMAGE_WORD}\s*(?:number\s*|no\.\s*|#\s*)(\d+)\b"
    rf"|\bimage (\d+)(?=\s*(?:of|is|has|exceeds|in|could|can|failed|was|:|\())"
    rf"|\b(\d+)(?:st|nd|rd|th) {_IMAGE_WORD}"
)
_FEWER = re.compile(
    rf"too many {_IMAGE_WORD}|at most \d+ {_IMAGE_WORD}|up to \d+ {_IMAGE_WORD}|more than \d+ {_IMAGE_WORD}"
    rf"|(number|count|amount) of {_IMAGE_WORD}|{_IMAGE_WORD} (count|limit)|\bmax[a-z_ ]*{_IMAGE_WORD}"
    rf"|(max|maximum|limit)( is| of|:)? \d+ {_IMAGE_WORD}|only \d+ {_IMAGE_WORD}|supports? \d+ {_IMAGE_WORD}"
    rf"|{_IMAGE_WORD} (per|in a single|in one) (request|prompt|message)|图片数量|图像数量"
)
_COUNT = re.compile(r"(?<![\w.])(\d{1,4})(?![\w.]*\d)(?!\s*(?:px|pixels?|[kmg]?i?b\b|bytes?|x\s*\d))")
_PIXELS = re.compile(r"(\d{2,6})\s*(?:px\b|pixels?)|\b(\d{2,6})\s*[x×*]\s*(\d{2,6})")
_EDGE = re.compile(r"pixel|\bpx\b|dimension|resolution|\bwidth|\bheight|[x×]\s*\d{2}")
_LEAST = re.compile(r"at least \d|minimum|too small|smaller than|larger than \d|greater than \d|below")
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(i?)b(?:ytes?)?\b")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_BINARY_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TOTAL = re.compile(
    rf"\b(total|combined|together|sum of|all {_IMAGE_WORD}|request (body |payload )?(size|too large|exceeds)"
    rf"|payload|image data too large|maximum (request )?size)\b"
)
_SIZE = re.compile(r"size|too (large|big)|exceeds?|maximum|limit|bytes|\b[kmg]i?b\b")


class _PlacedImage(msgspec.Struct, frozen=True):
    """An image of a body: its numbers in the path to it, below the list, and what is sent of it."""

    image: Image
    place: tuple[int, ...]
    base64_size: int


def find_refused_images(body: bytes, error_text: str, request: ModelRequest) -> RefusedImages:
    """Return the images that an error speaks of.

    By a place in the body, a number, the id of a call, their size or the number of all. `body` is what was
    sent for `request`.
    """
    images = _placed_images(body, request)
    if not images:
        return RefusedImages()
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", error_text.lower())
    if named := _by_place(images, text) or _by_call(request, error_text):
        return RefusedImages(_digests(named))
    fewer = _FEWER.search(text)
    if not fewer and (named := _by_edge(images, text) or _by_bytes(images, text)):
        return RefusedImages(_digests(named))
    if fewer:
        return RefusedImages(excess=_excess_of_number(len(images), text))
    if _TOTAL.search(text) and _SIZE.search(text):
        return RefusedImages(excess=_excess_of_size(images, text))
    is_placed = _PLACE.search(text) or _INDEX.search(text) or _ORDINAL.search(text)
    return RefusedImages(excess=1 if is_placed else 0)


def _placed_images(body: bytes, request: ModelRequest) -> list[_PlacedImage]:
    known = {image.digest: image for message in request.messages for image in message.images}
    by_base64 = {
        b64encode(data).decode(): known[digest]
        for digest, data in request.image_data.items()
        if digest in known
    }
    decoded: Mapping[str, Any] = msgspec.json.decode(body)
    lists = [decoded[name] for name in _LISTS if isinstance(decoded.get(name), list)]
    return [
        _PlacedImage(by_base64[data], place, len(data))
        for items in lists
        for place, data in _texts(items, ())
        if data in by_base64
    ]


def _texts(value: Any, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield each text with the numbers of the path to it; of a data URL, the Base64 alone."""
    if isinstance(value, str):
        yield place, value.rpartition(";base64,")[2]
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, (*place, number))
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item, place)


def _digests(images: Sequence[Image]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(image.digest for image in images))


def _by_place(images: Sequence[_PlacedImage], text: str) -> list[Image]:
    """Return the images below the places that a text names, or with the numbers that it names."""
    named = []
    for found in _PLACE.finditer(text):
        numbers = tuple(int(number) for number in re.findall(r"\b\d+\b", found[1]))
        named += _at_place(images, numbers)
    for pattern, first in ((_INDEX, 0), (_ORDINAL, 1)):
        for found in pattern.finditer(text):
            number = int(next(group for group in found.groups() if group)) - first
            named += [placed.image for placed in images[number : number + 1] if number >= 0]
    return named


def _at_place(images: Sequence[_PlacedImage], numbers: tuple[int, ...]) -> list[Image]:
    """Return the images below the longest beginning of a place that has some."""
    for depth in range(len(numbers), 0, -1):
        found = [placed.image for placed in images if placed.place[:depth] == numbers[:depth]]
        if found:
            return found
    return []


def _by_call(request: ModelRequest, text: str) -> list[Image]:
    """Return the images of the answers whose call a text names."""
    return [
        image
        for message in request.messages
        if message.call_id and re.search(rf"(?<![\w-]){re.escape(message.call_id)}(?![\w-])", text)
        for image in message.images
    ]


def _by_edge(images: Sequence[_PlacedImage], text: str) -> list[Image]:
    """Return the images with an edge beyond the pixels that a text names."""
    if not _EDGE.search(text):
        return []
    edges = [int(edge) for found in _PIXELS.finditer(text) for edge in found.groups() if edge]
    if not edges:
        return []

    pictures = [placed.image for placed in images]
    exact = [image for image in pictures if len(edges) > 1 and {image.width, image.height} <= {*edges}]
    if exact:
        return exact
    if _LEAST.search(text):
        return [image for image in pictures if min(image.width, image.height) < max(edges)]
    return [image for image in pictures if max(image.width, image.height) > min(edges)]


def _by_bytes(images: Sequence[_PlacedImage], text: str) -> list[Image]:
    """Return the images of exactly the size that a text names, or above the limit that it names for one."""
    numbers = {int(number) for number in re.findall(r"\b\d{3,}\b", text)}
    exact = [placed.image for placed in images if {placed.image.size, placed.base64_size} & numbers]
    if exact or _TOTAL.search(text):
        return exact
    limit = _least_bytes(text)
    return [placed.image for placed in images if limit and placed.base64_size > limit]


def _least_bytes(text: str) -> int:
    """Return the smallest number of bytes that a text names; 0: none."""
    sizes = [
        float(found[1]) * (_BINARY_UNITS if found[3] else _UNITS)[found[2]] for found in _BYTES.finditer(text)
    ]
    return int(min(sizes, default=0))


def _excess_of_number(count: int, text: str) -> int:
    """Return how many images are too many, by the largest number in a text that is below theirs."""
    limits = [int(number) for number in _COUNT.findall(text) if int(number) < count]
    return count - max(limits) if limits else 1


def _excess_of_size(images: Sequence[_PlacedImage], text: str) -> int:
    """Return how many of the oldest images have to leave for the rest to keep to a limit of bytes."""
    limit = _least_bytes(text)
    left = sum(placed.base64_size for placed in images)
    if not limit or left <= limit:
        return 1
    for number, placed in enumerate(images):
        if left <= limit:
            return number
        left -= placed.base64_size
    return len(images)
