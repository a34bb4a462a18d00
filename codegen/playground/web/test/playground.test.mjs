// Tests of the playground in Chromium. `cargo xtask playground --test` builds the page and runs them.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { FOLDER, openPage, startBrowser, stopBrowser } from "./page.mjs";
import { FAILURE_MARK } from "./server.mjs";

/** The maximum size of the folder, compressed, in bytes. */
const MAX_SIZE = 3_000_000;
/** The maximum time until the first result, in milliseconds. */
const MAX_FIRST_RESULT = 2000;
/** The maximum time in milliseconds until the page handles an input while the generator runs. */
const MAX_PAUSE = 100;
const PHONE = { width: 360, height: 740 };

const SEAT = "openapi: 3.1.0\ninfo: { title: Seats, version: '1' }\npaths: {}\ncomponents:\n  schemas:\n    Seat:\n      type: object\n      required: [row]\n      properties:\n        row: { type: integer, minimum: 1 }\n";

/** Returns a contract of a given length with objects that refer to each other. */
function createLargeContract(length) {
  const schemas = [];
  let size = 0;
  for (let index = 0; size < length; index++) {
    const lines = [`    Record${index}:`, "      type: object", "      required: [id, kind]", "      properties:"];
    lines.push(`        id: { type: string, pattern: '^r-[0-9]{${(index % 9) + 1}}$' }`, `        kind: { enum: [first, second, third-${index}] }`);
    for (let field = 0; field < 8; field++) lines.push(`        field_${field}: { type: integer, minimum: ${field}, maximum: ${index + field + 1}, description: The field ${field} of the record ${index}. }`);
    lines.push(`        next: { $ref: '#/components/schemas/Record${Math.max(0, index - 1)}' }`);
    const text = lines.join("\n");
    size += text.length + 1;
    schemas.push(text);
  }
  return `openapi: 3.1.0\ninfo: { title: Large, version: '1' }\npaths: {}\ncomponents:\n  schemas:\n${schemas.join("\n")}\n`;
}

before(startBrowser);
after(stopBrowser);

test("the compressed size is below the limit", async (t) => {
  const sizes = await Promise.all(
    (await readdir(FOLDER)).map(async (name) => [name, gzipSync(await readFile(join(FOLDER, name)), { level: 9 }).length]),
  );
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  t.diagnostic(`${total} bytes compressed: ${sizes.map(([name, size]) => `${name} ${size}`).join(", ")}`);
  assert.ok(total < MAX_SIZE);
});

test("the first result appears in time", async (t) => {
  const { page } = await openPage(t);
  const time = await page.evaluate(() => performance.getEntriesByName("result")[0].startTime);
  t.diagnostic(`first result after ${Math.round(time)} ms`);
  assert.ok(time < MAX_FIRST_RESULT, `${time} ms`);
  assert.match(await page.getByRole("status").first().textContent(), /^\d+ files, [\d,]+ lines in .* m?s; no diagnostics$/);
});

