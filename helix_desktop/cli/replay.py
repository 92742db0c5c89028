"""The command `replay`: replay recorded sessions under a policy and print the figures."""

from __future__ import annotations

import argparse
import math
import sqlite3
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from helix_desktop.cli.output import print_err, print_json, print_notice, print_out
from helix_desktop.cli.workspace_command import named_files
from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.policy_numbers import PROFILES, REFERENCE_WINDOW, ContextPolicy, policy_from
from helix_desktop.domain.choices import AGENT_NAMES, ARCHIVE_SUFFIX
from helix_desktop.domain.errors import InvalidInput, InvalidRecording
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.foreign import SessionImported
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import Usage
from helix_desktop.domain.translatable_text import (
    TextContext,
    TranslatableText,
    error_reason,
    system_reason,
    verbatim,
)
from helix_desktop.foreign.discovery import FoundSession, find_in
from helix_desktop.replay.measure import (
    RecordingFigures,
    Totals,
    measure_messages,
    measure_recording,
    totals_of,
)
from helix_desktop.replay.recording import (
    messages_of_log,
    recorded_requests,
    recorded_usage,
    recorded_window,
    recording_facts,
)
from helix_desktop.services.foreign_import import read_session
from helix_desktop.store.archive_file import (
    ArchivedContent,
    ArchivedSession,
    read_archive,
    unreadable_archive,
)
from helix_desktop.system.exit_codes import FAILED
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.policies import profile_name
from helix_desktop.words.translation import Translator, current_language, error_text, translate

tr = Translator("Command line")
text = TextContext("Command line")

PROGRESS_INTERVAL_S = 5.0  # between two lines that say how far it is


class _Session(NamedTuple):
    """A session to replay, with its contents by their digests; `agent` is empty for an own one."""

    name: str
    log: Sequence[RecordedEvent]
    contents: Mapping[str, bytes]
    agent: str = ""


_Source = Path | FoundSession | _Session


class _Measured(NamedTuple):
    """The figures of a recording; of a session also its model, its agent, and what that says it took.

    `requests` are those of which the agent says what they took.
    """

    figures: RecordingFigures
    model: str = ""
    agent: str = ""
    usage: Usage | None = None
    requests: int = 0


def replay(args: argparse.Namespace) -> int:
    """Measure recordings and print the figures; return 1 if some could not be measured.

    Raises InvalidRecording, InvalidInput, InvalidArchive.
    """
    policy = load_policy(args.policy)
    with named_files(args.files) as paths:
        sources = [source for path in dict.fromkeys(paths) for source in _sources(path)]
        measured, errors = _measure_all(sources, policy, args.window)
    if errors and not measured:
        raise errors[0]
    for error in errors:
        print_notice(error_text(error))
    _print_figures(measured, args.json)
    return FAILED if errors else 0


def _measure_all(
    sources: Sequence[_Source], policy: ContextPolicy, window: int
) -> tuple[list[_Measured], list[InvalidRecording]]:
    """Return the figures of the sources, and why some have none."""
    measured = list[_Measured]()
    errors = list[InvalidRecording]()
    reported_at = time.monotonic()
    for done, source in enumerate(sources, 1):
        try:
            if isinstance(source, Path):
                figures = measure_recording(source, policy, window or REFERENCE_WINDOW)
                measured.append(_Measured(figures))
            else:
                session = source if isinstance(source, _Session) else _read(source)
                measured.append(_measure_session(session, policy, window))
        except InvalidRecording as error:
            errors.append(error)
        if time.monotonic() - reported_at >= PROGRESS_INTERVAL_S and done < len(sources):
            reported_at = time.monotonic()
            print_err(tr("{done} of {total} recordings measured", done=done, total=len(sources)))
    return measured, errors


def _print_figures(measured: Sequence[_Measured], as_json: bool) -> None:
    totals = totals_of([one.figures for one in measured])
    if as_json:
        documents = [_document(one) for one in measured]
        print_json({"files": documents, "total": msgspec.to_builtins(totals)})
        return
    names = [translate(name) for name, _ in _ROWS]
    cells = [cell(totals) for _, cell in _ROWS]
    name_width = max(map(len, names))
    cell_width = max(map(len, cells))
    for name, cell in zip(names, cells, strict=True):
        print_out(f"{name:<{name_width}}  {cell:>{cell_width}}")
    for each in measured:
        one = each.figures
        if each.usage is not None:
            print_out(_recorded_text(each, each.usage))
        for compaction in one.compactions:
            facts = compaction.facts
            print_out(
                tr(
                    "{file}: compacted before model call {call}. Of {total} details its summary names "
                    "{named}, the context with Helix {managed}. One call recalls {recalled} more.",
                    file=one.file,
                    call=format_integer(compaction.request),
                    total=format_integer(sum(kind.total for kind in facts)),
                    named=format_integer(sum(kind.in_summary for kind in facts)),
                    managed=format_integer(sum(kind.in_context for kind in facts)),
                    recalled=format_integer(sum(kind.one_call for kind in facts)),
                )
                if facts
                else tr(
                    "{file}: compacted before model call {call}. Its summary isn't readable.",
                    file=one.file,
                    call=format_integer(compaction.request),
                )
            )
        if one.reach.lost:
            print_err(tr("{file}: lost {calls}", file=one.file, calls=one.reach.lost))
        for reason in one.faults.reasons:
            print_err(tr("{file}: {problem}", file=one.file, problem=reason))


