"""The command `run`: one turn without a window."""

from __future__ import annotations

import argparse
import asyncio
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from helix_desktop.agent.attachments import attach_mentioned_files
from helix_desktop.agent.content_access import ContentAccess
from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import Update
from helix_desktop.cli.output import TurnPrinter, print_notice, print_remaining_work, queued_output
from helix_desktop.cli.sessions import find_session
from helix_desktop.cli.workspace_command import (
    STANDARD_INPUT,
    is_model_named,
    no_model_error,
    standard_input,
    with_workspace,
)
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.answer_bounds import AnswerBound
from helix_desktop.domain.choices import Effort
from helix_desktop.domain.cost import Budget
from helix_desktop.domain.errors import (
    HelixError,
    InvalidInput,
    ModelNotChosen,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment
from helix_desktop.domain.events.session import NEW_TITLE, McpServerFailed, SessionStarted
from helix_desktop.domain.messages import CUT_OFF, StopReason
from helix_desktop.domain.slash_command import SLASH, PromptSource, parse_slash_input
from helix_desktop.domain.translatable_text import TextContext, change_facts
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.message_files import attach_path
from helix_desktop.system.exit_codes import FAILED, INCOMPLETE
from helix_desktop.words.answer_ends import mcp_failed_text
from helix_desktop.words.file_changes import auto_run_texts
from helix_desktop.words.prompt_files import prompt_warnings
from helix_desktop.words.slash_commands import find_slash_command
from helix_desktop.words.translation import Translator, translate

tr = Translator("Command line")
text = TextContext("Command line")

_HINTS = {
    option: text("Leave out {session} to start a new one.", session=option)
    for option in ("--session", "--from-handover")
}
_MAX_EVENT_DIGITS = 9
_MCP_QUIET_S = 5.0  # then it is said what is waited for
_MAX_TOOL_CHARS = 80
_MCP_START_TIMEOUT_S = 30.0  # MCP servers get so long before a turn begins without them


def run_turn(args: argparse.Namespace) -> int:
    """Run one turn: print the answer, or every event as a JSON line. Return 0 only if it ended well."""

    typed = _message_of_input() if args.message == STANDARD_INPUT else args.message

    async def work(services: AppServices, workspace: OpenWorkspace) -> int:
        workspace.require_policy()  # before anything starts for a turn that can't be
        if args.allow_git:
            print_notice(_git_text(await services.tools.allow_git(workspace.id)))
        message = await _expand_message(services, workspace, typed)
        found = await services.tools.file_index(workspace.id).look_up(message[0])
        if found.missing:
            print_notice(translate(change_facts(found.missing_text, escape_hidden_name)))
        if workspace.services.auto_run is not None:
            for line in auto_run_texts(await workspace.services.auto_run.unreported()):
                print_notice(line)
        model = await requested_model(services, args, services.registry.get(workspace.id).effort)
        if model is not None:
            await workspace.set_models(model)
        failed_servers = await _start_servers(services, workspace.id)
        task = asyncio.current_task()
        assert task is not None  # a coroutine always runs in a task

        def transcript_of(session_id: str) -> Transcript | None:
            opened = workspace.find_open(session_id)
            return opened.session.transcript if opened is not None else None

        def stop() -> None:
            if not task.cancelling():  # it may be because of a signal that the output is gone
                task.cancel()

        # On an error as on Ctrl+C: the turn is recorded as stopped.
        printer = TurnPrinter(args.json, transcript_of, on_output_error=stop)
        workspace.on(Update, printer.on_update)
        try:
            async with queued_output(printer.on_write_error) as output:
                # Its reader has what was printed, or the turn ends before it costs more.
                workspace.services.before_request.listen(output.wait_until_written)
                conversation = await _open_session(workspace, args)
                require_model(conversation)
                _require_named_model(services, args, workspace.id, conversation)
                root = Path(services.registry.get(workspace.id).path)
                attachments = await _attach(workspace.contents, conversation, root, message[0], args.attach)
                if not conversation.session.log:
                    await conversation.session.record(SessionStarted(NEW_TITLE))
                await conversation.session.record(*failed_servers)
                _warn_model_change(conversation)
                await _apply_budget(conversation, args)
                await _apply_effort(workspace, conversation, args)
                await conversation.set_mode(args.mode or conversation.mode)
                code = await _turn(conversation, message, attachments, printer)
                lost = {failure.server for failure in failed_servers}
                ended = [
                    each for each in services.mcp_servers.failures(workspace.id) if each.server not in lost
                ]
                print_failures(ended)
                await conversation.session.record(*ended)
                return code
        except asyncio.CancelledError:
            if printer.output_error is not None:
                raise printer.output_error from None
            raise

    return with_workspace(args, work)


def _git_text(folders: Sequence[str]) -> str:
    """Return what the user allowed of git folders outside of the workspace."""
    if not folders:
        return tr(
            "The git folder of this checkout isn't outside of the workspace: there is nothing to allow."
        )
    names = ", ".join(map(escape_hidden_name, folders))
    return tr("Commands may commit from now on in {folders}.", folders=names)


def _message_of_input() -> str:
    """Return the message on standard input, to its end. Raises InvalidInput for none, and for no text."""
    try:
        message = standard_input().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            text("The message on standard input isn't text."), fix=text("Use UTF-8 for names and texts.")
        ) from error
    if not message.strip():
        raise InvalidInput(text("The message on standard input is empty."))
    return message.rstrip("\n")


