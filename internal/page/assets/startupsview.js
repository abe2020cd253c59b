// The first view: start-ups in progress, then completed start-ups with their verdicts.

import { idOf, ofPod, ofView, readID } from './address.js';
import { drawCauses } from './causebar.js';
import { choiceOf, choose, filtersOf, settingsOf } from './choice.js';
import { element, mark, restyle, write } from './dom.js';
import { Filters } from './filters.js';
import { heading, Rows } from './rows.js';
import { explainWorkload, shareButtons } from './share.js';
import { age, byCause, countBy, mainCause, mostCauses, starts, stuckIn, stuckText } from './startup.js';
import { ago, brief, count, running, visible } from './text.js';
import { View } from './view.js';
import { causeName, causeNames, causeStyle, spaced, stateNames, stateSign, stateStyle } from './words.js';

const columns = [['pod', 'Pod'], ['state', 'State'], ['took', 'Took'], ['cause', 'Where the time went'], ['ended', 'Ended']];

export class StartUpsView extends View {
  #clock; // returns the node's time in milliseconds since 1970
  #go; // replaces the address
  #choice = choiceOf(new URLSearchParams());
  #rows;
  #stuck = element('p', 'stuck');
  #states = element('div', 'chips');
  #cause = element('select', { ariaLabel: 'Main cause', onchange: () => this.#choose({ cause: this.#cause.value }) });
  #order = element('select', { className: 'order', ariaLabel: 'Order', onchange: () => this.#choose({ column: this.#order.value.replace(/^-/, ''), backwards: this.#order.value.startsWith('-') }) });
  #filters = new Filters((change) => this.#choose(change), 'Search pods, owners, verdicts');
  #heads = element('div', 'heads');
  #empty = element('p', 'empty');
  #left; // the UID of the row that had the focus when the reader left the view

