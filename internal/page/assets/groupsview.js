// The views of workloads and of images: a row for each group, with links to the group's start-ups.

import { ofPod, ofView } from './address.js';
import { choiceOf, filtersOf, matcher } from './choice.js';
import { element, number, rows, table, write } from './dom.js';
import { Filters } from './filters.js';
import { imagesOf, sorted, workloadsOf } from './groups.js';
import { EVIDENCE } from './pulls.js';
import { explainWorkload, shareButtons } from './share.js';
import { mostCauses } from './startup.js';
import { brief, bytes, count } from './text.js';
import { View } from './view.js';
import { spaced } from './words.js';
import { Workload } from './workload.js';

const MOST = 300; // rows

const slowest = (g) => number(brief(g.slowest), { link: g.longest ? ofPod(g.longest.namespace, g.longest.name, g.longest.uid) : '' });
// Each column has a heading, a property for sorting, and a function that returns the cell of a group.
const workloads = {
  group: (all, c, now) => workloadsOf(all, now),
  startUps: (c) => c,
  columns: [['Workload', 'name', (g, list) => ({ text: g.name, link: list({ owner: g.key }) })], ['Namespace', '', (g) => g.of], ['#Start-ups', 'count', (g) => number(g.count)],
    ['#Starting', 'going', (g) => number(g.going || '')], ['#Failed', 'failed', (g) => number(g.failed || '')],
    ['#P50', 'p50', (g) => number(brief(g.p50), { link: ofView('workloads', { owner: g.key }) })], ['#Slowest', 'slowest', slowest], ['Causes of most of the time', '', (g) => mostCauses(g.causes, spaced)]],
  facts: 'P50 covers pods that became ready or succeeded. The slowest start-up can still be in progress. Start-ups of unknown length do not count.',
};
const images = {
  // In this view, the search box filters images. In other views, the search box filters start-ups.
  group: (all, c) => imagesOf(all, c.registry, c.image).filter((g) => c.words.toLowerCase().split(/\s+/).every((w) => g.name.toLowerCase().includes(w))),
  startUps: (c) => ({ ...c, words: '' }),
  columns: [['Image', 'name', (g, list) => ({ text: g.name, link: list({ image: g.key }) })], ['Registry', '', (g) => ({ text: g.registry, link: ofView('registries', { registry: g.registry }) })],
    ['#Pods', 'count', (g) => number(g.count)], ['#Pulls', 'pulls', (g) => number(g.pulls || '')], ['#Failed', 'failed', (g) => number(g.failed || '')],
    ['#P50 of pulls', 'p50', (g) => number(brief(g.p50))], ['#Slowest pull', 'slowest', slowest], ['#Size', 'size', (g) => number(bytes(g.size))]],
  facts: EVIDENCE,
};

export class GroupsView extends View {
  #clock;
  #go;
  #view; // the name of the view in addresses
  #kind;
  #choice = null;
  #stale = true; // true if start-ups changed since the last draw
  #order = element('select', { ariaLabel: 'Order', onchange: () => this.#choose({ sort: this.#order.value }) });
  #filters;
  #workload;
  #body = element('tbody');
  #more = element('p', 'facts');

  constructor(view, known, clock, go, nodeOf, fares) {
    super(view + '-view', shareButtons(() => explainWorkload(this.#choice.owner, nodeOf(), this.#choice.revision), nodeOf, () => filtersOf(this.#choice)), known);
    this.#clock = clock;
    this.#go = go;
    this.#view = view;
    this.#workload = new Workload(fares);
    this.#kind = view === 'images' ? images : workloads;
    this.#filters = new Filters((change) => this.#choose(change), 'Search ' + view);
    this.#order.append(...this.#kind.columns.filter(([, order]) => order).map(([head, order]) => new Option('by ' + head.replace('#', '').toLowerCase(), order)));
    this.compose([this.#filters.search, this.#order, this.#filters.root],
      element('div', 'panel', table(this.#kind.columns.map(([head]) => head), this.#body), this.#more), element('p', 'facts', this.#kind.facts), this.#workload.root);
    known.listen((change) => {
      if (change.kind !== 'pulls') this.#stale = true;
      if (change.whole) this.tick();
      if (change.whole || known.startUps.get(change.uid)?.workload === this.#choice?.owner) this.#workload.want();
    });
  }

  show(address) {
    this.#choice = choiceOf(address.query);
    this.#filters.show(this.#choice);
    this.redraw();
  }

  hide() { this.#workload.show('', ''); }

  // tick draws only after a change, because each drawing reads all start-ups.
  tick() { if (this.#stale) this.redraw(); }

  draw() {
    const now = performance.now();
    const c = this.#choice;
    const all = this.known.all().filter(matcher(this.#kind.startUps(c), this.#clock()));
    const order = this.#kind.columns.some((column) => c.sort && column[1] === c.sort) ? c.sort : 'slowest';
    this.#order.value = order;
    const groups = sorted(this.#kind.group(all, c, now), order);
    this.#stale = false;
    this.#workload.show(this.#view === 'workloads' && groups.length > 0 ? c.owner : '', c.revision);
    write(this.verdict, groups.length > 0 ? verdict(groups, this.#view) : this.known.listed ? 'Nothing matches.' : 'Loading …');
    const list = (more) => ofView('startups', { ...filtersOf(this.#kind.startUps(c)), ...more });
    rows(this.#body, groups.slice(0, MOST).map((g) => this.#kind.columns.map(([, , cell]) => cell(g, list))));
    write(this.#more, groups.length > MOST ? 'The table shows the first ' + MOST + '. Use the search to see others.' : '');
  }

  #choose(change) {
    const c = { ...this.#choice, ...change };
    this.#go(ofView(this.#view, { ...filtersOf(c), revision: c.owner && c.revision, sort: c.sort === 'slowest' ? '' : c.sort }));
  }
}

function verdict(groups, view) {
  const top = sorted([...groups], 'slowest')[0];
  return count(groups.length, view.slice(0, -1), view) + '. ' + (Number.isFinite(top.slowest) ? 'The slowest ' + (top.grows ? 'has taken ' : 'took ') + brief(top.slowest) + (top.grows ? ' so far: ' : ': ') + (top.subject ?? top.name) + '.' : '');
}
