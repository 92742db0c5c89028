"""What in a text has the form of a secret: keys by how they begin, and values by what stands before them.

A value without `=` or `:` before it is one only as an option (`--token V`, `-u user:V`), after Bearer or
Basic, and in a line of netrc. Versions, counts, digests, ids and code are none.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

PrivateKind = Literal[
    "configured",
    "key",
    "named",
    "login",
    "header",
    "cookie",
    "webhook",
    "private-key",
    "token",
    "card",
    "account",
    "email",
    "home",
    "name",
]
"""Why something is private.

`configured`: set in this app; `key`: by how it begins; `named`: the value of a password, key or token by its
name; `login`: in an address or an option; `header`: after Bearer or Basic; `token`: a long word of random
letters and digits; `card` and `account`: numbers whose check digits are right; `home`: the path of a home
folder; `name`: a name of the user's.
"""


class PrivateValue(msgspec.Struct, frozen=True):
    """Something private, and why. `label` is the name that stands before the value; empty without one."""

    kind: PrivateKind
    value: str
    label: str = ""


MIN_VALUE_LENGTH = 6  # characters of a password or key behind its name
_MIN_OF_LOGIN = 8  # characters by which the password of a login is looked for elsewhere
_MIN_RANDOM = 10  # characters of a part of a word that is taken for random
_MIN_DENSE = 16  # characters of a value that can be taken for random as a whole
_MIN_SIGNS = 8  # different ones in it
_MIN_CHANGES = 4  # between letters of either case and digits in a random part
_MIN_COOKIE = 12  # characters
_PHRASE_WORDS = range(3, 13)
_CHUNK_CHARS = 8_192  # that are searched at once, so that other threads run in between

# A key follows no letter, unless that is the end of an escape: "\n" in JSON, "%3D" in an address.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_KEYS = re.compile(
    _START
    + r"(?:"
    + "|".join(
        (
            r"sk-[A-Za-z0-9_-]{16,}",
            r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}",
            r"whsec_[A-Za-z0-9+/=]{16,}",
            r"gh[pousr]_[A-Za-z0-9]{16,}",
            r"github_pat_[A-Za-z0-9_]{20,}",
            r"gl(?:pat|ptt|dt|rt|soat|cbt|ft|imt|agent|oas)-[A-Za-z0-9_-]{16,}",
            r"xox[a-z]-[A-Za-z0-9-]{12,}",
            r"xapp-\d-[A-Za-z0-9-]{12,}",
            r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}",
            r"AIza[A-Za-z0-9_-]{20,}",
            r"GOCSPX-[A-Za-z0-9_-]{16,}",
            r"ya29\.[A-Za-z0-9_-]{20,}",
            r"1//0[A-Za-z0-9_-]{20,}",
            r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
            r"SK[0-9a-f]{32}\b",
            r"(?:bot)?\d{8,10}:AA[A-Za-z0-9_-]{30,}",
            r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
            r"npm_[A-Za-z0-9]{30,}",
            r"pypi-[A-Za-z0-9_-]{30,}",
            r"(?:hf|gsk|r8|lin_api|ntn|fo1)_[A-Za-z0-9]{20,}",
            r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
            r"do[opr]_v1_[0-9a-f]{32,}",
            r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{20,}",
            r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
            r"dapi[0-9a-f]{32}",
            r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
            r"AGE-SECRET-KEY-1[0-9A-Z]{30,}",
            r"secret_[A-Za-z0-9]{40,}",
            r"sntry[su]_[A-Za-z0-9+/=_-]{20,}",
            r"EAA[A-Za-z][A-Za-z0-9]{40,}",
            r"sq0[a-z]{3}-[A-Za-z0-9_-]{20,}",
            r"PMAK-[0-9a-f]{20,}-[0-9a-f]{30,}",
            r"figd_[A-Za-z0-9_-]{20,}",
            r"sb[ps]_[0-9a-f]{32,}",
            r"dp\.[a-z]{2,5}\.[A-Za-z0-9]{30,}",
            r"HRKU-[A-Za-z0-9_-]{30,}",
            r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}",
            r"[0-9a-f]{32}-us\d{1,2}\b",
            r"key-[0-9a-f]{32}\b",
            r"NR(?:AK|JS)-[A-Za-z0-9]{20,}",
            r"rubygems_[0-9a-f]{40,}",
            r"tskey-[a-z]+-[A-Za-z0-9-]{16,}",
            r"xkeysib-[0-9a-f]{40,}",
            r"pscale_[a-z]+_[A-Za-z0-9_-]{20,}",
            r"gl(?:sa|c)_[A-Za-z0-9_=]{20,}",
            r"(?:pplx|xai|nvapi|tvly)-[A-Za-z0-9_-]{20,}",
            r"AT(?:ATT3|BB|CTT3)[A-Za-z0-9_=-]{20,}",
            r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}",
        )
    )
    + r")"
)
_WEBHOOK = re.compile(
    r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)"
    r"|(?:\w+\.)?discord(?:app)?\.com/api(?:/v\d+)?/webhooks"
    r"|[\w-]+\.webhook\.office\.com/webhookb2|hooks\.zapier\.com/hooks/catch)"
    r"/([A-Za-z0-9_/@-]{12,})"
)
_PRIVATE_KEY = re.compile(r"-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY( BLOCK)?-----")
_BASE64_LINE = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9+/=])")
_CUT_KEY = re.compile(
    r"(?:(?:[ \t]*(?:\r?\n|(?:\\r)?\\n)[ \t]*|[ \t]+)[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9+/=]))+"
)
_MAX_KEY_CHARS = 20_000
_KEY_SHARE = 0.6  # of the characters between the first line of a key and its last

_STRONG = (
    r"passw(?:or)?d|passphrase|pwd|secret|token|credentials?"
    r"|(?:api|access|auth|private|signing|encryption|account|master|license|service)[_-]?key"
)
_NAMED = re.compile(  # the end of a name: searched from its beginning, it would take five times as long
    rf"(?i)(?P<end>{_STRONG}|key|authorization)"
    r"(?P<sep>(?:\\*[\"'`])?\]?\s{0,3}(?:=>|:=|=|:)\s{0,3})"
    r"(?:(?P<open>\\*[\"'`])(?P<quoted>(?:(?!(?P=open))(?:\\.|[^\\\n])){4,400})(?P=open)"
    r"|(?P<bare>[^\s'\"`,;&<>(){}\[\]\\|]{6,}))"
)
_STRONG_END = re.compile(rf"(?i)(?:{_STRONG}|authorization)$")
_NAME_CHARS = 40
_LOGIN_CHARS = 110  # of an address before the password of a login
_HEADER = re.compile(r"(?i)(?<![A-Za-z0-9])(?:bearer|basic)(?:\s+|%20)([A-Za-z0-9._~+/=-]{6,})")
_LOGIN = re.compile(r"(?<=://)([^/\s@:\"'<>`\\]{1,100}):([^/\s@\"'<>`]{1,200})@")
_OF_LOGIN = re.compile(r"://[^/\s@\"'<>`]*:$")
"""What stands before the password of a login in an address, which with the host looks like a mailbox."""
_LOGIN_ALONE = re.compile(r"(?<=://)([A-Za-z0-9_-]{16,})@")
_OPTION = re.compile(
    r"(?i)(?<![^\s\"'`(\[])--?([a-z0-9_-]{0,30}?(?:password|passwd|passphrase|pwd|secret|token|api-?key"
    r"|access-?key|auth-?key|secret-?key|bearer))(?:\s+|=)(?:\\*[\"'])?([^\s\"'`,;|&<>(){}\[\]\\]{6,})"
)
_USER_OPTION = re.compile(
    r"(?<![^\s\"'`(])(?:-u|--user|--proxy-user)[ =]?(?:\\*[\"'])?"
    r"([^\s:\"'\\=-][^\s:\"'\\]*):([^\s\"'`\\]{4,})"
)
_NETRC = re.compile(
    _START + r"machine\s+[^\s,]+\s+login\s+[^\s,]+\s+(?:account\s+\S+\s+)?password\s+([^\s\"'`\\]{4,})"
)
_COOKIES = re.compile(
    r"(?i)(?:(?<![A-Za-z0-9])(?:set-)?cookie\\*[\"']?\s{0,3}[:=]\s{0,3}\\*[\"']?"
    r"|(?<!\S)(?:-b|--cookie)\s+\\*[\"'])([^\n\"']{8,4000})"
)
_COOKIE = re.compile(r"([A-Za-z0-9_.%-]{2,60})=([^;\s,\"'\\]{6,})")
_SESSION_COOKIE = re.compile(
    r"(?i)(?<![A-Za-z0-9_.-])(PHPSESSID|JSESSIONID|ASP\.NET_SessionId|connect\.sid|sessionid|csrftoken"
    r"|laravel_session|_[a-z]+_session|[a-z]+_sess|sid|auth_session|__(?:Secure|Host)-[\w.-]+)"
    r"=([^;\s,\"'`\\&]{12,})"
)
_COOKIE_SETTINGS = frozenset((
    "expires", "path", "domain", "max-age", "samesite", "priority", "version", "lang", "locale",
    "theme",
))  # fmt: skip
_SIGNED = re.compile(
    r"(?i)(?<=[?&;])(sig|signature|key|code|auth|x-amz-signature|x-goog-signature|x-amz-security-token"
    r"|accountkey|sharedaccesskey)=([^&\s\"'`;<>\\]{10,})"
)
_LONG_TOKEN = re.compile(
    rf"{_START}(?=[A-Za-z0-9_-]{{0,80}}\d)(?=[A-Za-z0-9_-]{{0,80}}[G-Zg-z])[A-Za-z0-9_-]{{32,400}}"
    r"(?![A-Za-z0-9_+/=-])"
)
_CARD = re.compile(
    r"(?<![\w.+-])(?:[3-6]\d{3}([ -])\d{4}\1\d{4}\1\d{4}|3[47]\d{2}([ -])\d{6}\2\d{5}"
    r"|(?:4\d{15}|5[1-5]\d{14}|3[47]\d{13}|6011\d{12}))(?![\w-]|\.\d)"
)
_CARD_WORD = re.compile(r"(?i)card|visa|amex|\bpan\b|\bcvv|\bcvc|payment")
_ACCOUNT = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"
)
_ACCOUNT_DIGITS = {  # signs of an IBAN by country
    "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24,
    "FI": 18, "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IS": 26, "IT": 27,
    "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25,
    "RO": 24, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "TR": 26, "AE": 23, "BR": 29,
}  # fmt: skip
_EMAIL = re.compile(r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![\w@-]|\.\w)")
_NO_MAILBOX = re.compile(r"(?i)(?:git|hg|svn|noreply|no-reply|donotreply|actions)@|.*@users\.noreply\.")
_FILE_ENDINGS = frozenset((
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "cjs", "ts", "tsx", "jsx",
    "json", "css", "html", "md", "py", "go", "rs", "tgz", "zip", "gz", "whl", "jar", "yml",
    "yaml", "toml", "txt", "service",
))  # fmt: skip
_HOME = re.compile(
    r"(?:(?<![\w.:/\\-])/(?:home|Users)/|(?<![A-Za-z0-9])[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/))"
    r"([A-Za-z0-9][\w.-]{1,40}?)(?=\.?(?:[^\w.-]|$))"
)
_NO_OWN_HOME = frozenset((
    "user", "users", "username", "runner", "ubuntu", "root", "node", "vscode", "vagrant", "app",
    "me", "you", "name", "admin", "public", "default", "shared", "guest", "test", "linuxbrew",
    "build", "circleci", "dev", "someone", "foo", "bar", "alice", "bob", "jovyan", "codespace",
    "your-name", "yourname",
))  # fmt: skip

_SHA = re.compile(
    r"(?i)(?:[0-9a-f]{40}|[0-9a-f]{56,64}|[0-9a-f]{96}|[0-9a-f]{128}|[0-9a-f]{7,12}|[0-9a-f]{32})"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID = re.compile(
    r"(?:[a-z]+_)?(?:toolu|tooluse|call|msg|req|resp|rs|fc|run|item|chatcmpl|gen|evt|cus|sess|session)[_-]"
)
_NUMBER = re.compile(r"v?[\d.,:/+_-]+(?:[a-z%]{1,3})?", re.IGNORECASE)
_VERSION = re.compile(r"[v^~=<>]{0,2}\d+(?:\.\d+)+(?:[-+.][\w.+-]*)?")
_CODE = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+\??!?")
_IDENTIFIER = re.compile(r"[A-Za-z_$]+(?:[A-Z][a-z]+|_[A-Za-z]+)+\d{0,2}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_PLACEHOLDER = re.compile(
    r"(?i)[$<{%\[*@#]|.*(?:\$\{|\{\{|<[a-z_ -]+>|\*{3,}|x{4,}|\.{3}|…|\[removed\]|redacted|replace[_-]?me)"
    r"|(?:your|my|the|some|an?|test|fake|dummy|sample|example|insert|enter|new|old)[-_ ]?"
    r"(?:api|secret|access|auth|personal|super|token|key|pass)?[-_ ]?"
    r"(?:\w*(?:key|token|secret|password|here|value))$"
)
_NAME_WORD = re.compile(
    r"(?i)pass(?:w|phr)|secret|token|key|env|config|value|input|param|auth|cred|field|null"
)
_WORDS = frozenset((
    "string", "number", "boolean", "required", "optional", "default", "undefined", "object",
    "integer", "lambda", "return", "function", "header", "bearer", "private", "public", "missing",
    "invalid", "expired", "unexpected", "something", "anything", "nothing", "readonly", "literal",
    "static", "prompt", "hidden", "option", "options", "before", "authentication",
    "authorization", "encryption", "protected", "manager",
))  # fmt: skip


def private_values(text: str) -> Iterator[PrivateValue]:
    """Yield everything private in a text by its form: secrets, numbers of cards and accounts, addresses."""
    yield from secrets_in(text)
    for chunk in _chunks(text):
        yield from _numbers(chunk)
        for match in _EMAIL.finditer(chunk):
            start = match.start()
            is_of_login = _OF_LOGIN.search(chunk, max(0, start - _LOGIN_CHARS), start)
            if _is_mailbox(match[0]) and not is_of_login:
                yield PrivateValue("email", match[0])


def homes_in(text: str) -> Iterator[PrivateValue]:
    """Yield the home folders that paths in a text begin with, of any machine; none that many share."""
    for chunk in _chunks(text):
        for match in _HOME.finditer(chunk):
            if match[1].casefold() not in _NO_OWN_HOME:
                yield PrivateValue("home", match[0], match[1])


def secrets_in(text: str) -> Iterator[PrivateValue]:
    """Yield what in a text has the form of a key, a token, a password or a login."""
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    if "machine" in text:
        yield from (PrivateValue("login", match[1]) for match in _NETRC.finditer(text))
    for chunk in _chunks(text):
        for match in _KEYS.finditer(chunk):
            if _has_random_part(match[0]) and not _PLACEHOLDER.match(match[0]):
                yield PrivateValue("key", match[0])
        for match in _WEBHOOK.finditer(chunk):
            yield from _webhook(match[1].strip("/"))
        yield from _named_values(chunk)
        yield from _logins(chunk)
        yield from _cookies(chunk)
        for match in _LONG_TOKEN.finditer(chunk):
            if _is_random(match[0]):
                yield PrivateValue("token", match[0])


def has_form_of_secret(text: str) -> bool:
    """Return True if something in a text has the form of a key, a token or a login."""
    return next(secrets_in(text), None) is not None


def _chunks(text: str) -> Iterator[str]:
    """Yield a text in parts of whole lines."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _CHUNK_CHARS)
        end = len(text) if end < 0 else end + 1
        yield text[begin:end]
        begin = end


