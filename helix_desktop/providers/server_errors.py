"""What the error of a server or the network means, and what the user is told of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec

from helix_desktop.domain.errors import (
    AuthenticationFailed,
    ContextWindowExceeded,
    ImagesRejected,
    InputFiltered,
    ModelError,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import OptionalText, TextContext, TranslatableText, verbatim
from helix_desktop.domain.unicode_safety import escape_hidden
from helix_desktop.providers.context_overflow import Overflow, is_about_window, read_overflow
from helix_desktop.providers.endpoint import ADDRESS_REMEDIES, Endpoint
from helix_desktop.providers.http import HttpError, HttpErrorKind
from helix_desktop.providers.retry import TransientError, is_transient, retry_after_s

text = TextContext("Providers")

MAX_QUOTE_CHARS = 400
"""Maximum number of characters of a server's text that are displayed."""

_IMAGE = re.compile(
    r"image|picture|photo|multi-?modal|\bvision\b|\bvisual|mmproj|\b(jpe?g|png|webp)\b|media[ _]?type"
    r"|图片|图像|圖片|多模态|画像|이미지"
)
_TEXT_ONLY = re.compile(
    r"text[- ]only|\bonly\b[^.;]{0,40}\btext|\btext\b[^.;]{0,20}\bonly\b|content[^.;]{0,60}\ba string"
    r"|expected a string|a valid string|(unsupported|unknown|invalid) content[ _](part|type|block)"
    r"|仅支持文本|只支持文本"
)
"""How servers refuse parts of a content that are not text: of all requests, only images make such parts."""

_NO_IMAGES = re.compile(r"image input|multi-?modal|mmproj|text[- ]only")
"""Words for rejected images with the status of a server's own error."""

_IMAGE_STATUSES = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.NOT_FOUND,  # OpenRouter: no endpoint of the model takes images
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.NOT_IMPLEMENTED,
    }
)

_TOOL_WORDS = (
    r"(?:\b(?:tools?(?:[ _-]?(?:use|calls?|calling|choice|param))?"
    r"|functions|function[ _-]?(?:use|calls?|calling))\b|工具|函数|関数|ツール|도구|함수)"
)
_CAN = r"(?:support|available|implement|enabled|allowed|permitted|possible|accepted)"
_CANNOT = r"(?:not|n't|cannot|unable to|incapable of) (?:yet |currently |natively )?"
_NO_TOOLS = re.compile(
    # "Tool use isn't supported", "tools param requires --jinja"
    rf"{_TOOL_WORDS}[^.;!?。]{{0,60}}?(\b(not|n't|never)( yet| currently)? {_CAN}|n't {_CAN}"
    r"|unsupported|unavailable|unimplemented|\bdisabled|\bnot support"
    r"|\brequires? (the )?[`'\"]?--|不支持|未开启|未启用|サポートされて|対応して|非対応|지원하지|지원되지)"
    # "doesn't support tools"
    rf"|{_CANNOT}(support|have|allow|accept|implement|handle|provide|offer|call|use|trained)"
    rf"[^.;!?]{{0,40}}?{_TOOL_WORDS}|\b(lacks?|without) (support|a template|a parser) for {_TOOL_WORDS}"
    rf"|(不支持|未开启|未启用)[^。]{{0,12}}{_TOOL_WORDS}"
    # "Unknown parameter: 'tools'", "no slot for functions", "remove `tools`"
    r"|(unsupported|unknown|unrecognized|unexpected|extra)[^.;!?]{0,40}?\b(tools|functions)\b(?![\[.\"']*\d)"
    r"|\bno (endpoints?|slots?|support|room|place|template|model)\b[^.;!?]{0,40}?\b(tools?|functions?)\b"
    r"|\b(remove|omit|drop|disable) (the )?[`'\"]?(tools|functions)\b"
)
_ONE_TOOL = re.compile(
    r"tools?[\[./]\[?\d|\btools?\W{1,4}\d|tool[ _]?(types?|names?|ids?|results?|messages?)\b|parallel"
    r"|schema|strict|additional ?properties|tool_call_id|tool_use_id|duplicate|too many|\bmaximum\b"
)
"""An error about a tool, a call or a field of it: the model can call others."""

