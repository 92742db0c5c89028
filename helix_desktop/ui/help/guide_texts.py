"""The texts of the guide, by topic; the numbers are those of the default policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.prompt_file import WORKSPACE_FOLDERS
from helix_desktop.domain.slash_command import SLASH
from helix_desktop.domain.user_text import TextContext, UserText
from helix_desktop.ui.help.guide_changes import changes_sections
from helix_desktop.ui.help.guide_section import Section
from helix_desktop.words.numbers import format_integer, format_whole_percent
from helix_desktop.words.slash_commands import SLASH_COMMANDS
from helix_desktop.words.translation import Translator, translate

tr = Translator("Guide")
text = TextContext("Guide")

Topic = Literal[
    "context",
    "cached",
    "noted",
    "summarized",
    "undo",
    "changes",
    "policy",
    "instructions",
    "messages",
    "commands",
    "keys",
]
TOPICS: tuple[Topic, ...] = get_args(Topic)


_TITLES: dict[Topic, UserText] = {
    "context": text("How context works"),
    "cached": text("Cached"),
    "noted": text("Noted"),
    "summarized": text("Summarized"),
    "undo": text("Undo and redo"),
    "changes": text("Changes of files"),
    "policy": text("Context policy"),
    "instructions": text("Instructions"),
    "messages": text("Write messages"),
    "commands": text("Slash commands"),
    "keys": text("Keyboard shortcuts"),
}
_LEADS: dict[Topic, UserText] = {
    "context": text("Helix Desktop keeps everything and shows the model only what fits."),
    "cached": text("An output is replaced by a marker. The whole output stays in the cache."),
    "noted": text("Old steps and messages are replaced by a short note of what happened."),
    "summarized": text("Older messages are replaced by a handover: one document that sums them up."),
    "undo": text("You can undo every change to the context, at any time and in any order."),
    "changes": text("Every change of a file can be seen and undone, those of commands too."),
    "policy": text("The policy decides when something is cached, noted or summarized."),
    "instructions": text("The agent is told once where it works, and what you want of it."),
    "messages": text("Mention files and cached outputs, and bring earlier messages back."),
    "commands": text("Type / as the first character of a message to run a command."),
    "keys": text("Every command is also in the command palette. Settings → Keyboard changes keys."),
}


def topic_title(topic: Topic) -> str:
    """Return the name of a topic."""
    return translate(_TITLES[topic])


def topic_lead(topic: Topic) -> str:
    """Return a topic in one sentence."""
    return translate(_LEADS[topic])


def topic_sections(topic: Topic) -> tuple[Section, ...]:
    """Return the parts of a topic; that of the keys has none, because they are a list."""
    sections: dict[Topic, Callable[[], tuple[Section, ...]]] = {
        "context": _context,
        "cached": _cached,
        "noted": _noted,
        "summarized": _summarized,
        "undo": _undo,
        "changes": changes_sections,
        "policy": _policy,
        "instructions": _instructions,
        "messages": _messages,
        "commands": _commands,
    }
    return sections[topic]() if topic in sections else ()


def _context() -> tuple[Section, ...]:
    return (
        Section(
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
        Section(
            tr("What is kept"),
            (
                tr(
                    "All of it. Messages, outputs, edits and every change to the context stay in the "
                    "workspace's data until you remove them. Nothing is deleted to make room in the "
                    "context."
                ),
            ),
        ),
        Section(
            tr("Files that change"),
            (
                tr(
                    "When a file changes after the agent read it, by an edit, a command or in your editor, "
                    "the output says “changed since”. It still shows the file as it was."
                ),
            ),
        ),
        Section(
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


def _cached() -> tuple[Section, ...]:
    policy = ContextPolicy()
    return (
        Section(
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
        Section(
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


def _noted() -> tuple[Section, ...]:
    policy = ContextPolicy()
    return (
        Section(
            tr("Old steps"),
            (
                tr(
                    "Steps more than {count} model calls back are replaced by a note: what was said stays, "
                    "tool calls become one line each. No model is needed for this.",
                    count=policy.fold_after_steps,
                ),
            ),
        ),
        Section(
            tr("Observations"),
            (
                tr(
                    "When messages without a note pass {start} of the context window, a model writes "
                    "observations about them in the background: dated facts, decisions and results. They "
                    "replace these messages when the context passes {place} of the context window, or "
                    "earlier when it costs little.",
                    start=format_whole_percent(policy.observe_at),
                    place=format_whole_percent(policy.observe_place_at),
                ),
                tr(
                    "When the observations pass {share} of the context window, they are refined: merged into "
                    "fewer, without outdated facts.",
                    share=format_whole_percent(policy.reflect_at),
                ),
                tr(
                    "An observation leaves the context when a later one says that it's done or over. It "
                    "stays in the timeline."
                ),
            ),
        ),
        Section(
            tr("How to get it back"),
            (
                tr("Undo the note in the timeline: the steps or messages return to the context."),
                tr("Outputs of noted steps stay in the cache, and the agent can recall them."),
            ),
        ),
    )


def _summarized() -> tuple[Section, ...]:
    policy = ContextPolicy()
    return (
        Section(
            tr("When it happens"),
            (
                tr(
                    "At {share} of the context window, the conversation is compacted: a model writes a "
                    "handover with goals, decisions, files, results and open tasks. It replaces the older "
                    "messages; the newest stay word for word.",
                    share=format_whole_percent(policy.handover_at),
                ),
                tr(
                    "Your instructions, files, commands and numbers that the handover doesn't name are added "
                    "below it. Its card says how much it names."
                ),
                tr("You can compact earlier: choose “Compact conversation…” in the Session menu."),
            ),
        ),
        Section(
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
        Section(
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


def _undo() -> tuple[Section, ...]:
    return (
        Section(
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
                tr("To undo changes of files, open Changes."),
            ),
        ),
    )


def _policy() -> tuple[Section, ...]:
    policy = ContextPolicy()
    return (
        Section(
            tr("In plain words"),
            (
                tr(
                    "The default policy keeps the newest steps word for word: at most {steps} steps and "
                    "{tokens} tokens. It caches older outputs in batches when that saves more than it "
                    "costs, notes old steps, and compacts at {share} of the context window.",
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
        Section(
            tr("Change it"),
            (
                tr(
                    "Session → Change policy…: move the slider, or change single numbers under Advanced. The "
                    "page replays this session under the new policy; nothing changes until you apply it to "
                    "the session or to the workspace."
                ),
                tr("The inspector says under “What comes next” what changes when, what it saves and costs."),
                tr(
                    "Background work asks you before it reads more than {tokens} tokens or half the context "
                    "window.",
                    tokens=format_integer(policy.ask_above),
                ),
            ),
        ),
    )


def _instructions() -> tuple[Section, ...]:
    return (
        Section(
            tr("What the agent reads first"),
            (
                tr(
                    "With the first message: date, system, shell, folder, git branch, interpreters, the "
                    "usual test command. Then the instructions, the most general first; the later ones win."
                ),
                tr(
                    "The inspector lists each text with its tokens. None of them leaves the context, unless "
                    "you exclude it there."
                ),
            ),
        ),
        Section(
            tr("Where instructions come from"),
            (
                tr("You: for all workspaces and for this one, in Settings → Instructions."),
                tr(
                    "The workspace: {files}; those in other folders when the agent first works there. In a "
                    "folder that you don't trust they aren't read, nor through a link that leads out of it.",
                    files=("AGENTS.md", "CLAUDE.md"),
                ),
                tr("A change is sent with your next message. Earlier versions stay in the conversation."),
            ),
        ),
        Section(
            tr("What no tool reads"),
            (
                tr(
                    "List files in {file}, in the syntax of .gitignore. No tool reads, lists, finds, "
                    "searches or writes them. Commands can still read them; their requests for approval say "
                    "so.",
                    file=".agentignore",
                ),
            ),
        ),
    )


def _attachments() -> Section:
    return Section(
        tr("Attachments"),
        (
            tr(
                "The paper clip, paste and drop attach any text or code file, the text of a PDF, and "
                "images; a folder that you drop becomes a list of its files. A large file enters as a "
                "preview; the agent recalls the rest."
            ),
            tr(
                "A long paste becomes a chip above the message. Press it to see the text, put it back "
                "into the message, or remove it. Delete removes the chip that has the keyboard."
            ),
        ),
    )


def _messages() -> tuple[Section, ...]:
    return (
        Section(
            tr("Files"),
            (
                tr("Type @ and a few letters of a name or path. Files that the session used come first."),
                tr(
                    "Add lines with a colon: {example}. Put a path with spaces in quotes: {quoted}.",
                    example="@src/app.py:10-40",
                    quoted='@"my notes.md"',
                ),
                tr(
                    "A file that you mention is attached when you send the message, as it is then. A line "
                    "below the message says which files are attached, and which don't exist."
                ),
            ),
        ),
        _attachments(),
        Section(
            tr("Cached outputs"),
            (
                tr("Type # and words, or the first 8 digits of a digest, and choose an output to attach it."),
                tr("Numbers such as {number} and headings stay text.", number="#42"),
            ),
        ),
        Section(
            tr("While you type"),
            (
                tr(
                    "Up and Down choose, Tab or Enter inserts, Esc closes the list. {keys} opens it again, "
                    "also for text that you pasted.",
                    keys="Ctrl+Space",
                ),
                tr(
                    "In an empty message, Up shows the messages that you sent, and Down returns. With "
                    "the cursor at the very start it also works with a draft, which is kept."
                ),
            ),
        ),
        Section(
            tr("Questions"),
            (
                tr(
                    "The agent can ask you what only you can decide. Choose an option by mouse or by its "
                    "number, write something else, or skip it. A question waits as long as you like."
                ),
                tr(
                    "{command} asks the model a side question, also while it works. It answers from the "
                    "present context; question and answer are never sent again.",
                    command="/btw",
                ),
            ),
        ),
    )


def _commands() -> tuple[Section, ...]:
    built_in = tuple(
        f"{SLASH}{command.name} {command.arguments}".rstrip() + f": {translate(command.summary)}"
        for command in SLASH_COMMANDS
    )
    return (
        Section(tr("Built-in commands"), built_in),
        Section(
            tr("Your own commands"),
            (
                tr(
                    "A prompt file is a Markdown file whose text is sent as your message. {file} is the "
                    "command {command}; a file in a subfolder has the folder before its name: {nested}.",
                    file=".agents/commands/review.md",
                    command="/review",
                    nested="/web:test",
                ),
                tr(
                    "Prompt files are in {folders} of the workspace, and in {own} of the data directory for "
                    "all workspaces. Of two with one name the workspace's is used.",
                    folders=WORKSPACE_FOLDERS,
                    own="commands",
                ),
                tr(
                    "What you type after the command replaces {all} in the text; {first} to {last} are "
                    "single words, or several in double quotes. What has no place is added at the end.",
                    all="$ARGUMENTS",
                    first="$1",
                    last="$9",
                ),
                tr(
                    "Lines between {fence} at the top can give {fields}. The rest is sent as it is: nothing "
                    "in a prompt file is run.",
                    fence="---",
                    fields=("description", "argument-hint"),
                ),
                tr("Prompt files of a folder are read only after you trust it."),
            ),
        ),
        Section(
            tr("Not a command"),
            (tr("A message that begins with a path such as {path} is sent as text.", path="/usr/bin"),),
        ),
    )