async def _start_servers(services: AppServices, workspace_id: str) -> tuple[McpServerFailed, ...]:
    """Start the MCP servers; print, and return, those that the turn goes on without."""
    servers = services.mcp_servers
    await servers.wait_until_ready(workspace_id, _MCP_QUIET_S)
    names = [config.name for config in servers.configs(workspace_id)]
    starting = tuple(name for name in names if servers.is_starting(workspace_id, name))
    if starting:
        print_notice(tr("Waiting for MCP servers: {names}", names=starting))
        await servers.wait_until_ready(workspace_id, _MCP_START_TIMEOUT_S - _MCP_QUIET_S)
    failed = servers.failures(workspace_id)
    print_failures(failed)
    for server, tool, reason in servers.rejected_tools(workspace_id):
        words = escape_hidden_name(tool[:_MAX_TOOL_CHARS])
        print_notice(
            tr(
                "The tool {tool} of the MCP server {server} is left out: {reason}",
                tool=words,
                server=server,
                reason=translate(reason),
            )
        )
    return failed


def print_failures(failures: Iterable[McpServerFailed]) -> None:
    for failure in failures:
        print_notice(mcp_failed_text(failure.server, translate(failure.reason)))


def require_model(conversation: Conversation) -> None:
    """Raise ModelNotChosen, with what to type, if the user has to choose first which model goes on."""
    try:
        conversation.model_choice.require()
    except ModelNotChosen as error:
        fix = text("Set it up in Settings → Providers, or choose another with {model}.", model="--model")
        raise ModelNotChosen(error.label, fix, is_chosen=error.is_chosen) from None


def _require_named_model(
    services: AppServices, args: argparse.Namespace, workspace_id: str, conversation: Conversation
) -> None:
    """Raise InvalidInput where the demo model would answer a session that it has not answered before."""
    if not conversation.model.demo:
        return
    is_of_session = conversation.session.transcript.last_model == conversation.model.label
    if not (is_of_session or is_model_named(services, args, services.registry.get(workspace_id))):
        raise no_model_error()


def _warn_model_change(conversation: Conversation) -> None:
    """Warn if another model than before answers in a session: it is sent the whole conversation."""
    previous = conversation.session.transcript.last_model
    current = conversation.model.label
    if previous not in ("", current):
        print_notice(tr("Model changed from {previous} to {current}.", previous=previous, current=current))


async def _apply_budget(conversation: Conversation, args: argparse.Namespace) -> None:
    limit = conversation.budget.limit
    tokens = limit.tokens if args.budget_tokens is None else args.budget_tokens
    cost = limit.cost if args.budget_usd is None else args.budget_usd
    if Budget(tokens, cost) != limit:
        await conversation.budget.set_limit(Budget(tokens, cost))