def _sources(path: Path) -> list[_Source]:
    """Return the sessions in a file or folder; a file that has none is a recording.

    Raises InvalidRecording for a folder or an export without any, InvalidArchive.
    """
    is_archive = path.suffix == ARCHIVE_SUFFIX and not path.is_dir()
    if is_archive and (sessions := list(_archived(path))):
        return [*sessions]
    try:
        found = [] if is_archive or not path.exists() or path.is_fifo() else list(find_in(path))
    except (OSError, sqlite3.Error):
        found = []
    if (is_archive or path.is_dir()) and not found:
        raise InvalidRecording(
            text("No sessions found in {path}.", path=path),
            text("Known are those of {agents}.", agents=tuple(AGENT_NAMES.values())),
            text("Choose a session file, or the folder that an agent keeps them in."),
        )
    if not found:
        return [path]
    is_recording = all(each.agent == "chat-messages" and not each.source.session for each in found)
    return [each.source.path for each in found] if is_recording else list(found)


def _archived(path: Path) -> Iterator[_Session]:
    """Yield the sessions of a file that Helix exported. Raises InvalidArchive."""
    contents = dict[str, bytes]()
    logs = dict[str, list[RecordedEvent]]()
    try:
        for part in read_archive(path, threading.Event()):
            match part:
                case ArchivedContent(digest=digest, data=data):
                    contents[digest] = data
                case ArchivedSession(header=header, events=events):
                    branch = header.branch
                    before = logs.get(branch.parent, []) if branch is not None else []
                    upto = branch.seq if branch is not None else 0
                    log = [*(recorded for recorded in before if recorded.seq <= upto), *events]
                    logs[header.id] = log
                    imported = (each.event for each in log if isinstance(each.event, SessionImported))
                    agent = next((AGENT_NAMES[event.agent] for event in imported), "")
                    yield _Session(f"{path}#{header.id[:8]}", log, contents, agent)
    except OSError as error:
        raise unreadable_archive(path, error) from error


def _read(found: FoundSession) -> _Session:
    """Return a session of another agent. Raises InvalidRecording."""
    vocabulary = resources_dir() / "tokenizers" / "o200k_base.tiktoken"
    what = text("The recording {path} can't be read.", path=found.source.path)
    try:
        log, contents = read_session(found, vocabulary)
    except OSError as error:
        raise InvalidRecording(what, system_reason(error)) from error
    except (EOFError, sqlite3.Error) as error:
        raise InvalidRecording(what, verbatim(str(error))) from error
    name = str(found.source.path) + (f"#{found.id}" if found.source.session else "")
    return _Session(name, log, contents, AGENT_NAMES[found.agent])


def _measure_session(session: _Session, policy: ContextPolicy, window: int) -> _Measured:
    """Measure a session, with a context window in tokens; 0: that of its model. Raises InvalidRecording."""
    messages, compactions = messages_of_log(session.log, session.contents)
    if not any(message["role"] == "assistant" for message in messages):
        raise InvalidRecording(
            text("The recording {path} can't be read.", path=session.name),
            text("It has no answer of a model to replay."),
        )
    answers = [recorded.event for recorded in session.log if isinstance(recorded.event, AssistantSpoke)]
    model = next((answer.model for answer in reversed(answers) if answer.model), "")
    spec = _catalog().vendors_spec(model)
    size = window or recorded_window(session.log) or spec.window or REFERENCE_WINDOW
    facts = recording_facts(size, spec)
    figures = measure_messages(session.name, messages, policy, facts, compactions)
    requests = recorded_requests(session.log)
    return _Measured(figures, model, session.agent, recorded_usage(session.log), requests)


def _catalog() -> ModelCatalog:
    return ModelCatalog.load(resources_dir() / "models.toml")


def _recorded_text(measured: _Measured, usage: Usage) -> str:
    """Return what the other agent recorded beside what is estimated here."""
    figures = measured.figures
    replayed = figures.unmanaged.requests
    return tr(
        "{file}: sent, as {agent} recorded it: {recorded} tokens, in {requests}. Estimated: {estimated}, in "
        "{replayed}.",
        file=figures.file,
        agent=measured.agent,
        recorded=format_integer(usage.input),
        requests=tr.plural(measured.requests, "%n request", "%n requests"),
        estimated=format_integer(figures.unmanaged.input_tokens),
        replayed=tr.plural(replayed, "%n request", "%n requests"),
    )