test("an edit changes the code", async (t) => {
  const playground = await openPage(t);
  await playground.after(() => playground.fill("Contract", SEAT));
  assert.match(await playground.text("Generated code"), /pub struct Seat \{/);
  await playground.after(() => playground.fill("Contract", SEAT.replace("Seat:", "Chair:")));
  assert.match(await playground.text("Generated code"), /pub struct Chair \{/);
});

test("an error is shown at its line, and leads to it", async (t) => {
  const playground = await openPage(t);
  const { page } = playground;
  await playground.after(() => playground.fill("Contract", SEAT.replace("minimum: 1", "minimum: one")));
  const list = page.getByRole("region", { name: "Diagnostics" });
  await list.getByText("minimum", { exact: false }).first().waitFor();
  const link = list.getByRole("button", { name: /tickets\.yaml:10:\d+/ }).first();
  await link.click();
  const line = await playground.editor("Contract").evaluate((content) => {
    const { state } = content.editorView;
    return state.doc.lineAt(state.selection.main.head).number;
  });
  assert.equal(line, 10);
  assert.equal(await page.locator("#document .cm-lint-marker").count(), 1);
  assert.ok((await page.locator("#document .cm-lintRange").count()) > 0);
  // Repaired documents have no marks.
  await playground.after(() => playground.fill("Contract", SEAT));
  assert.equal(await page.locator("#document .cm-lint-marker").count(), 0);
  assert.match(await page.getByRole("status").first().textContent(), /no diagnostics/);
});

test("a document that cannot be parsed keeps the old code", async (t) => {
  const playground = await openPage(t);
  await playground.after(() => playground.fill("Contract", "openapi: ["));
  assert.match(await playground.page.getByRole("status").first().textContent(), /^No code was generated; 1 error/);
  assert.match(await playground.text("Generated code"), /pub struct Ticket /);
  assert.equal(await playground.page.locator("#code-view.outdated").count(), 1);
});

test("every example generates code without diagnostics", async (t) => {
  const playground = await openPage(t);
  const { page } = playground;
  const ids = await page.locator("#example option").evaluateAll((options) => options.map(({ value }) => value).filter(Boolean));
  const folders = await readdir(join(import.meta.dirname, "../../examples"));
  assert.deepEqual(ids.toSorted(), folders.toSorted());
  for (const id of ids.toReversed()) {
    await playground.after(() => playground.chooseExample(id));
    assert.match(await page.locator("#status").textContent(), /lines in .*; no diagnostics$/, id);
  }
});

test("the address selects an example, and the state survives a reload", async (t) => {
  const playground = await openPage(t, { path: "/#example=pagination" });
  const { page } = playground;
  assert.match(await playground.text("Contract"), /title: Parcels/);
  await page.getByRole("tab", { name: "client", exact: true }).click();
  await playground.waitForCode("list_parcels_pages");
  await playground.after(() => playground.fill("Contract", SEAT));
  await page.reload();
  await playground.waitForResult(0);
  assert.equal(await playground.text("Contract"), SEAT);
});

test("an own document starts empty", async (t) => {
  const playground = await openPage(t);
  const { page } = playground;
  await playground.after(() => playground.chooseExample(""));
  assert.equal(await playground.text("Contract"), "");
  assert.match(await page.locator("#status").textContent(), /^No code was generated; 1 error/);
  await playground.after(() => playground.fill("Contract", SEAT));
  assert.match(await playground.text("Generated code"), /pub struct Seat /);
  assert.deepEqual(await page.locator("#document-tabs [role=tab]").allTextContents(), ["openapi.yaml"]);
});

test("own documents are opened and dropped, and refer to each other", async (t) => {
  const playground = await openPage(t);
  const { page } = playground;
  const main = { name: "main.schema.json", text: '{ "title": "Flight", "type": "object", "properties": { "seat": { "$ref": "seat.yaml#/$defs/seat" } } }' };
  const seat = { name: "seat.yaml", text: "$defs:\n  seat: { type: object, properties: { row: { type: integer } } }\n" };
  await playground.after(() => playground.openFiles([main, seat, { name: "codegen.toml", text: "[output]\nlayout = 'file'\n" }]));
  const code = await playground.text("Generated code");
  assert.match(code, /pub struct Main \{\s+\/\/\/ The property `seat`.\s+pub seat: Option<SeatSeat>/);
  assert.deepEqual(await page.locator("#document-tabs [role=tab]").allTextContents(), [main.name, seat.name]);
  assert.deepEqual(await page.locator("#file-tabs [role=tab]").allTextContents(), ["api"]);
  // The second document is removed: the reference has no target.
  await page.getByRole("tab", { name: seat.name }).click();
  assert.equal(await playground.text("Contract"), seat.text);
  await playground.after(() => page.getByRole("button", { name: "Remove" }).click());
  assert.doesNotMatch(await page.locator("#status").textContent(), /no diagnostics/);
  const transfer = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], "dropped.yaml"));
    return transfer;
  }, SEAT);
  await page.locator("#document").dispatchEvent("dragover", { dataTransfer: transfer });
  await playground.after(() => page.locator("#document .cm-content").dispatchEvent("drop", { dataTransfer: transfer }));
  assert.equal(await playground.text("Contract"), SEAT);
  assert.deepEqual(await page.locator("#document-tabs [role=tab]").allTextContents(), ["dropped.yaml"]);
});

