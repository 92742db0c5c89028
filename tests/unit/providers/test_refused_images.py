"""Which pictures servers mean, by their words; and that no window is taken from these words."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContextWindowExceeded, ImagesRejected, RefusedImages
from helix_desktop.domain.image import Image, identify_image
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.refused_images import find_refused_images
from helix_desktop.providers.server_errors import error_for_status
from tests.support.image_bytes import png
from tests.support.model_servers.connect import connect_model

SIZES = [(30, 20), (2400, 10), (30, 20), (40, 9), (30, 20)]
"""Pixels of five pictures: the second is wide, the fourth low."""

DATA = [png(width, height, number) for number, (width, height) in enumerate(SIZES)]


def image(number: int) -> Image:
    found = identify_image(DATA[number], digest_of(DATA[number]))
    assert found is not None
    return found


IMAGES = [image(number) for number in range(len(DATA))]
BASE64_SIZES = [len(b64encode(data)) for data in DATA]

MESSAGES = (
    Message("user", "Compare them.", images=(IMAGES[0],)),
    Message("assistant", "", (ToolCall("call_a", "read_file", "{}"), ToolCall("call_b", "read_file", "{}"))),
    Message("tool", "The second.", call_id="call_a", images=(IMAGES[1],)),
    Message("tool", "The third.", call_id="call_b", images=(IMAGES[2],)),
    Message("assistant", "Go on."),
    Message("user", "And these?", images=(IMAGES[3], IMAGES[4])),
)
REQUEST = ModelRequest(
    MESSAGES, image_data={image.digest: data for image, data in zip(IMAGES, DATA, strict=True)}
)

NAMED: list[tuple[str, list[int]]] = [
    ("messages.0.content.1.image.source.base64.data: Could not process image", [0]),
    ("messages.2.content.0.tool_result.content.1.image.source: invalid image", [1]),
    ("messages.2.content.1: The image is not valid", [2]),
    ("messages[4].content[2]: image format not supported", [4]),
    ("messages.4: image exceeds the limit", [3, 4]),
    ("image[2] is corrupt", [2]),
    ("Failed to load image at index 3", [3]),
    ("Image #2 is not a valid image", [1]),
    ("The 3rd image could not be decoded", [2]),
    ("Image 5 of 5 has an unknown format", [4]),
    ("tool result call_b holds an image that can't be read", [2]),
    ("At least one of the image dimensions exceed max allowed size: 2000 pixels", [1]),
    ("image dimensions exceed max allowed size for many-image requests: 2,000 pixels", [1]),
    ("Image size 2400x10 is not supported", [1]),
    ("The image is too small: its height must be larger than 9 and at least 10 pixels", [3]),
    (f"image exceeds the maximum: {BASE64_SIZES[1]} bytes > {BASE64_SIZES[1] - 1} bytes", [1]),
    (f"image exceeds {max(BASE64_SIZES) - 1} bytes", [BASE64_SIZES.index(max(BASE64_SIZES))]),
]
TOO_MANY: list[tuple[str, int]] = [
    ("Too many images: 5 > 3", 2),
    ("At most 4 image(s) may be provided in one prompt.", 1),
    ("You sent 5 images; the maximum number of images is 2", 3),
    ("This model supports up to 4 images per request", 1),
    ("max images exceeded", 1),
    ("Too many images in the request", 1),
    ("图片数量超过限制 3", 2),
    ("Request exceeds the maximum size: image data too large", 1),
    ("The total size of all images is too large", 1),
    (f"total image size exceeds {sum(BASE64_SIZES[1:])} bytes", 1),
    ("messages.77.content.0: image invalid", 1),
    ("messages.1.content.0: image invalid", 1),
    ("image index 12 is invalid", 1),
]
UNNAMED = ["Could not process image", "This model does not support image input.", "Invalid image data"]


def body() -> bytes:
    model = connect_model(
        "anthropic", ModelInfo("here", "m", images=True), "http://127.0.0.1:9", http=HttpClient()
    )
    return model.wire_body(REQUEST)


def refused(words: str) -> RefusedImages:
    stand_ins = json.loads(body())
    sent = json.dumps(stand_ins)
    for one, data in zip(IMAGES, DATA, strict=True):
        sent = sent.replace(one.digest, b64encode(data).decode())
    return find_refused_images(sent.encode(), words, REQUEST)


@pytest.mark.parametrize(("words", "numbers"), NAMED)
def test_the_pictures_that_are_named(words: str, numbers: list[int]) -> None:
    assert refused(words) == RefusedImages(tuple(IMAGES[number].digest for number in numbers))


@pytest.mark.parametrize(("words", "excess"), TOO_MANY)
def test_how_many_are_too_many(words: str, excess: int) -> None:
    assert refused(words) == RefusedImages(excess=excess)


@pytest.mark.parametrize("words", UNNAMED)
def test_words_that_name_none(words: str) -> None:
    assert refused(words) == RefusedImages()


SIZES_OF_PICTURES = [
    *(words for words, _ in NAMED),
    *(words for words, _ in TOO_MANY if "image" in words.lower()),
    "image dimensions exceed max allowed size: 8000 pixels",
    "Image too large: 5000 tokens exceed the limit of 4096 tokens per image",
]


@pytest.mark.parametrize("words", SIZES_OF_PICTURES)
def test_no_window_is_taken_from_words_about_a_picture(words: str) -> None:
    endpoint = Endpoint("here", "http://127.0.0.1:9", "", HttpClient(), "anthropic")
    error = error_for_status(endpoint, 400, json.dumps({"error": {"message": words}}), {}, has_images=True)
    assert isinstance(error, ImagesRejected)


@pytest.mark.parametrize(
    "words",
    [
        "prompt is too long: 210000 tokens > 200000 maximum (with 3 images)",
        "This model's maximum context length is 8192 tokens, with the images your request has 9000.",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096. For image inputs, "
        "the number of image tokens depends on the number of images.",
    ],
)
def test_an_overflow_that_speaks_of_pictures_is_one(words: str) -> None:
    endpoint = Endpoint("here", "http://127.0.0.1:9", "", HttpClient(), "anthropic")
    error = error_for_status(endpoint, 400, json.dumps({"error": {"message": words}}), {}, has_images=True)
    assert isinstance(error, ContextWindowExceeded)
