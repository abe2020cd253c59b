// The view of registries: how fast each is, how often it fails.

import { Aggregate } from './aggregate.js';
import { element, lay, say, sync } from './dom.js';
import { ago, bytes, count, rate } from './format.js';
import { perFrame } from './frame.js';
import { visible } from './text.js';

export class RegistriesView {
  root = element('section', 'registries-view');
  #clock;
  #shown = false;
  #items = null;
  #verdict = element('p', 'verdict');
  #list = element('div', 'registries');
  #ask;
  changed = perFrame(() => this.#draw());

  constructor(known, clock, fares) {
    this.#clock = clock;
    this.#ask = new Aggregate('api/v1/registries', 5000, (list) => { this.#items = list.items; this.changed(); }, fares);
    known.hear((change) => { if (this.#shown && (change.kind !== 'list' || change.whole)) this.#ask.want(); });
    this.root.append(this.#verdict, this.#list, element('p', 'facts',
      'Covers the pulls of all pods that the agent knows, including deleted pods. Speed is bytes divided by the download time. Images already on the node do not count as pulls.'));
  }

  show() {
    this.#shown = true;
    this.#ask.want();
    this.#draw();
  }

  hide() {
    this.#shown = false;
    this.#ask.stop();
  }

  tick() {}

  title() { return 'registries'; }

  #draw() {
    if (!this.#shown || !this.#items) return;
    const speeds = this.#items.map(speed);
    const fastest = Math.max(...speeds, 0);
    const slowest = this.#items.filter((r) => speed(r) > 0).sort((a, b) => speed(a) - speed(b))[0];
    const failed = this.#items.reduce((sum, r) => sum + (r.outcomes.failed ?? 0), 0);
    say(this.#verdict, this.#items.length === 0 ? 'No image was pulled.' : (slowest ? (this.#items.length > 1 ? 'The slowest registry is ' : 'Images come from ') + visible(slowest.registry) + ' or its mirror, at ' + rate(slowest.bytes, slowest.download_seconds) + '; ' : '') +
      (failed === 0 ? 'no pull failed.' : count(failed, 'pull', 'pulls') + ' failed.'));
    sync(this.#list, this.#items, (r) => r.registry, makeCard, (node, r) => {
      const p = node.parts;
      say(p.name, visible(r.registry));
      say(p.speed, rate(r.bytes, r.download_seconds));
      lay(p.bar, 'width', (fastest > 0 ? 100 * speed(r) / fastest : 0) + '%');
      say(p.facts, [bytes(r.bytes) + ' received', r.going_on > 0 && count(r.going_on, 'pull', 'pulls') + ' in progress', r.last_at && 'last ' + ago((this.#clock() - Date.parse(r.last_at)) / 1000)].filter(Boolean).join(' · '));
      tallies(p.outcomes, r.outcomes, '');
      tallies(p.failures, r.failures, 'bad');
    });
  }
}

function makeCard() {
  const p = { name: element('h2'), speed: element('b', 'speed'), bar: element('i'), facts: element('p', 'facts'), outcomes: element('p', 'tallies'), failures: element('p', 'tallies') };
  const node = element('article', 'panel registry', p.name, p.speed, element('span', 'progress c-registry', p.bar), p.facts, p.outcomes, p.failures);
  node.parts = p;
  return node;
}

function tallies(host, counts, style) {
  sync(host, Object.entries(counts), ([name]) => name, () => element('span', 'tally ' + style, element('b'), element('span')), (node, [name, n]) => {
    say(node.firstChild, String(n));
    say(node.lastChild, visible(name).replaceAll('_', ' '));
  });
}

function speed(r) { return r.download_seconds > 0 ? r.bytes / r.download_seconds : 0; }
