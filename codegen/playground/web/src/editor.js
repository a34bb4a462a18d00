// The editors: CodeMirror with the languages, the colors of the page and diagnostics.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { rust } from "@codemirror/lang-rust";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  StreamLanguage,
  syntaxHighlighting,
} from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Transaction } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** @typedef {{line: number, column: number, endLine: number, endColumn: number, file: string, pointer: string}} Place */

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--editor)", color: "var(--text)", fontSize: "13px" },
  // The element around the editor marks the focus, because the line numbers would cover an outline.
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--editor)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--active-line)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--active-line)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--match)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--match)" },
  ".cm-panels, .cm-tooltip": {
    backgroundColor: "var(--panel)",
    color: "var(--text)",
    borderColor: "var(--border)",
  },
  ".cm-panels input, .cm-panels button": { color: "var(--text)", backgroundColor: "var(--editor)", backgroundImage: "none" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--panel)", color: "var(--muted)", borderColor: "var(--border)" },
});

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.self, tags.operatorKeyword], color: "var(--keyword)" },
  { tag: [tags.propertyName, tags.attributeName, tags.definition(tags.propertyName)], color: "var(--property)" },
  { tag: [tags.string, tags.special(tags.string), tags.character], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--number)" },
  { tag: [tags.typeName, tags.className, tags.namespace], color: "var(--type)" },
  { tag: [tags.macroName, tags.meta, tags.function(tags.variableName), tags.heading], color: "var(--function)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment, tags.docComment], color: "var(--comment)" },
  { tag: tags.invalid, color: "var(--error)" },
]);

/**
 * Returns the language of a file.
 * @param {string} name
 */
function languageOf(name) {
  const ending = name.split(".").pop()?.toLowerCase();
  if (ending === "rs") return rust();
  if (ending === "toml") return StreamLanguage.define(toml);
  return ending === "yaml" || ending === "yml" ? yaml() : json();
}

/** An editor for one document at a time. */
export class DocumentEditor {
  /**
   * @param {HTMLElement} parent
   * @param {{
   *   label: string,
   *   isReadOnly?: boolean,
   *   onChange?: () => void,
   *   onExplain?: (view: EditorView, position: number) => void,
   *   onClick?: (view: EditorView, position: number) => void,
   * }} settings
   */
  constructor(parent, settings) {
    this.settings = settings;
    this.language = new Compartment();
    this.name = "";
    this.view = new EditorView({ parent, state: this.createState("", "document.json") });
    // Only the visible lines are elements; tests read the whole document.
    Object.assign(this.view.contentDOM, { editorView: this.view });
  }

  /**
   * @param {string} text
   * @param {string} name
   */
  createState(text, name) {
    const { label, isReadOnly, onChange, onExplain, onClick } = this.settings;
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        foldGutter(),
        ...(isReadOnly ? [] : [lintGutter(), history(), indentOnInput(), highlightActiveLine()]),
        highlightActiveLineGutter(),
        drawSelection(),
        bracketMatching(),
        highlightSelectionMatches(),
        EditorView.cspNonce.of("codemirror"),
        theme,
        syntaxHighlighting(highlighting),
        this.language.of(languageOf(name)),
        EditorState.readOnly.of(Boolean(isReadOnly)),
        EditorView.contentAttributes.of({
          "aria-label": label,
          tabindex: "0",
          // A keyboard on the screen would hide the code, which cannot be edited.
          ...(isReadOnly
            ? { inputmode: "none", "aria-description": "Press Alt+Enter to explain the name at the cursor." }
            : { "aria-description": "Press Escape, then Tab, to leave the editor." }),
        }),
        EditorView.updateListener.of((update) => {
          const isLoaded = update.transactions.some((each) => each.annotation(Transaction.userEvent) === "load");
          if (update.docChanged && !isLoaded) onChange?.();
        }),
        EditorView.domEventHandlers({
          click: (event, view) => {
            const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
            // A click that ends a selection is not a click on a name.
            if (onClick && position !== null && view.state.selection.main.empty) onClick(view, position);
          },
        }),
        keymap.of([
          {
            key: "Alt-Enter",
            run: (view) => {
              onExplain?.(view, view.state.selection.main.head);
              return onExplain !== undefined;
            },
          },
          ...(isReadOnly ? [] : [...historyKeymap, ...lintKeymap, indentWithTab]),
          ...defaultKeymap,
          ...searchKeymap,
          ...foldKeymap,
        ]),
      ],
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /**
   * Shows another document, without a history.
   * @param {string} name
   * @param {string} text
   */
  open(name, text) {
    this.name = name;
    this.view.setState(this.createState(text, name));
  }

  /**
   * Replaces the text. Equal parts at the start and at the end keep the position of the view and of the cursor.
   * @param {string} text
   */
  replace(text) {
    const old = this.text;
    if (old === text) return;
    let start = 0;
    while (start < old.length && start < text.length && old.charCodeAt(start) === text.charCodeAt(start)) start++;
    let end = 0;
    const most = Math.min(old.length, text.length) - start;
    while (end < most && old.charCodeAt(old.length - 1 - end) === text.charCodeAt(text.length - 1 - end)) end++;
    this.view.dispatch({
      changes: { from: start, to: old.length - end, insert: text.slice(start, text.length - end) },
      annotations: Transaction.userEvent.of("load"),
    });
  }

  /**
   * Moves the cursor to a line and column, which count from 1, and scrolls there.
   * @param {number} line
   * @param {number} [column]
   */
  reveal(line, column = 1) {
    const { doc } = this.view.state;
    const found = doc.line(Math.max(1, Math.min(line, doc.lines)));
    const anchor = Math.min(found.from + column - 1, found.to);
    this.view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.view.focus();
  }

  /** Scrolls to the cursor, after the layout of the page has changed. */
  revealCursor() {
    const effects = EditorView.scrollIntoView(this.view.state.selection.main.head, { y: "nearest", yMargin: 40 });
    requestAnimationFrame(() => this.view.dispatch({ effects }));
  }

  /**
   * Shows diagnostics in the text and beside the lines.
   * @param {{severity: string, message: string, help: string | null, place: Place}[]} problems
   */
  showProblems(problems) {
    const { state } = this.view;
    const { doc } = state;
    const offset = (/** @type {number} */ line, /** @type {number} */ column) => {
      if (line > doc.lines) return doc.length;
      const found = doc.line(line);
      return Math.min(found.from + column - 1, found.to);
    };
    const diagnostics = problems.map(({ severity, message, help, place }) => {
      const from = offset(place.line, place.column);
      // The range of an object is often most of the document: only its first line is marked.
      const to = place.endLine === place.line ? offset(place.endLine, place.endColumn) : offset(place.line, Infinity);
      return {
        from,
        to: Math.max(from, to),
        severity: /** @type {"error" | "warning" | "info"} */ (severity === "note" ? "info" : severity),
        message: help ? `${message}\nhelp: ${help}` : message,
      };
    });
    this.view.dispatch(setDiagnostics(state, diagnostics));
  }
}
