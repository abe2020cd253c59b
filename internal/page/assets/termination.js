// The section about the termination of a pod. The page shows the section only if the agent follows the termination.

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

  draw(termination) {
    this.root.hidden = !termination;
    if (!termination) return;
    write(this.#verdict, message(termination.verdict));
    phaseRows(this.#phases, termination.phases);
    rows(this.#containers, termination.containers.map((c) => [visible(c.container), spaced(c.how), c.exit_code === undefined ? '–' : c.exit_code + (c.reason ? ' ' + visible(c.reason) : ''),
      exact(c.grace_used_seconds), exactError(c.error_seconds)]));
  }
}

// phaseRows fills a table with the phases of a termination or of the node's start-up.
export function phaseRows(body, phases) {
  const othersOf = (names) => (names ? 'possibly ' + names.map(spaced).join(', ') : '');
  rows(body, phases.map((p) => [{ text: spaced(p.step ?? p.phase), note: p.open ? 'in progress' : '' },
    { text: visible(p.container ?? p.pod ?? p.taint), note: othersOf(p.merged_with ?? p.candidates) },
    exact(p.seconds), exactError(p.error_seconds), { text: causeName(p.cause), note: visible(p.owner) }]));
}