_TOOLS_MAY_WORK = frozenset(
    {
        *(HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT),
        *(HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE),
        *(HTTPStatus.GATEWAY_TIMEOUT, 529),
    }
)
"""Statuses that say nothing of what a model can do."""

_NO_CREDIT = re.compile(
    r"insufficient[ _](quota|balance|credit|fund)|billing_hard_limit|credit balance"
    r"|(out of|no|not enough) credits?\b|payment required|余额不足|欠费"
    r"|(balance|credits?|funds)\b.{0,30}(exhaust|used up|depleted|too low|run out)"
)
_GONE = r"(exceed|exhaust|used up|reached|depleted|\bhit\b)"
_ALLOWANCE = (
    r"(\bquota|\b(monthly|weekly|daily|spend(ing)?|usage|billing|total|key)"
    r" (usage |token |credit )?(limit|cap|allowance|budget)s?"
    r"|(?<!thinking )(?<!reasoning )\bbudget|\bfree (tier|plan|quota)|\ballowance)\b"
)
_QUOTA = re.compile(rf"{_ALLOWANCE}.{{0,40}}{_GONE}|{_GONE}\w*\b.{{0,40}}{_ALLOWANCE}|配额|额度")
_BILLING = re.compile(
    r"\bbilling[^.]{0,30}(not[ _]active|inactive|disabled|enabl|required|suspend|past due|overdue|fail)"
    r"|\baccount is not active|\bsuspend[^.]{0,40}(billing|payment)|\bpast[ -]?due\b|\bunpaid\b|账单"
    r"|\bsubscription\b[^.]{0,20}(expired|inactive|cancel|ended|suspend|lapsed)"
    r"|\bpayment method[^.]{0,15}(required|declined|missing|expired|invalid|fail)"
)
_BILLING_STATUSES = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
_KEY = re.compile(
    r"\b(api[ _-]?)?keys?\b|\btoken\b(?! limit)|\bcredential|\bauthenticat|\bauthoriz|\bpermission"
    r"|\bscopes?\b|密钥"
)
_SHORT_RATE = re.compile(r"per ?(min|sec)|perminute|retry.?delay|try again in \d|retry in \d|每分|每秒")
"""A quota that is renewed within minutes: waiting helps."""

_STATUS_OF: dict[str, int] = {
    "overloaded_error": 529,
    "overloaded": 529,
    "timeout_error": HTTPStatus.GATEWAY_TIMEOUT,
    "rate_limit_error": HTTPStatus.TOO_MANY_REQUESTS,
    "rate_limit_exceeded": HTTPStatus.TOO_MANY_REQUESTS,
    "billing_error": HTTPStatus.PAYMENT_REQUIRED,
    "authentication_error": HTTPStatus.UNAUTHORIZED,
    "permission_error": HTTPStatus.FORBIDDEN,
    "not_found_error": HTTPStatus.NOT_FOUND,
    "model_not_found": HTTPStatus.NOT_FOUND,
    "request_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "invalid_prompt": HTTPStatus.BAD_REQUEST,
}
"""The HTTP status for an error's type or code inside a stream (Anthropic, OpenAI)."""

_NO_MODEL = re.compile(
    r"\bmodel\b(?:[^.;]|\.(?=\S)){0,100}\b(not found|(does not|doesn't|not) exist)"
    r"|\b(no such|unknown) model\b"
)
"""How servers say that a model is not there, in lower case."""

_SUCCESS_CODES = ("0", "200")
_AT_WORK = re.compile(r"(keep[ _-]?alive|(heart ?)?beat|ping|pong|processing|ok|success)?\W*", re.IGNORECASE)
"""Texts by which servers keep a connection open."""

_END_OF_STATUSES = 600
_CLIENT_ERROR_WORDS = ("invalid_", "image_", "_policy")
"""Parts of codes that blame the request."""


def is_image_refused(status: int, error_text: str) -> bool:
    """Return True if the error of a request with images is about one of them; `error_text` in lower case."""
    if status in _IMAGE_STATUSES:
        is_refused_part = status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE and _TEXT_ONLY.search(error_text)
        return bool(_IMAGE.search(error_text) or is_refused_part)
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR and _NO_IMAGES.search(error_text) is not None


