// A start-up as lists show it: less than its record, which may be large, of which there may be 1500.

import { visible } from './text.js';
import { phaseName } from './words.js';

const VERDICT = 400;

// startUpOf reads a record that came at an instant of performance.now().
export function startUpOf(record, toldAt) {
  const owner = record.owner ? visible(record.owner.kind) + '/' + visible(record.owner.name) : '';
  const s = {
    uid: record.uid, namespace: record.namespace, name: record.name,
    shownName: visible(record.name), shownNamespace: visible(record.namespace), owner,
    state: record.state, reason: visible(record.reason),
    createdAt: Date.parse(record.created_at), settledAt: Date.parse(record.settled_at ?? ''), gone: record.gone_at !== undefined,
    total: record.total_seconds, error: record.total_error_seconds, verdict: visible(record.verdict, VERDICT),
    stretches: record.phases.map((p) => ({ phase: p.phase, cause: p.cause, container: visible(p.container), attempt: p.attempt ?? 0, seconds: p.seconds })),
    conflicts: record.conflicts.length, missing: record.missing.length, lost: record.lost_events?.length ?? 0,
    reconstructed: record.reconstructed === true, refused: refusal(record), toldAt,
  };
  s.blame = blame(s.stretches);
  s.found = [s.shownNamespace + '/' + s.shownName, owner, s.reason, s.state, s.verdict].join(' ').toLowerCase();
  return s;
}

// refusal is why the last pull failed, and where: what a pod in back-off waits for.
function refusal(record) {
  const last = record.pulls.findLast((p) => p.kind !== 'ephemeral' && p.outcome === 'failed');
  return last?.failure ? visible(last.registry) + ' or its mirror: ' + visible(last.failure).replaceAll('_', ' ') : '';
}

export function starts(s) { return s.state === 'starting'; }

// grown is by how much a start-up has grown since it was told of.
export function grown(s, now) { return starts(s) ? Math.max(0, now - s.toldAt) / 1000 : 0; }

export function age(s, now) { return s.total + grown(s, now); }

// stuckIn is the stretch that a start-up is in, with its length now.
export function stuckIn(s, now) {
  const last = s.stretches.at(-1);
  return last && { ...last, seconds: last.seconds + grown(s, now) };
}

// stuckText says in words where a start-up is.
export function stuckText(s, now, length) {
  const stretch = stuckIn(s, now);
  if (!stretch) return 'no evidence yet';
  const why = [s.reason, stretch.attempt > 0 && 'attempt ' + (stretch.attempt + 1), stretch.phase === 'image_backoff' && s.refused].filter(Boolean).join(', ');
  return 'in ' + phaseName(visible(stretch.phase)) + (stretch.container ? ' of ' + stretch.container : '') + ' for ' + length(stretch.seconds) + (why ? ' (' + why + ')' : '');
}

// blame adds up stretches by cause, the most first.
export function blame(stretches) {
  const sums = new Map();
  for (const { cause, seconds } of stretches) sums.set(cause, (sums.get(cause) ?? 0) + seconds);
  return [...sums].map(([cause, seconds]) => ({ cause, seconds })).sort((a, b) => b.seconds - a.seconds);
}

// blamed is the cause that took the most of it.
export function blamed(s) { return s.blame[0]?.cause ?? 'unknown'; }
