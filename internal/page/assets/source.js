// The record of one start-up, updated by the stream.

import { idOf, podPath } from './address.js';
import { ask, Refusal } from './ask.js';

export class Source {
  id = null; // namespace, name and UID
  record = null;
  problem = ''; // why the record is missing, or why it is no longer updated
  seenAt = 0;
  #asking = null;
  #changed;

  constructor(changed) { this.#changed = changed; }

  open(id) {
    const same = id && this.id && this.record && idOf(id) === idOf(this.id);
    if (!same) this.record = null;
    this.id = id;
    this.problem = '';
    this.#load();
    return !same;
  }

  close() { this.#asking?.abort(); }

  apply(change) {
    if (change.whole) this.#load(); // the stream might not have sent all changes
    else if (change.kind !== 'startup' || change.uid !== this.record?.uid) return;
    else {
      if (change.record) this.#receive({ what_if: this.record.what_if, what_if_unknown: this.record.what_if_unknown, ...change.record });
      // For a completed start-up, the stream sends no predictions and no deletion time of the pod.
      if (!change.record || change.record.state !== 'starting') this.#load();
    }
  }

  grown() { return this.record.state === 'starting' && !this.problem ? (performance.now() - this.seenAt) / 1000 : 0; }

  async #load() {
    this.close();
    if (!this.id) return;
    const asking = this.#asking = new AbortController();
    try {
      this.#receive(await ask('api/v1/pods/' + podPath(this.id), asking.signal));
    } catch (error) {
      if (asking.signal.aborted) return;
      const why = error instanceof Refusal ? error.message : 'The agent does not respond.';
      if (!this.record) this.problem = why;
      else if (error.status === 404) this.problem = 'The agent no longer knows this start-up: ' + why;
      this.#changed();
    }
  }

  #receive(record) {
    this.record = record;
    this.problem = '';
    this.seenAt = performance.now();
    this.#changed();
  }
}
