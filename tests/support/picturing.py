"""Images and bytes that are no text, in the histories that a Maker makes."""

from __future__ import annotations

import msgspec

from helix_desktop.agent.intake.intake import decode_output
from helix_desktop.context.window.window import output_marker
from helix_desktop.domain.digest import digest_of, first_line
from helix_desktop.domain.events.session import ToolAnswered
from helix_desktop.domain.image import Image, identify_image
from tests.support.maker import Maker, tokens
from tests.support.pictures import sketch


def pictured(maker: Maker, width: int, height: int) -> Image:
    """A new image, kept."""
    number = len(maker.contents)
    data = sketch(width, height, number)
    image = identify_image(data, digest_of(data), f"shot {number}.png")
    assert image is not None
    maker.contents[image.digest] = data
    return image


def answer_bytes(maker: Maker, which: int, data: bytes, image: Image | None = None) -> None:
    """One open call ends with bytes that are no text, or with an image."""
    waiting = list(maker.transcript.open_calls.values())
    if not waiting:
        return
    call = waiting[which % len(waiting)]
    digest = digest_of(data)
    maker.contents[digest] = data
    shown = image.summary if image else decode_output(data, digest)[0]
    answer = ToolAnswered(
        call_id=call.id,
        name=call.name,
        text=shown,
        digest=digest,
        size=len(data),
        tokens=tokens(shown) + (image.tokens if image else 0),
        marker_tokens=0,
        first_line=first_line(shown),
        whole=False,
        images=(image,) if image else (),
    )
    maker.record(msgspec.structs.replace(answer, marker_tokens=tokens(output_marker(answer))))
