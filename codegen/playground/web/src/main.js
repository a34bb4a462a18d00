// The page: connects the editors, the generator and the views.

import { CodeView } from "./code.js";
import { byId, create, debounce } from "./dom.js";
import { DocumentSet, readFiles, TYPING_PAUSE } from "./documents.js";
import { DriftView } from "./drift.js";
import { DocumentEditor } from "./editor.js";
import { Cancelled, Engine, GeneratorFailure, LatestRequest } from "./engine.js";
import { EXAMPLES } from "./examples.js";
import { OptionsForm } from "./options.js";
import { showProblems, summarizeProblems } from "./problems.js";
import { loadState, storeState } from "./state.js";
import { handleTabs, markSelected } from "./tabs.js";

/** @typedef {import("./examples.js").NamedText} NamedText */

/** The time in milliseconds after which a generation ends if the contract has changed meanwhile. */
const PATIENCE = 2000;
const OPTIONS_FILE = "codegen.toml";

const compiled = compileGenerator();
const startWorker = () => new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const generator = new Engine(compiled, startWorker);

const main = byId("main");
const status = byId("status");
const narrow = matchMedia("(max-width: 720px)");
/** The selected view: `input`, `code`, `options` or `drift`. */
let view = "code";

const contract = new DocumentSet(byId("document-tabs"), byId("document"), {
  label: "Contract",
  newName: "openapi.yaml",
  onChange: changed,
  onOpen: () => {
    byId("remove-document").hidden = contract.documents.length < 2;
    markProblems();
  },
  onExplain: (file, view, position) => explainPosition(file, view, position),
});
const code = new CodeView((request) => generator.run(request), revealInContract);
const toml = new DocumentEditor(byId("toml"), { label: OPTIONS_FILE, onChange: debounce(TYPING_PAUSE, changed) });
toml.open(OPTIONS_FILE, "");
const form = new OptionsForm(byId("options-form"), (values) => generate(values));
const drift = new DriftView(new Engine(compiled, startWorker), () => contract.contents(), revealInContract, store, reportFailure);
const requests = new LatestRequest(generator, PATIENCE, showResult, (error) => {
  main.setAttribute("aria-busy", "false");
  if (error instanceof Cancelled) return;
  reportFailure(error);
});
/** @type {import("./problems.js").Problems} */
let problems = { total: 0, list: [] };

