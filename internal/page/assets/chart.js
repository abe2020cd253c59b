// The rows of a waterfall. Instants are in seconds since the creation of the pod.

import { message, visible } from './text.js';
import { spaced } from './words.js';

// `grown` is the number of seconds since the record arrived, or 0 if the record no longer changes. `open` reports whether the waterfall
// shows the image layers of a row.
export function chartOf(record, grown, open) {
  const createdAt = Date.parse(record.created_at);
  const since = (instant) => (instant ? (Date.parse(instant) - createdAt) / 1000 : NaN);
  const rows = [];
  const drawn = new Set();
  let at = 0;
  record.phases.forEach((p, i) => {
    const more = i === record.phases.length - 1 && record.state === 'starting' ? grown : 0;
    const row = {
      key: ['phase', p.phase, p.container ?? '', p.attempt ?? 0, p.start_at].join(' '), kind: 'phase', phase: visible(p.phase),
      container: visible(p.container), attempt: p.attempt ?? 0, cause: visible(p.cause), from: at, to: at + p.seconds + more, seconds: p.seconds + more,
      error: p.error_seconds, open: p.open, sources: p.sources.map(spaced), merged: (p.merged_with ?? []).map((m) => visible(m)),
      pressure: p.pressure, loading: p.image_loading,
    };
    at += p.seconds;
    const n = pullOf(record, p);
    if (n >= 0 && !drawn.has(n)) {
      drawn.add(n);
      row.pull = pull(record.pulls[n], since);
    }
    rows.push(row);
    if (row.pull && open(row)) rows.push(...parts(row.key, row.pull));
  });
  return { createdAt, total: Math.max(record.total_seconds + grown, 0), rows, events: events(record, since) };
}

function pullOf(record, p) {
  const names = [p.phase, ...(p.merged_with ?? [])];
  if (!names.includes('pull')) return -1;
  return record.pulls.findIndex((q) => q.container === p.container && q.attempt === (p.attempt ?? 0) && q.kind !== 'ephemeral');
}

function pull(p, since) {
  const span = (s) => s && { ...s, from: since(s.start_at), to: since(s.end_at) };
  return { ...p, download: span(p.download), unpack: span(p.unpack), layers: (p.layers ?? []).map((l) => ({
    digest: visible(l.digest), size: l.size_bytes, from: since(p.started_at), downloaded: since(l.downloaded_at), unpacked: since(l.unpacked_at), shared: l.shared })) };
}

function parts(key, p) {
  const rows = [];
  if (p.download) rows.push({ ...p.download, key: key + ' download', kind: 'download', cause: 'registry', pull: p });
  if (p.unpack) rows.push({ ...p.unpack, key: key + ' unpack', kind: 'unpack', cause: 'disk', pull: p });
  p.layers.forEach((layer, i) => {
    const to = Number.isFinite(layer.unpacked) ? layer.unpacked : layer.downloaded;
    rows.push({ key: key + ' layer ' + i, kind: 'layer', number: i + 1, layer, from: layer.from, to, seconds: to - layer.from, pull: p });
  });
  return rows;
}

function events(record, since) {
  return (record.events ?? []).map((e, i) => ({
    key: 'event ' + i, at: since(e.at), reason: visible(e.reason), container: visible(e.container), message: message(e.message),
  }));
}