def is_without_tools(status: int, error_text: str) -> bool:
    """Return True if an error says that the model, its template or its server has no tool calling.

    `status` is 0 inside a stream that names none; `error_text` in lower case.
    """
    if status in _TOOLS_MAY_WORK or _ONE_TOOL.search(error_text):
        return False
    return _NO_TOOLS.search(error_text) is not None


def is_quota_used_up(error_text: str) -> bool:
    """Return True if an error says that a quota is used up, for longer than one waits.

    `error_text` in lower case.
    """
    return _QUOTA.search(error_text) is not None and _SHORT_RATE.search(error_text) is None


def error_in(chunk: Mapping[str, Any], *, is_complete: bool = False) -> Any:
    """Return the error that a chunk of an answer, or a whole one, is instead; None if it is none.

    Beside the usual `error` field servers send `object: error`, a status with a text, or only a text: that
    is no error once the answer `is_complete`, of a request that succeeded, or of a server that is at work.
    """
    error = chunk.get("error")
    if error or "error" in (chunk.get("type"), chunk.get("object")):
        return chunk if not error or error is True else error
    if any(chunk.get(field) for field in _ANSWER_FIELDS):
        return None
    status = chunk.get("base_resp")  # of MiniMax
    if isinstance(status, Mapping):
        return status if status.get("status_code") else None
    texts = [chunk[field] for field in _TEXT_FIELDS if isinstance(chunk.get(field), str | list)]
    is_success = chunk.get("success") is True or str(chunk.get("code")) in _SUCCESS_CODES
    is_at_work = all(isinstance(part, str) and _AT_WORK.fullmatch(part.strip()) for part in texts)
    return None if is_complete or is_success or is_at_work or not any(texts) else chunk


def status_of_error(error: Any) -> int:
    """Return the status that an error in a stream stands for; else 0.

    By its `code`, `status` or `type`, or by the text of one without: to ask again for a model that is not
    there would give the same for minutes.
    """
    if not isinstance(error, dict):
        return 0
    codes = [str(error.get(key)) for key in ("code", "status", "type")]
    for code in codes:
        if code.isdecimal() and HTTPStatus.BAD_REQUEST <= int(code[:6]) < _END_OF_STATUSES:
            return int(code)
        if code in _STATUS_OF:
            return int(_STATUS_OF[code])
    if any(part in code for code in codes for part in _CLIENT_ERROR_WORDS):
        return int(HTTPStatus.BAD_REQUEST)
    return int(HTTPStatus.NOT_FOUND) if _NO_MODEL.search(_find_message(error).lower()) else 0


_FILTER = re.compile(
    r"content.{0,3}filter|filter(ed|ing)\b|by (a|the|our) filter|safety|moderation|guardrail|flagged"
    r"|prohibited.content|content.?polic|usage (polic|guideline)|inappropriate|sensitive (word|content)"
    r"|data_?inspection|content exists risk|high risk|敏感|违规|不安全"
)
"""How filters refuse a request, in lower case."""

_FILTER_STATUSES = frozenset(
    {0, HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY, 451}
)

_OTHER_CAUSE = re.compile(
    # the length of the answer
    r"max_?(completion_?|output_?|new_?)?tokens|\bmax(imum)? ((number of )?(output|completion|new) )?tokens"
    r"|\boutput tokens"
    # a key, an account
    r"|\bapi[ _-]?keys?\b|\b(access|auth|bearer) token|(?m:^invalid token\W*$)|unauthori[sz]ed"
    r"|\bcredentials?\b|\barrearage|\binsufficient_quota"
    # a model
    r"|\bmodel[ _]?(names?|ids?|identifiers?)\b|\b(invalid|unsupported) model\b|\bno models? (is )?loaded"
    r"|\bmodel( [`'\"]?[\w./:@-]+[`'\"]?)? ((is|was|has been) )?(not (available|supported|loaded|served)"
    r"|decommissioned|deprecated|retired)|\bmodel_not_(found|supported)|\bno endpoints found"
)
"""Words of refusals that no other form of the request prevents, in lower case."""
_OF_THE_FORM = re.compile(
    r"\b(roles?|content|messages?|tools?|function|image|field|param\w*|schema|template|jinja|alternate"
    r"|argument|invalid|unsupported|expected|unexpected|null|missing|unknown|validation|item|id"
    # what the programs of servers say where they stumble over a request
    r"|nonetype|undefined|concatenate|attribute|typeerror|keyerror|valueerror)\b"
)
"""Words by which servers blame the form of a request, whatever their status; in lower case."""