def _private_keys(text: str) -> Iterator[PrivateValue]:
    """Yield private keys from their first line to their last, and each line: notes repeat single ones.

    Of one that is cut, the lines right behind its first one. Code that names these lines has no key between.
    """
    for match in _PRIVATE_KEY.finditer(text):
        footer = f"-----END {match[1]}PRIVATE KEY{match[2] or ''}-----"
        end = text.find(footer, match.end(), match.end() + _MAX_KEY_CHARS)
        cut = _CUT_KEY.match(text, match.end(), match.end() + _MAX_KEY_CHARS)
        body = cut[0] if cut is not None else ""
        if end >= 0:
            body = text[match.end() : end]
        body = re.sub(r"\\[nr]", "\n", body)
        lines = [found[0] for found in _BASE64_LINE.finditer(body)]
        if sum(map(len, lines)) < _KEY_SHARE * len("".join(body.split())) or not lines:
            continue
        if end >= 0:
            yield PrivateValue("private-key", text[match.start() : end + len(footer)])
        yield from (PrivateValue("private-key", line) for line in lines)


def _webhook(path: str) -> Iterator[PrivateValue]:
    yield PrivateValue("webhook", path)
    last = path.rsplit("/", maxsplit=1)[-1]
    if len(last) >= _MIN_COOKIE and last != path:
        yield PrivateValue("webhook", last)