def _document(measured: _Measured) -> dict[str, object]:
    """Return the figures as JSON; of a session also its model, and what that would cost.

    The cost is that of the input, in US dollars, as `billed` estimates it; None where no price is known.
    `recorded` are the tokens that the agent says it took in `recorded_requests`; None where it does not.
    """
    figures = measured.figures
    model = measured.model
    own = totals_of([figures])
    more: dict[str, object] = {}
    if model:
        price = _catalog().vendors_spec(model).price_in / 1_000_000
        more = {
            "model": model,
            "cost": round(figures.managed.billed * price, 10) if price else None,
            "cost_unmanaged": round(figures.unmanaged.billed * price, 10) if price else None,
            "recorded": msgspec.to_builtins(measured.usage),
            "recorded_requests": measured.requests,
        }
    return {
        **more,
        **msgspec.to_builtins(figures),
        "input_of_unmanaged": own.input_of_sums,
        "billed_of_unmanaged": own.billed_of_sums,
        "tool_saved": own.tool_saved,
        "reachable": own.reachable,
        "in_window": own.in_window,
        "coverage_share": own.coverage_share,
        "coverage_share_old": own.coverage_share_old,
        "coverage_share_very_old": own.coverage_share_very_old,
    }


def _percent(share: float) -> str:
    return current_language().show_decimal(share * 100, 1)


def _percent_floor(share: float) -> str:
    """Format a share as percent, rounded down: 100.0 means that nothing is missing."""
    return current_language().show_decimal(math.floor(share * 1000) / 10, 1)


_ROWS: Sequence[tuple[TranslatableText, Callable[[Totals], str]]] = (
    (text("recordings"), lambda totals: format_integer(totals.files)),
    (text("model calls"), lambda totals: format_integer(totals.requests)),
    (text("input tokens"), lambda totals: format_integer(totals.input_tokens)),
    (text("input tokens, without Helix"), lambda totals: format_integer(totals.unmanaged_input_tokens)),
    (text("input, % of that without Helix"), lambda totals: _percent(totals.input_of_sums)),
    (text("billed, % of that without Helix"), lambda totals: _percent(totals.billed_of_sums)),
    (text("largest request, tokens"), lambda totals: format_integer(totals.peak_window)),
    (text("output tokens saved, %"), lambda totals: _percent(totals.tool_saved)),
    (text("outputs that can be recalled, % of bytes"), lambda totals: _percent_floor(totals.reachable)),
    (text("outputs in the context, % of bytes"), lambda totals: _percent(totals.in_window)),
    (
        text("call arguments that can be recalled, % of bytes"),
        lambda totals: _percent_floor(totals.arguments_reachable),
    ),
    (
        text("identifiers of the next call in the context, %"),
        lambda totals: _percent(totals.coverage_share),
    ),
    (
        text("of those last seen more than 5 model calls ago, %"),
        lambda totals: _percent(totals.coverage_share_old),
    ),
    (
        text("of those last seen more than 20 model calls ago, %"),
        lambda totals: _percent(totals.coverage_share_very_old),
    ),
    (text("requests over the context window"), lambda totals: format_integer(totals.over_window)),
    (text("requests that couldn't be made"), lambda totals: format_integer(totals.not_made)),
    (text("times outputs were cached"), lambda totals: format_integer(totals.counts.sweeps)),
    (text("times steps were compacted without a model"), lambda totals: format_integer(totals.counts.folds)),
    (
        text("times messages were compacted in sections"),
        lambda totals: format_integer(totals.counts.handovers),
    ),
    (
        text("times a handover summary was written to compact later"),
        lambda totals: format_integer(totals.counts.checkpoints),
    ),
    (text("times a model wrote summaries"), lambda totals: format_integer(totals.counts.observations)),
    (text("times these summaries were shortened"), lambda totals: format_integer(totals.counts.reflections)),
    (text("of these without a model"), lambda totals: format_integer(totals.counts.fallbacks)),
    (
        text("requests that don't continue the one before"), lambda totals: format_integer(totals.rewrites)
    ),
)  # fmt: skip


def load_policy(name_or_path: str) -> ContextPolicy:
    """Return the profile of this name, as the window writes it or not, or the policy in this TOML file.

    Raises InvalidInput.
    """
    typed = name_or_path.lower()
    for name, policy in PROFILES.items():
        if typed in (name, profile_name(name).lower()):
            return policy
    fix = text("Use one of {profiles}, or the path of a TOML file.", profiles=tuple(PROFILES))
    try:
        return policy_from(tomllib.loads(Path(name_or_path).read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise InvalidInput(
            text("Policy {name} not found.", name=repr(name_or_path)),
            text("No profile or file has this name."),
            fix,
        ) from error
    except OSError as error:
        raise InvalidInput(
            text("The policy {path} can't be read.", path=name_or_path),
            system_reason(error),
            fix,
        ) from error
    except ValueError as error:
        raise InvalidInput(
            text("The policy in {path} isn't valid.", path=name_or_path),
            text("{reason}.", reason=error_reason(error)),
            text("Correct the file."),
        ) from error