async def _expand_message(
    services: AppServices, workspace: OpenWorkspace, message: str
) -> tuple[str, PromptSource | None]:
    """Return what is sent, and the prompt file that it was made from, if any. Raises InvalidInput."""
    typed = parse_slash_input(message)
    if typed is None:
        return message, None
    if find_slash_command(typed.name) is not None:
        raise InvalidInput(
            text("{command} works in the window only.", command=SLASH + typed.name),
            fix=text("To send it as a message, put a space before the slash."),
        )
    expanded = await services.prompt_files.expand(workspace.id, typed)
    for warning in prompt_warnings(expanded.file):
        print_notice(escape_hidden_name(warning))
    return expanded.text, expanded.source


async def _apply_effort(
    workspace: OpenWorkspace, conversation: Conversation, args: argparse.Namespace
) -> None:
    """Set the session's reasoning effort to that on the command line; warn if the model takes another one."""
    effort: Effort = args.effort
    if effort and effort != conversation.session.transcript.chosen_effort:
        await workspace.choose_effort(conversation.session.id, effort)
    level = conversation.session.effort
    model = conversation.model.label
    if not effort or effort in ("default", level):
        return
    if not level:
        print_notice(tr("{model} takes no reasoning effort: none is sent.", model=model))
    else:
        print_notice(
            tr(
                "{model} doesn't take effort {effort}: {level} is sent.",
                model=model,
                effort=effort,
                level=level,
            )
        )


async def _attach(
    contents: ContentAccess,
    conversation: Conversation,
    root: Path,
    message: str,
    files: Sequence[tuple[Path, int, int]],
) -> tuple[Attachment, ...]:
    """Return what goes along with a message: `files`, then those that it mentions. Raises HelixError."""
    session_id = conversation.session.id
    attachments = []
    for path, first_line, last_line in files:
        attachments.append(await attach_path(contents, session_id, root, path, first_line, last_line))
    return await attach_mentioned_files(contents.attach_file, session_id, message, attachments)


async def _turn(
    conversation: Conversation,
    message: tuple[str, PromptSource | None],
    attachments: Sequence[Attachment],
    printer: TurnPrinter,
) -> int:
    ended = await conversation.run(message[0], attachments, prompt=message[1])
    print_remaining_work(conversation.handovers.is_running, conversation.observations.is_running)
    await conversation.wait_for_background_work()
    stop: StopReason = "end"
    bound: AnswerBound = ""
    for recorded in reversed(conversation.session.log):
        if isinstance(recorded.event, AssistantSpoke):
            stop = recorded.event.stop
            bound = recorded.event.bound
            break
    printer.print_end(ended, stop, bound)
    if ended.how != "done" or printer.had_error:
        return FAILED
    return INCOMPLETE if stop in CUT_OFF else 0


async def requested_model(
    services: AppServices, args: argparse.Namespace, effort: Effort = ""
) -> Model | None:
    """Return the model on the command line; None to use the workspace's own. Raises InvalidInput.

    `effort` is how much it thinks; empty: as is set for the model.
    """
    if not (args.base_url or args.model or args.window):
        return None
    try:
        model = await services.models.adhoc(args.model, args.base_url, args.window, effort)
    except HelixError as error:
        raise InvalidInput(error.what, error.why, error.fix) from error
    if args.base_url and (key := services.models.environment_key(args.model, args.base_url)).value:
        host = urlsplit(args.base_url).netloc.rpartition("@")[2]
        print_notice(tr("The key in {variable} is sent to {host}.", variable=key.name, host=host))
    return model


async def _open_session(workspace: OpenWorkspace, args: argparse.Namespace) -> Conversation:
    """Open the requested session, or a new one, which may begin with a handover. Raises InvalidInput."""
    if args.from_handover:
        session_prefix, colon, event = args.from_handover.partition(":")
        seq = event.removeprefix("e")
        if colon and not (seq.isdecimal() and len(seq) <= _MAX_EVENT_DIGITS and int(seq)):
            raise InvalidInput(
                text("{event} isn't the event of a handover summary.", event=repr(event[:70])),
                fix=text("Write {form}; {command} lists the events.", form="ID:e12", command="timeline"),
            )
        return await workspace.continue_session(
            await find_session(workspace, session_prefix, _HINTS["--from-handover"]), int(seq or "0")
        )
    if not args.session:
        return await workspace.open_session(uuid.uuid4().hex)  # begins once its message is complete
    return await workspace.open_session(await find_session(workspace, args.session, _HINTS["--session"]))
