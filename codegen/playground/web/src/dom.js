// Creates and finds elements.

/**
 * Returns the element with an id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element #${id}`);
  return found;
}

/**
 * Creates an element. Properties whose names start with `on` are event listeners, others are attributes; `true` is an
 * empty attribute, and `false`, `null` and `undefined` are none.
 * @param {string} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElement}
 */
export function create(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * Splits text with code in backticks into nodes.
 * @param {string} text
 * @returns {Node[]}
 */
export function withCode(text) {
  return text.split("`").map((part, index) => (index % 2 ? create("code", {}, part) : document.createTextNode(part)));
}

/**
 * Returns a function that runs `action` after a pause in its calls.
 * @param {number} delay in milliseconds
 * @param {() => void} action
 */
export function debounce(delay, action) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, delay);
  };
}
