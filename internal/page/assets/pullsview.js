// The view of image pulls: pulls in progress, waiting pulls, the node's pull queue as lanes, and recent pulls.

import { ofPod, ofView } from './address.js';
import { Aggregate } from './ask.js';
import { choiceOf, filtersOf, hasRange, within } from './choice.js';
import { element, lay, mark, number, place, restyle, rows, sync, table, write } from './dom.js';
import { Filters } from './filters.js';
import { burstOf, downloadText, imageOf, lanesOf, pullCells, pullHeads, registryOf } from './pulls.js';
import { clock, clockZone } from './settings.js';
import { ofNode, shareButtons } from './share.js';
import { ago, brief, bytes, count, running, visible } from './text.js';
import { View } from './view.js';

const MOST_LANES = 8;
const LIVE = 'queued or pulling'; // text for a pull if no source reports its state
const CAUSES = { queued: 'c-pull_queue', pulling: 'c-registry', unpacking: 'c-disk' };

export class PullsView extends View {
  #clock;
  #recent = [];
  #now = element('ul', 'pulling');
  #lanes = element('div', 'lanes');
  #waits = element('div', 'waits');
  #span = element('p', 'facts');
  #lanesPanel;
  #table = element('tbody');
  #choice = choiceOf(new URLSearchParams());
  #filters;
  #ask;

