"""The guide's topic on changes to files."""

from __future__ import annotations

from helix_desktop.ui.help.guide_section import GuideSection
from helix_desktop.words.translation import Translator

tr = Translator("Guide")


def changes_sections() -> tuple[GuideSection, ...]:
    """Return what is captured, how it is reverted, and what is not covered."""
    return (
        GuideSection(
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
        GuideSection(
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
                    "On the command line, “{command}” lists, compares, reverts and redoes changes.",
                    command="helix-desktop changes",
                ),
            ),
        ),
        GuideSection(
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
        GuideSection(
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
