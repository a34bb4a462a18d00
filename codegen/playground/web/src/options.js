// The form for `codegen.toml`, built from its JSON Schema. The text below the form has all options; the form has those
// that are a value, a list or a table of strings.

import schema from "../../../codegen.schema.json";
import { create, withCode } from "./dom.js";

/**
 * @typedef {{description?: string, type?: string, default?: unknown, properties?: Record<string, Schema>, items?: Schema,
 *   additionalProperties?: Schema | boolean, allOf?: Schema[], anyOf?: Schema[], oneOf?: Schema[], const?: string, $ref?: string}} Schema
 * @typedef {{path: string[], schema: Schema, kind: "boolean" | "choice" | "string" | "integer" | "list" | "map"}} Option
 */

/** Options that refer to files, which the page does not have. */
const HIDDEN = new Set(["inputs", "mounts", "table", "input.overlays", "output.path", "output.member", "output.runtime"]);
/** The order of the groups. Top-level options that are not tables form the last group. */
const GROUPS = ["output", "types", "client", "server", "operations", "streams", "wire", "package", "input"];
const OTHERS = "Selected schemas";

/**
 * Resolves a reference, also a single one in `allOf`. The description beside the reference is kept.
 * @param {Schema} part
 * @returns {Schema}
 */
function resolve(part) {
  const reference = part.$ref ?? part.allOf?.[0]?.$ref;
  if (!reference) return part;
  const definitions = /** @type {Record<string, Schema>} */ (schema.definitions);
  const target = resolve(definitions[reference.split("/").pop() ?? ""] ?? {});
  return { ...target, description: part.description ?? target.description };
}

/**
 * Returns the control for an option, or `undefined` if only the text can express it.
 * @param {Schema} part
 * @returns {Option["kind"] | undefined}
 */
function kindOf(part) {
  if (part.oneOf?.every((each) => each.const !== undefined)) return "choice";
  // A scalar that is also a table has its short form in the form.
  const short = part.anyOf?.map(resolve).find((each) => each.type === "boolean" || each.type === "string");
  const type = short?.type ?? part.type;
  if (type === "boolean" || type === "string" || type === "integer") return type;
  if (type === "array" && resolve(part.items ?? {}).type === "string") return "list";
  const values = typeof part.additionalProperties === "object" ? resolve(part.additionalProperties) : undefined;
  const isStrings = values?.type === "string" || values?.anyOf?.some((each) => each.type === "string");
  return type === "object" && isStrings ? "map" : undefined;
}

/**
 * Returns the options of the form by group.
 * @returns {Map<string, Option[]>}
 */
export function listOptions() {
  /** @type {Map<string, Option[]>} */
  const groups = new Map(GROUPS.map((name) => [name, []]));
  groups.set(OTHERS, []);
  const add = (/** @type {string} */ group, /** @type {string[]} */ path, /** @type {Schema} */ part) => {
    const resolved = resolve(part);
    const kind = kindOf(resolved);
    if (kind && !HIDDEN.has(path.join("."))) groups.get(group)?.push({ path, schema: { ...resolved, default: part.default ?? resolved.default }, kind });
  };
  for (const [name, part] of Object.entries(/** @type {Record<string, Schema>} */ (schema.properties))) {
    const resolved = resolve(part);
    // The short form of `package` is only its name, so that the form has the fields.
    const table = resolved.properties ? resolved : resolved.anyOf?.map(resolve).find((each) => each.properties);
    if (table && groups.has(name)) {
      for (const [key, value] of Object.entries(table.properties ?? {})) add(name, [name, key], value);
    } else {
      add(OTHERS, [name], part);
    }
  }
  return groups;
}

/** The form. */
export class OptionsForm {
  /**
   * @param {HTMLElement} parent
   * @param {(values: Record<string, any>) => void} onChange
   */
  constructor(parent, onChange) {
    /** @type {Record<string, any>} */
    this.values = {};
    this.onChange = onChange;
    /** @type {{option: Option, control: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement}[]} */
    this.controls = [];
    for (const [group, options] of listOptions()) {
      const rows = options.map((option) => this.renderOption(option));
      const title = group === OTHERS ? group : group[0].toUpperCase() + group.slice(1);
      parent.append(create("details", { open: group === "output" }, create("summary", {}, title), ...rows));
    }
  }