def _named_values(chunk: str) -> Iterator[PrivateValue]:
    for match in _NAMED.finditer(chunk):
        quoted = match["quoted"]
        value = quoted if quoted is not None else match["bare"]
        scheme, _, rest = value.partition(" ")
        if scheme.casefold() in ("bearer", "basic", "token", "digest") and rest:
            value = rest.strip()
        if quoted is None:
            value = value.rstrip(".:!?")
        following = chunk[match.end() : match.end() + 1]
        name = _whole_name(chunk, match)
        is_login = chunk.endswith("://", 0, match.end("end") - len(name))
        if (
            name
            and not is_login
            and _is_secret(name, match["sep"], value, following, is_quoted=quoted is not None)
        ):
            yield PrivateValue("named", value, name)
    for match in _HEADER.finditer(chunk):
        value = match[1].rstrip(".")
        if _is_header_value(match[0], value):
            yield PrivateValue("header", value)
    for match in _OPTION.finditer(chunk):
        if _is_option_value(match[1], match[2]):
            yield PrivateValue("named", match[2], f"--{match[1]}")
    for match in _SIGNED.finditer(chunk):
        if has_digit_and_letter(match[2]) and not _is_plain(match[2]):
            yield PrivateValue("named", match[2], match[1])


def _whole_name(chunk: str, match: re.Match[str]) -> str:
    """Return the name that ends before a value; empty for a word that only ends like one: "monkey"."""
    begin = match.start()
    while begin > 0 and match.start() - begin < _NAME_CHARS and _is_of_name(chunk[begin - 1]):
        begin -= 1
    if chunk[begin - 1 : begin] == "\\" and begin < match.start():  # the letter of an escape: "\n"
        begin += 1
    name = chunk[begin : match.end("end")]
    is_whole = _STRONG_END.search(name) or len(name) == len(match["end"]) or name[-4] in "_-."
    return name if is_whole else ""


