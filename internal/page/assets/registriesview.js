// The view of registries: a card with the speed, the outcomes and the failures of each registry.

import { ofView } from './address.js';
import { Aggregate } from './ask.js';
import { element, lay, mark, write, sync } from './dom.js';
import { imagesOf } from './groups.js';
import { EVIDENCE } from './pulls.js';
import { ofNode, shareButtons } from './share.js';
import { pulled } from './startup.js';
import { ago, bytes, count, rate, visible } from './text.js';
import { View } from './view.js';
import { spaced } from './words.js';

export class RegistriesView extends View {
  #clock;
  #chosen = ''; // the registry in the page's address; '' for all registries
  #all = element('a', { className: 'quiet', href: ofView('registries') }, 'Show all registries');
  #items = null;
  #list = element('div', 'registries');
  #ask;

  constructor(known, clock, fares, nodeOf) {
    super('registries-view', shareButtons(() => ofNode('registries --node ', nodeOf()), nodeOf, () => ({ registry: this.#chosen })), known);
    this.#clock = clock;
    this.#ask = new Aggregate('api/v1/registries', 5000, (list) => { this.#items = list.items; this.changed(); }, fares);
    known.listen((change) => { if (this.root.isConnected && (change.kind !== 'list' || change.whole)) this.#ask.want(); });
    this.compose([this.#all], this.#list, element('p', 'facts',
      'Covers all pods that the agent knows, including deleted pods. The speed is the number of bytes divided by the download time. ' + EVIDENCE));
  }

  show(address) {
    this.#chosen = address.query.get('registry') ?? '';
    this.#all.hidden = !this.#chosen;
    this.#ask.want();
    this.redraw();
  }

  hide() { this.#ask.stop(); }

  draw() {
    if (!this.#items) return;
    const items = this.#items.filter((r) => !this.#chosen || visible(r.registry) === this.#chosen);
    const fastest = Math.max(...this.#items.map(speed), 0);
    const slowest = items.filter((r) => speed(r) > 0).sort((a, b) => speed(a) - speed(b))[0];
    const failed = items.reduce((sum, r) => sum + (r.outcomes.failed ?? 0), 0);
    write(this.verdict, items.length === 0 ? (this.#chosen ? 'The agent knows no pull from ' + visible(this.#chosen) + '.' : 'No image was pulled.') : (slowest ? (items.length > 1 ? 'The slowest registry is ' : 'Images come from ') + visible(slowest.registry) + ' or its mirror, at ' + rate(slowest.bytes, slowest.download_seconds) + '. ' : '') +
      (failed === 0 ? 'No pull failed.' : count(failed, 'pull', 'pulls') + ' failed.'));
    const all = this.known.all();
    sync(this.#list, items, (r) => r.registry, makeCard, (node, r) => {
      const p = node.parts;
      write(p.name, visible(r.registry));
      write(p.speed, rate(r.bytes, r.download_seconds));
      lay(p.bar, 'width', (fastest > 0 ? 100 * speed(r) / fastest : 0) + '%');
      write(p.facts, [bytes(r.bytes) + ' received', r.in_progress > 0 && count(r.in_progress, 'pull', 'pulls') + ' in progress', r.last_at && 'last ' + ago((this.#clock() - Date.parse(r.last_at)) / 1000)].filter(Boolean).join(' · '));
      const registry = visible(r.registry);
      const pods = all.filter((s) => s.images.some((i) => i.registry === registry && pulled(i)));
      lead(p.pods, count(pods.length, 'pod', 'pods'), ofView('startups', { registry }), registry);
      lead(p.images, count(imagesOf(all, registry).length, 'image', 'images'), ofView('images', { registry }), registry);
      lead(p.pulls, 'pulls', ofView('pulls', { registry }), registry);
      tallies(p.outcomes, r.outcomes, '');
      tallies(p.failures, r.failures, 'bad');
    });
  }
}

function makeCard() {
  const p = { pods: element('a'), images: element('a'), pulls: element('a'), name: element('h2'), speed: element('b', 'speed'), bar: element('i'), facts: element('p', 'facts'), outcomes: element('p', 'tallies'), failures: element('p', 'tallies') };
  return element('article', { className: 'panel registry', parts: p }, p.name, p.speed, element('span', 'progress c-registry', p.bar), p.facts, p.outcomes, p.failures,
    element('p', 'leads', p.pods, p.images, p.pulls));
}

function lead(link, text, href, registry) {
  write(link, text);
  mark(link, 'href', href);
  mark(link, 'aria-label', text + ' of ' + registry);
}

function tallies(host, counts, style) {
  sync(host, Object.entries(counts), ([name]) => name, () => element('span', 'tally ' + style, element('b'), element('span')), (node, [name, n]) => {
    write(node.firstChild, String(n));
    write(node.lastChild, spaced(name));
  });
}

function speed(r) { return r.download_seconds > 0 ? r.bytes / r.download_seconds : 0; }
