// A typical client with `openid-client`: it signs in with a device code, calls the gateway, and handles error
// responses.
//
//   node openid-client.mjs DIRECTORY      beside a `node_modules` that holds openid-client
//
// DIRECTORY is the first line of `exchange-service sandbox --json`, or the equivalent line of another issuer.
// The script prints a line of JSON for each step, `{name, ok, why}`, and stops after the first failure. The
// library handles proofs, nonces, polling and challenges. Comments mark the proofs that the script signs
// itself. `cargo xtask peers openid-client` runs this script.

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import * as client from "openid-client";

const { issuer, gateway, control } = JSON.parse(process.argv[2]);
const SCOPE = "exchange.connect exchange.blueprints.read exchange.blueprints.write offline_access";
const BLUEPRINTS = `${gateway}/exchange/v1/me/blueprints`;
const KNIFE = { ops: [{ op: "add", ref: { scRecord: "BP_CRAFT_SBXM_KNIFE_01" } }] };

async function step(name, run) {
  try {
    await run();
    console.log(JSON.stringify({ name, ok: true }));
  } catch (error) {
    const why = [error.message, error.error, error.error_description, error.cause?.message].filter(Boolean).join(": ");
    console.log(JSON.stringify({ name, ok: false, why }));
    process.exit(0);
  }
}

// Records all requests of the library, so that steps can check them.
const exchanges = [];
async function watched(url, options) {
  const response = await fetch(url, options);
  exchanges.push({ url: String(url), proof: new Headers(options.headers).get("dpop"), response });
  return response;
}
const statuses = (from) => exchanges.slice(from).map(({ response }) => response.status);

// Signs a proof without the library: for the revocation endpoint, where the library sends none (IDP-23), or
// an invalid one.
const keys = await client.randomDPoPKeyPair("ES256", { extractable: true });
const base64 = (bytes) => Buffer.from(bytes).toString("base64url");
async function proof(htm, htu, claims = {}) {
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", keys.publicKey);
  const part = (value) => base64(JSON.stringify(value));
  const header = part({ typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } });
  const input = `${header}.${part({ htm, htu, jti: randomUUID(), iat: Math.floor(Date.now() / 1000), ...claims })}`;
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  return `${input}.${base64(await crypto.subtle.sign(algorithm, keys.privateKey, Buffer.from(input)))}`;
}

let config, dpop, login, tokens, snapshot, written;
const headers = (more = {}) => new Headers({ "user-agent": "Peer/1.0.0 (+https://client.example)", ...more });
const call = (method, url, body, more) =>
  client.fetchProtectedResource(config, tokens.access_token, new URL(url), method, body, headers(more), { DPoP: dpop });
const write = (key) =>
  call("POST", `${BLUEPRINTS}/changes`, JSON.stringify(KNIFE), {
    "content-type": "application/json",
    "idempotency-key": key,
  });
const keysOf = (entries) => entries.map(({ key }) => key);
const raw = (authorization, dpop) =>
  fetch(`${gateway}/exchange/v1`, { headers: headers({ authorization, ...(dpop ? { dpop } : {}) }) });

await step("the provider describes itself", async () => {
  const options = { execute: [client.allowInsecureRequests], [client.customFetch]: watched };
  const metadata = { token_endpoint_auth_method: "none" };
  config = await client.discovery(new URL(issuer), "sandbox-client", metadata, client.None(), options);
  dpop = client.getDPoPHandle(config, keys);
  assert.ok(config.serverMetadata().dpop_signing_alg_values_supported.includes("ES256"));
});

await step("a device login begins", async () => {
  login = await client.initiateDeviceAuthorization(config, { scope: SCOPE });
  assert.match(login.user_code, /^[A-Z0-9]{4}-[A-Z0-9]{4}$/);
  assert.ok(login.verification_uri_complete.includes(login.user_code));
});

await step("the client polls until the member approves", async () => {
  const from = exchanges.length;
  const granted = client.pollDeviceAuthorizationGrant(config, login, undefined, { DPoP: dpop });
  // The login is approved after the first response, so that the library receives `authorization_pending`.
  for (let polled = 0; polled === 0; polled = exchanges.length - from) {
    await Promise.race([granted, new Promise((resolve) => setTimeout(resolve, 50))]);
  }
  const approval = await fetch(`${control}/approve`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ userCode: login.user_code, account: "sandbox-member" }),
  });
  assert.equal(approval.status, 204, await approval.text());
  tokens = await granted;
  assert.deepEqual([statuses(from)[0], statuses(from).at(-1)], [400, 200]);
  assert.equal(tokens.token_type, "dpop");
  assert.ok(tokens.refresh_token && tokens.expires_in > 0);
  assert.equal(tokens.claims(), undefined, "no client learns who the member is");
});

