// A set of documents with tabs: the contract, or its old version.

import { debounce } from "./dom.js";
import { DocumentEditor } from "./editor.js";
import { handleTabs, renderTabs } from "./tabs.js";

/** @typedef {import("./examples.js").NamedText} NamedText */

/** The pause in typing, in milliseconds, after which a change is handled. */
export const TYPING_PAUSE = 250;

export class DocumentSet {
  /**
   * @param {HTMLElement} tabs
   * @param {HTMLElement} panel
   * @param {{
   *   label: string,
   *   newName: string,
   *   onChange: () => void,
   *   onOpen?: () => void,
   *   onExplain?: (file: string, view: import("@codemirror/view").EditorView, position: number) => void,
   * }} settings
   */
  constructor(tabs, panel, { label, newName, onChange, onOpen, onExplain }) {
    this.tabs = tabs;
    this.panel = panel;
    // The name of a document that is typed, not opened.
    this.newName = newName;
    this.onChange = onChange;
    this.onOpen = onOpen;
    /** @type {NamedText[]} */
    this.documents = [];
    this.active = 0;
    this.editor = new DocumentEditor(panel, {
      label,
      onChange: debounce(TYPING_PAUSE, onChange),
      onExplain: onExplain && ((view, position) => onExplain(this.activeName, view, position)),
    });
    handleTabs(tabs, (tab) => this.show(tab.dataset.name ?? ""));
  }

  get activeName() {
    return this.documents[this.active]?.name ?? "";
  }

  /** Replaces all documents.
   * @param {NamedText[]} documents
   */
  load(documents) {
    this.documents = documents.map((each) => ({ ...each }));
    this.active = 0;
    this.openActive();
    this.onChange();
  }

  /** Removes the document that is shown, unless it is the only one. */
  removeActive() {
    if (this.documents.length < 2) return;
    this.documents.splice(this.active, 1);
    this.active = Math.min(this.active, this.documents.length - 1);
    this.openActive();
    this.onChange();
  }

  /** @param {string} name */
  show(name) {
    const index = this.documents.findIndex((each) => each.name === name);
    if (index < 0 || index === this.active) return;
    this.storeActive();
    this.active = index;
    this.openActive();
  }

  /**
   * Shows a line of a document.
   * @param {string} name
   * @param {number} line
   * @param {number} [column]
   */
  reveal(name, line, column) {
    this.show(name);
    this.editor.reveal(line, column);
  }

  /** Returns all documents with their current text.
   * @returns {NamedText[]}
   */
  contents() {
    this.storeActive();
    return this.documents.map((each) => ({ ...each }));
  }

  storeActive() {
    const document = this.documents[this.active];
    const { text } = this.editor;
    if (document) document.text = text;
    else if (text) this.documents = [{ name: this.newName, text }];
  }

  openActive() {
    const document = this.documents[this.active] ?? { name: this.newName, text: "" };
    const documents = this.documents.length ? this.documents : [document];
    const items = documents.map(({ name }) => ({ name, label: name }));
    renderTabs(this.tabs, this.panel, items, document.name);
    this.editor.open(document.name, document.text);
    this.onOpen?.();
  }
}

/**
 * Reads files of the user. Files with equal names are numbered, because names are unique in a set.
 * @param {Iterable<File>} files
 * @returns {Promise<NamedText[]>}
 */
export async function readFiles(files) {
  const documents = await Promise.all([...files].map(async (file) => ({ name: file.name, text: await file.text() })));
  const used = new Set();
  for (const document of documents) {
    const name = document.name;
    for (let number = 2; used.has(document.name); number++) document.name = name.replace(/(?=\.[^.]*$|$)/, `-${number}`);
    used.add(document.name);
  }
  return documents;
}
