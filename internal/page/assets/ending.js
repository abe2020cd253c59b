// How a pod ends, where the agent follows that: in a sentence, by phase, and what became of each container.

import { element, say } from './dom.js';
import { exact, exactError } from './format.js';
import { rows, table } from './table.js';
import { message, visible } from './text.js';
import { charged, phaseName } from './words.js';

export class Ending {
  root = element('div', 'section panel', element('h2', '', 'Termination'));
  #verdict = element('p');
  #phases = element('tbody');
  #containers = element('tbody');

  constructor() {
    this.root.append(this.#verdict, table(['Phase', 'Container', 'Time', 'Error', 'Charged to'], this.#phases),
      table(['Container', 'Ended', 'Exit code', 'Grace used', 'Error'], this.#containers));
  }

  // draw shows nothing of a pod that nobody asked to delete, or whose end is not followed.
  draw(termination) {
    this.root.hidden = !termination;
    if (!termination) return;
    say(this.#verdict, message(termination.verdict));
    rows(this.#phases, termination.phases.map((p) => ({
      key: p.phase + ' ' + (p.container ?? ''),
      cells: [visible(phaseName(p.phase)), visible(p.container), exact(p.seconds), exactError(p.error_seconds), charged(visible(p.cause))],
      note: p.merged_with ? visible('or ' + p.merged_with.map(phaseName).join(', ')) : '',
    })));
    rows(this.#containers, termination.containers.map((c) => ({
      key: c.container,
      cells: [visible(c.container), visible(phaseName(c.how)), c.exit_code === undefined ? '–' : c.exit_code + (c.reason ? ' ' + visible(c.reason) : ''),
        c.grace_used_seconds === undefined ? '–' : exact(c.grace_used_seconds), c.error_seconds === undefined ? '–' : exactError(c.error_seconds)],
    })));
  }
}
