// The waterfall of one start-up: the kubelet's Events, and a row for each phase on one axis.

import { element, lay, mark, place, restyle, write, sync } from './dom.js';
import { imageOf, outcomeText, waitsOf } from './pulls.js';
import { clockZone } from './settings.js';
import { bytes, exact, exactError, percent, rate } from './text.js';
import { attemptText, causeName, causeStyle, phaseMeans, possible, spaced } from './words.js';

export class Waterfall {
  root = element('section', 'waterfall');
  detail = new Detail();
  #chart = null;
  #open = new Set(); // keys of rows that show their layers
  #again; // draws the waterfall again
  #axis = element('div', 'wf-axis');
  #grid = element('div', 'wf-grid');
  #events = element('div', 'wf-events');
  #rows = element('div', { className: 'wf-rows', role: 'tree', ariaLabel: 'Phases' });

  constructor(again) {
    this.#again = again;
    const events = element('div', 'wf-row wf-dated', element('span', 'wf-label', 'Events'), element('div', 'wf-track', this.#events));
    this.root.append(element('div', 'wf-head', element('span', 'wf-label', 'Phase'), element('div', 'wf-track', this.#axis), element('span', 'wf-length', 'Time'), element('span', 'wf-error', 'Accuracy'), element('span', 'wf-cause', 'Cause')),
      element('div', 'wf-body', element('div', 'wf-gridholder', this.#grid), events, this.#rows), this.detail.root);
    const on = (kind, does) => this.root.addEventListener(kind, does);
    on('keydown', (event) => this.#key(event));
    for (const kind of ['pointerover', 'focusin']) on(kind, (event) => this.#point(event.target));
    for (const kind of ['pointerleave', 'focusout']) on(kind, () => this.detail.hide());
    on('click', (event) => this.#toggle(event.target.closest?.('.wf-row')));
  }

  isOpen(row) { return this.#open.has(row.key); }

  forget() {
    this.#open.clear();
    this.#rows.replaceChildren();
    this.#events.replaceChildren();
    this.detail.hide();
  }

  draw(chart) {
    this.#chart = chart;
    const { total } = chart;
    const all = ticks(total, window.innerWidth < 800 ? 4 : 8);
    sync(this.#axis, all, (t) => t, () => element('span', 'tick'), (node, t) => {
      write(node, tickText(t, total));
      lay(node, 'left', percentOf(t, total));
      restyle(node, 'tick' + (t / total > 0.94 ? ' last' : ''));
    });
    sync(this.#grid, all, (t) => t, () => element('i'), (node, t) => lay(node, 'left', percentOf(t, total)));
    const dated = chart.events.filter((e) => Number.isFinite(e.at));
    this.#events.closest('.wf-row').hidden = dated.length === 0;
    sync(this.#events, dated, (e) => e.key, () => element('button', { type: 'button' }), (node, e) => {
      node.about = e;
      lay(node, 'left', percentOf(e.at, total));
      restyle(node, 'wf-event' + (/fail|backoff|error|unhealthy/i.test(e.reason) ? ' bad' : ''));
      mark(node, 'aria-label', e.reason + ' at ' + exact(e.at));
    });
    sync(this.#rows, chart.rows, (r) => r.key, makeRow, (node, r) => fillRow(node, r, total, this.#open.has(r.key)));
    const focusable = [...this.#rows.children];
    if (!focusable.some((node) => node.tabIndex === 0)) focusable[0]?.setAttribute('tabindex', '0');
    if (this.detail.of?.isConnected && this.root.contains(this.detail.of)) this.#point(this.detail.of);
  }

  enter() { this.#rows.firstElementChild?.focus(); }

  #point(target) {
    const about = target.closest?.('.wf-event, .wf-row');
    if (!about?.about || !this.#chart) return;
    const anchor = about.querySelector('.wf-bar') ?? about;
    this.detail.show(anchor, explain(about.about, this.#chart));
  }

  #toggle(node) {
    const row = node?.about;
    if (!row?.pull || row.kind !== 'phase' || !opens(row)) return;
    if (!this.#open.delete(row.key)) this.#open.add(row.key);
    this.#again();
  }

  #key(event) {
    const node = event.target.closest?.('.wf-row');
    if (!node || node.parentElement !== this.#rows || event.metaKey || event.ctrlKey || event.altKey) return;
    const to = { ArrowDown: node.nextElementSibling, j: node.nextElementSibling, ArrowUp: node.previousElementSibling, k: node.previousElementSibling,
      Home: this.#rows.firstElementChild, End: this.#rows.lastElementChild }[event.key];
    if (to) {
      event.preventDefault();
      node.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    } else if (event.key === 'Enter' || event.key === ' ' || event.key === 'ArrowRight' && !this.isOpen(node.about) || event.key === 'ArrowLeft' && this.isOpen(node.about)) {
      event.preventDefault();
      this.#toggle(node);
    }
  }
}

// The box with details of the element that has the pointer or the focus.
class Detail {
  root = element('div', { className: 'detail', id: 'detail', role: 'tooltip', hidden: true });
  #title = element('b');
  #words = element('p');
  #facts = element('dl');
  of = null;

  constructor() {
    this.root.append(this.#title, this.#words, this.#facts);
  }

  show(anchor, { title, words, facts }) {
    this.of = anchor;
    write(this.#title, title);
    write(this.#words, words ?? '');
    this.#words.hidden = !words;
    sync(this.#facts, facts.filter(([, value]) => value), ([name]) => name, () => element('div', '', element('dt'), element('dd')), (node, [name, value]) => {
      write(node.firstChild, name);
      write(node.lastChild, value);
    });
    this.root.hidden = false;
    this.#place(anchor);
  }

  hide() {
    this.of = null;
    this.root.hidden = true;
  }

  #place(anchor) {
    if (window.innerWidth < 800) { // the style sheet puts the box at the bottom
      lay(this.root, 'left', '');
      lay(this.root, 'top', '');
      return;
    }
    const about = anchor.getBoundingClientRect();
    const own = this.root.getBoundingClientRect();
    const left = Math.min(Math.max(8, about.left + about.width / 2 - own.width / 2), window.innerWidth - own.width - 8);
    const below = about.bottom + 8;
    const top = below + own.height > window.innerHeight ? Math.max(8, about.top - own.height - 8) : below;
    lay(this.root, 'left', left + 'px');
    lay(this.root, 'top', top + 'px');
  }
}

function opens(row) { return row.pull.layers.length > 0 || row.pull.download !== undefined; }

function makeRow() {
  const parts = {
    sign: element('i', 'wf-sign'), name: element('span'), of: element('small'), when: element('em'), bar: element('i', 'wf-bar'), whisker: element('i', 'wf-whisker'),
    came: element('i', 'wf-came'), length: element('span', 'wf-length'), error: element('span', 'wf-error'), causeName: element('span'),
  };
  const node = element('div', { role: 'treeitem', tabIndex: -1, parts }, element('span', 'wf-label', parts.sign, parts.name, parts.of, parts.when),
    element('div', 'wf-track', parts.bar, parts.whisker, parts.came), parts.length, parts.error, element('span', 'wf-cause', element('i', 'swatch'), parts.causeName));
  node.setAttribute('aria-describedby', 'detail');
  return node;
}

function fillRow(node, r, total, open) {
  const p = node.parts;
  node.about = r;
  const phase = r.kind === 'phase';
  const canOpen = phase && r.pull && opens(r);
  restyle(node, 'wf-row wf-' + r.kind + ' c-' + causeStyle(r.cause ?? 'registry') + (r.open ? ' goes-on' : '') + (canOpen ? ' can-open' : ''));
  mark(node, 'aria-level', phase ? '1' : '2');
  if (canOpen) mark(node, 'aria-expanded', String(open));
  write(p.sign, canOpen ? (open ? '▾' : '▸') : '');
  write(p.name, nameOf(r));
  write(p.of, phase ? attemptText(r.container, r.attempt) : '');
  write(p.when, remark(r));
  write(p.length, Number.isFinite(r.seconds) ? exact(r.seconds) : '–');
  write(p.error, phase ? exactError(r.error) : '');
  write(p.causeName, phase ? spaced(r.cause) : '');
  place(p.bar, r.from / total, r.to / total);
  const spread = phase && r.error > 0 ? r.error : 0;
  p.whisker.hidden = spread === 0;
  if (spread > 0) place(p.whisker, (r.to - spread) / total, (r.to + spread) / total);
  p.came.hidden = r.kind !== 'layer';
  if (r.kind === 'layer') place(p.came, r.layer.downloaded / total, r.to / total);
}

function nameOf(r) {
  switch (r.kind) {
    case 'phase': return [r.phase, ...r.merged].join(' + ');
    case 'layer': return 'layer ' + r.number + ' · ' + bytes(r.layer.size);
    default: return r.kind + ', total';
  }
}

// The phase `unpack` contains only the time after the download.
function remark(r) {
  if (r.kind === 'unpack') return 'overlaps download';
  return r.kind === 'phase' && r.phase === 'unpack' && r.merged.length === 0 ? 'after the download' : '';
}

function explain(about, chart) {
  if (!about.kind) { // an Event
    return { title: about.reason, words: about.message, facts: [['at', '+' + exact(about.at) + ' · ' + clockZone(chart.createdAt + 1000 * about.at)], ['container', about.container], ['from', 'the kubelet']] };
  }
  const span = ['from', '+' + exact(about.from) + ' to ' + (about.open ? 'now' : '+' + exact(about.to)) + ' · ' + clockZone(chart.createdAt + 1000 * about.from)];
  if (about.kind === 'layer') {
    const { layer } = about;
    return { title: 'Layer ' + about.number, words: layer.shared ? 'Another pull shares this layer, and counts its bytes.' : '', facts: [
      ['digest', layer.digest], ['size', bytes(layer.size)], ['complete', '+' + exact(layer.downloaded)], ['unpacked', Number.isFinite(layer.unpacked) ? '+' + exact(layer.unpacked) : ''],
      ['', 'The start of its download is unknown; the pull started at +' + exact(layer.from) + '.']] };
  }
  if (about.kind !== 'phase') {
    return { title: about.kind === 'download' ? 'Download of all layers' : 'Unpacking of all layers', words: 'The runtime unpacks layers while it downloads other layers. Do not add the two lengths. The phase “unpack” is only the time after the download.',
      facts: [span, ['busy', exact(about.seconds)], ['bytes', about.kind === 'download' ? bytes(about.bytes) : ''], ['speed', about.kind === 'download' ? rate(about.bytes_per_second, 1) : '']] };
  }
  return { title: nameOf(about).replaceAll('_', ' ') + ', cause: ' + causeName(about.cause), words: about.merged.length > 0 ?
    'The time can belong to these phases: ' + possible(about.phase, about.merged).map(spaced).join(', ') + '.' : phaseMeans(about.phase),
  facts: [['image', about.loading ? 'its content might still be loading' : ''], span, ['took', exact(about.seconds) + ' ' + exactError(about.error) + ' · ' + percent(about.seconds, chart.total) + ' of the start-up' + (about.open ? ' so far' : '')],
    ['container', about.container], ['attempt', about.attempt > 0 ? String(about.attempt + 1) : ''], ['known from', about.sources.join(', ')],
    ['node waited', about.pressure ? ['cpu', 'io', 'memory'].map((resource) => percent(about.pressure[resource], 1) + ' for ' + resource).join(', ') : ''], ...pullFacts(about.pull)] };
}

function pullFacts(p) {
  if (!p) return [];
  const speed = p.download?.bytes_per_second;
  return [['image', imageOf(p)], ['outcome', outcomeText(p)], ['size', p.size_bytes > 0 ? bytes(p.size_bytes) : ''],
    ['speed', speed > 0 ? rate(speed, 1) : p.resumed ? 'unknown: the pull resumed an interrupted attempt' : ''], ['lazy', p.lazy ? 'content might still load while the container runs' : ''],
    ['other pulls', waitsOf(p)]];
}

function percentOf(at, total) { return (100 * Math.min(Math.max(total > 0 ? at / total : 0, 0), 1)).toFixed(3) + '%'; }

function ticks(total, most) {
  if (!(total > 0)) return [0];
  const step = stepOf(total, most);
  const all = [];
  for (let i = 0; i * step <= total * 1.0001; i++) all.push(i * step);
  return all;
}

function stepOf(total, most) {
  if (total > 90) { // steps from 30 s to 1 day
    for (const step of [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]) if (total / step <= most) return step;
  }
  for (let power = 1e-4; ; power *= 10) {
    for (const step of [1, 2, 5]) if (total / (step * power) <= most) return step * power;
  }
}

function tickText(seconds, total) {
  if (seconds === 0) return '0 s';
  if (total > 90) {
    const minutes = seconds / 60;
    return minutes < 60 ? +minutes.toFixed(1) + ' m' : +(minutes / 60).toFixed(1) + ' h';
  }
  return +seconds.toPrecision(3) + ' s';
}
