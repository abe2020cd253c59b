// Which start-ups are shown, and in which order: pure, and all of it is in the address.

import { age, blamed, starts } from './startup.js';

// columns by which one can sort; each compares the way that is of use first.
const orders = {
  started: (a, b) => b.createdAt - a.createdAt,
  ended: (a, b) => (b.settledAt || b.createdAt) - (a.settledAt || a.createdAt),
  took: (a, b, now) => age(b, now) - age(a, now),
  pod: (a, b) => compare(a.shownNamespace, b.shownNamespace) || compare(a.shownName, b.shownName),
  state: (a, b) => compare(a.state, b.state),
  blame: (a, b) => compare(blamed(a), blamed(b)) || b.blame[0]?.seconds - a.blame[0]?.seconds,
};

export const usualOrder = 'ended';

// choiceOf reads a choice from an address.
export function choiceOf(query) {
  const asked = query.get('sort') ?? '';
  const column = asked.replace(/^-/, '');
  const known = Object.hasOwn(orders, column);
  return {
    words: (query.get('q') ?? '').slice(0, 200),
    state: query.get('state') ?? '',
    cause: query.get('cause') ?? '',
    column: known ? column : usualOrder,
    backwards: known && asked.startsWith('-'),
  };
}

// settingsOf is a choice for an address; what is usual is left out.
export function settingsOf(c) {
  return { q: c.words, state: c.state, cause: c.cause, sort: c.column === usualOrder && !c.backwards ? '' : (c.backwards ? '-' : '') + c.column };
}

// choose parts all start-ups into those that go on and those that are over, as chosen and in order. What goes on comes in the
// order of its age unless something else was asked for: that order does not change while all grow older.
export function choose(all, c, now) {
  const words = c.words.toLowerCase().split(/\s+/).filter(Boolean);
  const going = [];
  const over = [];
  for (const s of all) {
    if (c.state && s.state !== c.state || c.cause && blamed(s) !== c.cause || !words.every((w) => s.found.includes(w))) continue;
    (starts(s) ? going : over).push(s);
  }
  const sign = c.backwards ? -1 : 1;
  const by = (order) => (a, b) => sign * order(a, b, now) || compare(a.uid, b.uid);
  going.sort(by(c.column === usualOrder ? orders.took : orders[c.column]));
  over.sort(by(orders[c.column]));
  return { going, over };
}

function compare(a, b) { return a < b ? -1 : a > b ? 1 : 0; }