def _is_of_name(sign: str) -> bool:
    return sign.isalnum() or sign in "_.-"


def _logins(chunk: str) -> Iterator[PrivateValue]:
    for match in _LOGIN.finditer(chunk):
        password = match[2]
        if _is_password(password, match[1]):
            yield PrivateValue("login", f"{match[1]}:{password}@")
            if len(password) >= _MIN_OF_LOGIN:
                yield PrivateValue("login", password)
    for match in _LOGIN_ALONE.finditer(chunk):
        if has_digit_and_letter(match[1]) and not _is_plain(match[1]):
            yield PrivateValue("login", match[1])
    for match in _USER_OPTION.finditer(chunk):
        user, password = match.groups()
        if _is_password(password, user) and not (user.isdigit() and password.isdigit()):
            yield PrivateValue("login", password, user)


def _cookies(chunk: str) -> Iterator[PrivateValue]:
    for match in _COOKIES.finditer(chunk):
        for cookie in _COOKIE.finditer(match[1]):
            name = cookie[1].casefold()
            if name not in _COOKIE_SETTINGS and _is_cookie_value(cookie[2]):
                yield PrivateValue("cookie", cookie[2], cookie[1])
    for match in _SESSION_COOKIE.finditer(chunk):
        if _is_cookie_value(match[2]):
            yield PrivateValue("cookie", match[2], match[1])


