// A server for the static folder, on a free port of this machine.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const MEDIA_TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** The text in a document with which the worker of `/failing/` fails, as after a panic. */
export const FAILURE_MARK = "make-the-generator-fail";

/** Code before the worker: fails for a marked document. The listener runs before that of the worker. */
const FAILING_WORKER = `self.addEventListener("message", (event) => {
  const { id, request } = event.data;
  if (!JSON.stringify(request ?? "").includes("${FAILURE_MARK}")) return;
  event.stopImmediatePropagation();
  self.postMessage({ id, panic: "panicked at a mark" });
});`;

/** Starts the server. Returns its address, and a function that stops it. */
export async function startServer(folder) {
  const server = createServer(async ({ url }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    const isFailing = pathname.startsWith("/failing/");
    const path = normalize(pathname.replace(/^\/failing/, "").replace(/\/$/, "/index.html"));
    try {
      const content = await readFile(join(folder, path));
      response.writeHead(200, { "content-type": MEDIA_TYPES[extname(path)] ?? "text/plain" });
      if (isFailing && path === "/worker.js") response.write(FAILING_WORKER);
      response.end(content);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, stop };
}
