"""Requests that were too large, read from a server's error in any wording.

Servers say it in dozens of ways and several languages, so nothing here is a list of messages. Three things
are told apart by the words around the numbers: the request's own length, the length of the answer (which says
nothing of the window), and a rate (for which the request only has to be smaller this once).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec

_CONTEXT = re.compile(
    r"context(?! ?(deadline|cancell?ed))|\bctx\b|n_ctx|num_ctx|max_model_len|max_seq_len|kontext|contexto"
    r"|contesto|kontekst|контекст|上下文|コンテキスト|文脈"
    r"|컨텍스트|문맥|bağlam|ngữ cảnh|konteks|سياق|संदर्भ|บริบท"
    r"|(model|sequence) length|token limit|\bkv[ _-]?cache"
)
_INPUT = re.compile(
    r"\bprompts?\b|\binputs?\b(?!\[)|\brequest\b|\bconversation\b|\bmessages?\b(?!\[|\.\d)|\bpayload\b"
    r"|提示|输入|輸入|对话|消息|プロンプト|入力|프롬프트"
    r"|입력|eingabe|anfrage|requête|entrée|entrada|solicitud"
    r"|petición|ingresso|richiesta|запрос|ввод|zapytani|wejści|istem|girdi|đầu vào|masukan"
    r"|अनुरोध|इनपुट|संदेश|الطلب|الإدخال|المدخل|คำขอ|ข้อความ|(prompt|input)_(tokens?|length)"
)
_OUTPUT = re.compile(
    r"max_?(completion_|new_|output_|gen_|response_)?tokens|completion|\boutput|\bresponse|\banswer|\breply"
    r"|generat|budget_tokens|\bthinking\b|输出|輸出|生成|回答"
    r"|回复|回覆|出力|応答|출력|응답|생성|ausgabe|antwort"
    r"|sortie|réponse|salida|respuesta|uscita|risposta|saída"
    r"|resposta|вывод|ответ|генер|wyjści|odpowied|çıktı"
    r"|yanıt|đầu ra|keluaran"
)
_RATE = re.compile(
    r"\bper[ _-]?(min|hour|day|sec|month|week)|per(minute|day|hour)"
    r"|/ ?(min|hour|day|sec|s\b|h\b|d\b)|\b[io]?[tr]p[mdsh]\b"
    r"|rate.?limit|throttl|\bminut|\bdaily\b|\bhourly\b"
    r"|每 ?(分|小时|天|日|秒|月)|/ ?(分|秒|天)|速率|限流|频率|毎分|分あたり"
    r"|1 ?分間|분당|일일|pro (stunde|tag|sekunde)|par (jour|heure|seconde)|por (d[ií]a|hora|segundo)"
    r"|al giorno|в (день|час|секунду)|na dzień|dakika|mỗi phút"
)
_TOO_MUCH = re.compile(
    r"too (long|large|big|many|much)|exceed|longer|larger"
    r"|greater|bigger|more than|overflow|oversize|reduce|shorten"
    r"|truncat|at most|less than|only (takes?|accepts?|fits?|has)"
    r"|(doesn't|does not|can't|cannot|won't) fit|no room"
    r"|above|beyond|\bover\b|maxim|\bmax\b|\blimit|should be|must be|[<>≤≥]"
    r"|超|过长|太长|過長|长度|最大|上限|限制|長すぎ|制限|초과|최대"
    r"|제한|너무|dépass|trop|limite|máxim|massim|excede|supera"
    r"|demasiad|überschr|überst|zu (lang|groß|viele)|höchst"
    r"|прев|слишком|лимит|предел|maks|przekr|za dług|aş[ıtm]"
    r"|sınır|vượt|quá|tối đa|melebihi|terlalu|ylitt|enintään|liian"
    r"|लंब|अधिक|सीमा|طويل|الحد|تجاوز|เกิน|สูงสุด|kv[ _-]?cache (is full|slot)"
)
_TOKEN_UNIT = re.compile(
    r"\s*(?:[个個枚]\s*)?(?:input |prompt )?"
    r"(token|tok\b|jeton|токен|トークン|토큰|令牌|词元|詞元|टोकन|โทเค|رمز|رموز|توكن|توکن)"
)
_FIELD = re.compile(
    r"(string|array|list|tools?|functions?|names?|ids?|description|schema|image|file|header|url|stop|metadata)\b"
    r"[^.]{0,20}(too (long|large|many)|maximum length)"
)
"""A field of the request that is too long by its own rule, which says nothing of the window."""

_WHOLE_INPUT = ("prompt", "prompts", "conversation")
"""Words for all that is sent: no other thing can be too long."""

_PHRASES = (
    "exceed_context_size",
    "request_too_large",
    "too large for model with",
    "exceeds the maximum number of tokens",
    "exceeds the limit of tokens",
    "reduce the length of the",
    "please shorten your",
)
_TOO_LONG = re.compile(
    r"too many (input |prompt |context )?tokens"
    r"|\b(prompts?|inputs?|conversation|context)( text| length)? (is |are |was )?too (long|large|big)"
)
_WAIT = re.compile(r"\bwait|try again|\bretry")
_LONG_STRING = re.compile(r"string_above_max_length|string too long")
_LEAST_TEXT = 10_000
"""Characters that the limit of a whole text has at least; shorter ones are limits of ids and names."""
_SHRINK = re.compile(
    r"too (large|long|big)|reduce (your|the) (message|prompt|input|request|length|size|number)"
)

_NUMBER = re.compile(
    r"(?<![a-z0-9_.\-])(\d{1,3}(?:[,.'’_ \u00a0\u202f]\d{3})+|\d{3,8}|\d{1,4}(?= ?[km万]))( ?k\b| ?m\b| ?万)?"
    r"(?![a-z0-9_.\-]*\d)"
)
_SCALES = {"k": 1_000, "m": 1_000_000, "万": 10_000}
_NOT_TOKENS = re.compile(
    r"[\s-]*(char|byte|[kmg]i?b\b|ms\b|s\b|sec|%|images?|tools?|字符|字节|字\b|文字|bajt|байт|symbol)"
)
_BATCH = re.compile(r"batch( of)?( size)?[ =:]*$")
"""Words before how many tokens a server reads at a time."""
_ADDED_OUTPUT = re.compile(r"\+[ `'\"]*max_\w+[`'\"]*")
"""An answer's length as a part of a sum whose limit is the window's."""
_SIZE_OF_CONTEXT = re.compile(
    r"context[ _-]?(size|length|window|limit)|n_ctx|max_(seq|model)_len|kv[ _-]?cache|上下文"
)
_RANGE = re.compile(r"\[ ?[01] ?, ?(\d{3,8}) ?\]")
_SUM = re.compile(
    r"(\d{3,8})[^\d+]{0,30}\+[^\d]{0,30}(\d{1,8})[^\d]{0,20}?([>≥]|greater than)[^\d]{0,20}(\d{3,8})"
)
_PAGES = re.compile(r"requires (\d+) pages \(only \d+ available\).{0,80}?\* (\d+) = (\d+) tokens")
"""What exllamav3 says: the pages of a request, the tokens of a page, those that its cache has."""
# Plausible window sizes in tokens: other numbers in an error are something else.
_MIN_WINDOW = 512
_MAX_WINDOW = 20_000_000

_REQUEST_LABEL = re.compile(
    r"request(ed|s)?\b|resulted in|\bgiven\b|\bgot\b|\bhas\b|\bhave\b"
    r"|\bhad\b|contain|received|\bused\b|passed|provided|actual"
    r"|current|prompt_tokens|n_tokens|your (prompt|input|message)"
    r"|sent|needs?\b|you |您的|你的|请求|实际|当前|共|传入|現在|현재"
    r"|demand|compte|tiene|contiene|enthält|hat\b|содержит|имеет|zawiera|ma\b"
)
_HAS = re.compile(r"\b(has|have|had|holds?|contains?|hat|tiene|contiene|compte|ma)\b")
_WINDOW_LABEL = re.compile(
    r"limit|max|window|size|length|at most|up to|no more than"
    r"|less than|only|allow|accept|support|loaded with|capacity"
    r"|[<>≤≥]=?|fenster|fenêtre|ventana|finestra|窗口|最大|上限|限制|限额|长度"
    r"|支持|不超过|最多|ウィンドウ|以下|まで|최대|제한|이하|límite|máxim"
    r"|limite|höchst|предел|лимит|максим|окн|maks|okn|sınır|tối đa"
)
_LABEL_REACH = 60
_FIELD_NAMES = re.compile(r"ctx|context|token|limit|max|length|actual|requested", re.IGNORECASE)
_LIMIT_HEADER = re.compile(r"(?=.*(token|context|prompt|input))(?=.*(limit|max|window|n-ctx))")
_REQUEST_HEADER = re.compile(r"(prompt|input|request|context)[a-z-]*token|token[a-z-]*(count|requested)")
_RATE_HEADER = re.compile(r"rate-?limit")
_OTHER_HEADER = re.compile(r"remaining|reset|output|completion|new-token")
_TOKEN_WORD = re.compile(r"tok\b|token|\btpm\b|токен|トークン|토큰|令牌|词元|詞元")
_USED = re.compile(r"\bused\b|\bconsumed|remaining|\bcurrent|\bleft\b|已用|已使用|剩余")
_BYTES_PER_TOKEN = 4
"""Bytes of a request's JSON that are about one token: of English text; code has 3."""
_CODE_FIELDS = ("code", "type", "status", "param")

