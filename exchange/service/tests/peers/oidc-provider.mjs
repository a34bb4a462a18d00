// `oidc-provider` as the issuer for our gateway: device grant, tokens bound to keys, and JWT access tokens
// with our audience.
//
//   node oidc-provider.mjs      beside a `node_modules` that holds oidc-provider
//
// The script prints its addresses as `{issuer, control}` and runs until it is killed. Members sign in through
// its control interface, which is that of our sandbox: `POST {control}/approve {"userCode", "account"}`. It
// has three further routes: `POST {control}/nonce {"required"}` switches nonces on or off,
// `POST {control}/disconnect` ends the last grant, and `POST {control}/said` returns `{rotated, revoked}`:
// the numbers of rotated refresh tokens and of ended grants. `cargo xtask peers oidc-provider` runs this
// script, a gateway, and openid-client.mjs with both. `cargo xtask peers oauth4webapi` runs it for our
// client.

import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import * as oidc from "oidc-provider";

const SCOPES = "exchange.connect exchange.blueprints.read exchange.blueprints.write";
// The accounts of the sandbox with their members.
const MEMBERS = { "sandbox-member": "member-1", "sandbox-member-2": "member-2" };

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
// Omits `key_ops`, which lists the operation of the private key only.
const { key_ops: _, ...key } = await crypto.subtle.exportKey("jwk", pair.privateKey);

// Redirects the library's warnings to stderr, because tests read stdout.
console.log = console.info = console.warn = console.error;
let nonceRequired = false;
let granted;
const said = { rotated: 0, revoked: 0 };
const provider = new oidc.Provider(issuer, {
  clients: [
    {
      client_id: "sandbox-client",
      token_endpoint_auth_method: "none",
      grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
      response_types: [],
      redirect_uris: [],
      dpop_bound_access_tokens: true,
      id_token_signed_response_alg: "ES256",
    },
  ],
  jwks: { keys: [{ ...key, alg: "ES256", use: "sig", kid: "k-1" }] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  extraTokenClaims: () => ({ auth_time: Math.floor(Date.now() / 1000) }),
  rotateRefreshToken: true,
  ttl: { DeviceCode: 600, Grant: 3600, RefreshToken: 3600 },
  features: {
    devInteractions: { enabled: false },
    deviceFlow: { enabled: true, mask: "****-****" },
    dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => nonceRequired },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:exchange",
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        audience: "exchange-gateway",
        scope: SCOPES,
        accessTokenFormat: "jwt",
        accessTokenTTL: 300,
        jwt: { sign: { alg: "ES256" } },
      }),
    },
  },
});

// Performs the requests of the pages on which the member signs in and consents.
async function approve({ userCode, account }) {
  const code = await provider.DeviceCode.findByUserCode(userCode.replace(/\W/g, ""));
  const accountId = MEMBERS[account];
  if (!code || !accountId) return 404;
  const grant = new provider.Grant({ accountId, clientId: code.clientId });
  grant.addResourceScope("urn:exchange", SCOPES);
  grant.addOIDCScope("offline_access");
  const authTime = Math.floor(Date.now() / 1000);
  const scope = code.params.scope;
  granted = await grant.save();
  Object.assign(code, { accountId, authTime, scope, grantId: granted, resource: "urn:exchange" });
  await code.save();
  return 204;
}

provider.on("refresh_token.consumed", () => (said.rotated += 1));
provider.on("grant.revoked", () => (said.revoked += 1));

const controls = {
  approve,
  nonce: ({ required }) => {
    nonceRequired = required;
    return 204;
  },
  disconnect: async () => {
    await provider.RefreshToken.revokeByGrantId(granted);
    return 204;
  },
  said: () => 200,
};

const serve = provider.callback();
server.on("request", async (request, response) => {
  const control = controls[request.url.match(/^\/_sandbox\/(\w+)$/)?.[1]];
  if (!control) return serve(request, response);
  let body = "";
  for await (const part of request) body += part;
  const status = await control(JSON.parse(body));
  response.writeHead(status).end(status === 200 ? JSON.stringify(said) : undefined);
});
process.stdout.write(`${JSON.stringify({ issuer, control: `${issuer}/_sandbox` })}\n`);
