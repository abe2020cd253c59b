// The termination of a pod, if the agent follows it: a sentence, the phases, and the end of each container.

import { element, rows, table, write } from './dom.js';
import { exact, exactError, message, visible } from './text.js';
import { causeName, spaced } from './words.js';

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
    rows(this.#phases, termination.phases.map((p) => [spaced(p.phase), { text: visible(p.container), note: p.merged_with ? 'or ' + p.merged_with.map(spaced).join(', ') : '' },
      exact(p.seconds), exactError(p.error_seconds), causeName(p.cause)]));
    rows(this.#containers, termination.containers.map((c) => [visible(c.container), spaced(c.how), c.exit_code === undefined ? '–' : c.exit_code + (c.reason ? ' ' + visible(c.reason) : ''),
      exact(c.grace_used_seconds), exactError(c.error_seconds)]));
  }
}
