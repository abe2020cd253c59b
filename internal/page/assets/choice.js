// The start-ups that a view shows, and their order. The page's address contains the filters and the order.

import { readID } from './address.js';
import { age, mainCause, pulled, starts } from './startup.js';

// Instants and durations are in descending order, texts in ascending order.
const orders = {
  __proto__: null,
  started: (a, b) => b.createdAt - a.createdAt,
  ended: (a, b) => (b.settledAt || b.createdAt) - (a.settledAt || a.createdAt),
  took: (a, b, now) => age(b, now) - age(a, now),
  pod: (a, b) => compare(a.shownNamespace, b.shownNamespace) || compare(a.shownName, b.shownName),
  state: (a, b) => compare(a.state, b.state),
  cause: (a, b) => compare(mainCause(a), mainCause(b)) || b.causes[0]?.seconds - a.causes[0]?.seconds,
};

const usualOrder = 'ended';

export function choiceOf(query) {
  const asked = query.get('sort') ?? '';
  const column = asked.replace(/^-/, '');
  const known = column in orders;
  return {
    words: (query.get('q') ?? '').slice(0, 200),
    state: query.get('state') ?? '',
    cause: query.get('cause') ?? '',
    owner: query.get('owner') ?? '',
    registry: query.get('registry') ?? '',
    image: query.get('image') ?? '',
    range: rangeOf(query),
    revision: query.get('revision') ?? '', // two revisions of one workload to compare
    a: query.get('a') ?? '', // IDs of the two start-ups of a comparison
    b: query.get('b') ?? '',
    column: known ? column : usualOrder,
    backwards: known && asked.startsWith('-'),
    sort: asked, // not checked, because it can be a column of another view
  };
}

export function settingsOf(c) {
  return { ...filtersOf(c), a: c.a, b: c.b, sort: c.column === usualOrder && !c.backwards ? '' : (c.backwards ? '-' : '') + c.column };
}

export function filtersOf(c) {
  return { q: c.words, state: c.state, cause: c.cause, owner: c.owner, registry: c.registry, image: c.image, ...rangeSettings(c.range) };
}

export function matcher(c, nodeNow) {
  const words = c.words.toLowerCase().split(/\s+/).filter(Boolean);
  const ranged = hasRange(c.range);
  const other = readID(c.a || c.b)?.uid; // a start-up is not compared with itself
  return (s) => s.uid !== other && !(c.state && s.state !== c.state || c.cause && mainCause(s) !== c.cause || c.owner && s.workload !== c.owner ||
    c.registry && !s.images.some((i) => i.registry === c.registry && pulled(i)) || c.image && !s.images.some((i) => i.image === c.image) ||
    ranged && !within(c.range, s.createdAt, starts(s) ? nodeNow : s.settledAt, nodeNow)) && words.every((w) => s.found.includes(w));
}

// choose returns start-ups in progress, completed start-ups, and the number of start-ups in each state (`''`: all states). Only the counts
// ignore the filter for the state. By default, start-ups in progress are sorted by age, because this order does not change over time.
export function choose(all, c, now, nodeNow) {
  const matches = matcher({ ...c, state: '' }, nodeNow);
  const going = [];
  const over = [];
  const counts = new Map();
  for (const s of all) {
    if (!matches(s)) continue;
    for (const state of ['', s.state]) counts.set(state, (counts.get(state) ?? 0) + 1);
    if (!c.state || s.state === c.state) (starts(s) ? going : over).push(s);
  }
  const sign = c.backwards ? -1 : 1;
  const by = (order) => (a, b) => sign * order(a, b, now) || compare(a.uid, b.uid);
  going.sort(by(c.column === usualOrder ? orders.took : orders[c.column]));
  over.sort(by(orders[c.column]));
  return { going, over, counts };
}

export function compare(a, b) { return a < b ? -1 : a > b ? 1 : 0; }

const units = { m: 60000, h: 3600000, d: 86400000 };

export const lengths = [['15m', 'last 15 minutes'], ['1h', 'last hour'], ['6h', 'last 6 hours'], ['1d', 'last day']];

// `from` and `to` are NaN if they are missing or invalid, or if the query has a valid `last`.
function rangeOf(query) {
  const last = /^[1-9]\d{0,4}[mhd]$/.test(query.get('last') ?? '') ? query.get('last') : '';
  return { last, from: last ? NaN : Date.parse(query.get('from') ?? ''), to: last ? NaN : Date.parse(query.get('to') ?? '') };
}

// ignoredIn returns a parameter that rangeOf ignores, as `name=value`, or `''`.
export function ignoredIn(query) {
  const range = rangeSettings(rangeOf(query));
  const name = Object.keys(range).find((n) => query.get(n) && !range[n]);
  return name ? name + '=' + query.get(name) : '';
}

function rangeSettings({ last, from, to }) { return { last, from: instant(from), to: instant(to) }; }

export function hasRange({ last, from, to }) { return last !== '' || Number.isFinite(from) || Number.isFinite(to); }

export function within(range, from, to, now) {
  const begins = range.last ? now - Number(range.last.slice(0, -1)) * units[range.last.at(-1)] : range.from;
  return !((Number.isFinite(to) ? to : from) < begins) && !(from > range.to);
}

function instant(at) { return Number.isFinite(at) ? new Date(at).toISOString().replace('.000Z', 'Z') : ''; }
