// An answer of the agent that adds things up, kept as fresh as it needs to be while its view is shown: it is asked for anew when the
// stream has told of something that may change it, but not more often than every few seconds.

import { ask } from './ask.js';

export class Aggregate {
  #path;
  #least; // ms between two questions
  #takes;
  #fares; // called with what went wrong, or with nothing when all went well
  #askedAt = -Infinity;
  #asking = null;
  #later = 0;
  #again = false; // something has changed since the question

  constructor(path, least, takes, fares) {
    this.#path = path;
    this.#least = least;
    this.#takes = takes;
    this.#fares = fares;
  }

  // want asks as soon as it may.
  want() {
    if (this.#asking) this.#again = true;
    if (this.#later || this.#asking) return;
    this.#later = setTimeout(() => {
      this.#later = 0;
      this.#ask();
    }, Math.max(0, this.#askedAt + this.#least - performance.now()));
  }

  // stop is for when nobody looks any more.
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
      const answer = await ask(this.#path, asking.signal);
      if (asking.signal.aborted) return;
      this.#asking = null;
      this.#takes(answer);
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
