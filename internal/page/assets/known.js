// All that the page knows of the node, and who wants to hear of changes. Start-ups are kept by the UID of their pod.

import { startUpOf } from './startup.js';

// What the agent keeps of pods that are gone, so that a page left open for a week does not grow.
const MOST_GONE = 1000;

export class Known {
  startUps = new Map();
  pulls = { items: [], toldAt: 0 };
  listed = false; // all there was has been told once
  #hears = new Set();
  #fresh = null; // UIDs that were told of since a list was asked for

  // hear calls with what has changed: 'startup' with the record and UID, 'pulls', or 'list', which is whole when all of it has come.
  hear(listener) { this.#hears.add(listener); }

  // expectList begins to note what the stream tells: a list may hold what was before.
  expectList() { this.#fresh = new Set(); }

  // tellSome takes a part of the list that was expected.
  tellSome(records, now) {
    for (const record of records) {
      if (!this.#fresh?.has(record.uid)) this.startUps.set(record.uid, startUpOf(record, now));
      else if (!this.startUps.has(record.uid)) this.startUps.set(record.uid, { ...startUpOf(record, now), gone: true }); // it went meanwhile
      this.#fresh?.add(record.uid);
    }
    this.#tell({ kind: 'list' });
  }

  // tellAll ends the list: what was not in it is no more.
  tellAll() {
    for (const uid of this.startUps.keys()) if (!this.#fresh.has(uid)) this.startUps.delete(uid);
    this.#fresh = null;
    this.listed = true;
    this.#tell({ kind: 'list', whole: true });
  }

  told(record, now) {
    this.#fresh?.add(record.uid);
    this.startUps.set(record.uid, startUpOf(record, now));
    this.#tell({ kind: 'startup', uid: record.uid, record });
  }

  gone(uid) {
    this.#fresh?.add(uid);
    const s = this.startUps.get(uid);
    if (!s) return;
    // It goes to the end of the map, where those that went last are.
    this.startUps.delete(uid);
    this.startUps.set(uid, { ...s, gone: true });
    this.#forget();
    this.#tell({ kind: 'startup', uid });
  }

  pulling(items, now) {
    this.pulls = { items, toldAt: now };
    this.#tell({ kind: 'pulls' });
  }

  #forget() {
    let gone = 0;
    for (const s of this.startUps.values()) if (s.gone) gone++;
    for (const [uid, s] of this.startUps) {
      if (gone <= MOST_GONE) return;
      if (s.gone) { this.startUps.delete(uid); gone--; }
    }
  }

  #tell(change) { for (const listener of this.#hears) listener(change); }
}
