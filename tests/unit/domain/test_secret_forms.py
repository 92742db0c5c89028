"""What has the form of a secret, and what only looks like one."""

from __future__ import annotations

import pytest

from helix_desktop.domain.secret_forms import has_form_of_secret, homes_in, merged, private_values
from tests.support.planted_secrets import Planted, planted_secrets

PLANTED = planted_secrets()


def found(text: str) -> list[str]:
    return list(merged(private_values(text)))


def test_there_are_29_kinds_and_more() -> None:
    assert len({planted.kind for planted in PLANTED}) >= 29
    assert len({planted.secret for planted in PLANTED}) == len(PLANTED)


@pytest.mark.parametrize("planted", PLANTED, ids=[planted.kind for planted in PLANTED])
def test_a_secret_of_each_kind_is_found_whole(planted: Planted) -> None:
    """Also within a text in JSON, where an escape stands before it."""
    rest = planted.text
    for value in sorted(found(planted.text), key=len, reverse=True):
        rest = rest.replace(value, "")
    assert planted.secret not in rest
    assert not any(planted.secret[at : at + 8] in rest for at in range(len(planted.secret) - 7))
    assert found(f"first\\n{planted.text}\\nlast"), "behind an escape"


@pytest.mark.parametrize(
    "text",
    [
        "Original token count: 10",
        "github.com/go-git/go-git@v5.17.2",
        "token count = 128000, max_tokens: 4096, total_tokens=12345",
        "readings.sort(key=lambda reading: reading.time), key=str.lower",
        "password: string;",
        "token: str, api_key: str | None = None",
        'password = os.environ["DB_PASSWORD"]',
        "const token = await getToken(session);",
        "token := cfg.Auth.Token",
        "this.password = password, login(user, password=password, token=auth_token)",
        "export API_KEY=$OPENAI_API_KEY; curl -H 'Authorization: Bearer $TOKEN'",
        "api_key: ${{ secrets.NPM_TOKEN }}",
        "API_KEY=<your-key> TOKEN=your-api-key-here PASSWORD=**** KEY=xxxxxxxx",
        "the --token option, --password string   the password to use, --token TOKEN",
        "Bearer authentication, a bearer token, Basic understanding of the basic authentication",
        "git push -u origin main; docker run -u 1000:1000 image",
        "sha256:9f3a" + "9f3a" * 15 + " and commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "h1:5sUyHd2fE5q8GkqQmVSx2tXnFbBUhXy0lEJkS0ZQY1A=",
        "0a1b2c3d-1111-4222-8333-444455556666 toolu_01CdZ1B1pwcES4k5x5LXVZhL",
        "2026-01-13-73ac8f88-cb29-458a-9f3a-aabbccddeeff",
        "test_a_gap_of_2_hours_is_reported_as_one_line (tests.test_cli)",
        "https://example.org/home/ada and ssh://git@github.com/o/r.git, git@github.com:o/r.git",
        "icon@2x.png, typescript@5.4.2, @scope/package@1.2.3, noreply@github.com",
        "4111 1111 1111 1112 and 1234 5678 9012 3456 and 1700000000000000",
        "DE00 3704 0044 0532 0130 00, GB12 ABCD",
        "primary_key = users.id, cache_key=session:list, key: 'created_at'",
        "The password: required. Secret: none. Token: expired",
        "machine learning, login form, password field",
        "postgres://user:password@localhost/db",
        "version: 1.2.3-beta.4, token_version=2.10.1",
        "secret_token_name = 'GITHUB_TOKEN'",
        '"tokenType": "identifier", "token": "identifier"',
        'if "-----BEGIN PRIVATE KEY-----" in text: CalculateAttributionWithAccumulated(DefaultEndpoints1)',
        "HEAD = '-----BEGIN PRIVATE KEY-----'\ndef join_all_of_the_lines(linesOfTheKeyItself): ...\n"
        "TAIL = '-----END PRIVATE KEY-----'",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert not found(text)


@pytest.mark.parametrize(
    "text",
    [
        "api_key=abcdef123456",
        "Authorization: Bearer qwertyuiop1",
        "OPENAI_API_KEY='battery1'",
        "clientSecret: staple22",
        "password=lambdalambda",
        '{\\"db\\": {\\"password\\": \\"hunter22x\\"}}',
        "https://files.example.org/a?sig=Zm9v1YmFy2YmF6cXV4MTIz",
        "Zx9" * 14,
        "a1b2c3d4e5_f6g7h8i9j0_k1l2m3n4o5p6",
    ],
)
def test_usual_forms_are_found(text: str) -> None:
    assert has_form_of_secret(text)


@pytest.mark.parametrize("line_end", ["\n", "\\n", "\r\n"])
def test_of_a_private_key_that_is_cut_the_lines_are_found(line_end: str) -> None:
    """What stands behind them stays."""
    lines = [f"MIIEvQ{number}" + "aB3/" * 14 for number in range(3)]
    text = line_end.join(
        ("-----BEGIN RSA PRIVATE KEY-----", *lines, "", "CalculateAttributionWithAccumulated")
    )
    assert found(text) == lines


def test_a_login_in_an_address_is_no_mailbox() -> None:
    text = "https://bot:hunter22xyz@host.example.org/a and https://example.org/?by=ann@example.org"
    assert found(text) == ["bot:hunter22xyz@", "hunter22xyz", "ann@example.org"]


@pytest.mark.parametrize(
    ("text", "homes"),
    [
        ("/Users/dev25/Work/cli and /home/grace/x.py", ["/Users/dev25", "/home/grace"]),
        (r"C:\Users\grace\code", [r"C:\Users\grace"]),
        (r'{"path": "C:\\Users\\grace\\code"}', [r"C:\\Users\\grace"]),
        ("/home/runner/work /Users/Shared/x https://example.org/home/about src/home/page", []),
    ],
)
def test_home_folders_of_other_machines_are_found(text: str, homes: list[str]) -> None:
    assert list(merged(homes_in(text))) == homes
