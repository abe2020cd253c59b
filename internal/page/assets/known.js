// The start-ups (by pod UID) and pulls of the node, and the listeners for changes.

import { startUpOf } from './startup.js';

// MOST_GONE limits the page's memory: it is the maximum number of deleted pods, as in the agent.
const MOST_GONE = 1000;

export class Known {
  startUps = new Map();
  pulls = { items: [], seenAt: 0 };
  listed = false; // true after the first complete list
  #listeners = new Set();
  #fresh = null; // UIDs that arrived since the request for the list

  all() { return [...this.startUps.values()]; }

  // A change has the kind 'startup', 'pulls' or 'list'. A change of kind 'startup' has the pod's UID, and the record
  // if the pod is not gone. After the last page of a list, the change has `whole: true`.
  listen(listener) { this.#listeners.add(listener); }

  // From now on, Known remembers the UID of each pod that the stream reports. The list can be older than the stream, so
  // it does not replace the records of these pods.
  expectList() { this.#fresh = new Set(); }

  addPage(records, now = performance.now()) {
    for (const record of records) {
      if (!this.#fresh?.has(record.uid)) this.startUps.set(record.uid, startUpOf(record, now));
      else if (!this.startUps.has(record.uid)) this.startUps.set(record.uid, { ...startUpOf(record, now), gone: true }); // the stream reported that the pod is gone
      this.#fresh?.add(record.uid);
    }
    this.#notify({ kind: 'list' });
  }

  completeList() {
    for (const uid of this.startUps.keys()) if (!this.#fresh.has(uid)) this.startUps.delete(uid);
    this.#fresh = null;
    this.listed = true;
    this.#notify({ kind: 'list', whole: true });
  }

  update(record, now = performance.now()) {
    this.#fresh?.add(record.uid);
    this.startUps.set(record.uid, startUpOf(record, now));
    this.#notify({ kind: 'startup', uid: record.uid, record });
  }

  gone(uid, forgotten = false) {
    this.#fresh?.add(uid);
    const s = this.startUps.get(uid);
    if (!s) return;
    this.startUps.delete(uid);
    if (!forgotten) this.startUps.set(uid, { ...s, gone: true });
    this.#forget();
    this.#notify({ kind: 'startup', uid });
  }

  pulling(items, now = performance.now()) {
    this.pulls = { items, seenAt: now };
    this.#notify({ kind: 'pulls' });
  }

  #forget() {
    let gone = 0;
    for (const s of this.startUps.values()) if (s.gone) gone++;
    for (const [uid, s] of this.startUps) {
      if (gone <= MOST_GONE) return;
      if (s.gone) { this.startUps.delete(uid); gone--; }
    }
  }

  #notify(change) { for (const listener of this.#listeners) listener(change); }
}
