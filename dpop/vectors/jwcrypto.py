"""Verifies our proofs with `jwcrypto`, a JOSE library for Python, and creates proofs with it.

    PYTHONPATH=... python3 jwcrypto.py OURS THEIRS

OURS is the vector file `ours.json`. The script prints one line of JSON for each of its cases,
`{name, accepted, why}`. It overwrites THEIRS with a file of the same format, whose proofs have newly generated
keys.

The library checks parts, base64url, header, embedded key, signature and `alg`. The script compares `typ`,
which the library does not check, and the claims (RFC 9449, 4.3) in the same order as `dpop-bound`, without
replay detection. `cargo xtask oracles` runs the script and compares the results; README.md describes the
format.
"""

import hashlib
import json
import os
import sys
import unicodedata
from importlib.metadata import version

# Python searches the script's folder first, where this file has the same name as the library.
sys.path = [path for path in sys.path if os.path.abspath(path) != os.path.dirname(os.path.abspath(__file__))]

from jwcrypto import jwe, jwk, jws  # noqa: E402
from jwcrypto.common import base64url_decode, base64url_encode  # noqa: E402

with open(sys.argv[1], encoding="utf-8") as file:
    ours = json.load(file)
method, url, now, token, jkt = (ours[name] for name in ("method", "url", "now", "token", "jkt"))
nonce, previous_nonce = ours["nonce"], ours["previousNonce"]


def hashed(text):
    return base64url_encode(hashlib.sha256(text.encode()).digest())


# Part one: verify our proofs.


def judge(proof):
    """Raises an exception if a proof is invalid."""
    signed = jws.JWS()
    signed.allowed_algs = ["ES256"]
    signed.deserialize(proof)
    header = signed.jose_header
    key = jwk.JWK(**header["jwk"])
    signed.verify(key)
    if header.get("typ") != "dpop+jwt":
        raise ValueError("typ")
    claims = json.loads(signed.payload)
    iat, jti = claims.get("iat"), claims.get("jti")
    rules = {
        "nonce": claims.get("nonce") in (nonce, previous_nonce),
        "htm": claims.get("htm") == method,
        "htu": claims.get("htu") == url,
        "iat": type(iat) is int and abs(now - iat) <= 30,
        "key": key.thumbprint() == jkt,
        "ath": claims.get("ath") == hashed(token),
        "jti": type(jti) is str
        and 16 <= len(jti.encode()) <= 256
        and not any(unicodedata.category(each) == "Cc" for each in jti),
    }
    for rule, holds in rules.items():
        if not holds:
            raise ValueError(rule)


for case in ours["cases"]:
    why = None
    try:
        judge(case["proof"])
    except Exception as error:  # Whatever the library raises is a refusal.
        why = f"{type(error).__name__}: {error}"
    print(json.dumps({"name": case["name"], "accepted": why is None, "why": why}))


# Part two: create proofs with the library.


def pair(curve="P-256"):
    return jwk.JWK.generate(kty="EC", crv=curve)


def leading_zero(member):
    """Generates a key with a coordinate that begins with a zero byte, as one key in 256 has."""
    while True:
        found = pair()
        if base64url_decode(found[member])[0] == 0:
            return found


def public(of):
    return of.export_public(as_dict=True)


key, other, zero_x, zero_y = pair(), pair(), leading_zero("x"), leading_zero("y")
header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": public(key)}
claims = {
    "jti": "jwcrypto-0123456789-abcdef",
    "htm": method,
    "htu": url,
    "iat": now,
    "ath": hashed(token),
    "nonce": nonce,
}


def without(members, name):
    return {each: value for each, value in members.items() if each != name}


def in_reverse(members):
    return dict(reversed(members.items()))


def sign(signer, head, body, **spelling):
    """Signs header and claims; the claims are an object, or the exact string to sign."""
    made = jws.JWS(body if isinstance(body, str) else json.dumps(body, **spelling))
    made.allowed_algs = [head["alg"]]
    made.add_signature(signer, protected=json.dumps(head))
    return made.serialize(compact=True)


def claim(**members):
    return sign(key, header, {**claims, **members})


def head(**members):
    return sign(key, {**header, **members}, claims)


def of(signer, alg="ES256", **members):
    return sign(signer, {**header, "alg": alg, "jwk": {**public(signer), **members}}, claims)


