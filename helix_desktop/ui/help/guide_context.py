"""The guide's topics on the context: what is sent, and what makes it smaller; by the default policy."""

from __future__ import annotations

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.ui.help.guide_section import GuideSection
from helix_desktop.words.numbers import format_integer, format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Guide")


def context_sections() -> tuple[GuideSection, ...]:
    """Return what a request holds, and what keeps it small."""
    return (
        GuideSection(
            tr("What the model sees"),
            (
                tr(
                    "With every request a model reads the whole context again: your messages, its own "
                    "answers, files and command output. Its context window has a limit, and it doesn't see "
                    "what doesn't fit."
                ),
                tr(
                    "Everything is stored on this computer as it arrives. The context is a view of it that "
                    "stays small: large and old outputs are cached, old steps are noted, old messages are "
                    "summarized."
                ),
            ),
        ),
        GuideSection(
            tr("What is kept"),
            (
                tr(
                    "All of it. Messages, outputs, edits and every change to the context stay in the "
                    "workspace's data until you remove them. Nothing is deleted to make room in the "
                    "context."
                ),
            ),
        ),
        GuideSection(
            tr("Files that change"),
            (
                tr(
                    "When a file changes after the agent read it, by an edit, a command or in your editor, "
                    "the output says “changed since”. It still shows the file as it was."
                ),
            ),
        ),
        GuideSection(
            tr("Where to look"),
            (
                tr(
                    "Inspector: what the next request contains, part by part, in tokens. Exclude a part from "
                    "it, cache it now, or pin it."
                ),
                tr("Cache: every output, including those that left the context."),
                tr(
                    "Timeline: what was cached, noted and summarized, when and why, with Undo. Drag the "
                    "handle on its chart to look at an earlier step as it was."
                ),
                tr("Changes: the files that the session changed, with their diffs, and Revert."),
            ),
        ),
    )


def cached_sections() -> tuple[GuideSection, ...]:
    """Return what becomes a marker, and when."""
    policy = ContextPolicy()
    return (
        GuideSection(
            tr("What leaves the context"),
            (
                tr(
                    "A new output over {tokens} tokens is shown to the model as a preview or an extract. "
                    "Later, the outputs of older steps are replaced by markers.",
                    tokens=format_integer(policy.intake_above),
                ),
                tr(
                    "A marker is one line with the name of the output and its digest. Long arguments of "
                    "old tool calls and images in old messages are cached the same way."
                ),
            ),
        ),
        GuideSection(
            tr("How to get it back"),
            (
                tr("The agent recalls a cached output itself when it needs it, byte for byte."),
                tr(
                    "You can open it under Cache, search it, and recall it into your next message: all of "
                    "it, lines, or the lines that match a pattern."
                ),
                tr("Pin an output to keep it in the context."),
            ),
        ),
    )


def noted_sections() -> tuple[GuideSection, ...]:
    """Return what notes and observations stand for."""
    policy = ContextPolicy()
    return (
        GuideSection(
            tr("Old steps"),
            (
                tr(
                    "Steps more than {count} model calls back are replaced by a note: what was said stays, "
                    "tool calls become one line each. No model is needed for this.",
                    count=policy.fold_after_steps,
                ),
            ),
        ),
        GuideSection(
            tr("Older messages"),
            (
                tr(
                    "When messages without a note pass {start} of the context window, a model writes "
                    "facts about them in the background: dated events, decisions and results. They "
                    "replace these messages when the context passes {place} of the context window, or "
                    "earlier when it costs little.",
                    start=format_whole_percent(policy.observe_at),
                    place=format_whole_percent(policy.observe_place_at),
                ),
                tr(
                    "When these facts pass {share} of the context window, they are merged into fewer: "
                    "outdated facts are dropped.",
                    share=format_whole_percent(policy.reflect_at),
                ),
                tr(
                    "A fact leaves the context when a later one says that it's done or over. It stays in the "
                    "timeline."
                ),
            ),
        ),
        GuideSection(
            tr("How to get it back"),
            (
                tr("Undo the note in the timeline: the steps or messages return to the context."),
                tr("Outputs of noted steps stay in the cache, and the agent can recall them."),
            ),
        ),
    )