_NEVER_OVERFLOW = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
_Label = Literal["window", "request", "output", ""]


class Overflow(NamedTuple):
    """A request that was too large: its tokens, and those that it may have, as the server counts.

    0: not said.
    `is_rate`: `limit` is what the account may use in some time, not the model's window.
    """

    request: int = 0
    limit: int = 0
    is_rate: bool = False


class _Amount(NamedTuple):
    """A number of tokens in a text, and what the words around it say it is."""

    tokens: int
    label: _Label


def read_overflow(
    status: int,
    body: str,
    message: str,
    headers: Mapping[str, str] = MappingProxyType({}),
    request_bytes: int = 0,
) -> Overflow | None:
    """Return what an error says of a request that is too large; None if that is not what it says.

    `message` is the text that was found in `body`. `status` is 0 inside a stream that names none. `headers`
    has lower-case names. `request_bytes` is the length of a request of text, 0 if that is not known.
    """
    if status in _NEVER_OVERFLOW:
        return None
    text = _ADDED_OUTPUT.sub("+", f"{message} {' '.join(_field_facts(body))}".lower())
    overflow = _read_rate(status, text, request_bytes) if _RATE.search(text) else _read_size(status, text)
    return _with_header_sizes(overflow, headers) if overflow and not overflow.limit else overflow


