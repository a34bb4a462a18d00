// Opens the playground in Chromium, and checks in each test that the page has no errors and sends no request to other
// origins.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { chromium } from "playwright-core";
import { startServer } from "./server.mjs";

export const FOLDER = resolve(import.meta.dirname, process.env.PLAYGROUND ?? "../../../../target/playground");
const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The maximum time of one wait in milliseconds. It is many times the usual time. */
const TIMEOUT = Number(process.env.TEST_TIMEOUT ?? 60_000);

let server;
let browser;

export async function startBrowser() {
  server = await startServer(FOLDER);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium" });
}

export async function stopBrowser() {
  await browser?.close();
  await server?.stop();
}

/**
 * Opens the page, and closes it after the test.
 *
 * @param {import("node:test").TestContext} t
 */
export async function openPage(t, { path = "/", width = 1280, height = 800, colorScheme = "light", isReady = true } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: "reduce", acceptDownloads: true });
  context.setDefaultTimeout(TIMEOUT);
  const page = await context.newPage();
  const problems = [];
  const foreign = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  context.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== server.origin && protocol !== "blob:" && protocol !== "data:") foreign.push(request.url());
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(problems, []);
    assert.deepEqual(foreign, []);
  });
  await page.goto(`${server.origin}${path}`);
  const playground = new Playground(page);
  if (isReady) await playground.waitForResult(0);
  return playground;
}

/** The page, with the actions that several tests use. */
export class Playground {
  constructor(page) {
    this.page = page;
  }

  /** Returns the number of results that the page has shown. */
  async results() {
    return Number((await this.page.locator("main").getAttribute("data-results")) ?? 0);
  }

  /** Waits until the page has shown more results than before, and has nothing to do. */
  async waitForResult(before) {
    await this.page.waitForFunction((before) => {
      const main = document.querySelector("main");
      return Number(main.dataset.results ?? 0) > before && main.getAttribute("aria-busy") === "false";
    }, before);
  }

  /** Runs an action, and waits for the result that it causes. */
  async after(action) {
    const before = await this.results();
    await action();
    await this.waitForResult(before);
  }

  editor(name) {
    return this.page.getByRole("textbox", { name, exact: true });
  }

  /** Returns the text of an editor. CodeMirror renders only the visible lines, therefore this reads its document. */
  async text(name) {
    return this.editor(name).evaluate((content) => content.editorView.state.doc.toString());
  }

  /** Replaces the text of an editor with a short one. */
  async fill(name, text) {
    await this.editor(name).focus();
    await this.page.keyboard.press("ControlOrMeta+a");
    await this.page.keyboard.insertText(text);
  }

  /** Waits until the shown file contains a text: the page requests a selected file from the worker. */
  async waitForCode(text) {
    await this.page.waitForFunction((text) => document.querySelector("#code .cm-content").editorView.state.doc.toString().includes(text), text);
  }

  async chooseExample(id) {
    await this.page.getByLabel("Example").selectOption(id);
  }

  /** Opens documents with the file input. */
  async openFiles(files, input = "Files of the contract") {
    const payload = files.map(({ name, text }) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) }));
    await this.page.locator(`input[aria-label="${input}"]`).setInputFiles(payload);
  }

  async selectView(name) {
    await this.page.getByRole("tab", { name, exact: true }).click();
  }

  /** Clicks the end of a text in the generated code. */
  async clickName(name) {
    const place = await this.editor("Generated code").evaluate(async (content, name) => {
      const view = content.editorView;
      const at = view.state.doc.toString().search(new RegExp(`\\b${name}`)) + name.length - 2;
      if (at < name.length - 2) throw new Error(`${name} is not in the code`);
      view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
      // The position is final if it is the same in several frames: CodeMirror scrolls, measures the lines and scrolls again.
      const frame = () => new Promise((done) => requestAnimationFrame(() => done(view.coordsAtPos(at))));
      let place = await frame();
      for (let same = 0; same < 5; ) {
        const next = await frame();
        same = next && place && next.top === place.top && next.left === place.left ? same + 1 : 0;
        place = next;
      }
      return { left: place.left, top: place.top, bottom: place.bottom };
    }, name);
    await this.page.mouse.click(place.left + 2, (place.top + place.bottom) / 2);
  }

  /** Returns the violations that axe reports, with the elements. */
  async violations() {
    await this.page.evaluate(AXE);
    const { violations } = await this.page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, any, all, none }) => `${html.slice(0, 200)} ${[...any, ...all, ...none].map((each) => each.message)}`).join("\n")}`);
  }
}
