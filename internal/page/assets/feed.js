// The stream of changes: it is subscribed to first, and everything is listed after its reset, as the API wants it. Nothing is
// asked for again and again while the stream lives.

import { ask, Refusal } from './ask.js';

const PAGE = 250; // start-ups a question, so that no answer keeps the page busy for long
const SILENCE = 5000; // ms until a stream that says nothing, as behind a proxy that collects, is listed without
const LEAST_WAIT = 2000;
const MOST_WAIT = 30000;
const HIDDEN = 20000; // ms that a page may be out of sight and keep its connection: a browser has six for a server

export class Feed {
  #known;
  #says; // called with a state, 'connecting', 'live', 'waiting' or 'away', and why
  #source = null;
  #lastID = '';
  #listing = null; // AbortController of the list under way
  #wait = LEAST_WAIT;
  #timers = new Map();

  constructor(known, says) {
    this.#known = known;
    this.#says = says;
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
    this.#says('connecting', '');
    const source = new EventSource('api/v1/stream' + (this.#lastID ? '?last_event_id=' + encodeURIComponent(this.#lastID) : ''));
    this.#source = source;
    this.#in('silence', SILENCE, () => { if (!this.#known.listed) this.#list(); });
    const on = (kind, does) => source.addEventListener(kind, (event) => {
      this.#lastID = event.lastEventId || this.#lastID;
      this.#wait = LEAST_WAIT;
      this.#says('live', '');
      does(JSON.parse(event.data));
    });
    on('reset', () => { this.#stop('silence'); this.#list(); });
    on('pod', (record) => this.#known.told(record, performance.now()));
    on('gone', ({ uid }) => this.#known.gone(uid));
    on('pulls', ({ items }) => this.#known.pulling(items, performance.now()));
    source.onopen = () => this.#says('live', '');
    source.onerror = () => {
      if (source !== this.#source) return;
      if (source.readyState === EventSource.CLOSED) this.#refused();
      else this.#says('connecting', 'the connection was lost');
    };
  }

  // refused comes back later, and lists meanwhile: a stream may be full, or forbidden, where the rest is not.
  async #refused() {
    this.#close();
    const wait = this.#wait;
    this.#wait = Math.min(2 * wait, MOST_WAIT);
    this.#in('again', wait, () => this.#open());
    this.#says('waiting', 'the agent refuses the stream');
    await this.#list();
  }

  #leave() {
    this.#close();
    this.#says('away', 'the tab is hidden');
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
      if (listing.signal.aborted) return; // another list is under way
      this.#known.pulling(pulls.items, performance.now());
      for (let page = ''; ;) {
        const list = await ask('api/v1/pods?limit=' + PAGE + (page ? '&continue=' + encodeURIComponent(page) : ''), listing.signal);
        if (listing.signal.aborted) return;
        this.#known.tellSome(list.items, performance.now());
        page = list.continue ?? '';
        if (!page) break;
      }
      this.#known.tellAll();
      if (this.#source?.readyState === EventSource.OPEN) this.#says('live', ''); // a list before this one may have failed
    } catch (error) {
      if (listing.signal.aborted) return;
      this.#says('waiting', error instanceof Refusal ? error.message : 'the agent does not respond');
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