_OF_AN_IMAGE = re.compile(r"(per|each|single|one|an|the) (image|picture)|image[_ ]tokens?")


def is_about_window(text: str) -> bool:
    """Return True if an error that is about an image speaks of the window too; `text` in lower case."""
    if _CONTEXT.search(text):
        return True
    return _TOKEN_WORD.search(text) is not None and not _OF_AN_IMAGE.search(text)


def _read_size(status: int, text: str) -> Overflow | None:
    amounts = _amounts(text)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        request, limit = _sizes(text, amounts)
        is_beside_context = limit and any(_CONTEXT.search(part) for part in _words_before(text, limit))
        if not _is_too_large(status, text, amounts):
            return None
        return Overflow(request, limit, is_rate=not is_beside_context)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or _is_too_large(status, text, amounts):
        return Overflow() if _is_about_output(text) else Overflow(*_sizes(text, amounts))
    return None


def _read_rate(status: int, text: str, request_bytes: int) -> Overflow | None:
    """A rate: only a single request above the limit has to be smaller; others just have to wait."""
    if status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE and not _TOKEN_WORD.search(text):
        return None
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    requested = re.search(r"request(?:ed|s)?\D{0,20}(\d{3,8})", plain)
    limit = re.search(r"limit\D{0,20}(\d{3,8})", plain)
    if requested and limit:
        sizes = int(requested[1]), int(limit[1])
        return Overflow(*sizes, is_rate=True) if sizes[0] > sizes[1] else None
    amounts = [] if _USED.search(text) else [item for item in _amounts(text) if item.label != "output"]
    numbers = sorted({amount.tokens for amount in amounts})
    limits = {amount.tokens for amount in amounts if amount.label == "window"}
    is_refused = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or _SHRINK.search(text)
    match numbers:
        case [small, large] if is_refused or limits == {small}:
            return Overflow(large, small, is_rate=True)
        case [only] if limits and request_bytes > only * _BYTES_PER_TOKEN:
            return Overflow(0, only, is_rate=True)
    return Overflow(is_rate=True) if is_refused else None


