// Runs the generator in a worker, so that the page stays responsive.

/** A failure of the generator itself: a panic, or an exhausted stack. */
export class GeneratorFailure extends Error {}

/** The request was cancelled, because a newer one replaced it or because of its timeout. */
export class Cancelled extends Error {}

/**
 * @typedef {{op: string, [name: string]: unknown}} Request
 * @typedef {any} Response
 */

/** A worker with the generator. It is replaced after a failure, because the state of the module is then undefined. */
export class Engine {
  /**
   * @param {Promise<WebAssembly.Module>} module the compiled module, which all workers share
   * @param {() => Worker} startWorker
   */
  constructor(module, startWorker) {
    this.module = module;
    this.startWorker = startWorker;
    /** @type {Map<number, {resolve: (response: Response) => void, reject: (error: Error) => void}>} */
    this.waiting = new Map();
    this.lastId = 0;
    /** @type {Promise<Worker> | undefined} */
    this.worker = undefined;
    this.generation = 0;
  }

  /** @returns {Promise<Worker>} */
  async start() {
    const generation = this.generation;
    const module = await this.module;
    if (generation !== this.generation) throw new Cancelled();
    const worker = this.startWorker();
    worker.addEventListener("message", ({ data }) => {
      const waiting = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.panic === undefined) {
        waiting?.resolve(data.response);
      } else {
        this.restart(new GeneratorFailure(data.panic));
        waiting?.reject(new GeneratorFailure(data.panic));
      }
    });
    worker.addEventListener("error", (event) => {
      this.restart(new GeneratorFailure(event.message || "the worker cannot be started"));
    });
    worker.postMessage({ module });
    return worker;
  }

  /**
   * Sends a request. Requests are handled in order.
   * @param {Request} request
   * @returns {Promise<Response>}
   */
  async run(request) {
    this.worker ??= this.start();
    const worker = await this.worker;
    return new Promise((resolve, reject) => {
      const id = ++this.lastId;
      this.waiting.set(id, { resolve, reject });
      worker.postMessage({ id, request });
    });
  }

  /**
   * Ends the worker and all its requests. The next request starts a new worker.
   * @param {Error} [reason]
   */
  restart(reason = new Cancelled()) {
    const { worker, waiting } = this;
    this.worker = undefined;
    this.waiting = new Map();
    this.generation++;
    worker?.then((worker) => worker.terminate()).catch(() => undefined);
    for (const { reject } of waiting.values()) reject(reason);
  }
}

/**
 * Sends only the newest request of a series: a request that waits is replaced by a newer one. A request that runs longer
 * than the patience ends as soon as a newer one waits.
 */
export class LatestRequest {
  /**
   * @param {Engine} engine
   * @param {number} patience in milliseconds
   * @param {(response: Response, request: Request) => void} onResponse
   * @param {(error: Error, request: Request) => void} onFailure
   */
  constructor(engine, patience, onResponse, onFailure) {
    this.engine = engine;
    this.patience = patience;
    this.onResponse = onResponse;
    this.onFailure = onFailure;
    /** @type {Request | undefined} */
    this.pending = undefined;
    this.isRunning = false;
    this.started = 0;
  }

  /** @param {Request} request */
  send(request) {
    this.pending = request;
    if (!this.isRunning) {
      void this.runAll();
      return;
    }
    const { started } = this;
    const left = Math.max(0, started + this.patience - performance.now());
    setTimeout(() => {
      if (this.isRunning && this.started === started && this.pending) this.engine.restart();
    }, left);
  }

  async runAll() {
    this.isRunning = true;
    while (this.pending) {
      const request = this.pending;
      this.pending = undefined;
      this.started = performance.now();
      try {
        const response = await this.engine.run(request);
        if (!this.pending) this.onResponse(response, request);
      } catch (error) {
        if (!this.pending) this.onFailure(/** @type {Error} */ (error), request);
      }
    }
    this.isRunning = false;
  }
}
