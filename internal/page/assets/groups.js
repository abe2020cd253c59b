// Start-ups grouped by workload, and their pulls grouped by image.

import { compare } from './choice.js';
import { age, byCause, pulled, starts } from './startup.js';

export function workloadsOf(all, now) {
  const groups = new Map();
  for (const s of all) {
    const g = at(groups, s.workload, () => ({ key: s.workload, name: s.owner || 'no owner', of: s.shownNamespace, members: [] }));
    g.members.push(s);
  }
  for (const g of groups.values()) {
    g.count = g.members.length;
    g.going = g.members.filter(starts).length;
    g.failed = g.members.filter((s) => s.state === 'failed' || s.state === 'given_up').length;
    g.p50 = percentile(g.members.filter(isMeasured).map((s) => s.total), 50);
    g.longest = most(g.members.filter((s) => !(s.error >= age(s, now))), (s) => age(s, now));
    g.grows = g.longest !== null && starts(g.longest);
    g.slowest = g.longest ? age(g.longest, now) : NaN;
    g.subject = g.of + '/' + (g.longest?.owner === '' ? g.longest.shownName : g.name);
    g.causes = byCause(g.members.flatMap((s) => s.causes));
  }
  return [...groups.values()];
}

export function imagesOf(all, registry = '', image = '') {
  const groups = new Map();
  for (const s of all) {
    for (const i of s.images) {
      if (registry && i.registry !== registry || image && i.image !== image) continue;
      const g = at(groups, i.image, () => ({ key: i.image, name: i.image, registry: i.registry, pods: new Set(), pulls: 0, failed: 0, size: 0, lengths: [], longest: null, slowest: NaN }));
      g.pods.add(s.uid);
      g.size = Math.max(g.size, i.size);
      if (!pulled(i)) continue;
      g.pulls++;
      if (i.outcome === 'failed') g.failed++;
      if (i.seconds === undefined) continue;
      g.lengths.push(i.seconds);
      if (!(i.seconds <= g.slowest)) { g.slowest = i.seconds; g.longest = s; }
    }
  }
  for (const g of groups.values()) {
    g.count = g.pods.size;
    g.p50 = percentile(g.lengths, 50);
  }
  return [...groups.values()];
}

// Names are in ascending order. Numbers are in descending order; unknown numbers are last.
export function sorted(groups, property) {
  const value = (g) => (Number.isFinite(g[property]) ? g[property] : -1);
  return groups.sort((a, b) => (property === 'name' ? 0 : value(b) - value(a)) || compare(a.name, b.name) || compare(a.key, b.key));
}

// The nearest-rank method. The percentile of an empty list is `undefined`.
export function percentile(numbers, percent) { return [...numbers].sort((a, b) => a - b)[Math.ceil(numbers.length * percent / 100) - 1]; }

// isMeasured reports whether a start-up counts for the P50, by the same rule as in the agent.
function isMeasured(s) { return (s.state === 'ready' || s.state === 'succeeded') && !(s.error >= s.total); }

function most(items, value) { return items.reduce((a, b) => (a && value(b) <= value(a) ? a : b), null); }

function at(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
}