def _is_cookie_value(value: str) -> bool:
    is_named = _PLACEHOLDER.match(value) or _VERSION.fullmatch(value) or _NUMBER.fullmatch(value)
    return len(value) >= _MIN_COOKIE and has_digit_and_letter(value) and not is_named


def _numbers(chunk: str) -> Iterator[PrivateValue]:
    for match in _CARD.finditer(chunk):
        digits = re.sub(r"[ -]", "", match[0])
        start = chunk.rfind("\n", 0, match.start()) + 1
        is_grouped = digits != match[0]
        if _is_card(digits) and (is_grouped or _CARD_WORD.search(chunk, start, match.start())):
            yield PrivateValue("card", match[0])
    for match in _ACCOUNT.finditer(chunk):
        if _is_account(match[0].replace(" ", "")):
            yield PrivateValue("account", match[0])


def _is_card(digits: str) -> bool:
    """Return True if the last digit is the check digit of the others, and not all are alike."""
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    digit_sums = (sum(divmod(value, 10)) for value in doubled)
    return sum(digit_sums) % 10 == 0 and len(set(digits)) > 1


def _is_account(account: str) -> bool:
    """Return True for an IBAN: of as many signs as its country has, with the right check digits."""
    if _ACCOUNT_DIGITS.get(account[:2]) != len(account):
        return False
    digits = "".join(str(int(sign, 36)) for sign in account[4:] + account[:4])
    return int(digits) % 97 == 1


