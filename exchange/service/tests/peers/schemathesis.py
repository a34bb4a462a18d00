"""Runs `schemathesis` on the document that the gateway serves: every generated request must receive a response that
the contract allows.

    PYTHONPATH=… python3 schemathesis.py DIRECTORY

DIRECTORY is the first line of `exchange-service sandbox --json`. This module signs the requests, because
`schemathesis` does not support DPoP. `schemathesis.toml` in the same folder lists the exceptions with their reasons.
Prints a line of JSON for each phase, `{name, ok, why}`. The file `said.txt` in the working folder contains the findings,
and how to reproduce them. `cargo xtask peers schemathesis` runs this script. `SCHEMATHESIS_EXAMPLES=400` generates ten
times as many requests per operation, and `SCHEMATHESIS_SEED=7` sets another seed.
"""

import json
import os
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

# This file has the same name as the library, and Python searches the script's folder first.
HERE = Path(sys.path.pop(0))

import requests
import schemathesis
from requests_oauth2client import DPoPKey, OAuth2Client
from schemathesis.cli import schemathesis as command
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import CoverageScenario

DIRECTORY = json.loads(sys.argv[1])
GATEWAY, CONTROL, ISSUER = (DIRECTORY[name] for name in ("gateway", "control", "issuer"))
FIXTURES = HERE / "../../../../schemas/fixtures"
# The origin in the contract's documents.
PUBLISHED = "https://exchange.example"
SEED = os.environ.get("SCHEMATHESIS_SEED", "20")
EXAMPLES = os.environ.get("SCHEMATHESIS_EXAMPLES", "40")
# Other tests cover the limits; here the clock is advanced before they are reached.
A_MINUTE_AFTER, A_DAY_AFTER = 80, 400


class Member:
    """The sender of the requests: a connection of the sandbox's client, which uses the clock of the sandbox."""

    def __init__(self):
        document = requests.get(f"{ISSUER}/.well-known/openid-configuration", timeout=10).json()
        device = document["device_authorization_endpoint"]
        self.client = OAuth2Client.from_discovery_document(
            document, issuer=ISSUER, client_id="sandbox-client", device_authorization_endpoint=device, testing=True
        )
        self.scope = " ".join(document["scopes_supported"])
        self.ahead, self.sent = 0, 0
        self.key = DPoPKey.generate(iat_generator=lambda: int(datetime.now(timezone.utc).timestamp()) + self.ahead)
        self.sign_in()

    def sign_in(self):
        login = self.client.authorize_device(scope=self.scope)
        decision = {"userCode": login.user_code, "account": "sandbox-member"}
        requests.post(f"{CONTROL}/approve", json=decision, timeout=10).raise_for_status()
        self.token = self.client.device_code(login, dpop=True, dpop_key=self.key)

    def advance(self, seconds):
        requests.post(f"{CONTROL}/clock", json={"advanceSeconds": seconds}, timeout=10).raise_for_status()
        self.ahead += seconds
        self.token = self.client.refresh_token(self.token)

    def next(self):
        """Returns the token for the next request. Advances the clock before a limit is reached."""
        self.sent += 1
        if self.sent % A_DAY_AFTER == 0:
            self.advance(86_400)
        elif self.sent % A_MINUTE_AFTER == 0:
            self.advance(60)
        return self.token


class TokenAlone(requests.auth.AuthBase):
    """Sends a token without a proof."""

    def __init__(self, token):
        self.token = token

    def __call__(self, request):
        request.headers["Authorization"] = f"DPoP {self.token.access_token}"
        return request


MEMBER = Member()


def spoilt(case):
    """Returns the header that is deliberately invalid, `True` if it is not known which one is, or `None`."""
    if not case.meta or not case.meta.is_negative_at(ParameterLocation.HEADER):
        return None
    data = case.meta.phase.data
    return data.parameter if data.parameter_location == ParameterLocation.HEADER and data.parameter else True


@schemathesis.hook
def before_call(context, case, kwargs):
    """Signs a request, unless its proof is deliberately missing or invalid."""
    if not case.operation.definition.raw.get("security"):
        return
    wrong = spoilt(case)
    token = MEMBER.next()
    kwargs["auth"] = token if wrong not in (True, "DPoP") else TokenAlone(token)
    # Clients create a new key for each write.
    key = (case.headers or {}).get("Idempotency-Key")
    if key and wrong not in (True, "Idempotency-Key"):
        case.headers["Idempotency-Key"] = f"{key[:100]}.{MEMBER.sent}"
    if case.meta and not case.meta.is_negative_at(ParameterLocation.BODY):
        complete(case.body)


