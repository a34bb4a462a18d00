// `oidc-provider` as the issuer of our gateway: device grant, tokens bound to keys, access tokens as JWTs with
// our audience.
//
//   node oidc-provider.mjs      beside a `node_modules` that holds oidc-provider
//
// The first line on stdout says where it is: `{issuer, control}`; it runs until it is ended. Members sign in by
// its control interface, which is that of our sandbox: `POST {control}/approve {"userCode", "account"}`.
// `cargo xtask peers oidc-provider` runs this, a gateway beside it, and openid-client.mjs against both.

import { createServer } from "node:http";
import * as oidc from "oidc-provider";

const SCOPES = "exchange.connect exchange.blueprints.read exchange.blueprints.write";
// What the sandbox calls its members.
const MEMBERS = { "sandbox-member": "member-1", "sandbox-member-2": "member-2" };

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
const key = await crypto.subtle.exportKey("jwk", pair.privateKey);

// The library says on stdout what is not for production; stdout is for who started this.
console.log = console.info = console.warn = console.error;
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
    dPoP: { enabled: true },
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

// What its pages would do when the member signs in and agrees.
async function approve({ userCode, account }) {
  const code = await provider.DeviceCode.findByUserCode(userCode.replace(/\W/g, ""));
  const accountId = MEMBERS[account];
  if (!code || !accountId) return 404;
  const grant = new provider.Grant({ accountId, clientId: code.clientId });
  grant.addResourceScope("urn:exchange", SCOPES);
  grant.addOIDCScope("offline_access");
  const authTime = Math.floor(Date.now() / 1000);
  const scope = code.params.scope;
  Object.assign(code, { accountId, authTime, scope, grantId: await grant.save(), resource: "urn:exchange" });
  await code.save();
  return 204;
}

const serve = provider.callback();
server.on("request", async (request, response) => {
  if (request.url !== "/_sandbox/approve") return serve(request, response);
  let body = "";
  for await (const part of request) body += part;
  response.writeHead(await approve(JSON.parse(body))).end();
});
process.stdout.write(`${JSON.stringify({ issuer, control: `${issuer}/_sandbox` })}\n`);
