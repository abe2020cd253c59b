// The agent's stream of changes. After each event `reset`, the page requests the list of start-ups, as the API requires.

import { podPath } from './address.js';
import { ask, Refusal } from './ask.js';
import { starts } from './startup.js';

const PAGE = 250; // start-ups in a response; a larger response would block the page
const SILENCE = 5000; // milliseconds that the page waits for the first `reset`, which a proxy can delay, before it requests the list
const LEAST_WAIT = 2000;
const MOST_WAIT = 30000;
const HIDDEN = 20000; // milliseconds until a hidden page closes its stream and leaves the connection to other pages

export class Feed {
  #known;
  #onState; // called with the state ('connecting', 'live', 'waiting' or 'away') and the reason
  #source = null;
  #lastID = '';
  #listing = null; // AbortController
  #wait = LEAST_WAIT;
  #timers = new Map();

  constructor(known, onState) {
    this.#known = known;
    this.#onState = onState;
  }

  run() {
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) {
        this.#in('leave', HIDDEN, () => this.#leave());
        return;
      }
      this.#stop('leave');
      if (!this.#source) this.#open();
    });
    window.addEventListener('online', () => { this.#close(); this.#open(); });
    this.#open();
  }

  #open() {
    this.#stop('again');
    this.#onState('connecting', '');
    const source = new EventSource('api/v1/stream' + (this.#lastID ? '?last_event_id=' + encodeURIComponent(this.#lastID) : ''));
    this.#source = source;
    this.#in('silence', SILENCE, () => { if (!this.#known.listed) this.#list(); });
    const on = (kind, does) => source.addEventListener(kind, (event) => {
      this.#lastID = event.lastEventId || this.#lastID;
      this.#wait = LEAST_WAIT;
      this.#onState('live', '');
      does(JSON.parse(event.data));
    });
    on('reset', () => { this.#stop('silence'); this.#list(); });
    on('pod', (record) => this.#known.update(record));
    on('gone', (pod) => {
      const s = this.#known.startUps.get(pod.uid);
      this.#known.gone(pod.uid);
      // `gone` can replace another event, such as the end of the start-up. Therefore, the page requests the record.
      if (s && starts(s)) ask('api/v1/pods/' + podPath(pod)).then((record) => this.#known.update(record), () => this.#known.gone(pod.uid, true));
    });
    on('pulls', ({ items }) => this.#known.pulling(items));
    source.onopen = () => this.#onState('live', '');
    source.onerror = () => {
      if (source !== this.#source) return;
      if (source.readyState === EventSource.CLOSED) this.#refused();
      else this.#onState('connecting', 'the connection was lost');
    };
  }

  // An agent that refuses the stream can still respond to requests for lists.
  async #refused() {
    this.#close();
    const wait = this.#wait;
    this.#wait = Math.min(2 * wait, MOST_WAIT);
    this.#in('again', wait, () => this.#open());
    this.#onState('waiting', 'the agent refuses the stream');
    await this.#list();
  }

  #leave() {
    this.#close();
    this.#onState('away', 'the tab is hidden');
  }

  #close() {
    this.#stop('silence');
    this.#stop('again');
    this.#source?.close();
    this.#source = null;
  }

  async #list() {
    this.#listing?.abort();
    const listing = new AbortController();
    this.#listing = listing;
    this.#known.expectList();
    try {
      const pulls = await ask('api/v1/pulls?limit=1', listing.signal);
      if (listing.signal.aborted) return; // a newer request began
      this.#known.pulling(pulls.items);
      for (let page = ''; ;) {
        const list = await ask('api/v1/pods?limit=' + PAGE + (page ? '&continue=' + encodeURIComponent(page) : ''), listing.signal);
        if (listing.signal.aborted) return;
        this.#known.addPage(list.items);
        page = list.continue ?? '';
        if (!page) break;
      }
      this.#known.completeList();
      if (this.#source?.readyState === EventSource.OPEN) this.#onState('live', ''); // clears an earlier error
    } catch (error) {
      if (listing.signal.aborted) return;
      this.#onState('waiting', error instanceof Refusal ? error.message : 'the agent does not respond');
      this.#in('list', this.#wait, () => this.#list());
    }
  }

  #in(name, milliseconds, does) {
    this.#stop(name);
    this.#timers.set(name, setTimeout(does, milliseconds));
  }

  #stop(name) {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }
}