test("a click on a name explains it", async (t) => {
  const playground = await openPage(t);
  const { page } = playground;
  await playground.clickName("seat:");
  const explanation = page.getByRole("region", { name: "Explanation" });
  await explanation.getByRole("heading", { name: /^Ticket\.seat/ }).waitFor();
  await explanation.getByText("maximum 99").waitFor();
  await explanation.getByRole("button", { name: /^tickets\.yaml:\d+$/ }).click();
  const line = await playground.editor("Contract").evaluate((content) => {
    const { state } = content.editorView;
    return state.doc.lineAt(state.selection.main.head).text;
  });
  assert.match(line, /seat: \{ type: integer/);
  // The schema at the cursor of the contract, by keyboard.
  await page.keyboard.press("Alt+Enter");
  await explanation.getByRole("heading", { name: /^Ticket\.seat/ }).waitFor();
  await page.getByRole("tab", { name: "client", exact: true }).click();
  await playground.waitForCode("read_ticket");
  await playground.clickName("read_ticket");
  await explanation.getByRole("heading", { name: /GET \/tickets\/\{id\}/ }).waitFor();
  await explanation.getByRole("button", { name: "Close the explanation" }).click();
  assert.equal(await explanation.isVisible(), false);
});

test("two versions are compared", async (t) => {
  const playground = await openPage(t);
  const { page } = playground;
  await playground.after(() => playground.chooseExample("drift"));
  const changes = page.getByRole("region", { name: "Changes" });
  await changes.getByText("The changes require a new major version.").waitFor();
  const narrowed = changes.getByRole("listitem").filter({ hasText: "range-narrowed" });
  await narrowed.getByRole("button", { name: "old orders-1.yaml:27" }).click();
  assert.match(await playground.editor("Old version").evaluate((content) => content.editorView.state.doc.lineAt(content.editorView.state.selection.main.head).text), /maximum: 1000/);
  await narrowed.getByRole("button", { name: "new orders-2.yaml:27" }).click();
  const download = page.waitForEvent("download");
  await changes.getByRole("button", { name: "Save report" }).click();
  assert.match(await readFile(await (await download).path(), "utf8"), /^<!DOCTYPE html>/);
  // The copy of the contract has no changes; an edit causes one.
  await page.getByRole("button", { name: "Copy contract" }).click();
  await changes.getByText("No new version is required.").waitFor();
  const contract = await playground.text("Contract");
  await playground.after(() => playground.fill("Contract", contract.replace("maxLength: 40", "maxLength: 30")));
  await changes.getByText("length-narrowed").waitFor();
  await playground.openFiles([{ name: "broken.yaml", text: "openapi: [" }], "Files of the old version");
  await changes.getByRole("button", { name: /^broken\.yaml:1/ }).waitFor();
});

test("the form changes the options, and the text changes the form", async (t) => {
  const playground = await openPage(t);
  const { page } = playground;
  await playground.selectView("Options");
  await playground.after(() => page.getByLabel("layout", { exact: true }).selectOption("file"));
  assert.equal(await playground.text("codegen.toml"), '[output]\nlayout = "file"\n');
  await page.getByText("Selected schemas").click();
  await page.getByLabel("names", { exact: true }).fill("#/components/schemas/Ticket = Pass");
  await playground.after(() => page.keyboard.press("Tab"));
  await playground.selectView("Code");
  assert.match(await playground.text("Generated code"), /pub struct Pass \{/);
  await playground.selectView("Options");
  await playground.after(() => playground.fill("codegen.toml", "[output]\nserver = false\n"));
  assert.equal(await page.locator("#option-output-server").inputValue(), "false");
  assert.equal(await page.locator("#option-output-layout").inputValue(), "");
  assert.equal(await page.locator("#file-tabs [data-name='server.rs']").count(), 0);
  await playground.after(() => page.locator("#option-output-server").selectOption(""));
  assert.equal(await playground.text("codegen.toml"), "");
  await playground.after(() => playground.fill("codegen.toml", "[output]\nserver = 3\n"));
  await page.getByRole("button", { name: /^codegen\.toml:2:10$/ }).click();
  assert.equal(await page.locator("#toml .cm-lint-marker").count(), 1);
});

test("a contract of 1 MB does not block the page", async (t) => {
  const playground = await openPage(t);
  const { page } = playground;
  const large = createLargeContract(1_000_000);
  // A counter of the event loop, and the time from each key to its event.
  await page.evaluate(() => {
    globalThis.ticks = 0;
    globalThis.delays = [];
    const tick = () => {
      globalThis.ticks++;
      setTimeout(tick);
    };
    setTimeout(tick);
    addEventListener("keydown", (event) => {
      const isRunning = document.querySelector("main").getAttribute("aria-busy") === "true";
      globalThis.delays.push({ delay: performance.now() - event.timeStamp, isRunning });
    });
  });
  const before = await playground.results();
  await playground.openFiles([{ name: "large.yaml", text: large }]);
  while ((await playground.results()) === before) await page.keyboard.press("Shift");
  const { ticks, delays } = await page.evaluate(() => ({ ticks: globalThis.ticks, delays: globalThis.delays }));
  const running = delays.filter(({ isRunning }) => isRunning).map(({ delay }) => delay);
  const longest = Math.max(...running);
  t.diagnostic(`${large.length} characters: ${await page.locator("#status").textContent()}`);
  t.diagnostic(`${running.length} keys while the worker ran, the slowest after ${Math.round(longest)} ms; ${ticks} ticks`);
  assert.ok(running.length > 10 && ticks > 100, `${running.length} keys, ${ticks} ticks`);
  assert.ok(longest < MAX_PAUSE, `${longest} ms`);
  // The newest input replaces a generation that runs.
  await playground.editor("Contract").focus();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.type("# edited");
  await page.waitForFunction(() => document.querySelector("main").getAttribute("aria-busy") === "true");
  await playground.after(() => playground.openFiles([{ name: "seat.yaml", text: SEAT }]));
  assert.match(await playground.text("Generated code"), /pub struct Seat /);
});

test("a deeply nested contract fits the stack of the browser", async (t) => {
  const playground = await openPage(t);
  let text = '{ "type": "integer" }';
  for (let level = 0; level < 150; level++) text = `{ "type": "object", "properties": { "a": ${text} } }`;
  await playground.after(() => playground.openFiles([{ name: "deep.schema.json", text }]));
  assert.match(await playground.page.locator("#status").textContent(), /^\d+ files/);
  assert.equal(await playground.page.getByRole("alert").textContent(), "");
});

test("a failure of the generator is reported, and the next input works", async (t) => {
  const playground = await openPage(t, { path: "/failing/" });
  const { page } = playground;
  await playground.fill("Contract", `${SEAT}# ${FAILURE_MARK}\n`);
  const alert = page.getByRole("alert");
  await alert.getByText("panicked at a mark. It was restarted").waitFor();
  await playground.after(() => playground.fill("Contract", SEAT));
  assert.match(await playground.text("Generated code"), /pub struct Seat /);
  assert.equal(await alert.textContent(), "");
});

test("everything works with the keyboard", async (t) => {
  const playground = await openPage(t);
  const { page } = playground;
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute("aria-label") || document.activeElement.textContent);
  const reached = new Set();
  await page.keyboard.press("Tab");
  for (let step = 0; step < 40 && (await focused()) !== null; step++) {
    const name = await focused();
    if (reached.has(name)) break;
    reached.add(name);
    // In an editor, Tab indents: Escape ends this.
    if (name === "Contract") await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
  }
  for (const name of ["example", "open", "document-tabs-0", "explain-here", "Contract", "view-code", "file-tabs-0", "copy", "Generated code"]) {
    assert.ok(reached.has(name), `${name} of ${[...reached].join(", ")}`);
  }
  // Tab indents in the editor.
  const contract = await playground.text("Contract");
  await playground.editor("Contract").focus();
  await page.keyboard.press("ControlOrMeta+Home");
  await playground.after(() => page.keyboard.press("Tab"));
  assert.notEqual(await playground.text("Contract"), contract);
  await playground.after(() => page.keyboard.press("ControlOrMeta+z"));
  assert.equal(await playground.text("Contract"), contract);
  // Arrow keys select tabs.
  await page.locator("#view-code").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await focused(), "view-options");
  assert.ok(await page.locator("#options-form").isVisible());
  await page.keyboard.press("End");
  assert.equal(await focused(), "view-drift");
  await page.keyboard.press("Home");
  assert.equal(await focused(), "view-code");
  await page.locator("#file-tabs-0").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await focused(), "file-tabs-1");
  // A name in the code.
  await page.keyboard.press("Home");
  await playground.waitForCode("pub struct Ticket");
  await playground.editor("Generated code").evaluate((content) => {
    const { editorView: view } = content;
    view.dispatch({ selection: { anchor: view.state.doc.toString().indexOf("pub struct Ticket") + 12 } });
    view.focus();
  });
  await page.keyboard.press("Alt+Enter");
  await page.getByRole("heading", { name: /^struct Ticket/ }).waitFor();
});