p384 = pair("P-384")
rsa = jwk.JWK.generate(kty="RSA", size=2048)
ed25519 = jwk.JWK.generate(kty="OKP", crv="Ed25519")
secret = jwk.JWK(kty="oct", k=base64url_encode(key.export_public()))
sealed = jwe.JWE(json.dumps(claims), json.dumps({"alg": "dir", "enc": "A256GCM"}))
sealed.add_recipient(jwk.JWK.generate(kty="oct", size=256))
stripped = base64url_encode(base64url_decode(zero_x["x"])[1:])
plain = of(key)
# This value has the format of a private key, but belongs to no key pair.
private = base64url_encode(bytes([7] * 32))
named = {"kid": "1", "use": "sig", "alg": "ES256", "key_ops": ["verify"]}
escaped = json.dumps(claims).replace("/", "\\/").replace(method, "\\u0050OST")
ship = {**claims, "note": "Größe 船 🚀"}
backwards = in_reverse({**header, "jwk": in_reverse(public(key))})

made = [
    ("plain", "accepted", plain),
    ("without a nonce", "nonce-missing", sign(key, header, without(claims, "nonce"))),
    ("without ath", "ath-missing", sign(key, header, without(claims, "ath"))),
    ("the previous nonce", "accepted", claim(nonce=previous_nonce)),
    ("members in another order", "accepted", sign(key, backwards, in_reverse(claims))),
    ("extra header members", "accepted", head(kid="1", cty="json", x={"a": [1, 2]})),
    ("extra claims", "accepted", claim(iss="me", exp=now + 60, nbf=now - 60, x={"a": [None, 1.5]})),
    ("extra members of jwk", "accepted", of(key, **named)),
    ("a claim that is not ASCII", "accepted", sign(key, header, ship, ensure_ascii=False)),
    ("a claim that is not ASCII, with escapes", "accepted", sign(key, header, ship)),
    ("claims with escapes", "accepted", sign(key, header, escaped)),
    ("claims with whitespace", "accepted", sign(key, header, claims, indent=2)),
    ("jti of 15", "jti", claim(jti="a" * 15)),
    ("jti of 16", "accepted", claim(jti="a" * 16)),
    ("jti of 256", "accepted", claim(jti="a" * 256)),
    ("jti of 257", "jti", claim(jti="a" * 257)),
    ("iat 30 s ago", "accepted", claim(iat=now - 30)),
    ("iat 31 s ago", "iat-old", claim(iat=now - 31)),
    ("iat in 30 s", "accepted", claim(iat=now + 30)),
    ("iat in 31 s", "iat-early", claim(iat=now + 31)),
    ("iat with a fraction", "iat-malformed", claim(iat=float(now))),
    ("x begins with a zero byte", "accepted", of(zero_x), zero_x.thumbprint()),
    ("y begins with a zero byte", "accepted", of(zero_y), zero_y.thumbprint()),
    ("x without its zero byte", "jwk-coordinate", of(zero_x, x=stripped)),
    ("typ of another JWT", "typ", head(typ="JWT")),
    ("ES384", "alg", of(p384, "ES384")),
    ("RS256", "alg", of(rsa, "RS256")),
    ("EdDSA", "alg", of(ed25519, "EdDSA")),
    ("HS256 with the public key", "alg", sign(secret, {**header, "alg": "HS256"}, claims)),
    ("unsecured", "alg", sign(secret, {**header, "alg": "none"}, claims)),
    ("encrypted", "proof-parts", sealed.serialize(compact=True)),
    ("critical extension", "crit", head(crit=["b64"], b64=True)),
    ("without jwk", "jwk-missing", sign(key, without(header, "jwk"), claims)),
    ("private jwk", "jwk-private", of(key, d=private)),
    ("key of P-384", "jwk-crv", head(jwk=public(p384))),
    ("key of RSA", "jwk-kty", head(jwk=public(rsa))),
    ("signed by another key", "signature", sign(other, header, claims)),
    ("another key", "key", of(other)),
    ("padded", "signature-encoding", plain + "=="),
    ("claims in a list", "claims-json", sign(key, header, [claims])),
    ("wrong htm", "htm", claim(htm="GET")),
    ("htu with a query", "htu", claim(htu=url + "?a=b")),
    ("ath of another token", "ath", claim(ath=hashed("other"))),
    ("a nonce of nobody", "nonce-foreign", claim(nonce="A" * 22)),
]

whole = {**ours, "by": f"jwcrypto {version('jwcrypto')}", "jkt": key.thumbprint(), "cases": []}
for name, answer, proof, *bound in made:
    jkt = {"jkt": bound[0]} if bound else {}
    whole["cases"].append({"name": name, "answer": answer, **jkt, "proof": proof})
with open(sys.argv[2], "w", encoding="utf-8", newline="\n") as file:
    file.write(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
