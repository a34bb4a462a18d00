"""Runs the `example` of docs/clients.md against a sandbox, as a developer does who copies it.

    PYTHONPATH=… python3 documented_example.py DIRECTORY

DIRECTORY is the first line of `exchange-service sandbox --json`. Prints a line of JSON for each step,
`{name, ok, why}`, and stops after the first failure. The script is the member, who approves the code, and the
network, which limits the rate once, and loses the answers to the change set and to the refresh of the token. The
clock of the sandbox replaces sleeping.
`cargo xtask peers example` runs this script.
"""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import time
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

EXAMPLE = Path(__file__).resolve().parents[4] / "docs/clients/example.py"
DIRECTORY = json.loads(sys.argv[1])
OPENER = build_opener(ProxyHandler({}))
os.environ["EXCHANGE_SANDBOX"] = DIRECTORY["developerVariable"]["value"]
os.environ["no_proxy"] = "127.0.0.1"


def control(path, **body):
    content, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
    OPENER.open(Request(f"{DIRECTORY['control']}/{path}", content, headers), timeout=30).close()


class Member(io.StringIO):
    """The member reads the output, and approves the code on the page once."""

    approved = False

    def write(self, text):
        if " and enter the code " in text:
            control("approve", userCode=text.split(" and enter the code ")[1].strip(), account="sandbox-member")
            self.approved = True
        return super().write(text)


class Clock:
    """A clock that is wrong by some seconds, and whose sleep moves the clock of the sandbox instead."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self, error=0):
        self.error, self.sleeps = error, []

    def time(self):
        return time.time() + self.error

    def sleep(self, seconds):
        self.sleeps.append(seconds)
        control("clock", advanceSeconds=int(seconds) + 1)


class Network:
    """Records all requests. Fails the first change set and the first refresh after the service has answered, and
    limits the rate of the first read of stock."""

    def __init__(self, module):
        self.limited = False
        self.open, self.writes, self.refreshes, self.replayed, self.proofs = module.urlopen, [], [], [], []

    def __call__(self, request, timeout):
        if request.full_url.endswith("/me/stock") and not self.limited:
            self.limited, headers = True, Message()
            headers["Retry-After"] = "47"
            raise HTTPError(request.full_url, 429, "", headers, io.BytesIO(b'{"code": "RATE_LIMITED"}'))
        response = self.open(request, timeout=timeout)
        self.proofs.append(request.get_header("Dpop"))
        if request.full_url.endswith("/changes"):
            self.writes.append((request.get_header("Idempotency-key"), request.data))
            self.replayed.append(response.headers.get("Idempotency-Replayed"))
            if len(self.writes) == 1:
                response.close()
                raise ConnectionResetError("the answer to the write is lost")
        if b"grant_type=refresh_token" in (request.data or b""):
            self.refreshes.append(request.data)
            if len(self.refreshes) == 1:
                response.close()
                raise ConnectionResetError("the new refresh token is lost")
        return response


def load():
    spec = importlib.util.spec_from_file_location("example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def example_succeeds():
    """The example runs to its end, although two answers are lost and its clock is wrong."""
    module, output = load(), Member()
    network = module.urlopen = Network(module)
    clock = module.time = Clock(error=300)
    with contextlib.redirect_stdout(output):
        module.run()
    text = output.getvalue()
    for line in (
        "signed in with", "api 1.", "lots of stock", "no answer (ConnectionResetError)", "wrote 1 of 1 ops",
        "refreshed the token", "the feed contains the written quantity", "disconnected",
    ):
        assert line in text, f"`{line}` is missing in the output: {text}"
    assert output.approved, "the member saw no code"
    (first, again) = network.writes
    assert first == again, "the retry has another key or another body"
    assert network.replayed == [None, "true"], f"the write was not replayed: {network.replayed}"
    (first, again) = network.refreshes
    assert first == again, "the lost refresh was not repeated with the same token"
    assert any(47 <= seconds < 49 for seconds in clock.sleeps), f"`Retry-After` was ignored: {clock.sleeps}"
    proofs = [proof for proof in network.proofs if proof]
    assert len(set(proofs)) == len(proofs), "a proof was sent twice"


def expired_cursor_starts_a_snapshot():
    """After `CURSOR_EXPIRED`, entries that the new snapshot does not contain are dropped."""
    module, output = load(), Member()
    module.time = Clock()
    stock = {"gone": {}}
    with contextlib.redirect_stdout(output):
        client = module.Client()
        client.sign_in()
        cursor = client.pull(module.STOCK, stock, "expired")
    assert stock and "gone" not in stock, f"the entries are {list(stock)}"
    assert cursor != "expired", "the old cursor was kept"


def example_fails():
    """A failure is an exit with 1, and no success on the way."""
    environment = os.environ | {"EXCHANGE_SANDBOX": f"{os.environ['EXCHANGE_SANDBOX']}/unknown"}
    run = subprocess.run(
        [sys.executable, EXAMPLE], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 1, f"exit code {run.returncode}: {run.stdout}{run.stderr}"
    assert run.stderr.startswith("error: Refused: 404"), run.stderr


for step in (example_succeeds, expired_cursor_starts_a_snapshot, example_fails):
    try:
        step()
        print(json.dumps({"name": step.__name__, "ok": True, "why": None}), flush=True)
    except Exception as error:
        print(json.dumps({"name": step.__name__, "ok": False, "why": f"{type(error).__name__}: {error}"}), flush=True)
        sys.exit(0)