def _is_mailbox(address: str) -> bool:
    ending = address.rsplit(".", 1)[1].casefold()
    is_file = ending in _FILE_ENDINGS
    return not is_file and not _NO_MAILBOX.match(address) and not address.startswith(("%", "."))


def _is_secret(name: str, separator: str, value: str, following: str, *, is_quoted: bool) -> bool:
    """Return True if the value of a name is a secret, not code, a type, a path, a count or an example."""
    value = value.strip()
    name = name.casefold()
    if len(value) < MIN_VALUE_LENGTH or _PLACEHOLDER.match(value) or _is_place(value):
        return False
    if not is_quoted and (following in ("(", "[", "{", "<") or _CODE.fullmatch(value)):
        return False
    if _STRONG_END.search(name) is None:  # "key" alone: of a map, of a sort
        is_one_word = separator == "=" and len(value) >= _MIN_COOKIE and value.isalnum()
        is_mixed = is_one_word and has_digit_and_letter(value)
        return (_is_dense(value) or is_mixed) and not _is_known(value)
    is_password = re.search(r"passw|passphrase|pwd$|secret$", name) is not None
    if " " in value:
        words = value.split()
        is_sentence = value[:1].isupper() or _NAME_WORD.search(value) is not None
        is_phrase = is_quoted and len(words) in _PHRASE_WORDS and value.islower()
        return is_password and is_phrase and not is_sentence
    if _NUMBER.fullmatch(value) or _VERSION.fullmatch(value):
        return is_password and value.isdigit()
    if _IDENTIFIER.fullmatch(value) or value.casefold() in _WORDS:
        return False
    if any(sign.isdigit() for sign in value):
        is_id = _UUID.fullmatch(value) is not None or _ID.match(value) is not None
        return not is_id and not (_NAME_WORD.search(value) and len(value) < _MIN_COOKIE + 4)
    if _NAME_WORD.search(value) or not is_password:
        return _is_dense(value)
    if is_quoted:
        return len(value) >= MIN_VALUE_LENGTH + 2 and value.isprintable() and not value.endswith(":")
    is_setting = separator == "=" and following not in (",", ")")
    is_line = ":" in separator and following in ("", "\n", "\r") and len(value) >= MIN_VALUE_LENGTH + 2
    return is_setting or is_line


