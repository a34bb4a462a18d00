"""A client of the exchange: it signs in with a device code, reads stock and writes one change set.

    EXCHANGE_SANDBOX=http://127.0.0.1:8080 python3 example.py

It needs Python 3.10 or newer and the package `cryptography`. Copy the file; docs/clients.md explains each part.
It keeps key and tokens in memory. A real client keeps both in the secret store of the platform.
Prints what it does. Exits with 0 if everything succeeded, and otherwise with 1.
"""

import base64
import hashlib
import json
import os
import random
import secrets
import sys
import time
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

# part: registration
SANDBOX = os.environ.get("EXCHANGE_SANDBOX")
ISSUER = f"{SANDBOX}/idp" if SANDBOX else "https://id.example"
GATEWAY = SANDBOX or "https://gateway.example"
CLIENT_ID = "sandbox-client" if SANDBOX else "stock-tool"
USER_AGENT = "StockTool/1.0.0 (+https://stock-tool.example)"
SCOPE = "exchange.connect exchange.stock.read exchange.stock.write offline_access"
# end
STOCK = "/exchange/v1/me/stock"
MAX_WAIT = 120


class Refused(Exception):
    """An error response: a problem of the gateway or an OAuth error of the identity provider."""

    def __init__(self, status, headers, body):
        try:
            body = json.loads(body)
        except ValueError:
            body = {}
        self.body = body if isinstance(body, dict) else {}
        self.status, self.headers = status, headers
        self.code = self.body.get("code") or self.body.get("error") or "no code"
        # Only the status, the code and the correlation id: other fields can contain secrets.
        super().__init__(f"{status} {self.code}, correlation id {self.body.get('correlationId', 'unknown')}")


