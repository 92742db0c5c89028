"""Which images a model's server may have meant when it refused one."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.errors import ImagesRejected
from helix_desktop.domain.events.session import AssistantSpoke
from helix_desktop.domain.messages import ModelInfo

_MAX_LISTED = 3  # images that are named one by one


def suspect_messages(transcript: Transcript, model: str) -> list[LogItem]:
    """Return the messages with images that the model, by its label, has not answered to yet; else all.

    Those that are pinned stay: nothing can stand for them.
    """
    shown = [
        one
        for one in transcript.window_entries()
        if isinstance(one, LogItem)
        and one.seq not in transcript.rewrites.pinned
        and transcript.images_of(one)
    ]
    answered = (
        one.seq
        for one in reversed(transcript.items)
        if isinstance(one.event, AssistantSpoke) and one.event.model == model and one.event.stop != "stopped"
    )
    accepted = next(answered, 0)
    return [one for one in shown if one.seq > accepted] or shown


def describe_rejection(
    error: ImagesRejected, messages: list[LogItem], transcript: Transcript, info: ModelInfo
) -> ImagesRejected:
    """Return the refusal with the images it may be about."""
    images = [image for one in messages for image in transcript.images_of(one)]
    names = ", ".join(image.label or image.summary for image in images[:_MAX_LISTED])
    if len(images) > _MAX_LISTED:
        names += " …"
    if len(images) == 1:
        what, fix = f"{info.provider} refused an image: {names}.", "Send without it, or choose another model."
    elif images:
        what = f"{info.provider} refused one of {len(images)} images: {names}."
        fix = "Send without them, or choose another model."
    else:
        what, fix = error.what, "Unpin the image, or choose another model."
    return ImagesRejected(what, error.why, fix, tuple(one.seq for one in messages))