def _is_header_value(header: str, value: str) -> bool:
    if _PLACEHOLDER.match(value) or _VERSION.fullmatch(value):
        return False
    if header[:5].casefold() == "basic":
        return _is_basic_login(value)
    return has_digit_and_letter(value) and not _UUID.fullmatch(value)


def _is_basic_login(value: str) -> bool:
    """Return True if a value is `user:password` in Base64."""
    try:
        login = b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in login and login.isascii() and login.decode("ascii").isprintable()


def _is_option_value(name: str, value: str) -> bool:
    if value.startswith("-") or _PLACEHOLDER.match(value) or _is_place(value) or value.isupper():
        return False
    if value.casefold() in _WORDS or _IDENTIFIER.fullmatch(value) or _CODE.fullmatch(value):
        return False
    if _NUMBER.fullmatch(value) or _VERSION.fullmatch(value):
        return False
    if "pass" in name.casefold():
        return (len(value) >= MIN_VALUE_LENGTH + 2 and not _NAME_WORD.search(value)) or has_digit_and_letter(
            value
        )
    return has_digit_and_letter(value)


def _is_password(password: str, user: str) -> bool:
    plain = ("pass", "password", "passwd", "pwd", "secret", "token", "pw123", "port", user.casefold())
    return (
        not _PLACEHOLDER.match(password)
        and password.casefold() not in plain
        and not _CODE.fullmatch(password)
    )


def _is_place(value: str) -> bool:
    """Return True for a path or an address."""
    return re.match(r"(?:\.{0,2}|~)/|https?:|file:|[A-Za-z]:\\", value) is not None


def has_digit_and_letter(value: str) -> bool:
    return any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)


def _is_dense(value: str) -> bool:
    """Return True if a value has no spaces, and letters and digits in a disorder that names do not have."""
    if len(value) < _MIN_DENSE or " " in value or _is_place(value):
        return False
    is_varied = len(set(value)) >= _MIN_SIGNS
    return has_digit_and_letter(value) and is_varied and not is_name_of_words(value)


def _is_plain(value: str) -> bool:
    return _is_known(value) or is_name_of_words(value)


def _is_known(value: str) -> bool:
    """Return True for what is known to be no secret by itself: a digest, an id, a number, a name in code."""
    known = (_SHA, _UUID, _VERSION, _NUMBER, _CODE)
    return any(form.fullmatch(value) for form in known) or bool(_ID.match(value))


def is_name_of_words(value: str) -> bool:
    """Return True for words, numbers and digests that `-`, `_` or `.` join: no part of them is random."""
    return not any(_is_random_part(part) for part in re.split(r"[_.-]+", value))


def _has_random_part(key: str) -> bool:
    parts = re.split(r"[_.:/-]+", key)
    return any(_is_random_part(part) or len(part) >= _MIN_DENSE for part in parts)


def _is_random_part(part: str) -> bool:
    if len(part) < _MIN_RANDOM or part.isdigit() or _SHA.fullmatch(part):
        return False
    if not any(sign.isdigit() for sign in part):
        return False
    return _changes_of_class(part) >= _MIN_CHANGES


def _changes_of_class(part: str) -> int:
    """Count where lower case, upper case and digits follow each other; `aB` at the head of a word is none."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", part)
    return len(words) - 1


def _is_random(token: str) -> bool:
    """Return True for a long word of letters and digits that is no digest, no id and no name."""
    if _is_plain(token):
        return False
    random = sum(len(part) for part in re.split(r"[_-]+", token) if _is_random_part(part))
    return 2 * random >= len(token)


def merged(values: Iterable[PrivateValue]) -> dict[str, PrivateValue]:
    """Return the first reason of each value, by the value."""
    found = dict[str, PrivateValue]()
    for private in values:
        found.setdefault(private.value, private)
    return found
