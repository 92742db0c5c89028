"""Which images a model's server may have meant when it refused one."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.errors import ImagesRejected
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.translatable_text import TextContext

text = TextContext("Context")

_MAX_LISTED = 3  # images that are named one by one


def suspect_messages(transcript: Transcript, model: str) -> list[LogItem]:
    """Return messages with images the model, by its label, has not answered to yet; if none, all with images.

    Pinned ones are left out: nothing can replace them.
    """
    suspects = [
        item
        for item in transcript.window.entries()
        if isinstance(item, LogItem)
        and item.seq not in transcript.rewrites.pinned
        and transcript.window.images_of(item)
    ]
    answered = (
        item.seq
        for item in reversed(transcript.messages.items)
        if isinstance(item.event, AssistantSpoke)
        and item.event.model == model
        and item.event.stop != "stopped"
    )
    accepted = next(answered, 0)
    return [item for item in suspects if item.seq > accepted] or suspects


def describe_rejection(
    error: ImagesRejected, messages: list[LogItem], transcript: Transcript, info: ModelInfo
) -> ImagesRejected:
    """Return the error with the images it may be about."""
    images = [image for item in messages for image in transcript.window.images_of(item)]
    names = ", ".join(image.label or image.summary for image in images[:_MAX_LISTED])
    if len(images) > _MAX_LISTED:
        names += " …"
    if len(images) == 1:
        what = text("{provider} rejected an image: {names}.", provider=info.provider, names=names)
        fix = text("Send without it, or choose another model.")
    elif images:
        what = text(
            "{provider} rejected one of {count} images: {names}.",
            provider=info.provider,
            count=len(images),
            names=names,
        )
        fix = text("Send without them, or choose another model.")
    else:
        what, fix = error.what, text("Unpin the image, or choose another model.")
    return ImagesRejected(what, error.why, fix, tuple(item.seq for item in messages))
