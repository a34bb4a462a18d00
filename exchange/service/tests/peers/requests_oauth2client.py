"""A typical client with `requests_oauth2client`: it signs in with a device code and handles errors of the gateway.

    PYTHONPATH=… python3 requests_oauth2client.py DIRECTORY

DIRECTORY is the first line of `exchange-service sandbox --json`. Prints a line of JSON for each step,
`{name, ok, why}`, and stops after the first failure. The library handles proofs, nonces and polling.
`cargo xtask peers requests_oauth2client` runs this script.
"""

import json
import sys

# This file has the same name as the library, and Python searches the script's folder first.
del sys.path[0]

import requests
from requests_oauth2client import (
    AuthorizationPending,
    DeviceAuthorizationPollingJob,
    DPoPKey,
    InvalidGrant,
    OAuth2Client,
    SlowDown,
)

DIRECTORY = json.loads(sys.argv[1])
GATEWAY, CONTROL = DIRECTORY["gateway"], DIRECTORY["control"]
SCOPE = "exchange.connect exchange.blueprints.read exchange.blueprints.write offline_access"
BLUEPRINTS = f"{GATEWAY}/exchange/v1/me/blueprints"
KNIFE = {"ops": [{"op": "add", "ref": {"scRecord": "BP_CRAFT_SBXM_KNIFE_01"}}]}


class Seen(requests.adapters.HTTPAdapter):
    """Records all requests and responses, including the library's retries."""

    def __init__(self):
        super().__init__()
        self.statuses, self.proof = [], None

    def send(self, request, *args, **kwargs):
        response = super().send(request, *args, **kwargs)
        self.statuses.append(response.status_code)
        self.proof = request.headers.get("DPoP")
        return response


class Api:
    """Calls the gateway with a token and a signed proof for each request."""

    def __init__(self):
        self.seen, self.session, self.token = Seen(), requests.Session(), None
        self.session.mount("http://", self.seen)
        self.session.headers["User-Agent"] = "Peer/1.0.0 (+https://client.example)"

    def send(self, method, url, **more):
        self.seen.statuses = []
        return self.session.request(method, url, auth=self.token, **more)

    def write(self, key):
        return self.send("POST", f"{BLUEPRINTS}/changes", json=KNIFE, headers={"Idempotency-Key": key})


def equal(left, right):
    assert left == right, f"{left!r} is not {right!r}"


def keys(entries):
    return [entry["key"] for entry in entries]


def refused(kind, run):
    try:
        run()
    except kind:
        return
    raise AssertionError(f"it was not refused by {kind.__name__}")


API = Api()
STEPS = []


def step(name):
    return lambda run: STEPS.append((name, run))


@step("the provider describes itself")
def _():
    issuer = DIRECTORY["issuer"]
    document = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=10).json()
    # The library does not read this endpoint from the discovery document.
    device = document["device_authorization_endpoint"]
    API.client = OAuth2Client.from_discovery_document(
        document, issuer=issuer, client_id="sandbox-client", device_authorization_endpoint=device, testing=True
    )


@step("a device login begins")
def _():
    API.login = API.client.authorize_device(scope=SCOPE)
    assert API.login.user_code in API.login.verification_uri_complete


@step("a member who has not decided is waited for, and polling too fast is slowed down")
def _():
    API.key = DPoPKey.generate()
    poll = lambda: API.client.device_code(API.login, dpop=True, dpop_key=API.key)
    refused(AuthorizationPending, poll)
    refused(SlowDown, poll)


@step("the client polls until the member approves")
def _():
    decision = {"userCode": API.login.user_code, "account": "sandbox-member"}
    equal(requests.post(f"{CONTROL}/approve", json=decision, timeout=10).status_code, 204)
    # The interval is five seconds longer than at first, as the provider requested.
    job = DeviceAuthorizationPollingJob(
        API.client, API.login.device_code, interval=10, dpop=True, dpop_key=API.key
    )
    token = None
    while token is None:
        token = job()
    API.token = token
    equal((token.token_type, token.dpop_key), ("DPoP", API.key))
    assert token.refresh_token and token.id_token is None
    assert not token.is_expired()


@step("the first call is challenged for a nonce, the second answered")
def _():
    response = API.send("GET", f"{GATEWAY}/exchange/v1")
    equal(API.seen.statuses, [401, 200])
    equal(sorted(response.json()["capabilities"]), sorted(SCOPE.split()[:3]))


@step("a snapshot is read")
def _():
    API.snapshot = API.send("GET", BLUEPRINTS, params={"limit": "500"}).json()
    equal(API.seen.statuses, [200])
    assert len(API.snapshot["items"]) >= 10 and not API.snapshot["hasMore"]


@step("a write is applied")
def _():
    response = API.write("a-key-of-requests-oauth2client")
    API.written = response.content
    equal((response.status_code, response.json()["applied"]), (200, 1))
    assert "Idempotency-Replayed" not in response.headers


@step("its repetition gets the same answer")
def _():
    response = API.write("a-key-of-requests-oauth2client")
    equal((response.headers["Idempotency-Replayed"], response.content), ("true", API.written))


@step("the feed shows it, once")
def _():
    page = API.send("GET", BLUEPRINTS, params={"cursor": API.snapshot["nextCursor"]}).json()
    equal((keys(page["items"]), page["removed"], page["hasMore"]), (["bp-sandbox-knife"], [], False))


@step("a proof is taken once")
def _():
    equal(API.send("GET", f"{GATEWAY}/exchange/v1").status_code, 200)
    again = {"Authorization": f"DPoP {API.token.access_token}", "DPoP": API.seen.proof}
    response = API.session.get(f"{GATEWAY}/exchange/v1", headers=again)
    equal((response.status_code, response.json()["code"]), (401, "DPOP_INVALID"))
    assert 'error="invalid_dpop_proof"' in response.headers["WWW-Authenticate"]


@step("a proof without a nonce is challenged")
def _():
    API.key.rs_nonce = None
    equal(API.send("GET", f"{GATEWAY}/exchange/v1").status_code, 200)
    equal(API.seen.statuses, [401, 200])


@step("a token without its key is worth nothing")
def _():
    for scheme in ["DPoP", "Bearer"]:
        headers = {"Authorization": f"{scheme} {API.token.access_token}"}
        response = API.session.get(f"{GATEWAY}/exchange/v1", headers=headers)
        equal(response.status_code, 401)
        assert response.headers["WWW-Authenticate"].startswith("DPoP ")


@step("another key cannot refresh")
def _():
    data = {"grant_type": "refresh_token", "refresh_token": API.token.refresh_token}
    refused(InvalidGrant, lambda: API.client.token_request(data, dpop=True))


@step("a refresh renews both tokens")
def _():
    renewed = API.client.refresh_token(API.token)
    assert renewed.access_token != API.token.access_token
    assert renewed.refresh_token != API.token.refresh_token
    equal(renewed.dpop_key, API.key)
    API.token = renewed
    equal(API.send("GET", f"{GATEWAY}/exchange/v1").status_code, 200)


@step("a revoked connection is over")
def _():
    # The exchange's provider requires a proof in addition to RFC 7009 (IDP-23).
    assert API.client.revoke_refresh_token(API.token, requests_kwargs={"dpop_key": API.key})
    refused(InvalidGrant, lambda: API.client.refresh_token(API.token))


for name, run in STEPS:
    try:
        run()
    except Exception as error:
        print(json.dumps({"name": name, "ok": False, "why": f"{type(error).__name__}: {error}"}))
        break
    print(json.dumps({"name": name, "ok": True}), flush=True)
