// The filters that several views share: a search, a time range, and values such as a workload or a registry.

import { ofPod, ofView, readID } from './address.js';
import { hasRange, lengths } from './choice.js';
import { element, mark, write, sync } from './dom.js';
import { atOf, fieldOf, zoneOf } from './settings.js';
import { visible } from './text.js';

export class Filters {
  root = element('div', 'filters');
  #change;
  #range = null;
  #select = element('select', { ariaLabel: 'Time range', onchange: () => this.#choose(this.#select.value) });
  #custom = element('span', 'custom');
  #from = dateField('From');
  #to = dateField('To');
  #zone = element('small');
  #tokens = element('span', 'tokens');

  constructor(change, placeholder = '') {
    this.#change = change;
    this.search = element('input', { type: 'search', placeholder, ariaLabel: placeholder, oninput: () => change({ words: this.search.value }) });
    for (const field of [this.#from, this.#to]) {
      field.addEventListener('change', () => change({ range: { last: '', from: atOf(this.#from.value), to: atOf(this.#to.value) } }));
    }
    this.#custom.append(this.#from, ' to ', this.#to, this.#zone);
    this.root.append(this.#select, this.#custom, this.#tokens);
  }

  show(choice) {
    if (document.activeElement !== this.search) this.search.value = choice.words;
    this.#range = choice.range;
    const { last, from, to } = choice.range;
    const options = [['', 'any time'], ...lengths, ['custom', 'from … to …']];
    if (last && !options.some(([value]) => value === last)) options.splice(-1, 0, [last, 'last ' + last]);
    if (this.#select.options.length !== options.length) this.#select.replaceChildren(...options.map(([value, name]) => new Option(name, value)));
    const chosen = last || (hasRange(choice.range) ? 'custom' : '');
    if (chosen || this.#select.value !== 'custom' || document.activeElement !== this.#select) this.#select.value = chosen;
    this.#custom.hidden = this.#select.value !== 'custom';
    for (const [field, at] of [[this.#from, from], [this.#to, to]]) if (document.activeElement !== field) field.value = fieldOf(at);
    write(this.#zone, ' ' + zoneOf(Number.isFinite(from) ? from : Date.now()));
    const tokens = [['owner', 'workload', 'workloads'], ['registry', 'registry', 'registries'], ['image', 'image', 'images'], ['a', 'compare with', ''], ['b', 'compare with', '']].filter(([name]) => choice[name]);
    sync(this.#tokens, tokens, ([name]) => name, makeToken, (node, [name, kind, view]) => {
      const [link, remove] = node.children;
      const other = view ? null : readID(choice[name]);
      const text = kind + ' ' + visible(other?.name ?? choice[name], 400);
      write(link, text);
      mark(link, 'href', other ? ofPod(other.namespace, other.name, other.uid) : ofView(view, { [name]: choice[name] }));
      mark(remove, 'aria-label', 'Remove the filter: ' + text);
      remove.onclick = () => this.#change({ [name]: '' });
    });
  }

  #choose(value) {
    if (value !== 'custom') {
      this.#change({ range: { last: value, from: NaN, to: NaN } });
      return;
    }
    this.#custom.hidden = false;
    this.#from.focus();
  }
}

function makeToken() {
  return element('span', 'token', element('a'), element('button', { type: 'button' }, '✕'));
}

function dateField(label) { return element('input', { type: 'datetime-local', step: '1', ariaLabel: label }); }
