// Start-ups for lists. A list can contain 1500 start-ups, so the page keeps only some fields of each record.

import { imageOf, registryOf } from './pulls.js';
import { percent, visible } from './text.js';
import { spaced } from './words.js';

const VERDICT = 400;

export function startUpOf(record, seenAt) {
  const owner = ownerOf(record);
  const s = {
    uid: record.uid, namespace: record.namespace, name: record.name,
    shownName: visible(record.name), shownNamespace: visible(record.namespace), owner,
    state: record.state, reason: visible(record.reason),
    createdAt: Date.parse(record.created_at), settledAt: Date.parse(record.settled_at ?? ''), gone: record.gone_at !== undefined,
    total: record.total_seconds, error: record.total_error_seconds, verdict: visible(record.verdict, VERDICT),
    stretches: record.phases.map((p) => ({ phase: p.phase, cause: p.cause, container: visible(p.container), attempt: p.attempt ?? 0, seconds: p.seconds })),
    images: record.pulls.filter((p) => p.kind !== 'ephemeral').map(imageFor),
    refused: refusal(record), seenAt,
  };
  s.workload = workloadOf(record);
  s.causes = byCause(s.stretches);
  s.found = [s.shownNamespace + '/' + s.shownName, owner, s.reason, s.state, s.verdict].join(' ').toLowerCase();
  return s;
}

export function ownerOf({ owner }) { return owner ? visible(owner.kind) + '/' + visible(owner.name, 253) : ''; }

// In each namespace, all pods without an owner form one workload.
export function workloadOf(record) { return visible(record.namespace) + '/' + ownerOf(record); }

function imageFor(p) {
  return { image: imageOf(p), registry: registryOf(p), outcome: p.outcome, at: p.requested_at ?? p.started_at ?? p.finished_at, seconds: p.pull_seconds, size: p.size_bytes ?? 0 };
}

// `pulled` reports whether an entry counts as a pull, by the same rule as in the agent's API.
export function pulled({ outcome, at }) { return outcome !== 'present' && (outcome !== 'unknown' || at !== undefined); }

function refusal(record) {
  const last = record.pulls.findLast((p) => p.kind !== 'ephemeral' && p.outcome === 'failed');
  return last?.failure ? visible(last.registry) + ' or its mirror: ' + spaced(last.failure) : '';
}

export function starts(s) { return s.state === 'starting'; }

export function grown(s, now) { return starts(s) ? Math.max(0, now - s.seenAt) / 1000 : 0; }

export function age(s, now) { return s.total + grown(s, now); }

export function stuckIn(s, now) {
  const last = s.stretches.at(-1);
  return last && { ...last, seconds: last.seconds + grown(s, now) };
}

export function stuckText(s, now, length) {
  const stretch = stuckIn(s, now);
  if (!stretch) return 'no evidence yet';
  const why = [s.reason, stretch.attempt > 0 && 'attempt ' + (stretch.attempt + 1), stretch.phase === 'image_backoff' && s.refused].filter(Boolean).join(', ');
  return 'in ' + spaced(stretch.phase) + (stretch.container ? ' of ' + stretch.container : '') + ' for ' + length(stretch.seconds) + (why ? ' (' + why + ')' : '');
}

export function byCause(stretches) {
  const sums = new Map();
  for (const { cause, seconds } of stretches) sums.set(cause, (sums.get(cause) ?? 0) + seconds);
  return [...sums].map(([cause, seconds]) => ({ cause, seconds })).sort((a, b) => b.seconds - a.seconds);
}

// The most frequent key is first.
export function countBy(keys) {
  const counts = new Map();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

export function totalOf(stretches) { return stretches.reduce((sum, { seconds }) => sum + seconds, 0); }

export function mostCauses(causes, nameOf) {
  const whole = totalOf(causes);
  return causes.slice(0, 3).filter(({ seconds }) => seconds > 0).map(({ cause, seconds }) => nameOf(cause) + ' ' + percent(seconds, whole)).join(', ');
}

export function mainCause(s) { return s.causes[0]?.cause ?? 'unknown'; }
