// The phases of two start-ups, side by side.

import { number } from './dom.js';
import { exact, exactError } from './text.js';
import { possible } from './words.js';

// compareCharts returns rows with two sides, one for each start-up. A side is null if its start-up did not have the phase. `difference` is
// the second length minus the first length. If a row of one start-up stands for several phases, compareCharts adds up the same phases of
// the other start-up.
export function compareCharts(a, b) {
  const phases = [a, b].map((chart) => chart.rows.filter((r) => r.kind === 'phase'));
  const sameNames = phases[0].some((r) => r.container && phases[1].some((s) => s.container === r.container));
  const places = phases.map((rows) => placesOf(rows, sameNames));
  const sets = new Sets();
  phases.forEach((rows, i) => rows.forEach((r, j) => {
    const [first, ...others] = namesOf(r).map((name) => places[i][j] + ' ' + name);
    sets.join(first, first);
    for (const other of others) sets.join(first, other);
  }));
  const found = new Map();
  phases.forEach((rows, i) => rows.forEach((r, j) => {
    const key = sets.of(places[i][j] + ' ' + namesOf(r)[0]);
    if (!found.has(key)) found.set(key, { names: new Set(), container: ['', ''], attempt: r.attempt, causes: new Set(), sides: [null, null] });
    add(found.get(key), i, r);
  }));
  const rows = [...found.values()].map(finish);
  rows.sort((x, y) => startOf(x) - startOf(y));
  return { rows, total: Math.max(a.total, b.total), totals: [a.total, b.total] };
}

function namesOf(r) { return [...new Set(possible(r.phase, r.merged))]; }

// placesOf returns the container and the attempt of each row. If the start-ups have no container name in common, the container's number
// replaces its name, so that the comparison pairs containers with the same number.
function placesOf(rows, sameNames) {
  const order = [];
  return rows.map((r) => {
    if (r.container && !order.includes(r.container)) order.push(r.container);
    const container = sameNames ? r.container : r.container && 'container ' + order.indexOf(r.container);
    return container + ' ' + r.attempt;
  });
}

function add(row, i, r) {
  row.names.add(r.phase);
  for (const name of r.merged) row.names.add(name);
  row.causes.add(r.cause);
  row.container[i] ||= r.container;
  const side = row.sides[i] ??= { bars: [], seconds: 0, error: 0 };
  side.bars.push({ from: r.from, to: r.to, cause: r.cause });
  side.seconds += r.seconds;
  side.error += r.error;
}

function finish(row) {
  const [a, b] = row.sides;
  return { ...row, names: [...row.names], causes: [...row.causes], container: [...new Set(row.container)].filter(Boolean).join(' / '),
    difference: (b?.seconds ?? 0) - (a?.seconds ?? 0), accuracy: (b?.error ?? 0) + (a?.error ?? 0) };
}

function startOf(row) { return (row.sides[0] ?? row.sides[1]).bars[0].from; }

class Sets {
  #parent = new Map();

  of(key) {
    let at = key;
    while (this.#parent.get(at) !== at) at = this.#parent.get(at);
    return at;
  }

  join(a, b) {
    for (const key of [a, b]) if (!this.#parent.has(key)) this.#parent.set(key, key);
    this.#parent.set(this.of(b), this.of(a));
  }
}

export function largest(rows) { return rows.reduce((a, b) => (!a || Math.abs(b.difference) > Math.abs(a.difference) ? b : a), undefined); }

// A difference that does not exceed its error bound is gray.
export function difference(seconds, accuracy) {
  return number(signed(seconds, exact), { note: exactError(accuracy), style: 'number' + (Math.abs(seconds) <= accuracy ? ' unclear' : seconds > 0 ? ' more' : ' less') });
}

export function signed(seconds, text) { return (seconds < 0 ? '−' : '+') + text(Math.abs(seconds)).replaceAll(' ', '\u00a0'); }
