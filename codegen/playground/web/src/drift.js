// The comparison of two versions of the contract.

import { byId, create, withCode } from "./dom.js";
import { DocumentSet } from "./documents.js";
import { Cancelled, LatestRequest } from "./engine.js";
import { renderProblems } from "./problems.js";

/** The time in milliseconds after which a comparison is repeated without proofs. */
const PROOF_TIME = 15_000;

/** The phrases for the part of the version that has to be increased. */
const BUMPS = /** @type {Record<string, string>} */ ({
  none: "No new version is required.",
  patch: "The changes require a new patch version.",
  minor: "The changes require a new minor version.",
  major: "The changes require a new major version.",
});

/**
 * @typedef {{file: string, line: number, pointer: string}} ChangePlace
 * @typedef {{rule: string, level: string, readers: string, writers: string, reason: string, subject: string, uses: string[],
 *   message: string, proven: boolean, witness: string | null, old: ChangePlace | null, new: ChangePlace | null}} Change
 */

export class DriftView {
  /**
   * @param {import("./engine.js").Engine} engine
   * @param {() => import("./examples.js").NamedText[]} current returns the documents of the contract
   * @param {(file: string, line: number) => void} reveal shows a line of the contract
   * @param {() => void} onChange is called after a change of the old version
   * @param {(error: Error) => void} onFailure
   */
  constructor(engine, current, reveal, onChange, onFailure) {
    this.engine = engine;
    this.current = current;
    this.reveal = reveal;
    this.onFailure = onFailure;
    this.isShown = false;
    this.output = byId("changes");
    this.old = new DocumentSet(byId("old-tabs"), byId("old"), {
      label: "Old version",
      newName: "old.yaml",
      onChange: () => {
        this.compare();
        onChange();
      },
    });
    this.requests = new LatestRequest(
      engine,
      2000,
      (response, request) => this.showResult(response, request),
      (error, request) => this.handleFailure(error, request),
    );
  }

  /** Compares the versions if the view is visible. */
  compare() {
    const old = this.old.contents();
    if (!this.isShown) return;
    if (!old.length) {
      this.output.replaceChildren(
        create("p", { class: "hint" }, "Open the files of the old version, drop them here, or copy the contract and then edit it."),
      );
      return;
    }
    this.output.setAttribute("aria-busy", "true");
    if (!this.output.children.length) this.output.replaceChildren(create("p", { class: "hint" }, "Comparing…"));
    this.send({ op: "drift", old, new: this.current(), proofs: true });
  }

  /** @param {import("./engine.js").Request} request */
  send(request) {
    this.requests.send(request);
    clearTimeout(this.timer);
    if (request.proofs) this.timer = setTimeout(() => this.engine.restart(), PROOF_TIME);
  }

  /**
   * A comparison that fails or takes too long is repeated without proofs.
   * @param {Error} error
   * @param {import("./engine.js").Request} request
   */
  handleFailure(error, request) {
    if (request.proofs) {
      // The series of requests is still being handled.
      setTimeout(() => this.send({ ...request, proofs: false }));
    } else if (!(error instanceof Cancelled)) {
      this.onFailure(error);
    }
  }

  /**
   * @param {any} response
   * @param {import("./engine.js").Request} request
   */
  showResult(response, request) {
    clearTimeout(this.timer);
    this.output.setAttribute("aria-busy", "false");
    if (response.problems) {
      const { old, new: current } = response.problems;
      const lists = [];
      for (const [title, problems, documents] of [["Old version", old, this.old], ["Contract", current, undefined]]) {
        if (!problems) continue;
        const list = create("ul", { class: "problems" });
        renderProblems(list, problems, ({ file, line, column }) => documents ? documents.reveal(file, line, column) : this.reveal(file, line));
        lists.push(create("h2", {}, title), list);
      }
      this.output.replaceChildren(...lists);
      return;
    }
    const { changes, result, bump, oldVersion, newVersion } = response;
    const versions = oldVersion && newVersion && oldVersion !== newVersion ? ` The version changed from ${oldVersion} to ${newVersion}.` : "";
    this.output.replaceChildren(
      create(
        "p",
        { class: "summary", role: "status" },
        create("span", { class: `level ${result}` }, result === "same" ? "no effect" : result),
        create("span", {}, `${BUMPS[bump] ?? ""}${versions}${request.proofs ? "" : " Without proofs, because they took too long."}`),
        create("button", { type: "button", onclick: () => void this.saveReport(request) }, "Save report"),
      ),
      create("ul", { class: "changes" }, ...changes.map((/** @type {Change} */ change) => this.renderChange(change))),
    );
  }

  /** @param {Change} change */
  renderChange(change) {
    const place = (/** @type {string} */ label, /** @type {ChangePlace | null} */ place, /** @type {() => void} */ show) =>
      place && create("button", { type: "button", class: "link", onclick: show }, `${label} ${place.file}:${place.line}`);
    const level = (/** @type {string} */ who, /** @type {string} */ level) => create("span", { class: `level ${level}` }, `${who}: ${level}`);
    return create(
      "li",
      {},
      create("p", {}, create("code", {}, change.subject)),
      create("p", {}, ...withCode(change.message)),
      create("p", {}, level("readers", change.readers), " ", level("writers", change.writers), " ", create("code", { class: "rule" }, change.rule)),
      change.witness && create("p", { class: "help" }, "Only one version accepts ", create("code", {}, change.witness)),
      create(
        "p",
        {},
        place("old", change.old, () => this.old.reveal(change.old?.file ?? "", change.old?.line ?? 1)),
        " ",
        place("new", change.new, () => this.reveal(change.new?.file ?? "", change.new?.line ?? 1)),
      ),
      create("details", {}, create("summary", {}, "Reason"), create("p", {}, ...withCode(change.reason))),
    );
  }

  /**
   * Saves the page of `drift --html` as a file.
   * @param {import("./engine.js").Request} request
   */
  async saveReport(request) {
    const { report } = await this.engine.run({ ...request, report: true });
    const address = URL.createObjectURL(new Blob([report], { type: "text/html" }));
    create("a", { href: address, download: "drift.html" }).click();
    URL.revokeObjectURL(address);
  }
}
