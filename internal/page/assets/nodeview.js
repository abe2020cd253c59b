// The view of the node: the pods' start-ups by state, by cause and by registry, and the start-up of the node itself.

import { ofView } from './address.js';
import { Aggregate } from './ask.js';
import { CauseBar } from './causebar.js';
import { element, list, number, rows, table, write } from './dom.js';
import { ofNode, shareButtons } from './share.js';
import { byCause, countBy, pulled, starts, totalOf } from './startup.js';
import { phaseRows } from './termination.js';
import { brief, count, message, percent, visible } from './text.js';
import { View } from './view.js';
import { causeName, spaced } from './words.js';

const LEAST = 3000; // milliseconds between two requests for the start-up of the node
const MOST = 30000; // milliseconds between two requests for the start-up of the node, after several errors

export class NodeView extends View {
  #nodeOf;
  #health;
  #states = element('tbody');
  #causes = element('tbody');
  #registries = element('tbody');
  #startUp = new NodeStartUp();

  constructor(known, nodeOf, health) {
    super('node-view', shareButtons(() => ofNode('explain node/', nodeOf()), nodeOf), known);
    this.#nodeOf = nodeOf;
    this.#health = health;
    this.compose([], ...[table(['State', '#Start-ups'], this.#states), table(['Cause', '#Time', '#Share'], this.#causes), table(['Registry of pulled images', '#Pods'], this.#registries)].map((t) => element('div', 'panel', t)), this.#startUp.root,
      element('p', 'facts', 'This page shows one node. To list all nodes, run: kubectl podlapse nodes. To open the page of another node, run: kubectl podlapse page NODE.'));
    known.listen((change) => {
      if (!change.whole) return;
      this.#startUp.forget(); // the agent might have restarted
      this.changed();
    });
  }

  show() { this.redraw(); }

  hide() { this.#startUp.hide(); }

  draw() {
    this.#startUp.want(this.#health.evidence);
    const all = this.known.all();
    write(this.verdict, this.known.listed ? 'Node ' + visible(this.#nodeOf()) + ': ' + count(all.filter(starts).length, 'pod is', 'pods are') + ' starting. The agent knows ' + count(all.length, 'start-up', 'start-ups') + '.' : 'Loading …');
    rows(this.#states, countBy(all.map((s) => s.state)).map(([state, n]) => [{ text: spaced(state), link: ofView('startups', { state }) }, number(n)]));
    const causes = byCause(all.flatMap((s) => s.causes)).filter(({ seconds }) => seconds > 0);
    const whole = totalOf(causes);
    rows(this.#causes, causes.map(({ cause, seconds }) => [{ text: causeName(cause), link: ofView('startups', { cause, sort: 'took' }) }, number(brief(seconds)), number(percent(seconds, whole))]));
    rows(this.#registries, countBy(all.flatMap((s) => [...new Set(s.images.filter(pulled).map((i) => i.registry))])).map(([registry, n]) => [{ text: registry, link: ofView('registries', { registry }) }, number(n, { link: ofView('startups', { registry }) })]));
  }
}

// The start-up of the node itself: a sentence, the phases, and the missing evidence.
class NodeStartUp {
  #verdict = element('p');
  #bar = new CauseBar();
  #phases = element('tbody');
  #notes = element('ul', 'gaps');
  #next = 0; // earliest time of the next request
  #wait = LEAST; // milliseconds to wait after the next error
  #ask = new Aggregate('api/v1/node/startup', LEAST, (record) => this.#draw(record), (error) => this.#fares(error));
  root = element('div', { className: 'panel', hidden: true }, element('h2', '', 'Start-up of the node'), this.#verdict, this.#bar.root,
    table(['Phase', 'Of', 'Time', 'Accuracy', 'Cause'], this.#phases), this.#notes);

  // If the agent runs with --node-startup, `want` requests the record, and repeats the request while more evidence can arrive.
  want(evidence) {
    const followed = evidence?.parts.some((p) => p.part === 'node_startup' && p.up);
    if (!followed) this.root.hidden = true;
    else if (performance.now() >= this.#next) this.#ask.want();
  }

  forget() {
    this.#next = 0;
    this.#wait = LEAST;
  }

  hide() {
    this.#ask.stop();
    this.forget();
  }

  #stop(next) {
    this.#ask.stop();
    this.#next = next;
  }

  // After a 404, the agent has no record until it restarts.
  #fares(error) {
    if (error) this.#stop(error.status === 404 ? Infinity : performance.now() + this.#wait);
    this.#wait = error ? Math.min(2 * this.#wait, MOST) : LEAST;
  }

  #draw(record) {
    if (!record.partial) this.#stop(Infinity);
    this.root.hidden = false;
    write(this.#verdict, message(record.verdict));
    this.#bar.draw(record.phases);
    phaseRows(this.#phases, record.phases);
    list(this.#notes, [record.partial && 'More evidence can arrive.', record.reconstructed && 'Reconstructed: the agent started after this start-up.', ...record.missing.map((m) => 'No evidence for ' + visible(m))].filter(Boolean));
  }
}
