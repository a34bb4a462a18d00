"""A client of the exchange, written only from the text of the contract: `httpx` sends requests, `cryptography` signs
proofs, and this module implements all other rules.

`by_hand.py` uses it for all areas. It uses neither our OpenAPI document nor our code.
"""

import base64
import hashlib
import json
import secrets
import time
from email.utils import parsedate_to_datetime

import httpx
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

CLIENT_ID = "sandbox-client"
USER_AGENT = "ByHand/1.0.0 (+https://client.example)"
DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
# The error of the local clock in seconds from which it is corrected; network latency stays below it.
CLOCK_SLACK = 2


def base64url(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def canonical(value):
    return json.dumps(value, separators=(",", ":")).encode()


class Key:
    """An installation's key, which signs its proofs."""

    def __init__(self):
        self.private = ec.generate_private_key(ec.SECP256R1())
        numbers = self.private.public_key().public_numbers()
        x, y = (base64url(part.to_bytes(32, "big")) for part in (numbers.x, numbers.y))
        self.jwk = {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    def proof(self, claims, header=None):
        header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk} | (header or {})
        signed = ".".join(base64url(canonical(part)) for part in (header, claims))
        r, s = decode_dss_signature(self.private.sign(signed.encode(), ec.ECDSA(SHA256())))
        # The signature is r followed by s, not DER.
        return f"{signed}.{base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


class Server:
    """A server's latest nonce and clock offset."""

    def __init__(self):
        self.nonce, self.ahead = None, 0

    def heard(self, response):
        """Stores the nonce and the clock offset of a response. Returns true if the clock was corrected."""
        self.nonce = response.headers.get("dpop-nonce", self.nonce)
        there = parsedate_to_datetime(response.headers["date"]).timestamp()
        off = there - (time.time() + self.ahead)
        if abs(off) <= CLOCK_SLACK:
            return False
        self.ahead += off
        return True

    def claims(self, method, url, **more):
        claims = {"jti": base64url(secrets.token_bytes(16)), "htm": method, "htu": url.split("?")[0]}
        claims["iat"] = int(time.time() + self.ahead)
        if self.nonce is not None:
            claims["nonce"] = self.nonce
        claims |= more
        # A claim of `None` is omitted.
        return {name: value for name, value in claims.items() if value is not None}


class OAuthError(Exception):
    """An error response of the identity provider."""

    def __init__(self, response):
        self.status, self.error = response.status_code, response.json()["error"]
        super().__init__(f"{self.status} {response.text}")


class Installation:
    """One client on one device for one member: signs in, keeps its tokens, and calls the gateway."""

    def __init__(self, directory):
        self.issuer, self.gateway, self.control = (directory[name] for name in ("issuer", "gateway", "control"))
        self.http = httpx.Client(headers={"User-Agent": USER_AGENT}, timeout=30, trust_env=False)
        self.key, self.provider, self.api = Key(), Server(), Server()
        self.access = self.refresh = self.scope = None
        # Every request to the gateway with its response, including retries.
        self.seen = []
        self.endpoints = self.discovered()

    # Requests to the sandbox: actions of the member, of other actors and of the clock.

    def sandbox(self, path, **body):
        response = self.http.post(f"{self.control}/{path}", json=body)
        assert response.is_success, f"{path}: {response.text}"

    def wait(self, seconds):
        self.sandbox("clock", advanceSeconds=seconds)

    def act(self, account, act, **more):
        self.sandbox("act", account=account, act=act, **more)

    # Requests to the identity provider.

    def discovered(self):
        document = self.http.get(f"{self.issuer}/.well-known/openid-configuration").raise_for_status().json()
        assert document["issuer"] == self.issuer, "another issuer than the one pinned"
        return document

    def form(self, endpoint, **fields):
        """Sends a form with a proof without `ath`, and repeats it with the nonce of a challenge."""
        url, left = self.endpoints[endpoint], {"nonce", "clock"}
        while True:
            proof = self.key.proof(self.provider.claims("POST", url))
            response = self.http.post(url, data={"client_id": CLIENT_ID} | fields, headers={"DPoP": proof})
            corrected = self.provider.heard(response)
            if response.is_success:
                return response
            error = OAuthError(response)
            if error.error == "use_dpop_nonce" and "nonce" in left:
                left.remove("nonce")
            elif error.error in ("invalid_dpop_proof", "invalid_request") and corrected and "clock" in left:
                left.remove("clock")
            else:
                raise error

    def login(self, scope):
        """Starts a device login, which needs no proof."""
        form = {"client_id": CLIENT_ID, "scope": f"{scope} offline_access"}
        response = self.http.post(self.endpoints["device_authorization_endpoint"], data=form)
        if not response.is_success:
            raise OAuthError(response)
        return response.json()

    def poll(self, login):
        return self.form("token_endpoint", grant_type=DEVICE_CODE, device_code=login["device_code"]).json()

    def polled(self, login):
        """Polls at the requested interval until the member has decided."""
        interval, said = login["interval"], []
        while True:
            self.wait(interval)
            try:
                self.take(self.poll(login))
                return said
            except OAuthError as error:
                said.append(error.error)
                if error.error == "slow_down":
                    interval += 5
                elif error.error != "authorization_pending":
                    raise

    def decide(self, login, decision="approve", account="sandbox-member"):
        self.sandbox(decision, userCode=login["user_code"], account=account)

    def sign_in(self, scope, account="sandbox-member"):
        login = self.login(scope)
        self.decide(login, account=account)
        self.polled(login)
        return self

    def take(self, tokens):
        assert tokens["token_type"] == "DPoP", "a token that is not bound is not taken"
        self.access, self.scope = tokens["access_token"], tokens["scope"]
        self.refresh = tokens.get("refresh_token", self.refresh)

    def renew(self):
        self.take(self.form("token_endpoint", grant_type="refresh_token", refresh_token=self.refresh).json())

    def revoke(self):
        self.form("revocation_endpoint", token=self.refresh, token_type_hint="refresh_token")

    # Requests to the gateway.

    def proof(self, method, path, *, key=None, header=None, **claims):
        ath = base64url(hashlib.sha256(self.access.encode()).digest())
        claims = self.api.claims(method, self.gateway + path, **({"ath": ath} | claims))
        return (key or self.key).proof(claims, header)

    def send(self, method, path, *, headers=None, content=None, auth=True, proof=None):
        """Sends one request."""
        headers = dict(headers or {})
        if auth:
            headers.setdefault("Authorization", f"DPoP {self.access}")
            headers.setdefault("DPoP", proof or self.proof(method, path))
        # A header of `None` is omitted.
        headers = {name: value for name, value in headers.items() if value is not None}
        response = self.http.request(method, self.gateway + path, headers=headers, content=content)
        self.seen.append((method, path.split("?")[0], response))
        response.corrected = self.api.heard(response)
        return response

    def call(self, method, path, *, body=None, key=None, headers=None, content=None, patient=True):
        """Sends a request, and repeats it at most once for each reason; a write keeps its key."""
        headers = dict(headers or {})
        if body is not None:
            content = canonical(body)
        if content is not None:
            headers.setdefault("Content-Type", "application/json")
        if key is not None:
            headers["Idempotency-Key"] = key
        left = {"nonce", "clock", "token", "rate"} - (set() if patient else {"rate"})
        while True:
            response = self.send(method, path, headers=headers, content=content)
            remedy = self.remedy(response)
            if remedy not in left:
                return response
            left.remove(remedy)
            if remedy == "token":
                self.renew()
            elif remedy == "rate":
                self.wait(int(response.headers["retry-after"]))

    @staticmethod
    def remedy(response):
        if response.status_code not in (401, 429):
            return None
        code = response.json()["code"]
        if code == "DPOP_INVALID" and "use_dpop_nonce" in response.headers["www-authenticate"]:
            return "nonce"
        if code == "DPOP_INVALID" and response.corrected:
            return "clock"
        return {"UNAUTHENTICATED": "token", "RATE_LIMITED": "rate", "DPOP_PROOF_LIMIT": "rate"}.get(code)

    def got(self, path, **more):
        """Returns the response of a read."""
        response = self.call("GET", path, **more)
        assert response.status_code == 200, f"GET {path}: {response.status_code} {response.text}"
        return response.json()

    def change(self, path, *ops, key=None, dry_run=None):
        """Returns the result of a change set."""
        body = {"ops": list(ops)} | ({} if dry_run is None else {"dryRun": dry_run})
        response = self.call("POST", f"{path}/changes", body=body, key=key or secrets.token_urlsafe(16))
        assert response.status_code == 200, f"POST {path}/changes: {response.status_code} {response.text}"
        return response.json()

    def snapshot(self, path, limit=500):
        """Reads a whole collection. Returns its entries, its feed position and the number of pages."""
        entries, pages, query = [], 0, f"limit={limit}"
        while True:
            page = self.got(f"{path}?{query}")
            assert page["removed"] == [], "a snapshot removes nothing"
            entries += page["items"]
            pages += 1
            if not page["hasMore"]:
                return entries, page["nextCursor"], pages
            query = f"limit={limit}&cursor={page['nextCursor']}"

    def feed(self, path, cursor):
        """Reads the changes since a position. Returns entries, tombstones and the new position."""
        entries, removed, more = [], [], True
        while more:
            page = self.got(f"{path}?cursor={cursor}")
            entries += page["items"]
            removed += page["removed"]
            cursor, more = page["nextCursor"], page["hasMore"]
        return entries, removed, cursor
