// The state that survives a reload. It is stored only in the browser.

const KEY = "contract-playground";
/** The maximum length of the stored documents, because the page cannot respond while they are stored. */
const MAX_LENGTH = 500_000;

/**
 * @typedef {import("./examples.js").NamedText} NamedText
 * @typedef {{files: NamedText[], options: string, old: NamedText[]}} StoredState
 */

/** @param {StoredState} state */
export function storeState(state) {
  const length = [...state.files, ...state.old].reduce((sum, { text }) => sum + text.length, state.options.length);
  try {
    if (length <= MAX_LENGTH) localStorage.setItem(KEY, JSON.stringify(state));
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage, a reload shows the first example.
  }
}

/** @returns {StoredState | undefined} */
export function loadState() {
  try {
    const state = JSON.parse(localStorage.getItem(KEY) ?? "null");
    const isDocuments = (/** @type {any} */ list) =>
      Array.isArray(list) && list.every((each) => typeof each?.name === "string" && typeof each?.text === "string");
    const isValid = isDocuments(state?.files) && state.files.length > 0 && isDocuments(state.old) && typeof state.options === "string";
    return isValid ? state : undefined;
  } catch {
    return undefined;
  }
}
