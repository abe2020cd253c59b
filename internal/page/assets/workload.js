// The summary of one workload. The agent knows only the start-ups on its node.

import { ofPod, ofView } from './address.js';
import { Aggregate } from './ask.js';
import { CauseBar } from './causebar.js';
import { difference } from './compare.js';
import { element, list, mark, number, rows, sync, table, write } from './dom.js';
import { brief, bytes, exactError, message, visible } from './text.js';

const MOST = 3; // changes

export class Workload {
  #fares; // called with the error of a request, or without an argument to clear the error
  #path = '';
  #ask = null;
  #name = element('h2');
  #verdict = element('p');
  #slowest = element('a');
  #causes = new CauseBar();
  #help = new Help();
  #texts = element('ul', 'gaps');
  #revisions = element('tbody');
  #differences = element('div', 'panel', element('h2', '', 'Differences'), this.#texts,
    table(['Revision', '#Start-ups', '#Mean', '#Difference', '#Pulled an image', '#Images'], this.#revisions));
  root = element('div', { hidden: true }, element('div', 'panel', this.#name, this.#verdict, element('p', 'facts', 'The slowest pod is ', this.#slowest, '. The bar shows the mean. The summary covers only this node, without other filters.'), this.#causes.root),
    this.#help.root, this.#differences);

  constructor(fares) { this.#fares = fares; }

  // Pods without an owner have no summary.
  show(owner, revisions) {
    const names = owner.split('/');
    const path = names.length === 3 ? 'api/v1/workloads/' + names.map(encodeURIComponent).join('/') + (revisions && '?revision=' + encodeURIComponent(revisions)) : '';
    if (path === this.#path) return;
    if (owner !== this.#name.textContent) this.root.hidden = true;
    this.#path = path;
    this.#ask?.stop();
    this.#fares();
    this.#ask = path ? new Aggregate(path, 5000, (response) => this.#draw(owner, response), this.#fares) : null;
    this.want();
  }

  want() { this.#ask?.want(); }

  #draw(owner, { verdict, summary, differences, what_if: changes, what_if_unknown: unknown = [] }) {
    const { slowest, causes, revisions, comparison } = summary;
    this.root.hidden = false;
    write(this.#name, owner);
    write(this.#verdict, message(verdict));
    this.#slowest.parentElement.hidden = !slowest;
    if (slowest) {
      write(this.#slowest, visible(slowest.name));
      mark(this.#slowest, 'href', ofPod(slowest.namespace, slowest.name, slowest.uid));
    }
    this.#causes.draw(causes.map((c) => ({ cause: c.cause, seconds: c.mean_seconds })));
    this.#help.draw([...changes, ...unknown]);
    this.#differences.hidden = differences.length === 0;
    list(this.#texts, differences.map(message));
    this.#revisions.closest('.scrolls').hidden = revisions.length === 0;
    // The sign and the size of a difference that can be noise prove nothing.
    const proven = comparison?.difference.verdict === 'more_than_noise' && comparison;
    rows(this.#revisions, revisions.map((r, i) => {
      const before = revisions[i + 1]?.revision;
      const compare = before && { note: 'compare with ' + visible(before), link: ofView('workloads', { owner, revision: before + ',' + r.revision }) };
      return [{ text: visible(r.revision), ...compare }, number(r.durations?.start_ups ?? 0), number(brief(r.durations?.mean_seconds), { note: exactError(r.durations?.mean_error_seconds) }),
        proven?.to === r.revision ? difference(proven.difference.seconds, proven.difference.error_seconds) : '', number(r.pulled + ' of ' + r.pulled_of), number(bytes(r.image_bytes))];
    }));
  }
}

// The changes that would make start-ups faster.
export class Help {
  #changes = element('ul', 'gaps');
  root = element('div', { className: 'section panel', hidden: true }, element('h2', '', 'What would help'), this.#changes);

  draw(changes) {
    this.root.hidden = changes.length === 0;
    sync(this.#changes, changes.slice(0, MOST), (c, i) => i, () => element('li', '', element('span'), element('small')), (node, c) => {
      write(node.firstChild, message(c.text) + ': ' + message(c.effect ?? 'no prediction'));
      write(node.lastChild, ', ' + message(c.assumption ?? 'because ' + c.reason));
    });
  }
}
