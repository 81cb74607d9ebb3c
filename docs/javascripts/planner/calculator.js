// Asks the planner in WebAssembly: in a worker, so that the page stays alive while a large fleet is planned.
//
// The module comes as text in `module.js`, and the worker from a text too, because a page that is opened from the disk may
// neither fetch files nor start a worker from one.
"use strict";
{
  const planner = (window.fedflipPlanner ??= {});

  // A question that has run for this long is stopped when nobody waits for its answer any more.
  const PATIENCE_MS = 200;

  // The planner of a module: a function from question to answer. It runs in the worker, so it can use nothing from outside.
  async function open(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    const { memory, fedflip_question, fedflip_answer, fedflip_answer_address } = instance.exports;
    return (question) => {
      const text = new TextEncoder().encode(JSON.stringify(question));
      const address = fedflip_question(text.length);
      new Uint8Array(memory.buffer, address, text.length).set(text);
      const length = fedflip_answer();
      const answer = new Uint8Array(memory.buffer, fedflip_answer_address(), length);
      return JSON.parse(new TextDecoder().decode(answer));
    };
  }

  // What the worker does: first comes the module, then one question after the other.
  async function work(self, open) {
    const opened = new Promise((resolve) => {
      self.onmessage = async ({ data }) => {
        if (data.bytes) resolve(await open(data.bytes));
        else self.postMessage((await opened)(data.question));
      };
    });
  }

  function startWorker(bytes) {
    const code = `(${work})(self, ${open});`;
    const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const worker = new Worker(address);
    worker.postMessage({ bytes });
    return worker;
  }

  // Where workers are not allowed, the page itself computes.
  function withoutWorker(bytes) {
    const opened = open(bytes);
    const here = { terminate() {} };
    here.postMessage = async ({ question }) => {
      const ask = await opened;
      setTimeout(() => here.onmessage({ data: ask(question) }));
    };
    return here;
  }

  class Calculator {
    #bytes;
    #worker;
    #waiting = [];
    #current = null;

    constructor(base64) {
      this.#bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      this.#start();
    }

    // The answer to a question; null if the page has forgotten the question before.
    ask(question) {
      return new Promise((resolve) => {
        this.#waiting.push({ question, resolve });
        this.#next();
      });
    }

    // Forgets all questions that have no answer yet, because the settings have changed.
    forget() {
      for (const { resolve } of this.#waiting.splice(0)) resolve(null);
      if (!this.#current) return;
      this.#current.resolve(null);
      if (performance.now() - this.#current.since > PATIENCE_MS) {
        this.#worker.terminate();
        this.#start();
      }
    }

    #start() {
      try {
        this.#worker = startWorker(this.#bytes);
      } catch {
        this.#worker = withoutWorker(this.#bytes);
      }
      this.#worker.onmessage = ({ data }) => this.#settle(data);
      this.#worker.onerror = () => {
        const problem = "the planner stopped unexpectedly";
        const hint = "change the last input back, and report the problem with the fleet";
        const { resolve } = this.#current ?? { resolve() {} };
        this.#start();
        resolve({ refused: { place: null, line: null, problem, hint, only_scheme: true, needs_constants: false } });
        this.#next();
      };
      this.#current = null;
    }

    #settle(answer) {
      const { resolve } = this.#current;
      this.#current = null;
      resolve(answer);
      this.#next();
    }

    #next() {
      if (this.#current || this.#waiting.length === 0) return;
      const { question, resolve } = this.#waiting.shift();
      this.#current = { resolve, since: performance.now() };
      this.#worker.postMessage({ question });
    }
  }

  Object.assign(planner, { Calculator, open });
}
