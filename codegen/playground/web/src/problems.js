// The list of diagnostics below the contract, and their marks in the editors.

import { byId, create, withCode } from "./dom.js";

/**
 * @typedef {import("./editor.js").Place} Place
 * @typedef {{severity: string, code: string, message: string, help: string | null, place: Place | null, related: {place: Place | null, text: string}[]}} Problem
 * @typedef {{total: number, list: Problem[]}} Problems
 */

/**
 * Renders diagnostics as a list.
 * @param {HTMLElement} list
 * @param {Problems} problems
 * @param {(place: Place) => void} reveal
 */
export function renderProblems(list, { total, list: problems }, reveal) {
  const place = (/** @type {Place | null} */ place) =>
    place &&
    create("button", { type: "button", class: "link", onclick: () => reveal(place) }, `${place.file}:${place.line}:${place.column}`);
  const items = problems.map(({ severity, code, message, help, place: main, related }) =>
    create(
      "li",
      { class: severity },
      create("p", {}, create("strong", {}, severity), " ", ...withCode(message), " ", create("span", { class: "code" }, code)),
      help && create("p", { class: "help" }, "help: ", ...withCode(help)),
      place(main),
      ...related.map((each) => create("p", { class: "help" }, `${each.text}: `, place(each.place))),
    ),
  );
  if (total > problems.length) items.push(create("li", {}, `${total - problems.length} more diagnostics`));
  list.replaceChildren(...items);
  list.hidden = items.length === 0;
}

/**
 * Returns a summary such as `2 errors, 1 warning`.
 * @param {Problems} problems
 */
export function summarizeProblems({ total, list }) {
  if (total > list.length) return `${total} diagnostics`;
  const count = (/** @type {string} */ severity) => {
    const number = list.filter((each) => each.severity === severity).length;
    return number && `${number} ${severity}${number === 1 ? "" : "s"}`;
  };
  return ["error", "warning", "note"].map(count).filter(Boolean).join(", ") || "no diagnostics";
}

/**
 * Shows diagnostics below the contract.
 * @param {Problems} problems
 * @param {(place: Place) => void} reveal
 */
export function showProblems(problems, reveal) {
  renderProblems(byId("problem-list"), problems, reveal);
}
