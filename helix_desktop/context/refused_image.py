"""Which images a model's server may have meant when it refused one."""

from __future__ import annotations

from helix_desktop.context.errors import ImagesRefused
from helix_desktop.context.event import AssistantSpoke
from helix_desktop.context.layout import Item
from helix_desktop.context.message import ModelInfo
from helix_desktop.context.transcript import Transcript

_NAMED = 3  # images that are named one by one


def suspects(transcript: Transcript, model: str) -> list[Item]:
    """Return the messages with images that the model, by its label, has not answered to yet; else all.

    Those that are pinned stay: nothing can stand for them.
    """
    shown = [
        one
        for one in transcript.live()
        if isinstance(one, Item) and one.seq not in transcript.rewrites.pinned and transcript.images_of(one)
    ]
    answered = (
        one.seq
        for one in reversed(transcript.items)
        if isinstance(one.event, AssistantSpoke) and one.event.model == model and one.event.stop != "stopped"
    )
    accepted = next(answered, 0)
    return [one for one in shown if one.seq > accepted] or shown


def named(
    refused: ImagesRefused, found: list[Item], transcript: Transcript, info: ModelInfo
) -> ImagesRefused:
    """Return the refusal with the images it may be about."""
    images = [image for one in found for image in transcript.images_of(one)]
    names = ", ".join(image.label or image.about for image in images[:_NAMED])
    if len(images) > _NAMED:
        names += " …"
    if len(images) == 1:
        what, fix = f"{info.provider} refused an image: {names}.", "Send without it, or choose another model."
    elif images:
        what = f"{info.provider} refused one of {len(images)} images: {names}."
        fix = "Send without them, or choose another model."
    else:
        what, fix = refused.what, "Unpin the image, or choose another model."
    return ImagesRefused(what, refused.why, fix, tuple(one.seq for one in found))