test("a phone shows one view at a time", async (t) => {
  const playground = await openPage(t, PHONE);
  const { page } = playground;
  const isVisible = (selector) => page.locator(selector).isVisible();
  assert.deepEqual([await isVisible("#input"), await isVisible("#code")], [false, true]);
  await playground.selectView("Contract");
  assert.deepEqual([await isVisible("#input"), await isVisible("#code")], [true, false]);
  await playground.after(() => playground.fill("Contract", SEAT));
  await playground.selectView("Code");
  await playground.clickName("row:");
  await page.getByRole("heading", { name: /^Seat\.row/ }).waitFor();
  await page.getByRole("button", { name: /^tickets\.yaml:10$/ }).click();
  assert.deepEqual([await isVisible("#input"), await isVisible("#code")], [true, false]);
  for (const view of ["Contract", "Code", "Options", "Drift"]) {
    await playground.selectView(view);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= PHONE.width, `${view}: ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.waitForFunction(() => !document.getElementById("input").hidden);
  assert.deepEqual([await isVisible("#input"), await isVisible("#drift-view")], [true, true]);
});

for (const colorScheme of ["light", "dark"]) {
  for (const size of [{ width: 1280, height: 800 }, PHONE]) {
    test(`axe reports no violations: ${colorScheme}, ${size.width} px`, async (t) => {
      const playground = await openPage(t, { ...size, colorScheme });
      const { page } = playground;
      const expected = colorScheme === "dark" ? "rgb(22, 25, 35)" : "rgb(246, 247, 249)";
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), expected);
      await playground.clickName("struct Ticket");
      await page.getByRole("heading", { name: /^struct Ticket/ }).waitFor();
      assert.deepEqual(await playground.violations(), [], "code");
      await playground.selectView("Options");
      await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
      assert.deepEqual(await playground.violations(), [], "options");
      await playground.after(() => playground.chooseExample("drift"));
      await page.getByText("The changes require a new major version.").waitFor();
      assert.deepEqual(await playground.violations(), [], "drift");
      if (size === PHONE) await playground.selectView("Contract");
      await playground.after(() => playground.fill("Contract", SEAT.replace("minimum: 1", "minimum: one, maxima: 3")));
      assert.deepEqual(await playground.violations(), [], "diagnostics");
    });
  }
}

test("the pictures of the book", { skip: !process.env.UPDATE && "only with UPDATE=1" }, async (t) => {
  const images = join(import.meta.dirname, "../../../../docs/book/images");
  const playground = await openPage(t, { width: 1000, height: 600 });
  await playground.clickName("seat:");
  await playground.page.getByRole("heading", { name: /^Ticket\.seat/ }).waitFor();
  await playground.page.getByRole("button", { name: /^tickets\.yaml:/ }).click();
  await playground.page.mouse.move(0, 0);
  await playground.page.screenshot({ path: join(images, "playground.png"), caret: "hide" });
  const drift = await openPage(t, { width: 1000, height: 600, colorScheme: "dark", path: "/#example=drift" });
  await drift.page.getByText("The changes require a new major version.").waitFor();
  await drift.page.screenshot({ path: join(images, "playground-drift.png"), caret: "hide" });
});
