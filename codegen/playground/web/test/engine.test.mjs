// Tests of the requests to the worker, with a worker that the test controls. They need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine, GeneratorFailure, LatestRequest } from "../src/engine.js";

/** A worker that records requests, and responds when the test requests it. */
class FakeWorker extends EventTarget {
  requests = [];
  isTerminated = false;

  postMessage(message) {
    if (message.request) this.requests.push(message);
  }

  terminate() {
    this.isTerminated = true;
  }

  respond(message) {
    const { id } = this.requests.shift();
    this.dispatchEvent(Object.assign(new Event("message"), { data: { id, ...message } }));
  }
}

function startEngine() {
  const workers = [];
  const engine = new Engine(Promise.resolve(), () => {
    workers.push(new FakeWorker());
    return workers.at(-1);
  });
  return { engine, workers };
}

/** Runs all promises that are ready. */
const settle = () => new Promise((done) => setImmediate(done));

test("a failure replaces the worker, and fails the other requests", async () => {
  const { engine, workers } = startEngine();
  const results = [engine.run({ op: "a" }), engine.run({ op: "b" })].map((each) => each.catch((error) => error));
  await settle();
  workers[0].respond({ panic: "panicked" });
  for (const result of results) assert.ok((await result) instanceof GeneratorFailure);
  assert.ok(workers[0].isTerminated);
  const next = engine.run({ op: "c" });
  await settle();
  workers[1].respond({ response: 3 });
  assert.equal(await next, 3);
});

test("only the newest of the waiting requests is sent", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { engine, workers } = startEngine();
  const responses = [];
  const latest = new LatestRequest(engine, 60_000, (response) => responses.push(response), assert.fail);
  for (const op of ["a", "b", "c"]) latest.send({ op });
  await settle();
  assert.deepEqual(workers[0].requests.map(({ request }) => request.op), ["a"]);
  workers[0].respond({ response: "of a" });
  await settle();
  assert.deepEqual(workers[0].requests.map(({ request }) => request.op), ["c"]);
  workers[0].respond({ response: "of c" });
  await settle();
  // The response to `a` is outdated.
  assert.deepEqual(responses, ["of c"]);
});

test("a newer request ends one that takes too long", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { engine, workers } = startEngine();
  const responses = [];
  const latest = new LatestRequest(engine, 0, (response) => responses.push(response), assert.fail);
  latest.send({ op: "endless" });
  await settle();
  latest.send({ op: "next" });
  assert.ok(!workers[0].isTerminated);
  t.mock.timers.tick(1);
  await settle();
  assert.ok(workers[0].isTerminated);
  workers[1].respond({ response: "of next" });
  await settle();
  assert.deepEqual(responses, ["of next"]);
});

test("a module that cannot be compiled is reported", async () => {
  const engine = new Engine(Promise.reject(new Error("no module")), assert.fail);
  await assert.rejects(engine.run({ op: "a" }), /no module/);
});