  /** @param {Option} option */
  renderOption(option) {
    const { path, schema: part, kind } = option;
    const id = `option-${path.join("-")}`;
    const hint = `${id}-hint`;
    const common = { id, "aria-describedby": hint, onchange: () => this.change(option, control) };
    const choices = (/** @type {string[]} */ values) =>
      create("select", common, create("option", { value: "" }, defaultLabel(part)), ...values.map((value) => create("option", { value }, value)));
    const control = /** @type {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} */ (
      {
        boolean: () => choices(["true", "false"]),
        choice: () => choices((part.oneOf ?? []).map((each) => String(each.const))),
        string: () => create("input", { ...common, type: "text", spellcheck: "false", autocomplete: "off" }),
        integer: () => create("input", { ...common, type: "number" }),
        list: () => create("textarea", { ...common, rows: 2, spellcheck: "false", placeholder: "one per line" }),
        map: () => create("textarea", { ...common, rows: 2, spellcheck: "false", placeholder: "key = value, one per line" }),
      }[kind]()
    );
    this.controls.push({ option, control });
    const isDescribed = (/** @type {Schema} */ each) => part.description?.includes(`\`${each.const}\``);
    const details = (part.oneOf ?? []).filter((each) => !isDescribed(each)).map((each) => `\`${each.const}\`: ${each.description ?? ""}`);
    return create(
      "div",
      { class: "option" },
      create("label", { for: id }, path[path.length - 1]),
      control,
      create("p", { class: "hint", id: hint }, ...withCode([part.description ?? "", ...details].join(" "))),
    );
  }

  /**
   * @param {Option} option
   * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} control
   */
  change({ path, kind }, control) {
    const values = structuredClone(this.values);
    const value = parseControl(kind, control.value);
    const [last, ...tables] = path.toReversed();
    let table = values;
    for (const name of tables.toReversed()) {
      // The short form of a table, such as `package = "tickets"`, is replaced.
      if (typeof table[name] !== "object") table[name] = {};
      table = table[name];
    }
    if (value === undefined) delete table[last];
    else table[last] = value;
    for (const name of tables) if (!Object.keys(values[name] ?? {}).length) delete values[name];
    this.values = values;
    this.onChange(values);
  }

  /**
   * Shows the values of the text.
   * @param {Record<string, any>} values
   */
  show(values) {
    this.values = values;
    for (const { option, control } of this.controls) {
      if (control === document.activeElement && control.tagName !== "SELECT") continue;
      const value = option.path.reduce((table, name) => table?.[name], /** @type {any} */ (values));
      control.value = renderValue(option.kind, value);
      // The text can have a value without a control, such as a table.
      control.disabled = value !== undefined && value !== null && control.value === "" && typeof value === "object" && Object.keys(value).length > 0;
    }
  }
}

/** @param {Schema} part */
function defaultLabel(part) {
  return part.default === undefined || part.default === null ? "default" : `default (${part.default})`;
}

/**
 * @param {Option["kind"]} kind
 * @param {string} text
 * @returns {unknown}
 */
export function parseControl(kind, text) {
  if (text.trim() === "") return undefined;
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  switch (kind) {
    case "boolean":
      return text === "true";
    case "integer":
      return Number(text);
    case "list":
      return lines;
    case "map":
      return Object.fromEntries(
        lines.map((line) => {
          // The key is a selector, in which `=` can occur; the value is a name or a path.
          const at = line.lastIndexOf("=");
          return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
        }),
      );
    default:
      return text;
  }
}

/**
 * @param {Option["kind"]} kind
 * @param {any} value
 */
export function renderValue(kind, value) {
  if (value === undefined || value === null) return "";
  if (kind === "list") return Array.isArray(value) ? value.join("\n") : "";
  if (typeof value !== "object") return String(value);
  if (kind !== "map" || Object.values(value).some((each) => typeof each !== "string")) return "";
  return Object.entries(value).map(([key, each]) => `${key} = ${each}`).join("\n");
}
