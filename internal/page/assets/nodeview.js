// The view of the node: its start-ups by state, by cause and by registry.

import { ofView } from './address.js';
import { element, number, rows, table, write } from './dom.js';
import { ofNode, shareButtons } from './share.js';
import { byCause, countBy, pulled, starts, totalOf } from './startup.js';
import { brief, count, percent, visible } from './text.js';
import { View } from './view.js';
import { causeName, spaced } from './words.js';

export class NodeView extends View {
  #nodeOf;
  #states = element('tbody');
  #causes = element('tbody');
  #registries = element('tbody');

  constructor(known, nodeOf) {
    super('node-view', shareButtons(() => ofNode('explain node/', nodeOf()), nodeOf), known);
    this.#nodeOf = nodeOf;
    this.compose([], ...[table(['State', '#Start-ups'], this.#states), table(['Cause', '#Time', '#Share'], this.#causes), table(['Registry of pulled images', '#Pods'], this.#registries)].map((t) => element('div', 'panel', t)),
      element('p', 'facts', 'This page shows one node. To list all nodes, run: kubectl podlapse nodes. To open the page of another node, run: kubectl podlapse page NODE.'));
    known.listen((change) => { if (change.whole) this.changed(); });
  }

  show() { this.redraw(); }

  draw() {
    const all = this.known.all();
    write(this.verdict, this.known.listed ? 'Node ' + visible(this.#nodeOf()) + ': ' + count(all.filter(starts).length, 'pod is', 'pods are') + ' starting. The agent knows ' + count(all.length, 'start-up', 'start-ups') + '.' : 'Loading …');
    rows(this.#states, countBy(all.map((s) => s.state)).map(([state, n]) => [{ text: spaced(state), link: ofView('startups', { state }) }, number(n)]));
    const causes = byCause(all.flatMap((s) => s.causes)).filter(({ seconds }) => seconds > 0);
    const whole = totalOf(causes);
    rows(this.#causes, causes.map(({ cause, seconds }) => [{ text: causeName(cause), link: ofView('startups', { cause, sort: 'took' }) }, number(brief(seconds)), number(percent(seconds, whole))]));
    rows(this.#registries, countBy(all.flatMap((s) => [...new Set(s.images.filter(pulled).map((i) => i.registry))])).map(([registry, n]) => [{ text: registry, link: ofView('registries', { registry }) }, number(n, { link: ofView('startups', { registry }) })]));
  }
}