  constructor(known, clock, go, nodeOf) {
    super('startups', shareButtons(() => explainWorkload(this.#choice.owner, nodeOf()), nodeOf, () => filtersOf(this.#choice)), known);
    this.#clock = clock;
    this.#go = go;
    const host = element('div', 'rows');
    this.#rows = new Rows(host, { row: '--row', heading: '--heading' },
      (kind) => (kind === 'row' ? startUpRow() : heading()), (node, item) => this.#fill(node, item));
    this.compose(this.#tools(), this.#heads, this.#empty, host);
    this.verdict.after(this.#stuck);
    host.addEventListener('keydown', (event) => this.#walk(event));
  }

  show(address) {
    this.#choice = choiceOf(address.query);
    this.#cause.value = this.#choice.cause;
    this.#filters.show(this.#choice);
    this.redraw();
    if (document.activeElement === document.body) this.#rows.reveal(this.#left)?.focus({ preventScroll: true });
    this.#left = '';
  }

  hide() { this.#left = document.activeElement?.dataset.uid; }

  title() { return ''; }

  focusSearch() { this.#filters.search.focus(); this.#filters.search.select(); }

  enter() { this.#step(1); }

  #tools() {
    this.#cause.append(new Option('any cause', ''), ...causeNames().map((c) => new Option(spaced(c), c)));
    this.#order.append(...columns.flatMap(([column, name]) => [new Option('by ' + name.toLowerCase(), column), new Option('by ' + name.toLowerCase() + ', reversed', '-' + column)]));
    this.#states.append(...['', ...stateNames()].map((state) => element('button', { className: 'chip', type: 'button', value: state,
      onclick: () => this.#choose({ state: this.#choice.state === state ? '' : state }) }, element('span'), element('b'))));
    this.#heads.append(...columns.map(([column, name]) => element('button', { className: 'head head-' + column, type: 'button', value: column,
      onclick: () => this.#choose({ column, backwards: this.#choice.column === column && !this.#choice.backwards }) }, name)), element('span', 'head head-verdict', 'Verdict'));
    return [this.#filters.search, this.#states, this.#cause, this.#order, this.#filters.root];
  }

  #choose(change) {
    this.#go(ofView('startups', settingsOf({ ...this.#choice, ...change })));
  }

  draw() {
    const now = performance.now();
    const all = this.known.all();
    const { going, over, counts } = choose(all, this.#choice, now, this.#clock());
    this.#drawVerdict(going, over, going.length + over.length < all.length ? 'matching ' : '', now);
    this.#drawTools(counts);
    const items = [...part(' going', 'Starting now', going), ...part(' over', 'Recent start-ups', over)];
    this.#empty.hidden = items.length > 0;
    this.#heads.hidden = items.length === 0;
    if (items.length === 0) write(this.#empty, this.#emptyText(all));
    this.#rows.show(items);
  }

  #emptyText(all) {
    if (!this.known.listed && all.length === 0) return '';
    return all.length === 0 ? 'The agent has not seen a start-up on this node yet.' : 'No start-up matches. Remove a filter, or clear the search with Esc.';
  }

  #drawVerdict(going, over, matching, now) {
    const other = readID(this.#choice.a || this.#choice.b);
    if (other) {
      write(this.verdict, 'Choose the start-up to compare with ' + visible(other.namespace) + '/' + visible(other.name) + '.');
      write(this.#stuck, '');
      return;
    }
    if (going.length === 0) {
      write(this.verdict, this.known.listed ? 'No ' + matching + 'pods are starting.' : 'Loading …');
      write(this.#stuck, lately(over, matching));
      return;
    }
    const oldest = going.reduce((a, b) => (age(b, now) > age(a, now) ? b : a));
    const stretch = stuckIn(oldest, now);
    const since = running(age(oldest, now));
    write(this.verdict, (going.length > 1 ? going.length + ' ' + matching + 'pods are starting; the longest, ' + oldest.shownName + ', for ' + since : oldest.shownName + ' is starting, for ' + since) +
      (stretch ? ': ' + stuckText(oldest, now, running) + ', cause: ' + causeName(stretch.cause) : '') + '.');
    write(this.#stuck, going.length < 2 ? lately(over, matching) : countBy(going.map((s) => s.stretches.at(-1)?.phase ?? 'nothing known')).map(([phase, n]) => n + ' in ' + spaced(phase)).join(' · '));
  }

  #drawTools(counts) {
    for (const chip of this.#states.children) {
      const state = chip.value;
      const n = counts.get(state) ?? 0;
      write(chip.firstChild, state === '' ? 'all' : spaced(state));
      write(chip.lastChild, String(n));
      mark(chip, 'aria-pressed', String(this.#choice.state === state));
      chip.hidden = n === 0 && state !== '' && this.#choice.state !== state;
    }
    for (const head of this.#heads.children) {
      if (!head.value) continue;
      const chosen = head.value === this.#choice.column;
      mark(head, 'data-sorted', chosen ? (this.#choice.backwards ? 'backwards' : 'yes') : 'no');
      mark(head, 'aria-pressed', String(chosen));
    }
    const order = (this.#choice.backwards ? '-' : '') + this.#choice.column;
    if (this.#order.value !== order) this.#order.value = order;
  }

  #fill(node, item) {
    if (item.kind !== 'row') {
      write(node.firstChild, item.name);
      write(node.lastChild, String(item.count));
      return;
    }
    const { s } = item;
    const now = performance.now();
    const p = node.parts;
    const going = starts(s);
    restyle(node, 'row state-' + stateStyle(s.state) + (s.gone ? ' gone' : ''));
    const { a, b } = this.#choice;
    mark(node, 'href', a || b ? ofView('compare', { a: a || idOf(s), b: a ? idOf(s) : b }) : ofPod(s.namespace, s.name, s.uid));
    mark(node, 'data-uid', s.uid);
    write(p.name, s.shownName);
    write(p.of, s.shownNamespace + (s.owner ? ' · ' + s.owner : ''));
    write(p.sign, stateSign(s.state));
    write(p.state, spaced(s.state));
    write(p.note, s.gone ? 'pod gone' : '');
    write(p.took, going ? running(age(s, now)) : brief(s.total));
    write(p.error, going || s.error < 0.0005 ? '' : '±' + brief(s.error));
    drawCauses(p.bar, s, now);
    const cause = going ? stuckIn(s, now)?.cause ?? 'unknown' : mainCause(s);
    restyle(p.cause, 'cause c-' + causeStyle(cause));
    write(p.causeName, spaced(cause));
    write(p.verdict, going ? stuckText(s, now, running) : withoutTotal(s.verdict));
    mark(p.verdict, 'title', s.verdict);
    write(p.ended, going ? '' : ago((this.#clock() - (s.settledAt || s.createdAt)) / 1000));
  }

  #walk(event) {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!step || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    this.#step(step);
  }

  #step(step) {
    const rows = this.#rows.items.filter((item) => item.kind === 'row');
    const focused = document.activeElement?.dataset?.uid;
    const at = rows.findIndex((item) => item.key === focused);
    const next = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
    if (next) this.#rows.reveal(next.key)?.focus({ preventScroll: true });
  }
}

function startUpRow() {
  const p = {
    name: element('b'), of: element('small'), sign: element('i'), state: element('span'), note: element('small'),
    took: element('b'), error: element('small'), bar: element('span', 'bar'), cause: element('span', 'cause'), causeName: element('span'),
    verdict: element('span', 'verdict-text'), ended: element('span', 'cell ended'),
  };
  p.sign.ariaHidden = 'true';
  p.cause.append(element('i', 'swatch'), p.causeName);
  return element('a', { parts: p },
    element('span', 'cell pod', p.name, p.of), element('span', 'cell state', p.sign, p.state, p.note), element('span', 'cell took', p.took, p.error),
    element('span', 'cell where', p.bar, p.cause), p.ended, element('span', 'cell why', p.verdict));
}

function part(key, name, startUps) {
  return startUps.length === 0 ? [] : [{ key, kind: 'heading', name, count: startUps.length }, ...startUps.map((s) => ({ key: s.uid, kind: 'row', s }))];
}

function lately(over, matching) {
  const most = mostCauses(byCause(over.flatMap((s) => s.causes)), causeName);
  return most && 'Main causes of ' + count(over.length, matching + 'recent start-up', matching + 'recent start-ups') + ': ' + most + '.';
}

// withoutTotal returns a verdict without the total and error bound, which have their own columns.
function withoutTotal(verdict) {
  const why = /^[^:]*: (.*?)(; ±[^;]*)?$/.exec(verdict);
  return why ? why[1] : verdict;
}
