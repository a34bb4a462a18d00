// Starts a server and runs the tests of the package `wasm-client-tests` against it.
// The argument is the folder that `wasm-bindgen` wrote, `target/wasm` by default.

import { createServer } from "node:http";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2] ?? "target/wasm");
const { run } = await import(pathToFileURL(`${folder}/wasm_client_tests.js`).href);

let unavailable = 2;

/** Returns status, media type and body of the response. */
function respond(method, url, body) {
  if (method === "PUT") {
    return body === "content" ? [204] : [400, "application/problem+json", '{"title":"Wrong content"}'];
  }
  if (url === "/moves") {
    return unavailable-- > 0 ? [503, "text/plain", "later"] : [200, "text/event-stream", "id: 1\nevent: opened\ndata: a\n\n"];
  }
  const { prompt, stream } = JSON.parse(body);
  if (prompt === "No") return [400, "application/problem+json", '{"title":"Refused"}'];
  if (prompt === "Slow") return undefined;
  return stream
    ? [200, "text/event-stream", 'data: {"index":0,"delta":"Hel"}\n\ndata: {"index":0,"delta":"lo"}\n\ndata: [DONE]\n\n']
    : [200, "application/json", '{"text":"Hello"}'];
}

const server = createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const result = respond(request.method, request.url, Buffer.concat(pieces).toString());
    if (result === undefined) return;
    const [status, mediaType, body] = result;
    response.writeHead(status, mediaType ? { "content-type": mediaType } : {});
    response.end(body);
  });
});

await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
try {
  console.log(`passed: ${await run(`http://127.0.0.1:${server.address().port}`)}`);
} catch (error) {
  console.error(`failed: ${error.message}`);
  process.exitCode = 1;
} finally {
  server.closeAllConnections();
  server.close();
}
