// The generated files, and the explanation of a name in them.

import { byId, create, withCode } from "./dom.js";
import { DocumentEditor } from "./editor.js";
import { namesAt } from "./names.js";
import { handleTabs, renderTabs } from "./tabs.js";

/** The files that are listed first. */
const FIRST = ["models.rs", "api.rs", "client.rs", "server.rs", "calls.rs", "bodies.rs", "responses.rs"];

/**
 * @typedef {{rule: string, enforced: string | null}} Rule
 * @typedef {{wire: string, name: string, type: string, presence: string, description: string | null, rules: Rule[]}} Part
 * @typedef {{title: string, origins: string[], description: string | null, form: string, rules: Rule[], parts: Part[]}} Explanation
 */

export class CodeView {
  /**
   * @param {(request: import("./engine.js").Request) => Promise<any>} run sends a request to the generator
   * @param {(file: string, line: number) => void} reveal shows a line of the contract
   */
  constructor(run, reveal) {
    this.run = run;
    this.reveal = reveal;
    this.tabs = byId("file-tabs");
    this.panel = byId("code");
    this.explanation = byId("explanation");
    this.file = FIRST[0];
    /** @type {string[]} */
    this.files = [];
    /** The explanation that is shown. @type {{requests: Record<string, unknown>[], what: string} | undefined} */
    this.explained = undefined;
    const explain = (/** @type {import("@codemirror/view").EditorView} */ view, /** @type {number} */ position) => {
      const names = namesAt(view.state, position);
      if (!names.length) return;
      // The explanation can cover the line of the name.
      void this.explainFirst(names.map((name) => ({ name })), names[0]).then(() => this.editor.revealCursor());
    };
    this.editor = new DocumentEditor(this.panel, {
      label: "Generated code",
      isReadOnly: true,
      onClick: explain,
      onExplain: explain,
    });
    handleTabs(this.tabs, (tab) => void this.show(tab.dataset.name ?? ""));
    byId("copy").addEventListener("click", () => void navigator.clipboard.writeText(this.editor.text));
  }

  /**
   * Shows the result of a generation.
   * @param {{name: string, lines: number}[]} files
   */
  async update(files) {
    const rank = (/** @type {string} */ name) => {
      const at = FIRST.indexOf(name.replace(/^src\//, ""));
      return at < 0 ? FIRST.length : at;
    };
    const sorted = files.toSorted((one, other) => rank(one.name) - rank(other.name));
    this.files = sorted.map(({ name }) => name);
    const items = sorted.map(({ name, lines }) => ({ name, label: name.replace(/\.rs$/, ""), title: `${name}, ${lines} lines` }));
    if (!this.files.includes(this.file)) this.file = this.files[0] ?? "";
    renderTabs(this.tabs, this.panel, items, this.file);
    await this.load();
    if (this.explained) await this.explainAgain(this.explained);
  }

  /** @param {string} name */
  async show(name) {
    this.file = name;
    const items = [...this.tabs.children].map((tab) => {
      const { dataset, textContent, title } = /** @type {HTMLElement} */ (tab);
      return { name: dataset.name ?? "", label: textContent ?? "", title };
    });
    renderTabs(this.tabs, this.panel, items, name);
    await this.load();
  }

  /** Requests the selected file from the worker, and shows it. */
  async load() {
    const name = this.file;
    const { text } = await this.run({ op: "file", name });
    if (name !== this.file) return;
    if (name === this.editor.name) this.editor.replace(text);
    else this.editor.open(name, text);
  }

  /**
   * Shows the explanation of the first request that has one.
   * @param {Record<string, unknown>[]} requests
   * @param {string} what the item, for the message that there is no explanation
   */
  async explainFirst(requests, what) {
    this.explained = { requests, what };
    let near;
    for (const request of requests) {
      const response = await this.run({ op: "explain", ...request });
      if (response.error) break;
      if (response.found.length) {
        this.showExplanation(response.found);
        return;
      }
      near ??= response.near;
    }
    const hint = near ? `; the most similar name is ${near}` : "";
    this.explanation.replaceChildren(create("p", { class: "hint" }, `There is no explanation of ${what}${hint}.`));
  }

  /**
   * Shows the explanation of the same item in the new contract, at the same position.
   * @param {{requests: Record<string, unknown>[], what: string}} explained
   */
  async explainAgain({ requests, what }) {
    const { scrollTop } = this.explanation;
    await this.explainFirst(requests, what);
    this.explanation.scrollTop = scrollTop;
  }

  /** @param {Explanation[]} explanations */
  showExplanation(explanations) {
    const hide = () => {
      this.explained = undefined;
      this.explanation.replaceChildren();
    };
    const close = create("button", { type: "button", class: "close", "aria-label": "Close the explanation", onclick: hide }, "×");
    this.explanation.replaceChildren(close, ...explanations.flatMap((each) => this.renderExplanation(each)));
    this.explanation.scrollTop = 0;
  }

  /** @param {Explanation} explanation */
  renderExplanation({ title, origins, description, form, rules, parts }) {
    return [
      create("h2", {}, ...withCode(title)),
      ...origins.map((origin) => this.renderOrigin(origin)),
      description && create("p", { class: "description" }, description),
      create("p", {}, ...withCode(form)),
      renderRules(rules),
      ...parts.map((part) =>
        create(
          "div",
          { class: "part" },
          create("p", {}, create("code", {}, part.wire), ": ", create("code", {}, part.type), part.presence && `, ${part.presence}`),
          part.description && create("p", { class: "description" }, part.description),
          renderRules(part.rules),
        ),
      ),
    ].filter((each) => each !== null && each !== "");
  }

  /** @param {string} origin such as `tickets.yaml:45 #/components/schemas/Ticket` */
  renderOrigin(origin) {
    const place = /^(.*):(\d+) (#.*)$/.exec(origin);
    if (!place) return create("p", { class: "origin" }, origin);
    const [, file, line, pointer] = place;
    const show = () => this.reveal(file, Number(line));
    return create("p", { class: "origin" }, create("button", { type: "button", class: "link", onclick: show }, `${file}:${line}`), ` ${pointer}`);
  }
}

/** @param {Rule[]} rules */
function renderRules(rules) {
  if (!rules.length) return null;
  const items = rules.map(({ rule, enforced }) =>
    create("li", {}, create("code", {}, rule), ": ", ...withCode(enforced ?? "annotation, not checked")),
  );
  return create("ul", {}, ...items);
}
