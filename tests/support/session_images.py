"""Images and bytes that are no text, in the histories that a session simulator records."""

from __future__ import annotations

import msgspec

from helix_desktop.agent.intake import decode_output
from helix_desktop.context.window.window import output_marker
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.image import Image, identify_image
from helix_desktop.domain.text_format import first_line
from tests.support.image_bytes import minimal_png
from tests.support.session_simulator import SessionSimulator, count_tokens


def add_image(simulator: SessionSimulator, width: int, height: int) -> Image:
    number = len(simulator.contents)
    data = minimal_png(width, height, number)
    image = identify_image(data, digest_of(data), f"shot {number}.png")
    assert image is not None
    simulator.contents[image.digest] = data
    return image


def answer_call_with_bytes(
    simulator: SessionSimulator, index: int, data: bytes, image: Image | None = None
) -> None:
    """One open call ends with bytes that are no text, or with an image."""
    waiting = list(simulator.transcript.open_calls.values())
    if not waiting:
        return
    call = waiting[index % len(waiting)]
    digest = digest_of(data)
    simulator.contents[digest] = data
    preview = image.summary if image else decode_output(data, digest)[0]
    answer = ToolAnswered(
        call_id=call.id,
        name=call.name,
        text=preview,
        digest=digest,
        size=len(data),
        tokens=count_tokens(preview) + (image.tokens if image else 0),
        marker_tokens=0,
        first_line=first_line(preview),
        whole=False,
        images=(image,) if image else (),
    )
    simulator.record(msgspec.structs.replace(answer, marker_tokens=count_tokens(output_marker(answer))))
