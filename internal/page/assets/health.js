// Requests facts about the node, its clock and the agent's data sources at intervals.

import { Aggregate } from './ask.js';
import { spaced } from './words.js';

const LEAST = 5000;

export class Health {
  node = null;
  evidence = null;
  #ahead = 0; // milliseconds by which the node's clock is ahead of the browser's clock
  #changed;
  #asks;

  constructor(changed) {
    this.#changed = changed;
    this.#asks = [
      new Aggregate('api/v1/node', LEAST, (node) => {
        this.node = node;
        this.#ahead = Date.parse(node.at) - Date.now();
        this.#changed();
      }, () => {}),
      new Aggregate('api/v1/evidence', LEAST, (evidence) => { this.evidence = evidence; this.#changed(); }, () => {}),
    ];
  }

  want() { for (const a of this.#asks) a.want(); }

  now() { return Date.now() + this.#ahead; }

  complaint() { return this.evidence?.parts.filter((p) => !p.up).map((p) => spaced(p.part)).join(', ') ?? ''; }
}
