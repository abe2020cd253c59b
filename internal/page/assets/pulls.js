// Formats pulls as text and as table cells, and finds the latest burst of pulls.

import { ofView } from './address.js';
import { number } from './dom.js';
import { about, bytes, count, exact, exactError, percent, rate, visible } from './text.js';
import { spaced } from './words.js';

const APART = 60000; // milliseconds; a longer time without pulls separates two bursts
const MOST = 40;

export const EVIDENCE = 'Only pulls with evidence count. An image that was already on the node is not a pull.';

export function imageOf(p) { return visible(p.image, 400); }

export function registryOf(p) { return visible(p.registry) || 'unknown'; }

export function outcomeText(p) { return visible(p.outcome) + (p.failure ? ': ' + spaced(p.failure) : ''); }

// waitsOf describes which pulls a pull waited for, and how many other pulls ran at the same time.
export function waitsOf(p) {
  const by = p.blocked_by;
  return [by?.seconds > 0 ? 'waited ' + exact(by.seconds) + ' behind ' + (by.image === p.image ? 'the same image' : imageOf(by)) + ' of ' + visible(by.namespace) + '/' + visible(by.pod) :
    p.pulls_ahead > 1 ? 'behind ' + p.pulls_ahead + ' pulls' : '', p.pulls_beside > 0 ? 'alongside ' + count(p.pulls_beside, 'other pull', 'other pulls') : ''].filter(Boolean).join(', ');
}

// `since` is the number of seconds since the page received `p`.
export function downloadText(p, since) {
  if (p.state !== 'pulling') return '';
  const left = p.remaining_seconds - since;
  return [p.total_bytes && percent(p.done_bytes ?? 0, p.total_bytes), p.bytes_per_second && 'at ' + rate(p.bytes_per_second, 1)].filter(Boolean).join(' ') +
    (left > 0 ? ', download ends in about ' + about(left) : '');
}

export const pullHeads = ['Image', 'Registry', 'Outcome', '#Queue', '#Pull', '#Accuracy', '#Size', '#Speed'];

// The cells are in the order of pullHeads.
export function pullCells(p) {
  const image = imageOf(p);
  const registry = registryOf(p);
  return [{ text: image, link: ofView('startups', { image }), note: waitsOf(p) }, { text: registry, link: ofView('registries', { registry }) }, outcomeText(p),
    ...[exact(p.queue_seconds), exact(p.pull_seconds), exactError(p.error_seconds), bytes(p.size_bytes), rate(p.download?.bytes_per_second, 1)].map((text) => number(text))];
}

// burstOf returns the pulls of the latest burst, oldest first. `from`, `to` and `startedAt` are in milliseconds. `startedAt` is the time of
// the request to the runtime, or NaN if no source reports this time.
export function burstOf(pulls) {
  const all = pulls.filter((p) => Number.isFinite(p.from) && Number.isFinite(p.to)).sort((a, b) => b.to - a.to).slice(0, MOST);
  const burst = [];
  let begins = Infinity;
  for (const p of all) {
    if (burst.length > 0 && p.to < begins - APART) break;
    burst.push(p);
    begins = Math.min(begins, p.from);
  }
  return burst.sort((a, b) => a.from - b.from || a.to - b.to);
}

// lanesOf divides pulls into as few lanes as possible. The pulls in one lane run one after another.
export function lanesOf(burst) {
  const lanes = [];
  const pulling = burst.filter((p) => Number.isFinite(p.startedAt)).sort((a, b) => a.startedAt - b.startedAt);
  for (const p of pulling) {
    const slack = 20; // ms; the times from two sources can differ by this much
    let lane = lanes.find((l) => l.at(-1).to <= p.startedAt + slack);
    if (!lane) lanes.push(lane = []);
    lane.push(p);
  }
  return lanes;
}