await step("the first call is challenged for a nonce, the second answered", async () => {
  const from = exchanges.length;
  const response = await call("GET", `${gateway}/exchange/v1`);
  assert.deepEqual(statuses(from), [401, 200]);
  const { capabilities, installationId } = await response.json();
  assert.deepEqual(capabilities.toSorted(), SCOPE.split(" ").filter((scope) => scope !== "offline_access").toSorted());
  assert.ok(installationId);
});

await step("a snapshot is read", async () => {
  const response = await call("GET", `${BLUEPRINTS}?limit=500`);
  snapshot = await response.json();
  assert.equal(response.status, 200);
  assert.ok(snapshot.items.length >= 10 && snapshot.hasMore === false && snapshot.nextCursor);
  assert.ok(!keysOf(snapshot.items).includes("bp-sandbox-knife"));
});

await step("a write is applied", async () => {
  const response = await write("a-key-of-openid-client");
  written = await response.text();
  assert.equal(response.status, 200, written);
  assert.equal(JSON.parse(written).applied, 1, written);
  assert.equal(response.headers.get("idempotency-replayed"), null);
});

await step("its repetition gets the same answer", async () => {
  const response = await write("a-key-of-openid-client");
  assert.equal(response.headers.get("idempotency-replayed"), "true");
  assert.equal(await response.text(), written);
});

await step("the feed shows it, once", async () => {
  const response = await call("GET", `${BLUEPRINTS}?cursor=${snapshot.nextCursor}`);
  const { items, removed, hasMore } = await response.json();
  assert.deepEqual([keysOf(items), removed, hasMore], [["bp-sandbox-knife"], [], false]);
});

await step("a proof is taken once", async () => {
  const from = exchanges.length;
  await call("GET", `${gateway}/exchange/v1`);
  assert.deepEqual(statuses(from), [200]);
  const again = await raw(`DPoP ${tokens.access_token}`, exchanges.at(-1).proof);
  assert.equal(again.status, 401);
  assert.match(again.headers.get("www-authenticate"), /error="invalid_dpop_proof"/);
  assert.equal((await again.json()).code, "DPOP_INVALID");
});

await step("a proof without a nonce is challenged", async () => {
  const ath = createHash("sha256").update(tokens.access_token).digest("base64url");
  const response = await raw(`DPoP ${tokens.access_token}`, await proof("GET", `${gateway}/exchange/v1`, { ath }));
  assert.equal(response.status, 401);
  assert.match(response.headers.get("www-authenticate"), /error="use_dpop_nonce"/);
  assert.ok(response.headers.get("dpop-nonce"));
});

await step("a token without its key is worth nothing", async () => {
  for (const authorization of [`DPoP ${tokens.access_token}`, `Bearer ${tokens.access_token}`]) {
    const response = await raw(authorization);
    assert.equal(response.status, 401, authorization.split(" ")[0]);
    assert.match(response.headers.get("www-authenticate"), /^DPoP /);
  }
});

await step("the library reads a refusal's challenge", async () => {
  const stranger = client.getDPoPHandle(config, await client.randomDPoPKeyPair("ES256"));
  const url = new URL(`${gateway}/exchange/v1`);
  const refused = client.fetchProtectedResource(config, tokens.access_token, url, "GET", null, headers(), {
    DPoP: stranger,
  });
  await assert.rejects(refused, (error) => {
    assert.equal(error.code, "OAUTH_WWW_AUTHENTICATE_CHALLENGE");
    assert.equal(error.cause[0].scheme, "dpop");
    return true;
  });
});

await step("another key cannot refresh", async () => {
  const stranger = client.getDPoPHandle(config, await client.randomDPoPKeyPair("ES256"));
  const refused = client.refreshTokenGrant(config, tokens.refresh_token, undefined, { DPoP: stranger });
  await assert.rejects(refused, { error: "invalid_grant" });
});

await step("a refresh renews both tokens", async () => {
  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token, undefined, { DPoP: dpop });
  assert.notEqual(renewed.access_token, tokens.access_token);
  assert.notEqual(renewed.refresh_token, tokens.refresh_token);
  tokens = renewed;
  assert.equal((await call("GET", `${gateway}/exchange/v1`)).status, 200);
});

await step("a revoked connection is over", async () => {
  const { revocation_endpoint } = config.serverMetadata();
  config[client.customFetch] = async (url, options) => {
    options.headers.dpop = await proof("POST", url);
    return watched(url, options);
  };
  await client.tokenRevocation(config, tokens.refresh_token, { token_type_hint: "refresh_token" });
  assert.equal(exchanges.at(-1).url, revocation_endpoint);
  config[client.customFetch] = watched;
  const refused = client.refreshTokenGrant(config, tokens.refresh_token, undefined, { DPoP: dpop });
  await assert.rejects(refused, { error: "invalid_grant" });
});
