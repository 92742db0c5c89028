"""What a running call is about; of a recall as its answer will name it, as far as the session's log tells."""

from __future__ import annotations

import re
from itertools import chain

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.digest import MIN_PREFIX, RECALL_TOOL, is_digest_prefix
from helix_desktop.domain.events.conversation import AssistantSpoke, MessageEvent, ToolAnswered
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.files.file_use import call_target, decode_arguments
from helix_desktop.domain.messages import ToolCall

_ENTRIES = re.compile(r"(?:[0-9a-f]{8,64}[\s,:]+)?e(\d{1,6})(?:\s*[-–]\s*e?\d{1,6})?")


def running_target(call: ToolCall, transcript: Transcript) -> str:
    """Return the target of a call without an answer; of a recall, empty if the log doesn't know its hash."""
    if call.name != RECALL_TOOL:
        return call_target(call.arguments)
    arguments = decode_arguments(call.arguments)
    handle = str(arguments.get("hash", "")) if isinstance(arguments, dict) else ""
    handle = handle.strip().strip("\"'`").rstrip("….").lower()
    if entries := _ENTRIES.fullmatch(handle):
        item = transcript.messages.item(int(entries[1]))
        if handle == f"e{entries[1]}" and item is not None and isinstance(item.event, ToolAnswered):
            return _output_name(item.event)
        return handle
    if len(handle) < MIN_PREFIX or not is_digest_prefix(handle):
        return ""
    rewrites = transcript.rewrites
    for rewrite in chain(rewrites.by_seq.values(), rewrites.observations.values()):
        match rewrite:
            case FoldMade() | HandoverMade() | ObservationsMade() if rewrite.index.startswith(handle):
                return "index"
    names = (_name_in(item.event, handle) for item in reversed(transcript.messages.items))
    return next(filter(None, names), "")


def _name_in(event: MessageEvent, handle: str) -> str:
    match event:
        case ToolAnswered(digest=digest):
            return _output_name(event) if digest.startswith(handle) else ""
        case AssistantSpoke(calls=calls, short=short):
            ids = {swept.call_id for swept in short for made in swept.digests if made.startswith(handle)}
            found = next((call for call in calls if call.id in ids), None)
            return f"{found.name} {call_target(found.arguments)}" if found is not None else ""
    return next((each.label for each in event.attachments if each.digest.startswith(handle)), "")


def _output_name(output: ToolAnswered) -> str:
    return output.target if output.recalled else f"{output.name} {output.target}"
