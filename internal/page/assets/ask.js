// Requests to the agent. Addresses are relative, so that they work behind every proxy.

import { message } from './text.js';

// A Refusal is an unsuccessful HTTP response. Its message contains the agent's reason, if there is one.
export class Refusal extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

const tries = 4;

export async function ask(path, signal) {
  for (let again = 1; ; again++) {
    const response = await fetch(path, { signal, headers: { Accept: 'application/json' } });
    if (response.ok) return response.json();
    if ((response.status === 429 || response.status === 503) && again < tries) {
      await response.body?.cancel();
      await pause(1000 * again * Math.min(Number(response.headers.get('Retry-After')) || 1, 5), signal);
      continue;
    }
    throw new Refusal(response.status, await why(response));
  }
}

async function why(response) {
  try {
    const { reason } = await response.json();
    if (reason) return message(reason);
  } catch { /* a proxy responds without JSON */ }
  return 'unexpected response: ' + response.status + ' ' + message(response.statusText);
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

// An Aggregate requests data each time `want` is called, but at most once in `least` milliseconds.
export class Aggregate {
  #path; // a path, or a function that returns a path
  #least;
  #takes;
  #fares; // called with the error of a request, or without an argument after a success
  #askedAt = -Infinity;
  #asking = null;
  #later = 0;
  #again = false; // something changed during the request

  constructor(path, least, takes, fares) {
    this.#path = path;
    this.#least = least;
    this.#takes = takes;
    this.#fares = fares;
  }

  want() {
    if (this.#asking) this.#again = true;
    if (this.#later || this.#asking) return;
    this.#later = setTimeout(() => {
      this.#later = 0;
      this.#ask();
    }, Math.max(0, this.#askedAt + this.#least - performance.now()));
  }

  stop() {
    clearTimeout(this.#later);
    this.#later = 0;
    this.#asking?.abort();
    this.#asking = null;
    this.#again = false;
  }

  async #ask() {
    const asking = new AbortController();
    this.#asking = asking;
    this.#askedAt = performance.now();
    try {
      const response = await ask(typeof this.#path === 'function' ? this.#path() : this.#path, asking.signal);
      if (asking.signal.aborted) return;
      this.#asking = null;
      this.#takes(response);
      this.#fares();
    } catch (error) {
      if (asking.signal.aborted) return;
      this.#asking = null;
      this.#fares(error);
    }
    if (this.#again) {
      this.#again = false;
      this.want();
    }
  }
}