  constructor(known, clock, fares, go, nodeOf) {
    super('pulls-view', shareButtons(() => ofNode('pulls --node ', nodeOf()), nodeOf, () => filtersOf(this.#choice)), known);
    this.#clock = clock;
    this.#filters = new Filters((change) => go(ofView('pulls', filtersOf({ ...this.#choice, ...change }))));
    this.#ask = new Aggregate(() => 'api/v1/pulls?limit=' + (this.#filtered() ? 500 : 100), 3000, (list) => {
      this.#recent = list.recent;
      known.pulling(list.items);
    }, fares);
    known.listen((change) => {
      if (!this.root.isConnected) return;
      if (change.kind === 'startup' || change.whole) this.#ask.want();
      this.changed();
    });
    this.#lanesPanel = element('div', 'panel', element('h2', '', 'The pull queue'), this.#span, this.#lanes, this.#waits,
      element('p', 'key', element('i', 'swatch c-pull_queue'), 'waits in the queue', element('i', 'swatch c-registry'), 'pulls', element('i', 'swatch c-backoff'), 'failed'));
    this.compose([this.#filters.root], this.#now, this.#lanesPanel, element('div', 'panel', element('h2', '', 'Recent pulls'),
      table(['Pod', ...pullHeads, '#Ended'], this.#table)));
  }

  show(address) {
    this.#choice = choiceOf(address.query);
    this.#filters.show(this.#choice);
    this.#ask.want();
    this.redraw();
  }

  hide() { this.#ask.stop(); }

  tick() { if (this.known.pulls.items.length > 0) this.changed(); }

  #filtered() { return this.#choice.registry || this.#choice.image || hasRange(this.#choice.range); }

  #chosen(pulls) {
    const { registry, image, range } = this.#choice;
    const now = this.#clock();
    return pulls.filter((p) => (!registry || registryOf(p) === registry) && (!image || imageOf(p) === image) &&
      (p.age >= 0 ? within(range, now - 1000 * p.age, now, now) : within(range, Date.parse(p.requested_at ?? p.started_at ?? ''), endedAt(p), now)));
  }

  draw() {
    const { items, seenAt } = this.known.pulls;
    const grown = (performance.now() - seenAt) / 1000;
    const live = this.#chosen(items.map((p) => ({ ...p, age: p.age_seconds + grown })));
    this.#drawNow(live, grown);
    this.#drawLanes(live);
    rows(this.#table, this.#chosen(this.#recent).filter((p) => Number.isFinite(endedAt(p))).map((p) => [
      { text: podOf(p), link: ofPod(p.namespace, p.pod, p.uid) }, ...pullCells(p), number(ago((this.#clock() - endedAt(p)) / 1000), { note: clockZone(endedAt(p)) })]));
  }

  #drawNow(live, grown) {
    const waiting = live.filter((p) => p.state === 'queued');
    write(this.verdict, live.length === 0 ? 'No ' + (this.#filtered() ? 'matching ' : '') + 'pulls in progress.' :
      (live.every((p) => p.state) ? count(live.length - waiting.length, 'image is', 'images are') + ' being pulled' : count(live.length, 'pull is', 'pulls are') + ' in progress') +
      (waiting.length > 0 ? ', ' + waiting.length + (waiting.length === 1 ? ' queued, for ' : ' queued, the longest for ') + running(Math.max(...waiting.map((p) => p.age))) : '') + '.');
    this.#now.hidden = live.length === 0;
    sync(this.#now, live, (p, i) => [p.namespace, p.pod, p.container, p.image, i].join(' '), makePulling, (node, p) => {
      const [who, image, bar, much, download] = node.children;
      write(who, p.pod ? podOf(p) : 'not requested by a pod on this node');
      if (p.pod) mark(who, 'href', ofPod(p.namespace, p.pod, ''));
      write(image, visible(p.image || p.registry, 400));
      restyle(bar, 'progress ' + (CAUSES[p.state] ?? 'c-unknown') + (p.total_bytes ? '' : ' endless'));
      lay(bar.firstChild, 'width', (p.total_bytes ? Math.min(100, 100 * (p.done_bytes ?? 0) / p.total_bytes) : 100) + '%');
      write(much, (p.state === 'pulling' && p.total_bytes ? bytes(p.done_bytes) + ' of ' + bytes(p.total_bytes) : p.state ?? LIVE) + ' · ' + running(p.age) + (p.restart ? ' · restart' : ''));
      write(download, downloadText(p, grown));
    });
  }

  #drawLanes(live) {
    const nodeNow = this.#clock();
    const burst = burstOf([...this.#chosen(this.#recent).map(overPull), ...live.map((p) => livePull(p, nodeNow))]);
    this.#lanesPanel.hidden = burst.length === 0;
    if (burst.length === 0) return;
    const from = Math.min(...burst.map((p) => p.from));
    const to = Math.max(...burst.map((p) => p.to));
    const length = Math.max(to - from, 1);
    const lanes = lanesOf(burst);
    write(this.#span, count(burst.length, 'pull', 'pulls') + ' in ' + brief(length / 1000) + ', from ' + clock(from) + ' to ' + clockZone(to) +
      (lanes.length > 1 ? ', up to ' + lanes.length + ' at once.' : burst.some(unclear) ? '.' : ', one at a time.'));
    sync(this.#lanes, lanes.slice(0, MOST_LANES), (l, i) => i, () => element('div', 'lane'), (node, lane) => {
      sync(node, lane, (p) => p.key, () => element('i'), (block, p) => {
        restyle(block, p.failed ? 'c-backoff' : 'c-registry');
        place(block, (p.startedAt - from) / length, (p.to - from) / length);
        mark(block, 'title', p.who + ': ' + p.image + ', ' + brief((p.to - p.startedAt) / 1000));
      });
    });
    sync(this.#waits, burst, (p) => p.key, makeWait, (node, p) => {
      const [who, track, long] = node.children;
      const [wait, pull] = track.children;
      write(who, p.who);
      mark(who, 'title', p.image);
      const startedAt = Number.isFinite(p.startedAt) ? p.startedAt : p.failed ? p.from : p.to;
      restyle(wait, unclear(p) ? 'c-unknown' : 'c-pull_queue');
      place(wait, (p.from - from) / length, (startedAt - from) / length);
      place(pull, (startedAt - from) / length, (p.to - from) / length);
      restyle(pull, (p.failed ? 'c-backoff' : 'c-registry') + (p.goes ? ' goes-on' : ''));
      const queued = (startedAt - p.from) / 1000;
      const pulled = p.failed ? 'failed' : startedAt < p.to ? brief((p.to - startedAt) / 1000) + ' pull' : p.goes ? 'still waits' : '';
      write(long, unclear(p) ? brief(queued) + ', ' + (p.goes || 'queue and pull') : [queued >= 0.05 && brief(queued) + ' queued', pulled].filter(Boolean).join(', '));
    });
  }
}

function podOf(p) { return visible(p.namespace) + '/' + visible(p.pod) + ' ' + visible(p.container); }

function endedAt(p) { return Date.parse(p.finished_at ?? p.started_at ?? p.requested_at ?? ''); }

function makePulling() { return element('li', '', element('a'), element('span', 'image'), element('span', 'progress', element('i')), element('span', 'much'), element('span', 'download')); }

function makeWait() {
  return element('div', 'wait', element('span', 'who'), element('span', 'track', element('i', 'c-pull_queue'), element('i', 'c-registry')), element('span', 'long'));
}

function overPull(p) {
  const startedAt = Date.parse(p.started_at ?? '');
  return { key: [p.uid, p.container, p.attempt].join(' '), who: podOf(p), image: imageOf(p),
    from: Date.parse(p.requested_at ?? p.started_at ?? ''), startedAt, to: Date.parse(p.finished_at ?? ''), failed: p.outcome === 'failed', goes: '' };
}

// `unclear` reports whether a pull waited in the queue for an unknown time, which can be zero.
function unclear(p) { return !p.failed && p.goes !== 'queued' && !Number.isFinite(p.startedAt); }

// A pull in progress. If a pod requested the pull, no source reports when the pull left the queue.
function livePull(p, nodeNow) {
  const from = nodeNow - 1000 * p.age;
  return { key: ['live', p.namespace, p.pod, p.container, p.image].join(' '), who: p.pod ? podOf(p) : 'not requested here',
    image: imageOf(p), from, startedAt: p.pod ? NaN : from, to: nodeNow, failed: false, goes: p.state ?? LIVE };
}
