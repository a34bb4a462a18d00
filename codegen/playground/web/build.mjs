// Builds the static folder of the playground.
//
// node build.mjs GENERATOR OUTPUT
//
// GENERATOR is the folder that wasm-bindgen wrote; OUTPUT is the folder to create. The environment variable REPOSITORY is
// the address of the repository, for the link to report a failure.

import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "esbuild";

const [generator, output] = process.argv.slice(2).map((path) => resolve(path));
if (!generator || !output) throw new Error("usage: node build.mjs GENERATOR OUTPUT");
const here = import.meta.dirname;

await rm(output, { recursive: true, force: true });
await mkdir(output, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: ["src/main.js", "src/worker.js"],
  outdir: output,
  bundle: true,
  format: "esm",
  target: "es2023",
  minify: true,
  legalComments: "linked",
  logLevel: "warning",
  alias: { "#generator": join(generator, "contract_playground.js") },
  // The examples are text, also those in JSON. The JSON Schema of the options is imported as an object.
  plugins: [
    {
      name: "examples",
      setup({ onLoad }) {
        onLoad({ filter: /playground[\\/]examples[\\/]/ }, async ({ path }) => ({
          contents: await readFile(path, "utf8"),
          loader: "text",
        }));
      },
    },
  ],
});
const repository = (process.env.REPOSITORY ?? "").replaceAll('"', "");
const page = await readFile(join(here, "index.html"), "utf8");
await writeFile(join(output, "index.html"), page.replace("%REPOSITORY%", repository));
for (const name of ["style.css", "icon.svg"]) await copyFile(join(here, name), join(output, name));
await copyFile(join(generator, "contract_playground_bg.wasm"), join(output, "generator.wasm"));
