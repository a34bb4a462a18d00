// Tab lists, after the pattern of the ARIA Authoring Practices Guide: one tab is in the tab sequence, arrow keys select
// the next one.

import { create } from "./dom.js";

/**
 * Handles clicks and keys of a tab list.
 * @param {HTMLElement} list
 * @param {(tab: HTMLElement) => void} select
 */
export function handleTabs(list, select) {
  const tabOf = (/** @type {Event} */ event) => /** @type {HTMLElement | null} */ (
    /** @type {Element} */ (event.target).closest("[role=tab]")
  );
  list.addEventListener("click", (event) => {
    const tab = tabOf(event);
    if (tab) select(tab);
  });
  list.addEventListener("keydown", (event) => {
    const tab = tabOf(event);
    const tabs = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[role=tab]:not([hidden])")]);
    if (!tab) return;
    const at = tabs.indexOf(tab);
    const next = {
      ArrowRight: (at + 1) % tabs.length,
      ArrowLeft: (at + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const id = tabs[next].id;
    select(tabs[next]);
    document.getElementById(id)?.focus();
  });
}

/**
 * Marks a tab as selected.
 * @param {HTMLElement} list
 * @param {HTMLElement} selected
 */
export function markSelected(list, selected) {
  for (const tab of list.querySelectorAll("[role=tab]")) {
    tab.setAttribute("aria-selected", String(tab === selected));
    tab.setAttribute("tabindex", tab === selected ? "0" : "-1");
  }
  // Only the list scrolls, not the page.
  const { offsetLeft, offsetWidth } = selected;
  if (offsetLeft < list.scrollLeft) list.scrollLeft = offsetLeft;
  const end = offsetLeft + offsetWidth - list.clientWidth;
  if (end > list.scrollLeft) list.scrollLeft = end;
}

/**
 * Replaces the tabs of a list. All of them control one panel.
 * @param {HTMLElement} list
 * @param {HTMLElement} panel
 * @param {{name: string, label: string, title?: string}[]} items
 * @param {string} selected the name of the selected item
 */
export function renderTabs(list, panel, items, selected) {
  const focused = list.contains(document.activeElement);
  const tabs = items.map(({ name, label, title }, index) =>
    create(
      "button",
      { type: "button", role: "tab", id: `${list.id}-${index}`, "aria-controls": panel.id, "data-name": name, title },
      label,
    ),
  );
  list.replaceChildren(...tabs);
  const tab = tabs.find((tab) => tab.dataset.name === selected);
  panel.setAttribute("role", "tabpanel");
  if (!tab) return;
  markSelected(list, tab);
  panel.setAttribute("aria-labelledby", tab.id);
  if (focused) tab.focus();
}
