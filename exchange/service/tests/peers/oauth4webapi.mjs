// A gateway that uses `oauth4webapi`, for our client: the library verifies token and proof of every request.
//
//   node oauth4webapi.mjs DIRECTORY      beside a `node_modules` that holds oauth4webapi
//
// DIRECTORY is the first line of the output of oidc-provider.mjs, whose tokens this gateway accepts. The
// script prints the same line with the additional members `gateway` and `peer`, and runs until it is killed.
// Tests control it through `peer`: `POST {peer}/nonce` discards the nonce, `POST {peer}/token` rejects the
// token of the next request, and `GET {peer}/said` returns `{tokens, keys, challenged, refused}`: the number
// of tokens, the idempotency keys of the last write, the number of nonce challenges, and the reasons of other
// rejections. The script checks nonces and replays, because `oauth4webapi` leaves these checks to its user.
// `cargo xtask peers oauth4webapi` runs this script, oidc-provider.mjs, and our client with both.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import * as oauth from "oauth4webapi";

const directory = JSON.parse(process.argv[2]);
const issuer = new URL(directory.issuer);
const plain = { [oauth.allowInsecureRequests]: true };
const provider = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, plain));

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const gateway = `http://127.0.0.1:${server.address().port}`;

let nonce = randomUUID();
let tokenRefused = false;
const tokens = new Set();
const spent = new Set();
const said = { challenged: 0, refused: [], keys: [] };

const problem = (status, code, detail, headers = {}) => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: { status, code, title: code, detail, correlationId: randomUUID() },
});
const unsigned = (error, code, detail) =>
  problem(401, code, detail, { "www-authenticate": `DPoP algs="ES256", error="${error}"` });
const claimsOf = (proof) => JSON.parse(Buffer.from(proof.split(".")[1], "base64url"));

// Returns the error of the token or the proof, if any.
async function refusal(request) {
  const { nonce: given, jti } = claimsOf(request.headers.get("dpop"));
  if (given !== nonce) {
    said.challenged += 1;
    return unsigned("use_dpop_nonce", "DPOP_INVALID", "The proof lacks the nonce.");
  }
  try {
    if (spent.has(jti)) throw new Error("DPoP Proof was sent before");
    await oauth.validateJwtAccessToken(provider, request, "exchange-gateway", { requireDPoP: true, ...plain });
    spent.add(jti);
  } catch (error) {
    said.refused.push(error.message);
    return unsigned("invalid_dpop_proof", "DPOP_INVALID", "The proof is wrong.");
  }
  tokens.add(request.headers.get("authorization"));
  if (!tokenRefused) return undefined;
  tokenRefused = false;
  return unsigned("invalid_token", "UNAUTHENTICATED", "The token is refused, as it was asked for.");
}

const answers = {
  "GET /exchange/v1": () => ({
    apiVersion: "1.0",
    capabilities: ["exchange.blueprints.read", "exchange.blueprints.write", "exchange.connect"],
    installationId: "installation-1",
    limits: { batchMaxOps: 500 },
    deprecations: [],
    docsUrl: "https://docs.example",
    minClientVersion: null,
  }),
  "POST /exchange/v1/me/blueprints/changes": () => ({
    dryRun: false,
    applied: 1,
    unchanged: 0,
    notApplied: 0,
    results: [],
    warnings: [],
  }),
};

async function answered(request) {
  const route = `${request.method} ${new URL(request.url).pathname}`;
  const key = request.headers.get("idempotency-key");
  if (key) said.keys.push(key);
  const refused = await refusal(request);
  if (refused) return refused;
  const answer = answers[route];
  if (!answer) return problem(403, "SCOPE_MISSING", "The token has not the route's scope.");
  return { status: 200, headers: { "content-type": "application/json" }, body: answer() };
}

const controls = {
  "POST /_peer/nonce": () => (nonce = randomUUID()),
  "POST /_peer/token": () => (tokenRefused = true),
  "GET /_peer/said": () => {},
};

server.on("request", async (incoming, response) => {
  const control = controls[`${incoming.method} ${incoming.url}`];
  if (control) {
    control();
    return response.end(JSON.stringify({ ...said, tokens: tokens.size }));
  }
  for await (const _ of incoming);
  const { method, headers } = incoming;
  const { status, headers: more, body } = await answered(new Request(gateway + incoming.url, { method, headers }));
  response.writeHead(status, { "dpop-nonce": nonce, "ratelimit-policy": "120;w=60", ...more });
  response.end(JSON.stringify(body));
});
console.log(JSON.stringify({ ...directory, gateway, peer: `${gateway}/_peer` }));
