"""What changed in the context, and what was chosen for a session, in a few words each."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.summaries.sections import KINDS
from helix_desktop.context.window.usage_gauge import output_tokens
from helix_desktop.domain.choices import Effort, PermissionMode
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    Form,
    FormChosen,
    Pinned,
    Unpinned,
)
from helix_desktop.domain.events.session import BudgetSet, FilesChanged
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverMade,
    ObservationsPlaced,
    Section,
)
from helix_desktop.domain.files.content import ChangedFile
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.words.direction import dotted
from helix_desktop.words.efforts import effort_name
from helix_desktop.words.models import recorded_writer
from helix_desktop.words.numbers import format_token_count, format_token_difference, format_tokens, format_usd
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

tr = Translator("Compaction")

_NAME_CAP = 60  # characters of an output's name
_GIST_BULLETS = 2
_SECTION_BULLETS, _GIST_SECTIONS = 3, 2


def mode_text(mode: PermissionMode) -> str:
    match mode:
        case "ask":
            return tr("Ask mode: the agent asks before edits, and commands that do more than read")
        case "plan":
            return tr("Plan mode: the agent only reads and plans")
        case "auto":
            return tr("Auto mode: the agent edits files and runs sandboxed commands without asking")


def model_text(label: str) -> str:
    """Return which model was chosen for a session; an empty label is the workspace's default."""
    if not label:
        return tr("Model for this session: workspace default")
    if label.startswith("demo/"):
        return tr("Model for this session: offline demo model")
    return tr("Model for this session: {model}", model=label)


def effort_text(effort: Effort) -> str:
    """Return which effort was chosen for a session; empty is the workspace's."""
    if not effort:
        return tr("Reasoning effort for this session: workspace default")
    return tr("Reasoning effort for this session: {effort}", effort=effort_name(effort))


def masked_contents_text(outputs: int, calls: int, image_messages: int) -> str:
    """Return what was cached: outputs, what some calls were given, the images of some messages."""
    if not (calls or image_messages):
        return tr.plural(outputs, "%n output cached", "%n outputs cached")
    contents = []
    if outputs:
        contents.append(tr.plural(outputs, "%n output", "%n outputs"))
    if calls:
        contents.append(tr.plural(calls, "text of %n call", "texts of %n calls"))
    if image_messages:
        contents.append(tr.plural(image_messages, "images of %n message", "images of %n messages"))
    return tr("Cached: {contents}", contents=tuple(contents))


def gist_bullets(sections: Sequence[Section]) -> list[Bullet]:
    """Return the sentences that say most of a handover, in a few lines."""
    firsts = [bullet for section in ordered_sections(sections) for bullet in section.bullets[:1]]
    return firsts[:_GIST_BULLETS]


def ordered_sections(sections: Sequence[Section]) -> list[Section]:
    """Return sections in the order of a timeline: what is open comes first."""
    return sorted(sections, key=lambda section: KINDS[section.title].rank if section.title in KINDS else 0)


def gist_sections(sections: Sequence[Section]) -> list[Section]:
    filled = [section for section in ordered_sections(sections) if section.bullets]
    return [Section(section.title, section.bullets[:_SECTION_BULLETS]) for section in filled[:_GIST_SECTIONS]]


def handover_text(handover: HandoverMade, transcript: Transcript) -> str:
    if handover.origin:
        return tr("Continues “{title}”", title=session_title(handover.origin_title))
    if handover.revises:
        size = revision_size_text(handover.before, handover.after)
        return dotted((tr("Summary edited by you"), size))
    if handover.replaces:
        count = tr("Summary written again")
    else:
        counts = handover_counts(transcript, handover)
        count = tr("{messages} compacted", messages=counts.text)
    before, after = format_tokens(handover.before), format_tokens(handover.after)
    size = tr("{before} → {after} tokens", before=before, after=after)
    without_model = "" if handover.edited or recorded_writer(handover.model) else tr("without a model")
    return " · ".join(filter(None, (count, without_model, size)))


def context_change_text(before: int, after: int) -> str:
    """Return what rewrites made of the next request's tokens, as the gauge counts them."""
    return tr("Context: {before} → {after}", before=format_tokens(before), after=format_tokens(after))


def revision_size_text(before: int, after: int) -> str:
    """Return by how much the user's edit changed the context: `+17 tokens`, which its size would hide."""
    if before == after:
        return tr("same size")
    return tr("{difference} tokens", difference=format_token_difference(after - before))


def chosen_form_text(event: FormChosen, transcript: Transcript) -> str:
    choice = _form_choice_text(event.form, _output_name(event.target, transcript))
    tokens = output_tokens(event.tokens)
    return f"{choice} · {format_token_count(tokens)}"


def _form_choice_text(form: Form, output: str) -> str:
    match form:
        case "full":
            return tr("You sent the full output of {output}", output=output)
        case "preview":
            return tr("You sent a preview of {output}", output=output)
        case "compact":
            return tr("You sent an extract of {output}", output=output)


def excluded_text(event: Excluded, transcript: Transcript) -> str:
    return tr("You left out {content}", content=_excluded_name(event, transcript))


def _excluded_name(event: Excluded, transcript: Transcript) -> str:
    seq = event.targets[0]
    item = transcript.messages.item(seq)
    match item.event if item is not None else transcript.rewrites.by_seq.get(seq):
        case UserSpoke(text=text):
            name = tr("your message “{text}”", text=ellipsize(" ".join(text[:400].split()), _NAME_CAP))
        case AssistantSpoke():
            name = tr("an answer")
        case ToolAnswered():
            name = _output_name(seq, transcript)
        case HandoverMade():
            name = tr("a summary")
        case ObservationsPlaced():
            name = tr("a summary")
        case FoldMade():
            name = tr("a summary")
        case _:
            name = tr("instructions")
    return name


def pin_text(event: Pinned | Unpinned, transcript: Transcript) -> str:
    output = _output_name(event.target, transcript)
    if isinstance(event, Unpinned):
        return tr("You unpinned {output}", output=output)
    return f"{tr('You pinned {output}', output=output)} · {tr('always kept in context')}"


def budget_text(event: BudgetSet) -> str:
    cost = format_usd(event.cost)
    if event.tokens and event.cost:
        return tr("Budget: {tokens} tokens or {cost}", tokens=event.tokens, cost=cost)
    if event.tokens:
        return tr("Budget: {tokens} tokens", tokens=event.tokens)
    return tr("Budget: {cost}", cost=cost) if event.cost else tr("Budget: no limit")


def files_changed_text(event: FilesChanged) -> str:
    if len(event.files) > 1:
        return tr.plural(
            len(event.files), "%n file changed since it was read", "%n files changed since they were read"
        )
    return changed_file_text(event.files[0])


def changed_file_text(file: ChangedFile) -> str:
    if file.is_gone:
        return tr("{file} was deleted since it was read", file=file.path)
    return tr("{file} changed since it was read", file=file.path)


def _output_name(seq: int, transcript: Transcript) -> str:
    item = transcript.messages.item(seq)
    if item is None or not isinstance(item.event, ToolAnswered):
        return f"e{seq}"
    return ellipsize(" ".join(f"{item.event.name} {item.event.target}".split()), _NAME_CAP)