# part: proof
def base64url(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Key:
    """The key of this installation, which signs all proofs."""

    def __init__(self):
        self.private = ec.generate_private_key(ec.SECP256R1())
        numbers = self.private.public_key().public_numbers()
        x, y = (base64url(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
        self.jwk = {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    def proof(self, claims):
        header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk}
        signed = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
        r, s = decode_dss_signature(self.private.sign(signed.encode(), ec.ECDSA(SHA256())))
        return f"{signed}.{base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def proof_claims(method, url, now, nonce=None, token=None):
    claims = {"jti": secrets.token_urlsafe(16), "htm": method, "htu": url.split("?")[0], "iat": int(now)}
    if nonce:
        claims["nonce"] = nonce
    if token:
        claims["ath"] = base64url(hashlib.sha256(token.encode()).digest())
    return claims
# end


# part: server
class Server:
    """A server with its latest nonce and the offset of its clock in seconds."""

    def __init__(self):
        self.nonce, self.offset = None, 0

    def send(self, method, url, headers, body=None):
        """Sends one request. Returns the JSON of the response."""
        request = Request(url, body, {"User-Agent": USER_AGENT} | headers, method=method)
        try:
            with urlopen(request, timeout=30) as response:
                self.learn(response.headers)
                return json.loads(response.read() or b"null")
        except HTTPError as error:
            corrected = self.learn(error.headers)
            refused = Refused(error.code, error.headers, error.read())
            refused.clock_corrected = corrected
            raise refused from None

    def learn(self, headers):
        """Stores nonce and clock offset. Returns true if the offset changed by more than two seconds."""
        self.nonce = headers.get("DPoP-Nonce") or self.nonce
        if not headers.get("Date"):
            return False
        before, self.offset = self.offset, parsedate_to_datetime(headers["Date"]).timestamp() - time.time()
        return abs(self.offset - before) > 2

    def proof(self, key, method, url, token=None):
        return key.proof(proof_claims(method, url, time.time() + self.offset, self.nonce, token))
# end


# part: remedies
def remedy(refused):
    """Returns why the same request can be sent again, or None."""
    code, challenge = refused.code, refused.headers.get("WWW-Authenticate", "")
    if code == "use_dpop_nonce" or code == "DPOP_INVALID" and "use_dpop_nonce" in challenge:
        return "nonce"
    if code in ("DPOP_INVALID", "invalid_dpop_proof", "invalid_request") and refused.clock_corrected:
        return "clock"
    if code == "UNAUTHENTICATED":
        return "refresh"
    if code in ("IDEMPOTENCY_IN_PROGRESS", "QUOTA_EXCEEDED") or refused.status in (429, 500, 502, 503):
        return "wait"
    return None


def pause(attempt, retry_after=None):
    """Waits for `Retry-After`, or for the back-off of this attempt. Returns false if the wait is too long."""
    seconds = min(5 * 2**attempt * random.uniform(1, 1.25), 300)
    if retry_after and retry_after.isdecimal():
        seconds = int(retry_after) + random.uniform(0, 1)
    if seconds > MAX_WAIT:
        return False
    print(f"waiting {seconds:.0f} s")
    time.sleep(seconds)
    return True
# end


class Client:
    """One installation of the client for one member."""

    def __init__(self):
        self.key, self.provider, self.gateway = Key(), Server(), Server()
        self.access = self.refresh = self.scopes = None
        self.expires = 0
        self.endpoints = self.provider.send("GET", f"{ISSUER}/.well-known/openid-configuration", {})
        if self.endpoints["issuer"] != ISSUER:
            raise ValueError(f"{ISSUER} has the discovery document of another issuer")

    # part: sign-in
    def form(self, endpoint, proof=True, **fields):
        """Sends a form to the identity provider, and once more for each reason, such as a lost answer."""
        url, done = self.endpoints[endpoint], set()
        body = urlencode({"client_id": CLIENT_ID} | fields).encode()
        while True:
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            if proof:
                headers["DPoP"] = self.provider.proof(self.key, "POST", url)
            try:
                return self.provider.send("POST", url, headers, body)
            except Refused as refused:
                reason = remedy(refused)
                if reason not in ("nonce", "clock") or reason in done:
                    raise
                done.add(reason)
            except (HTTPException, OSError):
                if "lost" in done or not pause(0):
                    raise
                done.add("lost")

    def sign_in(self):
        login = self.form("device_authorization_endpoint", proof=False, scope=SCOPE)
        print(f"open {login['verification_uri']} and enter the code {login['user_code']}", flush=True)
        interval = login.get("interval", 5)
        while True:
            time.sleep(interval)
            try:
                return self.take_tokens(self.form("token_endpoint", device_code=login["device_code"],
                                                  grant_type="urn:ietf:params:oauth:grant-type:device_code"))
            except Refused as refused:
                if refused.code == "slow_down":
                    interval += 5
                elif refused.code != "authorization_pending":
                    raise

    def take_tokens(self, tokens):
        if tokens["token_type"] != "DPoP":
            raise ValueError("the token is not bound to the key")
        self.access, self.scopes = tokens["access_token"], tokens["scope"].split()
        self.refresh = tokens.get("refresh_token", self.refresh)
        self.expires = time.monotonic() + tokens["expires_in"]

    def renew(self):
        self.take_tokens(self.form("token_endpoint", grant_type="refresh_token", refresh_token=self.refresh))
    # end

    # part: call
    def call(self, method, path, body=None, key=None):
        """Sends a request to the gateway. `body` and `key` stay the same in every retry; the proof is new."""
        url, attempt, done = GATEWAY + path, 0, set()
        content = None if body is None else json.dumps(body).encode()
        while True:
            if time.monotonic() > self.expires - 30:
                self.renew()
            headers = {"Authorization": f"DPoP {self.access}"}
            headers["DPoP"] = self.gateway.proof(self.key, method, url, self.access)
            if content is not None:
                headers["Content-Type"] = "application/json"
            if key:
                headers["Idempotency-Key"] = key
            try:
                return self.gateway.send(method, url, headers, content)
            except Refused as refused:
                reason = remedy(refused)
                if reason is None or reason in done:
                    raise
                if reason == "refresh":
                    self.renew()
                if reason != "wait":
                    done.add(reason)
                elif attempt >= 5 or not pause(attempt, refused.headers.get("Retry-After")):
                    raise
            except (HTTPException, OSError) as error:
                # The answer is lost: the server may have applied the write. The same key makes it safe.
                print(f"no answer ({type(error).__name__}): sending {method} {path.split('?')[0]} again")
                if attempt >= 5 or not pause(attempt):
                    raise
            attempt += 1
    # end

    # part: feed
    def pull(self, path, entries, cursor=None):
        """Applies a snapshot, or the changes since `cursor`, to `entries`. Returns the new cursor."""
        while True:
            query = f"?cursor={quote(cursor, safe='')}" if cursor else ""
            try:
                page = self.call("GET", path + query)
            except Refused as refused:
                if refused.code != "CURSOR_EXPIRED" or cursor is None:
                    raise
                entries.clear()
                cursor = None
                continue
            for entry in page["items"]:
                entries[entry["key"]] = entry
            for tombstone in page["removed"]:
                entries.pop(tombstone["key"], None)
            cursor = page["nextCursor"]
            if not page["hasMore"]:
                return cursor
    # end


def run():
    client = Client()
    client.sign_in()
    print("signed in with", " ".join(client.scopes))
    # part: service-document
    service = client.call("GET", "/exchange/v1")
    missing = {"exchange.stock.read", "exchange.stock.write"} - set(service["capabilities"])
    if missing:
        raise ValueError(f"not granted: {' '.join(sorted(missing))}")
    print(f"api {service['apiVersion']}, at most {service['limits']['batchMaxOps']} ops in a change set")
    # end
    stock = {}
    cursor = client.pull(STOCK, stock)
    print(f"read {len(stock)} lots of stock")
    # part: change-set
    lot = next(lot for lot in stock.values() if lot["quantity"]["amount"] >= 1)
    amount, unit = lot["quantity"]["amount"], lot["quantity"]["unit"]
    op = {
        "op": "set-quantity", "opId": "raise", "material": {"bt": lot["material"]["bt"]},
        "location": {"name": lot["location"]["name"]}, "quality": lot["quality"], "stolen": lot["stolen"],
        "expectedQuantity": lot["quantity"], "quantity": {"amount": amount + 1, "unit": unit},
    }
    key = secrets.token_urlsafe(16)
    # Store key and body before the first attempt, so that a restarted client sends the same write.
    result = client.call("POST", f"{STOCK}/changes", {"ops": [op]}, key)
    for failed in result["results"]:
        print(f"op {failed.get('opId')}: {failed['result']} {failed.get('reason', '')}")
    print(f"wrote {result['applied']} of 1 ops")
    # end
    client.renew()
    print("refreshed the token")
    cursor = client.pull(STOCK, stock, cursor)
    if stock[lot["key"]]["quantity"]["amount"] != amount + 1:
        raise ValueError("the feed does not contain the written quantity")
    print("the feed contains the written quantity")
    client.form("revocation_endpoint", token=client.refresh, token_type_hint="refresh_token")
    print("disconnected")


if __name__ == "__main__":
    try:
        run()
    except (Refused, HTTPException, ValueError, KeyError, OSError, StopIteration) as error:
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
