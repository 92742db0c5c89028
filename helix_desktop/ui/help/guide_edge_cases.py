"""The guide's topic on servers and files that are not as they should be, and what happens then."""

from __future__ import annotations

from helix_desktop.ui.help.guide_section import GuideSection
from helix_desktop.words.translation import Translator

tr = Translator("Guide")


def edge_cases_sections() -> tuple[GuideSection, ...]:
    """Return what servers and files do wrong, by where it is seen."""
    return (_requests(), _answers(), _mcp_servers(), _files(), _commands())


def _requests() -> GuideSection:
    return GuideSection(
        tr("A model's server refuses a request"),
        cases=(
            (
                tr("Too long for the context window"),
                tr(
                    "Content is cached until the request fits, and it is sent again. A window that the error "
                    "names is kept for that model; “Reset” in its settings removes it."
                ),
            ),
            (
                tr("Too long for a limit per minute or day"),
                tr("The limit is quoted, and the request is made smaller this once. The limit isn't stored."),
            ),
            (
                tr("What was read is lost before the answer"),
                tr("After two such steps in a row the turn stops and says so."),
            ),
            (
                tr("An image"),
                tr("You are asked to send without it. Without a window it is left out, and a line says so."),
            ),
            (
                tr("Tools, in a model that has none"),
                tr("The turn ends at once with that reason. Choose a model that can call tools."),
            ),
            (
                tr("Credit or quota used up"),
                tr("The turn ends at once. Other failures are tried again for ten minutes."),
            ),
            (
                tr("A billing problem: a card declined, a plan that ended"),
                tr("The turn ends at once, with the server's words. Solve it in your account there."),
            ),
            (
                tr("Access denied"),
                tr("The server's words are shown. The key is blamed only if the server blames it."),
            ),
            (
                tr("An error in the middle of an answer"),
                tr("It is shown in the server's words, without a status that it didn't send."),
            ),
        ),
    )


def _answers() -> GuideSection:
    return GuideSection(
        tr("An answer isn't whole"),
        cases=(
            (
                tr("Cut off, filtered, refused, paused, context full"),
                tr(
                    "A line below the answer says so. The command {command} ends with exit code {code}.",
                    command="run",
                    code="4",
                ),
            ),
            (
                tr("A stream that ends without saying so"),
                tr(
                    "It is asked for once more. If it ends so again, the answer counts, with a line that it "
                    "may be incomplete."
                ),
            ),
            (
                tr("A tool call that its server couldn't read"),
                tr("The answer is asked for once more. Then the turn ends with the server's word for it."),
            ),
            (
                tr("A tool call without a name"),
                tr("The model gets an error for it; the other calls run."),
            ),
            (
                tr("A tool call in pieces: of its name, with new ids"),
                tr("The pieces are put together to one call."),
            ),
            (
                tr("A tool call written as text"),
                tr("Nothing runs, and a line says so. Turn tool calling on at the model's server."),
            ),
            (
                tr("Thinking between tags in the text"),
                tr("It is shown as thinking, and sent back as it came; nested tags count as one thought."),
            ),
            (
                tr("A tool call cut off in its arguments"),
                tr("It doesn't run, and the model reads why: it calls again with less at once."),
            ),
        ),
    )


def _mcp_servers() -> GuideSection:
    return GuideSection(
        tr("An MCP server breaks the protocol"),
        cases=(
            (
                tr("It ends at its start or later, or hangs"),
                tr("It is named with its exit code and the last line that it printed. The turn continues."),
            ),
            (
                tr("A version of the protocol that isn't known"),
                tr("The nearest known version is spoken."),
            ),
            (
                tr("A tool that can't be used"),
                tr("Only that tool is left out; Settings → MCP servers says why."),
            ),
            (
                tr("A schema with wrong keywords"),
                tr("What JSON Schema doesn't allow is left out before a model's server sees it."),
            ),
            (
                tr("A schema that refers to itself"),
                tr("Its first level is sent, and below that what it repeats."),
            ),
            (
                tr("A reply without its ID, over several lines, or without a result"),
                tr("It counts as the reply to the only open call. One without a result fails at once."),
            ),
            (
                tr("A result without content, or of an unknown kind"),
                tr("What can be read is kept: structured content and unknown blocks as JSON."),
            ),
            (
                tr("Bytes that aren't UTF-8, half a character"),
                tr("They are shown as {sign}; the rest stays.", sign="\ufffd"),
            ),
            (
                tr("An error without a text"),
                tr("The call fails at once, with the error's code and data."),
            ),
        ),
    )


def _files() -> GuideSection:
    return GuideSection(
        tr("A file isn't plain UTF-8"),
        cases=(
            (
                tr("Another encoding, with a mark or a declaration"),
                tr(
                    "It is read, and every edit stays in that encoding. A character that it lacks is refused."
                ),
            ),
            (
                tr("Another encoding that nothing names"),
                tr("Edits in ASCII work. Others are refused: a file never gets two encodings."),
            ),
            (
                tr("Mixed line ends"),
                tr("They stay as they are. An edit finds its text with any of them."),
            ),
            (
                tr("A NUL in a text"),
                tr("A search names the file as a binary file that matches, without its lines."),
            ),
            (
                tr("A byte order mark in an ignore file"),
                tr("It is skipped, as git does."),
            ),
            (
                tr("A name with control characters, or that isn't UTF-8"),
                tr(
                    "It is written with codes such as {code}, which every tool takes too.",
                    code="\\u000a",
                ),
            ),
        ),
    )


def _commands() -> GuideSection:
    return GuideSection(
        tr("A command prints very much"),
        (
            tr(
                "The output is stored, and the model gets a preview. Of more than 4 million characters the "
                "tokens are estimated from a sample."
            ),
        ),
    )
