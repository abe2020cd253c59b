// The views of workloads and of images: a row for each group, with links to the group's start-ups.

import { ofPod, ofView } from './address.js';
import { choiceOf, filtersOf, matcher } from './choice.js';
import { element, write } from './dom.js';
import { Filters } from './filters.js';
import { brief, bytes, count } from './format.js';
import { imagesOf, sorted, workloadsOf } from './groups.js';
import { explainWorkload, shareButtons } from './share.js';
import { number, rows, table } from './table.js';
import { mostCauses, shortCause } from './words.js';

const MOST = 300; // rows

const slowest = (g) => number(brief(g.slowest), { link: g.longest ? ofPod(g.longest.namespace, g.longest.name, g.longest.uid) : '' });
// Each column is a list: the heading, the property that determines the order, and a function that returns the cell of a group.
const workloads = {
  group: (all, c, now) => workloadsOf(all, now),
  startUps: (c) => c,
  columns: [['Workload', 'name', (g, list) => ({ text: g.name, link: list({ owner: g.key }) })], ['Namespace', '', (g) => g.of], ['#Start-ups', 'count', (g) => number(g.count)],
    ['#Starting', 'going', (g) => number(g.going || '')], ['#Failed', 'failed', (g) => number(g.failed || '')],
    ['#P50', 'p50', (g) => number(brief(g.p50))], ['#Slowest', 'slowest', slowest], ['Causes of most of the time', '', (g) => mostCauses(g.causes, shortCause)]],
  facts: 'P50 covers pods that became ready or succeeded. The slowest start-up can still be in progress. Start-ups of unknown length do not count.',
};
const images = {
  // In the view of images, the words of the search select images. In other views, the words of the search select start-ups.
  group: (all, c) => imagesOf(all, c.registry, c.image).filter((g) => c.words.toLowerCase().split(/\s+/).every((w) => g.name.toLowerCase().includes(w))),
  startUps: (c) => ({ ...c, words: '' }),
  columns: [['Image', 'name', (g, list) => ({ text: g.name, link: list({ image: g.key }) })], ['Registry', '', (g) => ({ text: g.registry, link: ofView('registries', { registry: g.registry }) })],
    ['#Pods', 'count', (g) => number(g.count)], ['#Pulls', 'pulls', (g) => number(g.pulls || '')], ['#Failed', 'failed', (g) => number(g.failed || '')],
    ['#P50 of pulls', 'p50', (g) => number(brief(g.p50))], ['#Slowest pull', 'slowest', slowest], ['#Size', 'size', (g) => number(bytes(g.size))]],
  facts: 'Only pulls with evidence count. An image that was already on the node is not a pull.',
};

export class GroupsView {
  root;
  #known;
  #clock;
  #go;
  #view; // the name of the view in addresses
  #kind;
  #choice = null;
  #shown = false;
  #stale = true; // true if start-ups changed after the last drawing
  #verdict = element('p', 'verdict');
  #search = element('input');
  #order = element('select');
  #filters = new Filters((change) => this.#choose(change));
  #share;
  #body = element('tbody');
  #more = element('p', 'facts');

  constructor(view, known, clock, go, nodeOf) {
    this.#known = known;
    this.#clock = clock;
    this.#go = go;
    this.#view = view;
    this.#kind = view === 'images' ? images : workloads;
    this.#share = shareButtons(() => explainWorkload(this.#choice.owner, nodeOf()), nodeOf, () => filtersOf(this.#choice));
    this.root = element('section', view + '-view');
    this.#search.type = 'search';
    this.#search.placeholder = 'Search ' + view;
    this.#search.setAttribute('aria-label', 'Search ' + view);
    this.#search.addEventListener('input', () => this.#choose({ words: this.#search.value }));
    this.#order.setAttribute('aria-label', 'Order');
    this.#order.append(...this.#kind.columns.filter(([, order]) => order).map(([head, order]) => new Option('by ' + head.replace('#', '').toLowerCase(), order)));
    this.#order.addEventListener('change', () => this.#choose({ sort: this.#order.value }));
    this.root.append(this.#verdict, element('div', 'tools', this.#search, this.#order, this.#filters.root, this.#share.root),
      element('div', 'panel', table(this.#kind.columns.map(([head]) => head), this.#body), this.#more), element('p', 'facts', this.#kind.facts));
    known.listen((change) => { if (change.kind !== 'pulls') this.#stale = true; if (change.whole) this.tick(); });
  }

  show(address) {
    this.#shown = true;
    this.#choice = choiceOf(address.query);
    if (document.activeElement !== this.#search) this.#search.value = this.#choice.words;
    this.#filters.show(this.#choice);
    this.#share.draw();
    this.changed();
  }

  hide() { this.#shown = false; }

  // tick draws at most once a second, because each drawing reads all start-ups.
  tick() { if (this.#shown && this.#stale) this.changed(); }

  changed() {
    if (!this.#shown) return;
    const now = performance.now();
    const c = this.#choice;
    const all = [...this.#known.startUps.values()].filter(matcher(this.#kind.startUps(c), this.#clock()));
    const order = this.#kind.columns.some((column) => c.sort && column[1] === c.sort) ? c.sort : 'slowest';
    this.#order.value = order;
    const groups = sorted(this.#kind.group(all, c, now), order);
    this.#stale = false;
    write(this.#verdict, groups.length > 0 ? verdict(groups, this.#view) : this.#known.listed ? 'Nothing matches.' : 'Loading …');
    const list = (more) => ofView('startups', { ...filtersOf(this.#kind.startUps(c)), ...more });
    rows(this.#body, groups.slice(0, MOST).map((g) => ({ key: g.key, cells: this.#kind.columns.map(([, , cell]) => cell(g, list)) })));
    write(this.#more, groups.length > MOST ? 'The table shows the first ' + MOST + '. Use the search to see others.' : '');
  }

  #choose(change) {
    const c = { ...this.#choice, ...change };
    this.#go(ofView(this.#view, { ...filtersOf(c), sort: c.sort === 'slowest' ? '' : c.sort }));
  }
}

function verdict(groups, view) {
  const top = sorted([...groups], 'slowest')[0];
  return count(groups.length, view.slice(0, -1), view) + '. ' + (Number.isFinite(top.slowest) ? 'The slowest ' + (top.grows ? 'has taken ' : 'took ') + brief(top.slowest) + (top.grows ? ' so far: ' : ': ') + (top.subject ?? top.name) + '.' : '');
}
