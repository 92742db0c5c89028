"""The guide's topic on changes of files."""

from __future__ import annotations

from helix_desktop.ui.help.guide_section import Section
from helix_desktop.words.translation import Translator

tr = Translator("Guide")


def changes_sections() -> tuple[Section, ...]:
    """Return what is captured, how it is reverted, and what is not covered."""
    return (
        Section(
            tr("What is recorded"),
            (
                tr(
                    "Every change of a file in the workspace: by the agent's tools, by commands and the "
                    "programs they start, by you or another program in between. The previous content is "
                    "stored on this computer. No git is needed."
                ),
                tr("The page Changes lists the files of a session by turn or by file, with their diffs."),
            ),
        ),
        Section(
            tr("Accept and revert"),
            (
                tr("Accept marks a change as reviewed. It changes no file."),
                tr(
                    "Revert restores what was there before: in one part of a file, a file, a step, a turn "
                    "or the whole session. All files are written, or none."
                ),
                tr(
                    "A file that was changed later is never overwritten without asking: you choose to keep "
                    "it, to take the previous one, or to merge both."
                ),
                tr("A revert is a change like any other. You can undo it."),
                tr(
                    "On the command line, {command} lists, compares, reverts and redoes changes.",
                    command="helix-desktop changes",
                ),
            ),
        ),
        Section(
            tr("Rewind"),
            (
                tr(
                    "Choose “Rewind to here” below one of your messages, or type {command}: the files, the "
                    "conversation, or both go back to where they were before it. A preview shows what would "
                    "change.",
                    command="/rewind",
                ),
            ),
        ),
        Section(
            tr("What can't be undone"),
            (
                tr(
                    "Ignored folders, build results, secrets such as {file}, files over the size limit and "
                    "what can't be read. The line below the list counts them; open it to see each with its "
                    "reason, and to include it.",
                    file=".env",
                ),
            ),
        ),
    )
