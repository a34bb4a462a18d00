// Verifies our proofs with `jose`, a JOSE library for JavaScript, and creates proofs with it.
//
//   node jose.mjs OURS THEIRS      beside a `node_modules` that holds jose
//
// OURS is the vector file `ours.json`. The script prints one line of JSON for each of its cases,
// `{name, accepted, why}`. It overwrites THEIRS with a file of the same format, whose proofs have newly
// generated keys.
//
// The library checks parts, base64url, header, embedded key, signature, `typ` and `alg`. The script compares
// the claims (RFC 9449, 4.3) in the same order as `dpop-bound`, without replay detection.
// `cargo xtask oracles` runs the script and compares the results; README.md describes the format.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as jose from "jose";

const [ours, theirs] = process.argv.slice(2);
const { method, url, now, token, nonce, previousNonce, jkt, cases } = JSON.parse(readFileSync(ours, "utf8"));
const ath = createHash("sha256").update(token).digest("base64url");

// Part one: verify our proofs.

async function judge(proof) {
  const options = { typ: "dpop+jwt", algorithms: ["ES256"], currentDate: new Date(now * 1000) };
  const { payload, protectedHeader } = await jose.jwtVerify(proof, jose.EmbeddedJWK, options);
  const { jti } = payload;
  const bytes = typeof jti === "string" ? Buffer.byteLength(jti) : 0;
  const rules = {
    nonce: [nonce, previousNonce].includes(payload.nonce),
    htm: payload.htm === method,
    htu: payload.htu === url,
    iat: Number.isInteger(payload.iat) && Math.abs(now - payload.iat) <= 30,
    key: (await jose.calculateJwkThumbprint(protectedHeader.jwk)) === jkt,
    ath: payload.ath === ath,
    jti: bytes >= 16 && bytes <= 256 && !/\p{Cc}/u.test(jti),
  };
  const broken = Object.keys(rules).find((rule) => !rules[rule]);
  if (broken) throw new Error(broken);
}

for (const { name, proof } of cases) {
  const why = await judge(proof).then(
    () => null,
    (error) => (error.code ? `${error.code}: ${error.message}` : error.message),
  );
  console.log(JSON.stringify({ name, accepted: why === null, why }));
}

// Part two: create proofs with the library.

const pair = async (alg) => {
  const { privateKey, publicKey } = await jose.generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: await jose.exportJWK(publicKey) };
};
// Generates a key with a coordinate that begins with a zero byte, as one key in 256 has.
const leadingZero = async (member) => {
  for (;;) {
    const key = await pair("ES256");
    if (jose.base64url.decode(key.jwk[member])[0] === 0) return key;
  }
};

const [key, other] = [await pair("ES256"), await pair("ES256")];
const [zeroX, zeroY] = [await leadingZero("x"), await leadingZero("y")];
const header = { typ: "dpop+jwt", alg: "ES256", jwk: key.jwk };
const claims = { jti: "jose-0123456789-abcdef", htm: method, htu: url, iat: now, ath, nonce };
const without = (members, name) => Object.fromEntries(Object.entries(members).filter(([each]) => each !== name));
const reversed = (members) => Object.fromEntries(Object.entries(members).reverse());

// The claims are an object, or the exact string to sign.
const sign = (signer, head, body, options) =>
  typeof body === "string"
    ? new jose.CompactSign(new TextEncoder().encode(body)).setProtectedHeader(head).sign(signer, options)
    : new jose.SignJWT(body).setProtectedHeader(head).sign(signer, options);
const claim = (members) => sign(key.privateKey, header, { ...claims, ...members });
const head = (members, options) => sign(key.privateKey, { ...header, ...members }, claims, options);
const of = ({ privateKey, jwk }, alg = "ES256") => sign(privateKey, { ...header, alg, jwk }, claims);
const text = (body) => sign(key.privateKey, header, body);

const [p384, rsa, ed25519] = [await pair("ES384"), await pair("RS256"), await pair("Ed25519")];
const secret = new TextEncoder().encode(JSON.stringify(key.jwk));
// This value has the format of a private key, but belongs to no key pair.
const d = jose.base64url.encode(new Uint8Array(32).fill(7));
const stripped = jose.base64url.encode(jose.base64url.decode(zeroX.jwk.x).slice(1));
const sealed = new jose.EncryptJWT(claims).setProtectedHeader({ alg: "dir", enc: "A256GCM" });
const plain = await of(key);
const named = { kid: "1", use: "sig", alg: "ES256", key_ops: ["verify"], ext: true };
const backwards = reversed({ ...header, jwk: reversed(key.jwk) });
const escaped = JSON.stringify(claims).replaceAll("/", "\\/").replace(method, "\\u0050OST");