def is_form_refused(status: int, body: str, error: ModelError | TransientError) -> bool:
    """Return True if a refusal may be about the form of the request: a plainer one may be answered.

    `error` is what the refusal was read as. Statuses that mostly mean something else (403, 404, 500, and 0
    inside a stream) count only with words about a request.
    """
    lowered = f"{extract_error_text(body)}".lower()
    with_codes = with_error_codes(lowered, body)
    is_other = (
        _NO_CREDIT.search(with_codes)
        or _QUOTA.search(with_codes)
        or _BILLING.search(with_codes)
        or _NO_MODEL.search(with_codes)
        or _NO_TOOLS.search(lowered)
        or _FILTER.search(with_codes)
        or _OTHER_CAUSE.search(with_codes)
    )
    if is_other or not (type(error) is ModelRequestRejected or isinstance(error, TransientError)):
        return False
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
        return True
    if status == HTTPStatus.FORBIDDEN and _KEY.search(lowered):
        return False
    is_listed = status in (0, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.INTERNAL_SERVER_ERROR)
    return is_listed and _OF_THE_FORM.search(lowered) is not None


def with_error_codes(error_text: str, body: str) -> str:
    """Return the text of an error with its codes: what else a body has may quote the request."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return error_text
    error = value.get("error") if isinstance(value, dict) else None
    objects = [part for part in (value, error) if isinstance(part, dict)]
    codes = [part.get(key) for part in objects for key in ("code", "type", "status", "param")]
    return "\n".join([error_text, *(code.lower() for code in codes if isinstance(code, str))])


def http_status_text(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def extract_error_text(body: str) -> TranslatableText:
    """Extract the message from a body of unknown form, as one short line without hidden characters."""
    try:
        message = _find_message(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        if _is_html(body):
            return text("The server sent a web page.")
        message = body
    return verbatim(ellipsize(escape_hidden(" ".join(message.split())), MAX_QUOTE_CHARS))


def _is_html(body: str) -> bool:
    return body.lstrip()[:15].lower().startswith(("<!doctype", "<html", "<head"))


def body_excerpt(body: str) -> TranslatableText:
    """Quote the beginning of what a server sent instead of an answer, as a sentence."""
    if _is_html(body):
        return text("The server sent a web page.")
    line = escape_hidden(" ".join(body[:200].split()))
    return text("The server sent: {line}", line=line) if line else text("The server sent nothing.")


_TEXT_FIELDS = ("errors", "message", "detail", "msg", "error_msg", "error_message", "status_msg")
_MESSAGE_FIELDS = ("error", *_TEXT_FIELDS, "description")
_ANSWER_FIELDS = ("choices", "type", "usage", "content", "output", "status")
"""Fields of answers and their events in all dialects: beside them, a text may be something else."""


def _find_message(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(_find_message(item) for item in value[:3])
    if isinstance(value, dict):
        named = {str(key).lower(): part for key, part in value.items()}
        messages = [named[key] for key in _MESSAGE_FIELDS if named.get(key) and named[key] is not True]
        metadata = value.get("metadata")
        quoted = metadata.get("raw") if isinstance(metadata, dict) else None
        if messages:
            return " ".join(_find_message(part) for part in (messages[0], quoted) if part)
    return "" if value is None else msgspec.json.encode(value).decode()


_BROKEN_OFF_TEXTS: Mapping[HttpErrorKind, TranslatableText] = {
    "cut": text("The response stopped early"),
    "stalled": text("The server stopped responding"),
    "idle": text("The server kept the connection open but sent nothing"),
}


def network_error(endpoint: Endpoint, http_error: HttpError) -> ModelUnreachable | TransientError:
    detail = endpoint.redact(http_error.detail)
    why: OptionalText = endpoint.redact_text(http_error.why) if http_error.why else ""
    what = text("Can't reach {provider} at {url}.", provider=endpoint.provider, url=endpoint.base_url)
    if http_error.kind == "address":
        fix = http_error.fix or text("Enter the base URL as https://host/v1 in Settings → Providers.")
        return ModelUnreachable(what, why or verbatim(detail), fix, remedies=ADDRESS_REMEDIES)
    if http_error.kind == "tls":
        fix = http_error.fix or text("Check http:// or https:// in the base URL.")
        why = why or text("No secure connection ({detail}).", detail=detail)
        return ModelUnreachable(what, why, fix, remedies=ADDRESS_REMEDIES)
    if http_error.kind == "connect":
        fix = http_error.fix or text(
            "Check that the server is running, and check the base URL and the network."
        )
        error = ModelUnreachable(what, why or verbatim(f"{detail}."), fix, remedies=ADDRESS_REMEDIES)
        address = urlsplit(endpoint.base_url).netloc
        reason = text(
            "No connection to {provider} at {address} ({detail})",
            provider=endpoint.provider,
            address=address,
            detail=detail,
        )
        return TransientError(reason, error)
    reason = _BROKEN_OFF_TEXTS[http_error.kind]
    error = ModelUnreachable(
        text("No complete answer came from {provider}.", provider=endpoint.provider),
        text("{reason} ({detail}).", reason=reason, detail=detail),
        text("No tools ran. Try again, or choose another model."),
    )
    return TransientError(reason, error)


def error_for_status(
    endpoint: Endpoint,
    status: int,
    body: str,
    headers: Mapping[str, str],
    *,
    model: str = "",
    now_s: float = 0.0,
    has_images: bool = False,
    is_streamed: bool = False,
    request_bytes: int = 0,
) -> ModelError | TransientError:
    """Map an error reply to an error. `now_s` is seconds since 1970.

    `has_images` says that the request contained images, `is_streamed` that the error came inside an
    answer: `status` is then what it stands for, which no server has sent, or 0. `request_bytes` is the
    length of the request.
    """
    message = endpoint.redact_text(extract_error_text(body))
    lowered = f"{body} {message}".lower()  # which JSON may hold in codes
    if status == HTTPStatus.PAYMENT_REQUIRED or _NO_CREDIT.search(lowered):
        return ModelRequestRejected(
            text("The account at {provider} has no credit left.", provider=endpoint.provider),
            message,
            text("Add credit there, or choose another model."),
        )
    is_about_image = has_images and is_image_refused(status, lowered)
    text_bytes = 0 if has_images else request_bytes
    overflow = read_overflow(status, body, message, headers, text_bytes)
    if overflow and not (is_about_image and not (overflow.limit and is_about_window(lowered))):
        return _overflow_error(endpoint, overflow, message, model)
    if is_about_image:
        return ImagesRejected(text("{provider} rejected an image.", provider=endpoint.provider), message)
    if is_quota_used_up(lowered) and retry_after_s(headers, now_s) is None:
        return ModelRequestRejected(
            text("The quota at {provider} is used up.", provider=endpoint.provider),
            message,
            text("Raise it there, wait until it is renewed, or choose another model."),
        )
    if status in _BILLING_STATUSES and _BILLING.search(lowered) and not _SHORT_RATE.search(lowered):
        return ModelRequestRejected(
            text("The account at {provider} has a billing problem.", provider=endpoint.provider),
            message,
            text("Solve it there, or choose another model."),
        )
    if is_without_tools(status, lowered):
        return ModelRequestRejected(
            text("{model} can't call tools.", model=model or endpoint.provider),
            message,
            text("Choose a model that can, or turn tool calling on at its server."),
        )
    if status in _FILTER_STATUSES and _FILTER.search(with_error_codes(f"{message}".lower(), body)):
        return InputFiltered(
            text("The content filter of {provider} refused the request.", provider=endpoint.provider),
            message,
            text("Rephrase the message, leave it out of the context, or choose another model."),
        )
    if is_transient(status) or (is_streamed and not status):
        status_name = "" if is_streamed else http_status_text(status)
        error = ModelUnreachable(
            text("{provider} couldn't answer ({status}).", provider=endpoint.provider, status=status_name)
            if status_name
            else text("{provider} reports an error in its answer.", provider=endpoint.provider),
            message,
            text("Try again later, or choose another model."),
        )
        reason = (
            text("{status}: {message}", status=status_name, message=message)
            if message and status_name
            else message or verbatim(status_name) or error.what
        )
        return TransientError(reason, error, retry_after_s(headers, now_s, body))
    return _refused_error(endpoint, status, message, headers, model, is_streamed=is_streamed)


def _overflow_error(
    endpoint: Endpoint, overflow: Overflow, message: TranslatableText, model: str
) -> ContextWindowExceeded:
    if overflow.is_rate:
        return ContextWindowExceeded(
            text("The request exceeds a rate limit of {provider}.", provider=endpoint.provider),
            message,
            text("Compact the conversation, raise the limit there, or choose another model."),
            request_tokens=overflow.request,
            window_size=overflow.limit,
            is_rate=True,
            remedies=("compact", "choose_model"),
        )
    return ContextWindowExceeded(
        text("The request exceeds the context window of {model}.", model=model)
        if model
        else text("The request exceeds the model's context window."),
        message,
        text("Compact the conversation, or correct the context window in Settings → Providers."),
        request_tokens=overflow.request,
        window_size=overflow.limit,
    )


def _refused_error(
    endpoint: Endpoint,
    status: int,
    message: TranslatableText,
    headers: Mapping[str, str],
    model: str,
    *,
    is_streamed: bool = False,
) -> ModelRequestRejected:
    if status == HTTPStatus.UNAUTHORIZED:
        if endpoint.has_key:
            what = text("{provider} rejected the API key.", provider=endpoint.provider)
            why = text("The key is wrong, has expired, or was revoked.")
        else:
            what = text("{provider} requires an API key.", provider=endpoint.provider)
            why = text("No key is saved for it.")
        return AuthenticationFailed(what, why, endpoint.key_advice, details=message)
    if status == HTTPStatus.FORBIDDEN:
        what = text("{provider} denied access.", provider=endpoint.provider)
        if message.strip() and not _KEY.search(message.lower()):  # it blames something else
            fix = text(
                "Check your account with {provider}, the base URL and the network, or choose another model.",
                provider=endpoint.provider,
            )
            return ModelRequestRejected(what, message, fix)
        why = message or text("The API key may lack permission for this request.")
        fix = text("Check the key's permissions, enter another key, or choose another model.")
        return ModelRequestRejected(what, why, fix, remedies=("enter_key", "choose_model"))
    if status == HTTPStatus.NOT_FOUND:
        what = (
            text("Model {model} not found on {provider}.", model=model, provider=endpoint.provider)
            if model
            else text("{url} returned 404 (Not Found).", url=endpoint.base_url)
        )
        fix = text("Check the model's name and the base URL {url}: most end in /v1.", url=endpoint.base_url)
        return ModelRequestRejected(what, message, fix, remedies=("choose_model", *ADDRESS_REMEDIES))
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        place = endpoint.redact(headers.get("location", ""))
        return ModelRequestRejected(
            text("{url} redirects to {place}.", url=endpoint.base_url, place=place)
            if place
            else text("{url} redirects to another address.", url=endpoint.base_url),
            text("API keys are never sent on to another address."),
            text("Enter the new base URL in Settings → Providers."),
            remedies=ADDRESS_REMEDIES,
        )
    what = (
        text("{provider} rejected the request.", provider=endpoint.provider)
        if is_streamed
        else text(
            "{provider} rejected the request ({status}).",
            provider=endpoint.provider,
            status=http_status_text(status),
        )
    )
    return ModelRequestRejected(
        what,
        message,
        text("Correct what the server names, or choose another model.")
        if message
        else text("Choose another model."),
    )