def summarized_sections() -> tuple[GuideSection, ...]:
    """Return what a handover says, and when it is written."""
    policy = ContextPolicy()
    return (
        GuideSection(
            tr("When it happens"),
            (
                tr(
                    "At {share} of the context window, the conversation is compacted: a model writes a "
                    "handover with goals, decisions, files, results and open tasks. It replaces the older "
                    "messages; the newest stay word for word.",
                    share=format_whole_percent(policy.handover_at),
                ),
                tr(
                    "The handover is written while the agent works. If the context is full before it is "
                    "ready, the next step waits for it, and you can continue without a model."
                ),
                tr(
                    "Your instructions, files, commands and numbers that the handover doesn't name are added "
                    "below it. Its card says how much it names."
                ),
                tr("You can compact earlier: choose “Compact conversation…” in the Session menu."),
            ),
        ),
        GuideSection(
            tr("How to get it back"),
            (
                tr("Undo the compaction: the messages return to the context as they were."),
                tr("The chat always shows all messages, including summarized ones."),
                tr(
                    "You can read and edit a handover before it is used. Later you can edit it or run it "
                    "again from its card in the timeline; undo restores the text from before."
                ),
            ),
        ),
        GuideSection(
            tr("Take it along"),
            (
                tr(
                    "The timeline shows the handover as it would be now at any time, made without a model. "
                    "Copy it, or let a model write it."
                ),
                tr(
                    "Choose “Start new session” there, or in the menu of a handover: the new session starts "
                    "with it and can recall everything it covers. Both sessions are linked."
                ),
            ),
        ),
    )


def undo_sections() -> tuple[GuideSection, ...]:
    """Return what can be undone, and where."""
    return (
        GuideSection(
            tr("How it works"),
            (
                tr("Each change is a card in the timeline. Choose Undo on it, and Redo to apply it again."),
                tr(
                    "You can undo an older change and keep newer ones. If a newer change covers the same "
                    "messages, they return only when you undo that one too. The card says so."
                ),
                tr("Undo changes what the model sees next. It doesn't change files or messages."),
                tr(
                    "Above the threshold, the context is compacted again after an undo. Session → Hold "
                    "compaction keeps it as it is while it fits, until you resume."
                ),
                tr("To undo changes to files, open Changes."),
            ),
        ),
    )


def policy_sections() -> tuple[GuideSection, ...]:
    """Return what the policy decides."""
    policy = ContextPolicy()
    return (
        GuideSection(
            tr("In plain words"),
            (
                tr(
                    "Below {whole} of the context window, the default policy keeps the running turn and the "
                    "one before it whole. Above that it keeps the newest steps: at most {steps} steps and "
                    "{tokens} tokens. It caches older outputs in batches when that saves more than it "
                    "costs, replaces old steps with short notes, and compacts at {share}.",
                    whole=format_whole_percent(policy.previous_turn_share),
                    steps=policy.protect_steps,
                    tokens=format_integer(policy.protect_tokens),
                    share=format_whole_percent(policy.handover_at),
                ),
                tr(
                    "Why in batches: after each change the provider reads the context again at full price, "
                    "so a few large changes cost less than many small ones."
                ),
            ),
        ),
        GuideSection(
            tr("Change it"),
            (
                tr(
                    "Session → Change policy…: move the slider, or change single numbers under Advanced. The "
                    "page replays this session under the new policy; nothing changes until you apply it to "
                    "the session or to the workspace."
                ),
                tr("The inspector says under “Waiting now” what is ready to be cached, or not noted yet."),
                tr(
                    "Compacting and noting facts run without asking. Each counts toward the session budget, "
                    "and the timeline shows what it read and cost. To be asked first: Settings → Context "
                    "policy."
                ),
            ),
        ),
    )
