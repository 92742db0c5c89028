"""Why a server can't be reached or asked: what happened, why, and what to do."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import (
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
    verbatim,
)
from helix_desktop.mcp.client.process import MAX_MESSAGE_BYTES

_text = TextContext("MCP")

NOT_TAKEN = -1
"""The code of an error answer of our own: the server did not take the request."""

_CHECK_ADDRESS = _text("Check that the server is running, and check the address.")
_CHECK_PATH = _text("Check the path of the URL: it often ends in /mcp.")
_STATUS_TEXTS: dict[int, tuple[TranslatableText, TranslatableText]] = {
    HTTPStatus.UNAUTHORIZED: (
        _text("It needs a key, or doesn't accept the one that was sent."),
        _text("Add a valid key to its headers, mostly in an Authorization header."),
    ),
    HTTPStatus.FORBIDDEN: (
        _text("The key may lack permission, or the server refuses this app."),
        _text("Check the key in its Authorization header, and what that may do."),
    ),
    HTTPStatus.NOT_FOUND: (_text("There may be no MCP server at this path."), _CHECK_PATH),
    HTTPStatus.METHOD_NOT_ALLOWED: (_text("There may be no MCP server at this path."), _CHECK_PATH),
    HTTPStatus.TOO_MANY_REQUESTS: (_text("It gets too many requests."), _text("Try again later.")),
}


class ConnectionFailure(HelixError):
    """A request got no answer of an MCP server.

    `is_taken`: the server may have acted on the request; else the connection has to be made anew.
    """

    def __init__(
        self,
        what: TranslatableText,
        why: OptionalText = "",
        fix: OptionalText = "",
        *,
        is_taken: bool = True,
    ) -> None:
        super().__init__(what, why, fix)
        self.is_taken = is_taken


FailureListener = Callable[[ConnectionFailure | None], None]
"""Is called with what went wrong with a request; with None when one was answered."""


def answer_too_large() -> ConnectionFailure:
    """Return the failure of an answer that was not read to its end."""
    return ConnectionFailure(
        _text("It sent an answer of over {count} MB.", count=MAX_MESSAGE_BYTES // 2**20),
        _text("More than that is not read."),
        _text("Ask it for less at once."),
    )


def unreachable(host: str, error: Exception) -> ConnectionFailure:
    """Return the failure of a connection that was not made."""
    why, fix = verbatim(as_sentence(str(error) or type(error).__name__)), _CHECK_ADDRESS
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError(verify_message=detail):
                why = _text("Its certificate isn't valid here ({detail}).", detail=detail)
                fix = _text("Check the name in the URL, and the clock and certificates of this computer.")
            case ssl.SSLError(reason=detail):
                why = _text(
                    "No secure connection ({detail}).", detail=(detail or "").replace("_", " ").lower()
                )
                fix = _text("Check http:// or https:// in the URL.")
            case socket.gaierror():
                why = _text("The name in the URL can't be found.")
                fix = _text("Check the address, and check the network.")
            case ConnectionRefusedError():
                why = _text("Nothing answers at this address.")
            case OSError(strerror=str(detail)):
                why = verbatim(as_sentence(detail))
            case _:
                continue
        break
    return ConnectionFailure(_text("Can't reach {host}.", host=host), why, fix, is_taken=False)


def no_answer(host: str, seconds: float, *, is_taken: bool = True) -> ConnectionFailure:
    """Return the failure of a server that stays silent."""
    what = _text("No answer from {host} within {seconds} s.", host=host, seconds=round(seconds))
    return ConnectionFailure(what, fix=_CHECK_ADDRESS, is_taken=is_taken)


def cut_off(host: str) -> ConnectionFailure:
    """Return the failure of a connection that ended before the answer."""
    what = _text("{host} ended the connection before its answer.", host=host)
    fix = _text("Check that the server is running, and http:// or https:// in the URL.")
    return ConnectionFailure(what, fix=fix)


def undecodable(host: str, error: Exception) -> ConnectionFailure:
    """Return the failure of an answer in a compression that is not read."""
    what = _text("The answer of {host} can't be unpacked ({detail}).", host=host, detail=str(error))
    return ConnectionFailure(what, fix=_text("Check the settings of a proxy or gateway in between."))


def session_lost(host: str) -> ConnectionFailure:
    """Return the failure of a request that a restarted server did not take."""
    what = _text("{host} doesn't know this session anymore.", host=host)
    why = _text("The server was restarted.")
    return ConnectionFailure(what, why, is_taken=False)


def refused(host: str, status: int, phrase: str) -> ConnectionFailure:
    """Return the failure of a request that was answered with an error status."""
    what = _text("{host} answered {status}.", host=host, status=f"{status} {phrase}".strip())
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        why, fix = (
            _text("The server has a problem of its own."),
            _text("Look at its log, or try again later."),
        )
    else:
        default = _text("It doesn't take the request."), _text("Check the path of the URL, and the headers.")
        why, fix = _STATUS_TEXTS.get(status, default)
    return ConnectionFailure(what, why, fix)


def other_content(host: str, media_type: str) -> ConnectionFailure:
    """Return the failure of a request that something else than an MCP server answered."""
    what = _text("{host} answered with {type}.", host=host, type=media_type[:80] or "no content type")
    return ConnectionFailure(what, _text("There may be no MCP server at this path."), _CHECK_PATH)


def other_message(host: str) -> ConnectionFailure:
    """Return the failure of a request that was answered with JSON that is no message of the protocol."""
    what = _text("{host} answered with JSON that isn't a message of the protocol.", host=host)
    return ConnectionFailure(what, _text("There may be no MCP server at this path."), _CHECK_PATH)


def error_reason(error: BaseException) -> TranslatableText:
    """Describe an error in whole sentences; of a group, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, HelixError):
        return join_sentences(error.what, error.why, error.fix)
    if type(error).__name__ == "ValidationError":  # its words are for programmers
        return _text("It sent something else than the protocol has in {place}.", place=fault_place(error))
    return verbatim(as_sentence(" ".join(str(error).split())[:500] or type(error).__name__))


def fault_place(error: Any) -> str:
    """Return where in a message something breaks the protocol, as "tools.3.name"."""
    faults = error.errors()
    place = ".".join(str(part) for part in faults[0]["loc"]) if faults else ""
    return place or "its answer"


def as_sentence(text: str) -> str:
    """Return a text with a mark at its end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error's causes from the first one on, which says the most, to itself."""
    if error is None:
        return
    for inner in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from _causes(inner)
    yield from _causes(error.__cause__ or error.__context__)
    yield error
