// The view of the node: its start-ups by state, by cause and by registry.

import { ofView } from './address.js';
import { element, write } from './dom.js';
import { brief, count, percent } from './format.js';
import { ofNode, shareButtons } from './share.js';
import { byCause, pulled, starts } from './startup.js';
import { number, rows, table } from './table.js';
import { visible } from './text.js';
import { causeName, stateName } from './words.js';

export class NodeView {
  root = element('section', 'node-view');
  #known;
  #nodeOf;
  #shown = false;
  #verdict = element('p', 'verdict');
  #share;
  #states = element('tbody');
  #causes = element('tbody');
  #registries = element('tbody');

  constructor(known, nodeOf) {
    this.#known = known;
    this.#nodeOf = nodeOf;
    this.#share = shareButtons(() => ofNode('explain node/', nodeOf()), nodeOf);
    this.root.append(this.#verdict, element('div', 'tools', this.#share.root),
      ...[table(['State', '#Start-ups'], this.#states), table(['Cause', '#Time', '#Share'], this.#causes), table(['Registry of pulled images', '#Pods'], this.#registries)].map((t) => element('div', 'panel', t)),
      element('p', 'facts', 'This page shows one node. To list all nodes, run: kubectl podlapse nodes. To open the page of another node, run: kubectl podlapse page NODE.'));
    known.listen((change) => { if (change.whole) this.changed(); });
  }

  show() {
    this.#shown = true;
    this.changed();
  }

  hide() { this.#shown = false; }

  tick() { this.changed(); }

  changed() {
    if (!this.#shown) return;
    this.#share.draw();
    const all = [...this.#known.startUps.values()];
    write(this.#verdict, this.#known.listed ? 'Node ' + visible(this.#nodeOf()) + ': ' + count(all.filter(starts).length, 'pod is', 'pods are') + ' starting. The agent knows ' + count(all.length, 'start-up', 'start-ups') + '.' : 'Loading …');
    rows(this.#states, countBy(all.map((s) => s.state)).map(([state, n]) => ({ key: state, cells: [{ text: stateName(visible(state)), link: ofView('startups', { state }) }, number(n)] })));
    const causes = byCause(all.flatMap((s) => s.causes)).filter(({ seconds }) => seconds > 0);
    const whole = causes.reduce((sum, { seconds }) => sum + seconds, 0);
    rows(this.#causes, causes.map(({ cause, seconds }) => ({ key: cause, cells: [{ text: causeName(visible(cause)), link: ofView('startups', { cause, sort: 'took' }) }, number(brief(seconds)), number(percent(seconds, whole))] })));
    rows(this.#registries, countBy(all.flatMap((s) => [...new Set(s.images.filter(pulled).map((i) => i.registry))])).map(([registry, n]) => ({
      key: registry, cells: [{ text: registry, link: ofView('registries', { registry }) }, number(n, { link: ofView('startups', { registry }) })] })));
  }
}

function countBy(keys) {
  const counts = new Map();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}