@schemathesis.check
def undeclared_method(context, response, case):
    """GW-03: replaces `unsupported_method` with the behavior of the exchange."""
    data = case.meta.phase.data if case.meta else None
    if getattr(data, "scenario", None) != CoverageScenario.UNSPECIFIED_HTTP_METHOD:
        return
    expect = {"HEAD": [200], "OPTIONS": [204], "TRACE": [404]}.get(case.method, [401, 404])
    assert response.status_code in expect, f"{case.method} is answered {response.status_code}"


def complete(body):
    """Adjusts a valid body to rules that the schema cannot express or the library does not support."""
    if isinstance(body, dict):
        # A27: the schema requires this with `dependentRequired`.
        if "nameLocale" in body:
            body.setdefault("name", "a name")
        # SHP-09: the schema also requires this with `dependentRequired`.
        if body.get("op") == "upsert" and "shipId" in body:
            body.setdefault("version", 1)
        # CON-09: pointers of undeclared properties have at most 200 characters, in which `~` and `/` count
        # twice.
        for name in [name for name in body if len(name) > 80]:
            del body[name]
        body = list(body.values())
    if isinstance(body, list):
        for part in body:
            complete(part)


def fetch(path):
    response = requests.get(f"{GATEWAY}/exchange/v1/{path}", timeout=10)
    response.raise_for_status()
    return response.text


def fetch_contract(folder):
    """Loads the served document and schemas, with references to schemas as paths of the folder."""
    (folder / "schemas").mkdir(parents=True, exist_ok=True)
    base = f"{PUBLISHED}/exchange/v1/schemas/"
    document = fetch("openapi.json").replace(base, "schemas/")
    missing, seen = set(referred(document)), set()
    while missing:
        name = missing.pop()
        seen.add(name)
        text = fetch(f"schemas/{name}")
        missing |= set(referred(text)) - seen
        schema = json.loads(text)
        del schema["$id"]
        (folder / "schemas" / name).write_text(json.dumps(schema), encoding="utf-8")
    document = json.loads(document)
    teach(document)
    (folder / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    return folder / "openapi.json"


def referred(text):
    return re.findall(r'"\$ref": "(?:schemas/)?([a-z-]+\.schema\.json)', text)


def teach(document):
    """Adds input for the phases `examples` and `stateful`: valid bodies, a name, and links between pages."""
    document["components"]["parameters"]["SchemaName"]["example"] = "page"
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    for operation in [operation for operation in operations if "requestBody" in operation]:
        for media in operation["requestBody"]["content"].values():
            schema = media["schema"]["$ref"]
            name = schema.removeprefix("schemas/").replace(".schema.json", "").replace("#/$defs/", "--")
            cases = sorted((FIXTURES / name / "valid").glob("*.json"))
            assert cases, f"{name} has no fixture"
            media["examples"] = {case.stem: {"value": json.loads(case.read_text("utf-8"))} for case in cases}
    for operation in [operation for operation in operations if operation["operationId"].endswith("_read")]:
        parameters = {"cursor": "$response.body#/nextCursor"}
        if any(parameter.get("$ref", "").endswith("/Cursor") for parameter in operation["parameters"]):
            link = {"operationId": operation["operationId"], "parameters": parameters}
            operation["responses"]["200"]["links"] = {"next": link}


def run(folder):
    """Runs the library, writes its output to a file, and returns the summary of its report."""
    document = fetch_contract(folder / "contract")
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    args = ["--config-file", str(HERE / "schemathesis.toml"), "run", str(document), "--url", GATEWAY]
    args += ["--seed", SEED, "--max-examples", EXAMPLES, "--generation-database", "none"]
    args += ["--workers", "1", "--continue-on-failure", "--no-color"]
    args += ["--report", "json", "--report-json-path", str(report)]
    with open(folder / "said.txt", "w", encoding="utf-8") as said:
        stdout = os.dup(1)
        os.dup2(said.fileno(), 1)
        try:
            command(args, standalone_mode=False)
        except SystemExit:
            # The report lists the findings.
            pass
        finally:
            sys.stdout.flush()
            os.dup2(stdout, 1)
    return json.loads(report.read_text("utf-8"))


def say(name, why=None):
    print(json.dumps({"name": name, "ok": why is None, "why": why}), flush=True)


def main():
    report = run(Path.cwd())
    for name, phase in report["phases"].items():
        done = phase["status"] in ("success", "failure")
        say(f"phase {name}", None if done else f"{phase['status']}: {phase['skip_reason']}")
    cases = report["test_cases"]
    tested = f"{report['operations']['tested']} operations, {cases['generated']} requests"
    findings = [f"{one['title']} ({', '.join(one['operations'])})" for one in report["failures"]]
    findings += [one["title"] for one in report["errors"]]
    if not report["complete"] or cases["errored"]:
        findings.append(f"it did not come to its end: {report['stop_reason']}")
    say(tested, f"{'; '.join(findings)}; said.txt shows each request" if findings else None)


main()
