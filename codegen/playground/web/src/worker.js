// The worker: holds the WebAssembly module and the generated files. The page receives only the file that it shows.

import { handleRequest, initSync } from "#generator";

/** @type {Map<string, string>} */
let files = new Map();

/**
 * @param {any} request
 * @returns {any}
 */
function handle(request) {
  if (request.op === "file") return { text: files.get(request.name) ?? "" };
  const response = JSON.parse(handleRequest(JSON.stringify(request)));
  if (request.op === "generate" && response.files) {
    files = new Map(response.files.map((/** @type {{name: string, text: string}} */ file) => [file.name, file.text]));
    const lines = (/** @type {string} */ text) => text.split("\n").length - 1;
    response.files = [...files].map(([name, text]) => ({ name, lines: lines(text) }));
  }
  return response;
}

self.addEventListener("message", ({ data }) => {
  if (data.module) {
    initSync({ module: data.module });
    return;
  }
  const start = performance.now();
  try {
    const response = handle(data.request);
    self.postMessage({ id: data.id, response: { ...response, elapsed: performance.now() - start } });
  } catch (error) {
    const message = error instanceof RangeError ? "the documents are nested too deeply for the browser" : String(error);
    self.postMessage({ id: data.id, panic: message });
  }
});
