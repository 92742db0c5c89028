"""Made-up secrets of many kinds, well-formed each, with the line in which each stands, as in real sessions.

They are put together here, so that no tool that looks for secrets takes this file for a leak.
"""

from __future__ import annotations

import random
import string
from base64 import b64encode
from dataclasses import dataclass

LETTERS = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Planted:
    """A secret, and the text in which it stands; the secret can be only a part of what has to go."""

    kind: str
    secret: str
    text: str


def planted_secrets() -> tuple[Planted, ...]:
    """Return one secret of each kind."""
    source = random.Random(87)

    def signs(count: int, alphabet: str = LETTERS) -> str:
        """Return random signs, a digit and a letter among the first ones."""
        rest = "".join(source.choice(alphabet) for _ in range(count - 2))
        return f"{source.choice('abcdef')}{source.choice('23456789')}{rest}"

    def upper(count: int) -> str:
        return signs(count, UPPER).upper()

    openai = "sk-" + "proj-" + signs(40)
    anthropic = "sk-" + "ant-api03-" + signs(60)
    aws_id = "AK" + "IA" + upper(16)
    aws_key = signs(20) + "/" + signs(12) + "+" + signs(6)
    github = "gh" + "p_" + signs(36)
    github_fine = "github" + "_pat_" + signs(22) + "_" + signs(59)
    gitlab = "gl" + "pat-" + signs(20)
    slack = "xo" + "xb-" + "2410987654321-" + "2410987654322-" + signs(24)
    slack_path = "T0" + upper(8) + "/B0" + upper(8) + "/" + signs(24)
    google = "AI" + "za" + signs(35)
    stripe = "sk" + "_live_" + signs(24)
    sendgrid = "SG" + "." + signs(22) + "." + signs(43)
    telegram = "6123456789" + ":" + "AA" + signs(33)
    npm = "np" + "m_" + signs(36)
    pypi = "py" + "pi-" + "AgEIcHlwaS5vcmc" + signs(60)
    face = "h" + "f_" + signs(34)
    jwt = ".".join(("ey" + "J" + signs(20), "ey" + "J" + signs(50), signs(43)))
    pem_line = signs(64)
    pem = "-----BEGIN " + f"PRIVATE KEY-----\n{pem_line}\n{signs(64)}\n-----END " + "PRIVATE KEY-----"
    database = "Tr0ub4dor-" + signs(6)
    basic_password = "q7#" + signs(9)
    basic = b64encode(f"ada:{basic_password}".encode()).decode()
    bearer = signs(30)
    cookie = signs(32, LOWER)
    netrc = "netrc-" + signs(10)
    option = signs(28)
    user_option = "uP" + signs(10)
    variable = "correcthorsebattery"
    azure = signs(60) + "/" + signs(20) + "=="
    digital_ocean = "dop" + "_v1_" + signs(64, HEX)
    twilio = signs(32, HEX)
    discord = "M" + signs(25) + "." + signs(6) + "." + signs(38)
    yaml = "pl0ver-" + signs(6)
    passphrase = "violet anchor seventy lanterns"
    card = "4556 7375 8689 9855"
    account = "DE89 3704 0044 0532 0130 00"
    return (
        Planted("OpenAI", openai, f"The client got {openai}, and it works."),
        Planted("Anthropic", anthropic, f"ANTHROPIC_API_KEY={anthropic}"),
        Planted("AWS id", aws_id, f"aws configure set x {aws_id}"),
        Planted("AWS key", aws_key, f"aws_secret_access_key = {aws_key}"),
        Planted("GitHub", github, f"git clone https://x-access-token:{github}@github.com/o/r.git"),
        Planted("GitHub, fine-grained", github_fine, f"gh auth login uses {github_fine}"),
        Planted("GitLab", gitlab, f'curl -H "PRIVATE-TOKEN: {gitlab}" https://gitlab.com/api'),
        Planted("Slack", slack, f"slack said hello to {slack}."),
        Planted("Slack webhook", slack_path, "https://hooks.slack.com" + f"/services/{slack_path}"),
        Planted("Google", google, f"https://maps.googleapis.com/js?key={google}&v=3"),
        Planted("Stripe", stripe, f"stripe.api_key = '{stripe}'"),
        Planted("SendGrid", sendgrid, f"mail goes out with {sendgrid} now"),
        Planted("Telegram", telegram, f"https://api.telegram.org/bot{telegram}/getMe"),
        Planted("npm", npm, f"//registry.example/:_authToken={npm}"),
        Planted("PyPI", pypi, f"twine upload -p {pypi}"),
        Planted("Hugging Face", face, f"login(token={face!r})"),
        Planted("JSON web token", jwt, f"the answer was {jwt}"),
        Planted("private key", pem_line, f"I found this:\n{pem}\nin the folder."),
        Planted("login of a database", database, f"postgres://app:{database}@db.internal:5432/app"),
        Planted("Basic", basic, f"Authorization: Basic {basic}"),
        Planted("Bearer", bearer, f"curl -H 'Authorization: Bearer {bearer}'"),
        Planted("session cookie", cookie, f"Cookie: theme=dark; sessionid={cookie}; lang=en"),
        Planted("netrc", netrc, f"machine ftp.example.org login ada password {netrc}"),
        Planted("option", option, f"deploy --token {option} --verbose"),
        Planted("user option", user_option, f"curl -u ada:{user_option} https://example.org"),
        Planted("variable", variable, f"export DB_PASSWORD={variable}"),
        Planted("Azure", azure, f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={azure};x=1"),
        Planted("DigitalOcean", digital_ocean, f"doctl auth init -t {digital_ocean}"),
        Planted("Twilio", twilio, f'{{"account": "AC1", "auth_token": "{twilio}"}}'),
        Planted("Discord", discord, f"client.login says {discord}"),
        Planted("YAML", yaml, f"db:\n  password: {yaml}\n  port: 5432"),
        Planted("passphrase", passphrase, f'passphrase = "{passphrase}"'),
        Planted("card", card, f"Charge {card} for it."),
        Planted("bank account", account, f"Pay to {account}, please."),
        Planted("email address", "ada.lovelace@engines.org", "Ask ada.lovelace@engines.org about it."),
    )