/** Downloads and compiles the module. Servers that do not know its media type prevent a compilation during the download. */
async function compileGenerator() {
  const response = await fetch(new URL("generator.wasm", import.meta.url));
  if (!response.ok) throw new Error(`generator.wasm is not available: ${response.status}`);
  const isKnown = response.headers.get("content-type")?.startsWith("application/wasm");
  return isKnown ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** Handles a change of the contract or of the options. */
function changed() {
  generate();
  drift.compare();
  store();
}

function store() {
  storeState({ files: contract.contents(), options: toml.text, old: drift.old.contents() });
}

/** @param {Record<string, any>} [values] the values of the form, which replace the text of the options */
function generate(values) {
  main.setAttribute("aria-busy", "true");
  status.textContent = "Generating…";
  requests.send({ op: "generate", files: contract.contents(), options: toml.text, values });
}

/**
 * @param {any} response
 * @param {import("./engine.js").Request} request
 */
function showResult(response, request) {
  byId("alert").replaceChildren();
  if (response.error) {
    reportFailure(new Error(response.error));
    return;
  }
  problems = response.diagnostics;
  showProblems(problems, revealPlace);
  if (request.values) toml.replace(response.options.text);
  if (response.options.values) form.show(response.options.values);
  markProblems();
  const time = response.elapsed < 1000 ? `${Math.round(response.elapsed)} ms` : `${(response.elapsed / 1000).toFixed(1)} s`;
  const lines = response.files.reduce((/** @type {number} */ sum, /** @type {{lines: number}} */ file) => sum + file.lines, 0);
  const result = response.files.length
    ? `${response.files.length} files, ${lines.toLocaleString("en")} lines in ${time}`
    : "No code was generated";
  status.textContent = `${result}; ${summarizeProblems(problems)}`;
  byId("code-view").classList.toggle("outdated", !response.files.length);
  if (request.values) store();
  const shown = response.files.length ? code.update(response.files) : Promise.resolve();
  shown.catch(() => undefined).finally(() => {
    main.setAttribute("aria-busy", String(requests.isRunning && requests.pending !== undefined));
    main.dataset.results = String(Number(main.dataset.results ?? 0) + 1);
    performance.mark("result");
  });
}

/** Marks the diagnostics in the editors. */
function markProblems() {
  const located = problems.list.flatMap((each) => (each.place ? [{ ...each, place: each.place }] : []));
  contract.editor.showProblems(located.filter(({ place }) => place.file === contract.activeName));
  toml.showProblems(located.filter(({ place }) => place.file === OPTIONS_FILE));
}

/**
 * @param {string} file
 * @param {number} line
 * @param {number} [column]
 */
function revealInContract(file, line, column) {
  if (narrow.matches) select("input");
  contract.reveal(file, line, column);
}

/** @param {import("./editor.js").Place} place */
function revealPlace({ file, line, column }) {
  if (file === OPTIONS_FILE) {
    select("options");
    toml.reveal(line, column);
  } else {
    revealInContract(file, line, column);
  }
}

/**
 * Explains the schema at a position of a document.
 * @param {string} file
 * @param {import("@codemirror/view").EditorView} editor
 * @param {number} position
 */
function explainPosition(file, editor, position) {
  const line = editor.state.doc.lineAt(position);
  select("code");
  const column = position - line.from + 1;
  void code.explainFirst([{ file, line: line.number, column }], `line ${line.number}, which is not part of a schema`);
}

/**
 * Shows a failure of the generator.
 * @param {unknown} error
 */
function reportFailure(error) {
  main.setAttribute("aria-busy", "false");
  status.textContent = "The generator failed";
  const text = error instanceof Error ? error.message : String(error);
  const repository = document.querySelector("meta[name=repository]")?.getAttribute("content");
  const query = new URLSearchParams({ title: "The playground failed", body: `Message:\n\n    ${text}\n\nContract (if it is not confidential):\n` });
  byId("alert").replaceChildren(
    create("strong", {}, "The generator failed. "),
    `${text}. `,
    error instanceof GeneratorFailure ? "It was restarted: edit the contract to try again. " : "",
    repository ? create("a", { href: `${repository}/issues/new?${query}`, rel: "noreferrer" }, "Report the failure") : "Please report the message.",
    create("button", { type: "button", class: "close", "aria-label": "Close the message", onclick: () => byId("alert").replaceChildren() }, "×"),
  );
}

/**
 * Loads documents of the user.
 * @param {NamedText[]} files
 */
function loadFiles(files) {
  const options = files.find(({ name }) => name === OPTIONS_FILE);
  if (options) toml.open(OPTIONS_FILE, options.text);
  const documents = files.filter((file) => file !== options);
  /** @type {HTMLSelectElement} */ (byId("example")).value = "";
  if (documents.length) contract.load(documents);
  else changed();
}

/** @param {string} id */
function loadExample(id) {
  if (id === "") contract.load([]);
  const example = EXAMPLES.find((each) => each.id === id);
  if (!example) return;
  toml.open(OPTIONS_FILE, example.options ?? "");
  drift.old.load(example.old ?? []);
  contract.load(example.files);
  if (example.old) select("drift");
  else if (view === "drift") select("code");
}

/** @param {string} name */
function select(name) {
  view = name;
  markSelected(byId("views"), byId(`view-${name}`));
  for (const panel of ["code", "options", "drift"]) byId(`${panel}-view`).hidden = panel !== name;
  drift.isShown = name === "drift";
  if (drift.isShown) drift.compare();
  arrange();
}

/** Arranges the page for its width: below 720 px, the contract is one of the views. */
function arrange() {
  const views = byId("views");
  const input = byId("input");
  byId("view-input").hidden = !narrow.matches;
  if (narrow.matches) {
    if (main.firstElementChild !== views) main.prepend(views);
    input.setAttribute("role", "tabpanel");
    input.setAttribute("aria-labelledby", "view-input");
  } else {
    if (byId("output").firstElementChild !== views) byId("output").prepend(views);
    input.removeAttribute("role");
    input.removeAttribute("aria-labelledby");
    if (view === "input") {
      select("code");
      return;
    }
  }
  input.hidden = narrow.matches && view !== "input";
  byId("output").hidden = narrow.matches && view === "input";
}

/**
 * @param {string} input the id of the file input
 * @param {(files: NamedText[]) => void} load
 */
function handleFileInput(input, load) {
  const element = /** @type {HTMLInputElement} */ (byId(input));
  element.addEventListener("change", async () => {
    load(await readFiles(element.files ?? []));
    // The same file can be opened again.
    element.value = "";
  });
  return () => element.click();
}

function handleEvents() {
  const example = /** @type {HTMLSelectElement} */ (byId("example"));
  example.append(create("option", { value: "" }, "Your own document"), ...EXAMPLES.map(({ id, title }) => create("option", { value: id }, title)));
  example.addEventListener("change", () => loadExample(example.value));
  byId("open").addEventListener("click", handleFileInput("file-input", loadFiles));
  byId("open-old").addEventListener("click", handleFileInput("old-file-input", (files) => drift.old.load(files)));
  byId("copy-current").addEventListener("click", () => drift.old.load(contract.contents()));
  byId("remove-document").addEventListener("click", () => contract.removeActive());
  byId("explain-here").addEventListener("click", () => {
    const { view } = contract.editor;
    explainPosition(contract.activeName, view, view.state.selection.main.head);
  });
  handleTabs(byId("views"), (tab) => select(tab.id.replace("view-", "")));
  narrow.addEventListener("change", arrange);
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("dragging");
  }, true);
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dragging");
  }, true);
  addEventListener("drop", async (event) => {
    document.body.classList.remove("dragging");
    if (!event.dataTransfer?.files.length) return;
    // CodeMirror would insert the content.
    event.preventDefault();
    event.stopPropagation();
    const isOld = /** @type {Element} */ (event.target).closest("#drift-view") !== null;
    const files = await readFiles(event.dataTransfer.files);
    if (isOld) drift.old.load(files);
    else loadFiles(files);
  }, true);
}

function start() {
  handleEvents();
  const wanted = new URLSearchParams(location.hash.slice(1)).get("example");
  const stored = loadState();
  // The address selects the example only once: later, a reload shows the edited document.
  if (wanted) history.replaceState(null, "", location.pathname);
  const example = /** @type {HTMLSelectElement} */ (byId("example"));
  select("code");
  if (stored && !wanted) {
    example.value = "";
    toml.open(OPTIONS_FILE, stored.options);
    drift.old.load(stored.old);
    contract.load(stored.files);
  } else {
    example.value = EXAMPLES.some(({ id }) => id === wanted) ? wanted ?? "" : EXAMPLES[0].id;
    loadExample(example.value);
  }
}

start();
