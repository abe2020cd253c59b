// The termination of a pod, if the agent follows it: a sentence, the phases, and the end of each container.

import { element, write } from './dom.js';
import { exact, exactError } from './format.js';
import { rows, table } from './table.js';
import { message, visible } from './text.js';
import { causeName, phaseName } from './words.js';

export class Termination {
  root = element('div', 'section panel', element('h2', '', 'Termination'));
  #verdict = element('p');
  #phases = element('tbody');
  #containers = element('tbody');

  constructor() {
    this.root.append(this.#verdict, table(['Phase', 'Container', 'Time', 'Accuracy', 'Cause'], this.#phases),
      table(['Container', 'Ended', 'Exit code', 'Grace used', 'Accuracy'], this.#containers));
  }

  // The method `draw` shows nothing if no client deleted the pod, or if the agent does not follow terminations.
  draw(termination) {
    this.root.hidden = !termination;
    if (!termination) return;
    write(this.#verdict, message(termination.verdict));
    rows(this.#phases, termination.phases.map((p) => ({
      key: p.phase + ' ' + (p.container ?? ''),
      cells: [visible(phaseName(p.phase)), { text: visible(p.container), note: p.merged_with ? visible('or ' + p.merged_with.map(phaseName).join(', ')) : '' },
        exact(p.seconds), exactError(p.error_seconds), causeName(visible(p.cause))],
    })));
    rows(this.#containers, termination.containers.map((c) => ({
      key: c.container,
      cells: [visible(c.container), visible(phaseName(c.how)), c.exit_code === undefined ? '–' : c.exit_code + (c.reason ? ' ' + visible(c.reason) : ''),
        exact(c.grace_used_seconds), exactError(c.error_seconds)],
    })));
  }
}