const made = [
  ["plain", "accepted", plain],
  ["without a nonce", "nonce-missing", sign(key.privateKey, header, without(claims, "nonce"))],
  ["without ath", "ath-missing", sign(key.privateKey, header, without(claims, "ath"))],
  ["the previous nonce", "accepted", claim({ nonce: previousNonce })],
  ["members in another order", "accepted", sign(key.privateKey, backwards, reversed(claims))],
  ["extra header members", "accepted", head({ kid: "1", cty: "json", x: { a: [1, 2] } })],
  ["extra claims", "accepted", claim({ iss: "me", exp: now + 60, nbf: now - 60, x: { a: [null, 1.5] } })],
  ["extra members of jwk", "accepted", of({ ...key, jwk: { ...key.jwk, ...named } })],
  ["a claim that is not ASCII", "accepted", claim({ note: "Größe 船 🚀" })],
  ["claims with escapes", "accepted", text(escaped)],
  ["claims with whitespace", "accepted", text(JSON.stringify(claims, null, 2))],
  ["jti of 15", "jti", claim({ jti: "a".repeat(15) })],
  ["jti of 16", "accepted", claim({ jti: "a".repeat(16) })],
  ["jti of 256", "accepted", claim({ jti: "a".repeat(256) })],
  ["jti of 257", "jti", claim({ jti: "a".repeat(257) })],
  ["iat 30 s ago", "accepted", claim({ iat: now - 30 })],
  ["iat 31 s ago", "iat-old", claim({ iat: now - 31 })],
  ["iat in 30 s", "accepted", claim({ iat: now + 30 })],
  ["iat in 31 s", "iat-early", claim({ iat: now + 31 })],
  ["iat with half a second", "iat-malformed", claim({ iat: now + 0.5 })],
  ["x begins with a zero byte", "accepted", of(zeroX), await jose.calculateJwkThumbprint(zeroX.jwk)],
  ["y begins with a zero byte", "accepted", of(zeroY), await jose.calculateJwkThumbprint(zeroY.jwk)],
  ["x without its zero byte", "jwk-coordinate", of({ ...zeroX, jwk: { ...zeroX.jwk, x: stripped } })],
  ["typ of another JWT", "typ", head({ typ: "JWT" })],
  ["ES384", "alg", of(p384, "ES384")],
  ["RS256", "alg", of(rsa, "RS256")],
  ["Ed25519", "alg", of(ed25519, "Ed25519")],
  ["HS256 with the public key", "alg", sign(secret, { ...header, alg: "HS256" }, claims)],
  ["unsecured", "typ-missing", new jose.UnsecuredJWT(claims).encode()],
  ["encrypted", "proof-parts", sealed.encrypt(jose.base64url.decode(ath))],
  ["critical extension", "crit", head({ crit: ["x"], x: 1 }, { crit: { x: true } })],
  ["without jwk", "jwk-missing", sign(key.privateKey, without(header, "jwk"), claims)],
  ["private jwk", "jwk-private", of({ ...key, jwk: { ...key.jwk, d } })],
  ["key of P-384", "jwk-crv", of({ ...key, jwk: p384.jwk })],
  ["key of RSA", "jwk-kty", of({ ...key, jwk: rsa.jwk })],
  ["signed by another key", "signature", of({ ...other, jwk: key.jwk })],
  ["another key", "key", of(other)],
  ["padded", "signature-encoding", `${plain}==`],
  ["claims in a list", "claims-json", text(JSON.stringify([claims]))],
  ["wrong htm", "htm", claim({ htm: "GET" })],
  ["htu with a query", "htu", claim({ htu: `${url}?a=b` })],
  ["ath of another token", "ath", claim({ ath: createHash("sha256").update("other").digest("base64url") })],
  ["a nonce of nobody", "nonce-foreign", claim({ nonce: "AAAAAAAAAAAAAAAAAAAAAA" })],
];

const by = `jose ${createRequire(import.meta.url)("jose/package.json").version}`;
const bound = await jose.calculateJwkThumbprint(key.jwk);
const whole = { by, method, url, now, token, nonce, previousNonce, jkt: bound, cases: [] };
for (const [name, answer, proof, jkt] of made) {
  whole.cases.push({ name, answer, ...(jkt && { jkt }), proof: await proof });
}
writeFileSync(theirs, `${JSON.stringify(whole, null, 2)}\n`);