def _with_header_sizes(overflow: Overflow, headers: Mapping[str, str]) -> Overflow:
    """Add what headers say of sizes; those of a rate count for a rate alone."""
    limits = set()
    requests = set()
    for name, value in headers.items():
        if not value.isdecimal() or not _plausible(int(value[:9])) or _OTHER_HEADER.search(name):
            continue
        if _LIMIT_HEADER.search(name):
            if overflow.is_rate or not _RATE_HEADER.search(name):
                limits.add(int(value))
        elif _REQUEST_HEADER.search(name):
            requests.add(int(value))
    limit = min(limits, default=0)
    request = max(requests, default=0)
    return overflow._replace(request=request if request > limit > 0 else overflow.request, limit=limit)


def _is_too_large(status: int, text: str, amounts: list[_Amount]) -> bool:
    if any(phrase in text for phrase in _PHRASES) or _PAGES.search(text):
        return True
    if _LONG_STRING.search(text):
        is_text = "content" in text or "input" in text.partition("[")[0]
        return is_text and any(amount.tokens >= _LEAST_TEXT for amount in amounts)
    about_output = _OUTPUT.search(text)
    about_context = _CONTEXT.search(text)
    if (too_long := _TOO_LONG.search(text)) and not _WAIT.search(text):
        return about_output is None or too_long.start() < about_output.start()
    if about_output and amounts and all(amount.label == "output" for amount in amounts):
        return False
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        about_context = _SIZE_OF_CONTEXT.search(text)
    numbers = {amount.tokens for amount in amounts if amount.label != "output"}
    if about_context and (len(numbers) > 1 or _TOO_MUCH.search(text)):
        return True
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or _FIELD.search(text):
        return False
    about_input = _INPUT.search(text)
    if about_output and not (about_input and about_input.start() < about_output.start()):
        return False
    if about_input and (excess := _TOO_MUCH.search(text)):
        if about_input[0] in _WHOLE_INPUT:
            return True
        return bool(
            amounts or "token" in text or _SHRINK.search(text) or "length" in text or not excess[0].isascii()
        )
    # A count of tokens, in whatever language, with another one or a word for too much.
    if any(_TOKEN_UNIT.match(text, match.end()) for match in _NUMBER.finditer(text)):
        return len(numbers) > 1 or bool(numbers and _TOO_MUCH.search(text))
    return len(numbers) > 1 and bool(_TOKEN_UNIT.search(text) and _TOO_MUCH.search(text))


def _is_about_output(text: str) -> bool:
    """Return True if the answer's length is what an error is about, with other limits only beside it."""
    output = _OUTPUT.search(text)
    others = [found for found in (_CONTEXT.search(text), _INPUT.search(text)) if found]
    return output is not None and all(output.start() < other.start() for other in others)


