"""Which errors are shown as alarms: a direct answer to the user's action is none."""

from __future__ import annotations

from collections.abc import Iterator

from helix_desktop.domain import errors
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.rewrite import SummaryProblem
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.kit.notices import error_level, error_notice

ANSWERS = {
    "CompactionRefused",
    "ContentRedacted",
    "OutputFormUnavailable",
    "ModelNotChosen",
    "WorkspaceUntrusted",
}
WARNINGS = {
    "SummaryRefused",
    "BudgetExhausted",
    "DigestAmbiguous",
    "DigestUnknown",
    "AgentWorking",
    "InvalidInput",
    "RevertRefused",
    "StoreRepaired",
}
ALARMS = {
    "DataDirUnavailable", "SettingsDamaged", "SettingsUnreadable", "WorkspaceClosed", "WorkspaceMissing",
    "InstanceNotResponding", "InvalidRecording", "InvalidArchive", "ArchiveWriteFailed", "StoreError",
    "StoreLocked", "StoreClosed", "StoreUnreadable", "StoreFormatUnknown", "StoreDamaged", "StoreWriteFailed",
    "ContentDamaged", "ContentTooLarge", "ModelError", "ModelUnreachable", "ModelRequestRejected",
    "AuthenticationFailed", "ImagesRejected", "InputFiltered", "ContextWindowExceeded",
    "InvalidModelResponse", "ToolError",
    "UnknownTool", "SubagentFailed", "RequestInvalid", "RequestTooLarge", "ReadingLost",
}  # fmt: skip


def kinds(base: type[HelixError] = HelixError) -> Iterator[type[HelixError]]:
    """Yield all kinds of errors that the app defines for its users."""
    for kind in base.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
        yield from kinds(kind)


def error_of(kind: type[HelixError]) -> HelixError:
    if kind is errors.SummaryRefused:
        return errors.SummaryRefused(SummaryProblem.SHORT, "Done.", verbatim("It is short."))
    error = kind.__new__(kind)
    HelixError.__init__(error, verbatim("It did not work."))
    return error


def test_each_error_has_an_explicit_level() -> None:
    """A new kind of error has to be put into one of the three lists."""
    levels = {kind.__name__: error_level(error_of(kind)) for kind in kinds()}
    expected = (
        dict.fromkeys(ALARMS, "error") | dict.fromkeys(WARNINGS, "warning") | dict.fromkeys(ANSWERS, "info")
    )
    assert levels == expected


def test_the_banner_has_the_level() -> None:
    """Nothing to compact is an answer; a full disk is not."""
    nothing, little = (
        error_notice(errors.CompactionRefused(verbatim(what)), print)
        for what in ("Nothing to compact yet.", "Not enough to compact yet.")
    )
    assert (nothing.level, nothing.key) == ("info", little.key), "the newer answer replaces the older one"
    assert error_notice(errors.StoreWriteFailed(verbatim("Couldn't save to disk.")), print).level == "error"
