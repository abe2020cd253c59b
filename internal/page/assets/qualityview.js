// The view of data quality: the agent's sources, and the start-ups with missing or contradictory evidence.

import { element, list, restyle, write, sync } from './dom.js';
import { stamp } from './settings.js';
import { ago, brief, bytes, count, exact, percent, visible } from './text.js';
import { View } from './view.js';
import { spaced } from './words.js';

const losses = [['reconstructed', 'completed before the agent started'], ['with_conflicts', 'with contradictory evidence'], ['with_missing', 'with missing evidence'],
  ['with_lost_events', 'with lost kubelet Events'], ['with_unreported', 'with milestones that this container runtime can never report, so the node has no node factor']];

export class QualityView extends View {
  #health;
  #parts = element('ul', 'parts');
  #counts = element('ul', 'gaps');
  #agent = element('p', 'facts');

  constructor(health) {
    super('quality-view');
    this.#health = health;
    this.root.append(this.verdict, element('div', 'panel', element('h2', '', 'Sources'), this.#parts), element('div', 'panel', element('h2', '', 'Start-ups'), this.#counts), this.#agent);
  }

  show() {
    this.#health.want();
    this.redraw();
  }

  draw() {
    const { evidence: e, node: n } = this.#health;
    if (!e) return;
    const down = e.parts.filter((p) => !p.up);
    write(this.verdict, (down.length === 0 ? 'All sources are up' : down.map((p) => spaced(p.part)).join(', ') + (down.length === 1 ? ' is' : ' are') + ' down') +
      '. ' + percent(e.unattributed_seconds, e.total_seconds) + ' of the start-up time is unattributed.');
    const at = Date.parse(e.at);
    sync(this.#parts, e.parts, (p) => p.part, () => element('li', '', element('i', 'dot'), element('b'), element('span', 'words'), element('small')), (node, p) => {
      restyle(node, p.up ? 'up' : p.required ? 'down required' : 'down');
      write(node.children[1], spaced(p.part));
      write(node.children[2], (p.up ? 'up' : 'down') + (p.detail ? ': ' + visible(p.detail, 600) : ''));
      write(node.children[3], 'since ' + ago((at - Date.parse(p.since)) / 1000).replace(' ago', ''));
    });
    const lines = [count(e.start_ups.known, 'start-up is', 'start-ups are') + ' known', ...losses.filter(([name]) => e.start_ups[name] > 0).map(([name, words]) => e.start_ups[name] + ' ' + words),
      brief(e.unattributed_seconds) + ' of ' + brief(e.total_seconds) + ' are unattributed, because no evidence shows the cause'];
    lines.push(e.clock_skew ? 'the control plane’s clock is ahead of the node’s by ' + exact(e.clock_skew.least_seconds) + ' to ' + exact(e.clock_skew.most_seconds) : 'no known difference between the clocks of the node and the control plane');
    if (n) lines.push(count(n.history.pods, 'deleted pod is', 'deleted pods are') + ' in the history' + (n.history.bytes > 0 ? ', in ' + bytes(n.history.bytes) + ' of ' + bytes(n.history.limit_bytes) : '') + (n.history.oldest_at ? '; the oldest is from ' + stamp(Date.parse(n.history.oldest_at)) : ''));
    list(this.#counts, lines);
    if (n) write(this.#agent, 'Agent ' + visible(n.agent.version) + ', revision ' + visible(n.agent.revision) + ', running since ' + stamp(Date.parse(n.agent.started_at)) + '.');
  }
}