def _sizes(text: str, amounts: list[_Amount]) -> tuple[int, int]:
    """Return the tokens of the request and of the window; 0 where the text does not say them."""
    if _is_about_output(text):
        return 0, 0
    if within := _RANGE.search(text):
        return 0, _plausible(int(within[1]))
    if pages := _PAGES.search(text):
        return int(pages[1]) * int(pages[2]), _plausible(int(pages[3]))
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    if parts := _SUM.search(plain):
        return int(parts[1]) + int(parts[2]), _plausible(int(parts[4]))
    counted = [amount for amount in amounts if amount.label != "output"]
    numbers = sorted({amount.tokens for amount in counted})
    labels = {number: {amount.label for amount in counted if amount.tokens == number} for number in numbers}
    match numbers:
        case [small, large]:  # the request was too large for the window, with its answer if not alone
            is_alone = not ({"request"} >= labels[small] and {"window"} >= labels[large])
            return (large, small) if is_alone else (0, large)
    windows = {amount.tokens for amount in counted if amount.label == "window"}
    requests = {amount.tokens for amount in counted if amount.label == "request"} - windows
    if len(numbers) == 1:
        return (numbers[0], 0) if requests else (0, numbers[0])
    if len(windows) != 1:
        return 0, 0
    (limit,) = windows
    return max((tokens for tokens in requests if tokens > limit), default=0), limit


def _plausible(tokens: int) -> int:
    return tokens if _MIN_WINDOW <= tokens <= _MAX_WINDOW else 0


def _amounts(text: str) -> list[_Amount]:
    """Return the plausible numbers of tokens in a text, in order."""
    found = []
    for match in _NUMBER.finditer(text):
        scale = (match[2] or "").strip().lower()
        tokens = int(re.sub(r"\D", "", match[1])) * _SCALES.get(scale, 1)
        is_other = _NOT_TOKENS.match(text, match.end()) or _BATCH.search(text[: match.start()])
        if _plausible(tokens) and not is_other:
            found.append(_Amount(tokens, _label(text, match.start(), match.end())))
    return found


def _label(text: str, start: int, end: int) -> _Label:
    """Return what the nearest words before a number call it, else those behind it."""
    behind = re.split(r"[,;.:>\d]", text[end : end + 30], maxsplit=1)[0]
    if _OUTPUT.search(behind):
        return "output"
    before = re.split(r"\d", text[max(0, start - _LABEL_REACH) : start])[-1]
    last: dict[_Label, int] = {}
    kinds: tuple[tuple[_Label, re.Pattern[str]], ...] = (
        ("window", _WINDOW_LABEL),
        ("request", _REQUEST_LABEL),
        ("output", _OUTPUT),
    )
    for label, pattern in kinds:
        if places := [found.end() for found in pattern.finditer(before)]:
            last[label] = places[-1]
    context = _ends(_CONTEXT, before)
    if context > 0:
        last["window"] = max(last.get("window", 0), context)
    if "request" in last and context > _ends(_INPUT, before) and _HAS.search(before, context):
        del last["request"]  # "the context window has"
    if "output" in last and last["output"] < max(_ends(_INPUT, before), _ends(_CONTEXT, before)):
        del last["output"]
    if "output" in last and last["output"] >= max(last.get("request", 0), _ends(_CONTEXT, before)):
        return "output"
    if last:
        return max(last, key=lambda label: last[label])
    return "window" if _CONTEXT.search(behind) or _WINDOW_LABEL.search(behind) else ""


def _ends(pattern: re.Pattern[str], text: str) -> int:
    return max((found.end() for found in pattern.finditer(text)), default=-1)


def _words_before(text: str, tokens: int) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        if re.sub(r"\D", "", match[1]) == str(tokens):
            yield text[max(0, match.start() - _LABEL_REACH) : match.start()]


def _field_facts(body: str) -> Iterator[str]:
    """Yield what stands in fields of its own: codes, and counts as llama.cpp's "n_ctx 8192"."""
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left += item[:20]
        elif isinstance(item, dict):
            for name, part in item.items():
                is_count = isinstance(part, int) and not isinstance(part, bool)
                if (is_count or (isinstance(part, str) and part.isdecimal())) and _FIELD_NAMES.search(name):
                    yield f"; {name} {part}"
                elif isinstance(part, str) and name in _CODE_FIELDS:
                    yield f"; {part}"
                elif isinstance(part, dict | list):
                    left.append(part)
