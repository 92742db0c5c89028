"""The guide's topics on what is sent: instructions, messages, slash commands."""

from __future__ import annotations

from helix_desktop.domain.slash_command import SLASH, WORKSPACE_FOLDERS
from helix_desktop.ui.help.guide_section import GuideSection
from helix_desktop.words.slash_commands import SLASH_COMMANDS
from helix_desktop.words.translation import Translator, current_language, translate

tr = Translator("Guide")


def instructions_sections() -> tuple[GuideSection, ...]:
    """Return what the agent is told once."""
    return (
        GuideSection(
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
        GuideSection(
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
        GuideSection(
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


def _attachments() -> GuideSection:
    return GuideSection(
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


def messages_sections() -> tuple[GuideSection, ...]:
    """Return what goes along with a message, and how earlier ones come back."""
    return (
        GuideSection(
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
        GuideSection(
            tr("Cached outputs"),
            (
                tr("Type # and words, or the first 8 digits of a digest, and choose an output to attach it."),
                tr("Numbers such as {number} and headings stay text.", number="#42"),
            ),
        ),
        GuideSection(
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
        GuideSection(
            tr("Questions"),
            (
                tr(
                    "The agent can ask you what only you can decide. Choose an option with the mouse or by "
                    "its number, write something else, or skip it. A question waits as long as you like."
                ),
                tr(
                    "{command} asks the model a side question, also while it works. It answers from the "
                    "current context; question and answer are never sent again.",
                    command="/btw",
                ),
            ),
        ),
    )


def commands_sections() -> tuple[GuideSection, ...]:
    """Return the slash commands, and prompt files."""
    show = current_language().show_fact
    built_in = tuple(
        (show(f"{SLASH}{command.name} {command.arguments}".rstrip()), translate(command.summary))
        for command in SLASH_COMMANDS
    )
    return (
        GuideSection(tr("Built-in commands"), rows=built_in),
        GuideSection(
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
        GuideSection(
            tr("Not a command"),
            (tr("A message that begins with a path such as {path} is sent as text.", path="/usr/bin"),),
        ),
    )
