// The view of one start-up: its verdict, who is to blame, its waterfall, images, Events and evidence.

import { ask, Refusal } from './ask.js';
import { chartOf } from './chart.js';
import { Detail } from './detail.js';
import { element, lay, mark, restyle, say, sync } from './dom.js';
import { Ending } from './ending.js';
import { brief, bytes, clock, count, exact, exactError, percent, rate, running, stamp } from './format.js';
import { perFrame } from './frame.js';
import { blame, startUpOf, stuckIn, stuckText } from './startup.js';
import { rows, table } from './table.js';
import { message, visible } from './text.js';
import { Waterfall } from './waterfall.js';
import { causeStyle, charged, stateName, stateSign, stateStyle } from './words.js';

export class PodView {
  root = element('section', 'pod-view');
  #address = null;
  #shown = false;
  #record = null;
  #lost = ''; // why the agent says no more of the record
  #toldAt = 0;
  #asking = null;
  #detail = new Detail();
  #waterfall = new Waterfall(this.#detail, () => this.changed());
  #ending = new Ending();
  #name = element('h1');
  #space = element('small');
  #state = element('span', 'badge');
  #verdict = element('p', 'verdict');
  #facts = element('p', 'facts');
  #notes = element('ul', 'notes');
  #blame = element('div', 'blame-bar');
  #legend = element('ul', 'legend');
  #images = element('tbody');
  #events = element('ol', 'events');
  #milestones = element('tbody');
  #gaps = element('ul', 'gaps');
  #links = { trace: link('Perfetto trace'), json: link('JSON') };
  #copy = element('button', 'quiet', 'Copy link');
  #body = element('div', 'pod-body');
  #problem = element('p', 'empty');
  changed = perFrame(() => this.#draw());

  constructor(known) {
    known.hear((change) => {
      if (!this.#shown) return;
      if (change.whole) this.#load(); // what changed before may not have been told
      else if (change.kind !== 'startup' || change.uid !== this.#record?.uid) return;
      else if (change.record) this.#tell(change.record);
      else this.#load(); // its object is gone: the record says when
    });
    this.#copy.type = 'button';
    this.#copy.addEventListener('click', () => this.#copyLink());
    const back = element('a', 'back', '← all start-ups');
    back.href = '#/';
    this.#body.append(
      element('div', 'pod-head', element('div', 'pod-title', this.#space, this.#name), this.#state, element('span', 'pod-links', this.#copy, this.#links.trace, this.#links.json)),
      this.#verdict, this.#facts, this.#notes,
      element('div', 'panel', this.#blame, this.#legend), element('div', 'panel', this.#waterfall.root), this.#ending.root,
      section('Images', table(['Container', 'Image', 'Outcome', 'Queue', 'Pull', 'Error', 'Size', 'Speed'], this.#images)),
      section('Events', this.#events), section('Missing evidence', this.#gaps),
      folded('Evidence of each milestone', table(['Milestone', 'Container', 'Earliest', 'Latest', 'Within', 'From'], this.#milestones)));
    this.root.append(back, this.#problem, this.#body, this.#detail.root);
  }

  show(address) {
    const same = this.#address && this.#address.namespace === address.namespace && this.#address.name === address.name && this.#address.uid === address.uid;
    this.#address = address;
    this.#shown = true;
    if (!same || !this.#record) {
      this.#record = null;
      this.#waterfall.forget();
      this.#body.hidden = true;
      this.#problem.hidden = false;
      say(this.#problem, 'Loading …');
    }
    this.#load();
  }

  hide() {
    this.#shown = false;
    this.#asking?.abort();
    this.#record = null;
    this.#detail.hide();
  }

  tick() { if (this.#record?.state === 'starting' && !this.#lost) this.changed(); }

  title() { return this.#address ? visible(this.#address.namespace) + '/' + visible(this.#address.name) : ''; }

  enter() { this.#waterfall.enter(); }

  async #load() {
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const { uid } = this.#address;
    try {
      this.#tell(await ask(this.#path() + (uid ? '?uid=' + encodeURIComponent(uid) : ''), asking.signal));
    } catch (error) {
      if (asking.signal.aborted) return;
      const why = error instanceof Refusal ? error.message : 'The agent does not respond.';
      if (!this.#record) say(this.#problem, why);
      else if (error.status === 404) { // what is shown stays, as it was
        this.#lost = 'The agent no longer knows this start-up: ' + why;
        this.changed();
      }
    }
  }

  #path() { return 'api/v1/pods/' + encodeURIComponent(this.#address.namespace) + '/' + encodeURIComponent(this.#address.name); }

  #tell(record) {
    this.#record = record;
    this.#lost = '';
    this.#toldAt = performance.now();
    this.changed();
  }

  async #copyLink() {
    try {
      await navigator.clipboard.writeText(location.href);
      say(this.#copy, 'Copied');
    } catch { // only over TLS and on loopback
      say(this.#copy, 'Copy the URL from the address bar');
    }
    setTimeout(() => say(this.#copy, 'Copy link'), 2000);
  }

  #draw() {
    const r = this.#record;
    if (!r) return;
    this.#problem.hidden = true;
    this.#body.hidden = false;
    const going = r.state === 'starting';
    const grown = going && !this.#lost ? (performance.now() - this.#toldAt) / 1000 : 0;
    const chart = chartOf(r, grown, (row) => this.#waterfall.isOpen(row));
    this.#drawHead(r, chart, going);
    this.#drawBlame(r, grown, chart.total);
    this.#waterfall.draw(chart);
    this.#ending.draw(r.termination);
    this.#drawImages(chart.pulls);
    this.#drawEvents(chart);
    this.#drawEvidence(r, chart);
  }

  #drawHead(r, chart, going) {
    say(this.#space, visible(r.namespace) + ' /');
    say(this.#name, visible(r.name));
    restyle(this.#state, 'badge state-' + stateStyle(r.state));
    say(this.#state, stateSign(r.state) + ' ' + stateName(visible(r.state)) + (going ? ' ' + running(chart.total) : ''));
    const s = startUpOf(r, this.#toldAt);
    const now = this.#lost ? this.#toldAt : performance.now();
    say(this.#verdict, going ? capital(stuckText(s, now, running)) + ', charged to ' + charged(visible(stuckIn(s, now)?.cause)) + '.' : s.verdict);
    say(this.#facts, [r.owner && 'owned by ' + visible(r.owner.kind) + '/' + visible(r.owner.name), 'on node ' + visible(r.node), 'created ' + stamp(chart.createdAt),
      'took ' + exact(chart.total) + ' ' + exactError(r.total_error_seconds) + (going ? ' so far' : '')].filter(Boolean).join(' · '));
    const uid = '?uid=' + encodeURIComponent(r.uid);
    mark(this.#links.json, 'href', this.#path() + uid);
    mark(this.#links.trace, 'href', this.#path() + '/trace' + uid);
    const notes = [this.#lost, r.reason && 'Reason: ' + visible(r.reason), r.gone_at && 'The pod was deleted at ' + stamp(Date.parse(r.gone_at)) + '; the agent remembers it for a while.',
      r.reconstructed && 'Reconstructed: the agent started after this start-up.',
      r.clock_skew && "The control plane's clock differs from the node's by " + exact(r.clock_skew.least_seconds) + ' to ' + exact(r.clock_skew.most_seconds) + '.'].filter(Boolean);
    list(this.#notes, notes);
  }

  #drawBlame(r, grown, total) {
    const stretches = r.phases.map((p, i) => ({ cause: p.cause, seconds: p.seconds + (i === r.phases.length - 1 ? grown : 0) }));
    const sums = blame(stretches).filter(({ seconds }) => seconds > 0);
    sync(this.#blame, sums, (b) => b.cause, () => element('i'), (node, b) => {
      restyle(node, 'c-' + causeStyle(b.cause));
      lay(node, 'flex-grow', (b.seconds / total).toFixed(4));
      mark(node, 'title', charged(visible(b.cause)) + ' ' + exact(b.seconds));
    });
    sync(this.#legend, sums, (b) => b.cause, () => element('li', '', element('i', 'swatch'), element('span'), element('b'), element('small')), (node, b) => {
      const [, name, length, share] = node.children;
      restyle(node, 'c-' + causeStyle(b.cause));
      say(name, charged(visible(b.cause)));
      say(length, brief(b.seconds));
      say(share, percent(b.seconds, total));
    });
  }

  #drawImages(pulls) {
    this.#images.closest('.section').hidden = pulls.length === 0;
    rows(this.#images, pulls.map((p) => ({
      key: p.container + ' ' + p.attempt + ' ' + p.image,
      cells: [p.container + (p.attempt > 0 ? ' #' + (p.attempt + 1) : '') + (p.kind && p.kind !== 'main' ? ' (' + p.kind.replaceAll('_', ' ') + ')' : ''), p.image,
        p.outcome + (p.failure ? ': ' + p.failure.replaceAll('_', ' ') : ''), p.queue === undefined ? '–' : exact(p.queue), p.pull === undefined ? '–' : exact(p.pull),
        p.error === undefined ? '–' : exactError(p.error), bytes(p.size), rate(p.speed, 1)],
      note: [p.blocker && p.blocker.seconds > 0 ? 'waited ' + exact(p.blocker.seconds) + ' behind ' + p.blocker.image + ' of ' + p.blocker.pod : p.ahead > 1 ? 'behind ' + p.ahead + ' pulls' : '',
        p.beside > 0 ? 'beside ' + count(p.beside, 'other pull', 'other pulls') : ''].filter(Boolean).join(', '),
    })));
  }

  #drawEvents(chart) {
    this.#events.closest('.section').hidden = chart.events.length === 0;
    sync(this.#events, chart.events, (e) => e.key, () => element('li', '', element('time'), element('b'), element('small'), element('span', 'words')), (node, e) => {
      const [time, reason, container, words] = node.children;
      say(time, Number.isFinite(e.at) ? '+' + exact(e.at) : '–');
      mark(time, 'title', clock(chart.createdAt + 1000 * e.at) + ' UTC');
      say(reason, e.reason);
      say(container, e.container);
      say(words, e.message);
    });
  }

  #drawEvidence(r, chart) {
    const gaps = [...r.conflicts.map((c) => 'Conflict about ' + visible(c.milestone) + (c.container ? ' of ' + visible(c.container) : '') + ': ' + message(c.detail)),
      ...r.missing.map((m) => 'No evidence for ' + visible(m)), ...(r.lost_events ?? []).map((e) => 'Lost kubelet Event: ' + visible(e))];
    this.#gaps.closest('.section').hidden = gaps.length === 0;
    list(this.#gaps, gaps);
    const since = (at) => (at ? '+' + exact((Date.parse(at) - chart.createdAt) / 1000) : '–');
    rows(this.#milestones, r.milestones.map((m) => ({
      key: m.milestone + ' ' + (m.container ?? '') + ' ' + (m.attempt ?? 0),
      cells: [visible(m.milestone).replaceAll('_', ' ') + (m.attempt > 0 ? ' #' + (m.attempt + 1) : ''), visible(m.container), since(m.earliest), since(m.latest),
        m.earliest && m.latest ? exact((Date.parse(m.latest) - Date.parse(m.earliest)) / 1000) : '–', m.sources.map((s) => visible(s).replaceAll('_', ' ')).join(', ')],
    })));
  }
}

function link(text) {
  const made = element('a', 'quiet', text);
  made.setAttribute('rel', 'noreferrer');
  return made;
}

function section(name, ...children) { return element('div', 'section panel', element('h2', '', name), ...children); }

function folded(name, ...children) { return element('details', 'section panel', element('summary', '', name), ...children); }

function capital(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

function list(host, texts) {
  host.hidden = texts.length === 0;
  sync(host, texts, (text, i) => i, () => element('li'), say);
}
