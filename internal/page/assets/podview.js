// The view of one start-up: its verdict, the causes of its time, its waterfall, images, Events and evidence.

import { idOf, ofView, podPath } from './address.js';
import { chartOf } from './chart.js';
import { Detail } from './detail.js';
import { element, lay, mark, perFrame, restyle, write, sync } from './dom.js';
import { Termination } from './termination.js';
import { brief, bytes, exact, exactError, percent, rate, running } from './format.js';
import { explainPod, shareButtons } from './share.js';
import { Source } from './source.js';
import { byCause, startUpOf, stuckIn, stuckText, workloadOf } from './startup.js';
import { number, rows, table } from './table.js';
import { message, visible } from './text.js';
import { Waterfall } from './waterfall.js';
import { attemptText, causeName, causeStyle, milestoneText, phaseName, stateName, stateSign, stateStyle } from './words.js';
import { clockZone, stamp } from './zone.js';

export class PodView {
  root = element('section', 'pod-view');
  #shown = false;
  #source = new Source(() => this.changed());
  #detail = new Detail();
  #waterfall = new Waterfall(this.#detail, () => this.changed());
  #termination = new Termination();
  #name = element('h1');
  #space = element('small');
  #state = element('span', 'badge');
  #verdict = element('p', 'verdict');
  #facts = element('p', 'facts');
  #owner = element('a');
  #node = element('a');
  #details = element('span');
  #notes = element('ul', 'notes');
  #causes = element('div', 'cause-bar');
  #legend = element('ul', 'legend');
  #images = element('tbody');
  #events = element('ol', 'events');
  #milestones = element('tbody');
  #gaps = element('ul', 'gaps');
  #unreported = element('ul', 'gaps');
  #links = { compare: link('Compare'), trace: link('Perfetto trace'), json: link('JSON') };
  #share;
  #body = element('div', 'pod-body');
  #problem = element('p', 'empty');
  changed = perFrame(() => this.#draw());

  constructor(known, nodeOf) {
    known.listen((change) => { if (this.#shown) this.#source.apply(change); });
    this.#share = shareButtons(() => (this.#source.id ? explainPod(this.#source.id.namespace, this.#source.id.name) : ''), nodeOf);
    this.#facts.append(this.#owner, this.#node, this.#details);
    this.#node.href = ofView('node');
    const back = element('a', 'back', '← all start-ups');
    back.href = '#/';
    this.#body.append(
      element('div', 'pod-head', element('div', 'pod-title', this.#space, this.#name), this.#state, element('span', 'pod-links', this.#share.root, this.#links.compare, this.#links.trace, this.#links.json)),
      this.#verdict, this.#facts, this.#notes,
      element('div', 'panel', this.#causes, this.#legend), element('div', 'panel', this.#waterfall.root), this.#termination.root,
      section('Images', table(['Container', 'Image', 'Registry', 'Outcome', '#Queue', '#Pull', '#Accuracy', '#Size', '#Speed'], this.#images)),
      section('Events', this.#events), section('Missing evidence', this.#gaps), section('This container runtime cannot report', this.#unreported),
      element('details', 'section panel', element('summary', '', 'Evidence of each milestone'), table(['Milestone', 'Container', '#Earliest', '#Latest', '#Range', 'Sources'], this.#milestones)));
    this.root.append(back, this.#problem, this.#body, this.#detail.root);
  }

  show(address) {
    this.#shown = true;
    if (!this.#source.open(address)) return;
    this.#waterfall.forget();
    this.#body.hidden = true;
    this.#problem.hidden = false;
    write(this.#problem, 'Loading …');
  }

  hide() {
    this.#shown = false;
    this.#source.close();
    this.#source.record = null;
    this.#detail.hide();
  }

  tick() { if (this.#source.record?.state === 'starting' && !this.#source.problem) this.changed(); }

  title() { const { id } = this.#source; return id ? visible(id.namespace) + '/' + visible(id.name) : ''; }

  enter() { this.#waterfall.enter(); }

  #draw() {
    const { record: r, problem } = this.#source;
    if (!r) {
      if (problem) write(this.#problem, problem);
      return;
    }
    this.#problem.hidden = true;
    this.#body.hidden = false;
    const going = r.state === 'starting';
    const grown = this.#source.grown();
    const chart = chartOf(r, grown, (row) => this.#waterfall.isOpen(row));
    this.#drawHead(r, chart, going);
    this.#drawCauses(r, grown, chart.total);
    this.#waterfall.draw(chart);
    this.#termination.draw(r.termination);
    this.#drawImages(chart.pulls);
    this.#drawEvents(chart);
    this.#drawEvidence(r, chart);
  }

  #drawHead(r, chart, going) {
    write(this.#space, visible(r.namespace) + ' /');
    write(this.#name, visible(r.name));
    restyle(this.#state, 'badge state-' + stateStyle(r.state));
    write(this.#state, stateSign(r.state) + ' ' + stateName(visible(r.state)) + (going ? ' ' + running(chart.total) : ''));
    const s = startUpOf(r, this.#source.seenAt);
    const now = this.#source.problem ? this.#source.seenAt : performance.now();
    write(this.#verdict, going ? capital(stuckText(s, now, running)) + ', cause: ' + causeName(visible(stuckIn(s, now)?.cause)) + '.' : s.verdict);
    write(this.#owner, r.owner ? 'owned by ' + visible(r.owner.kind) + '/' + visible(r.owner.name) : 'no owner');
    mark(this.#owner, 'href', ofView('startups', { owner: workloadOf(r) }));
    write(this.#node, 'on node ' + visible(r.node));
    write(this.#details, ['created ' + stamp(chart.createdAt), 'took ' + exact(chart.total) + ' ' + exactError(r.total_error_seconds) + (going ? ' so far' : '')].join(' · '));
    this.#share.draw();
    mark(this.#links.compare, 'href', ofView('startups', { owner: workloadOf(r), a: idOf(r) }));
    const path = 'api/v1/pods/' + podPath(r);
    mark(this.#links.json, 'href', path);
    mark(this.#links.trace, 'href', path.replace('?', '/trace?'));
    const notes = [this.#source.problem, r.reason && 'Reason: ' + visible(r.reason), r.gone_at && 'The pod was deleted at ' + stamp(Date.parse(r.gone_at)) + '. The agent keeps it in the history for a while.',
      r.reconstructed && 'Reconstructed: this start-up was complete before the agent saw the pod.',
      r.clock_skew && "The control plane's clock minus the node's clock is " + exact(r.clock_skew.least_seconds) + ' to ' + exact(r.clock_skew.most_seconds) + '.'].filter(Boolean);
    list(this.#notes, notes);
  }

  #drawCauses(r, grown, total) {
    const stretches = r.phases.map((p, i) => ({ cause: p.cause, seconds: p.seconds + (i === r.phases.length - 1 ? grown : 0) }));
    const sums = byCause(stretches).filter(({ seconds }) => seconds > 0);
    sync(this.#causes, sums, (b) => b.cause, () => element('i'), (node, b) => {
      restyle(node, 'c-' + causeStyle(b.cause));
      lay(node, 'flex-grow', (b.seconds / total).toFixed(4));
      mark(node, 'title', causeName(visible(b.cause)) + ' ' + exact(b.seconds));
    });
    sync(this.#legend, sums, (b) => b.cause, () => element('li', '', element('i', 'swatch'), element('span'), element('b'), element('small')), (node, b) => {
      const [, name, length, share] = node.children;
      restyle(node, 'c-' + causeStyle(b.cause));
      write(name, causeName(visible(b.cause)));
      write(length, brief(b.seconds));
      write(share, percent(b.seconds, total));
    });
  }

  #drawImages(pulls) {
    this.#images.closest('.section').hidden = pulls.length === 0;
    rows(this.#images, pulls.map((p) => ({
      key: p.container + ' ' + p.attempt + ' ' + p.image,
      cells: [attemptText(p.container, p.attempt) + (p.kind && p.kind !== 'main' ? ' (' + phaseName(p.kind) + ')' : ''),
        { text: p.image, link: ofView('startups', { image: p.image }), note: p.waits }, { text: p.registry || 'unknown', link: ofView('registries', { registry: p.registry || 'unknown' }) },
        p.outcome, number(exact(p.queue)), number(exact(p.pull)),
        number(exactError(p.error)), number(bytes(p.size)), number(rate(p.speed, 1))],
    })));
  }

  #drawEvents(chart) {
    this.#events.parentElement.hidden = chart.events.length === 0;
    sync(this.#events, chart.events, (e) => e.key, () => element('li', '', element('time'), element('b'), element('small'), element('span', 'words')), (node, e) => {
      const [time, reason, container, words] = node.children;
      write(time, Number.isFinite(e.at) ? '+' + exact(e.at) : '–');
      mark(time, 'title', clockZone(chart.createdAt + 1000 * e.at));
      write(reason, e.reason);
      write(container, e.container);
      write(words, e.message);
    });
  }

  #drawEvidence(r, chart) {
    fill(this.#gaps, [...r.conflicts.map((c) => 'Conflict about ' + visible(c.milestone) + (c.container ? ' of ' + visible(c.container) : '') + ': ' + message(c.detail)),
      ...r.missing.map((m) => 'No evidence for ' + milestoneText(m)), ...(r.lost_events ?? []).map((e) => 'Lost kubelet Event: ' + visible(e))]);
    fill(this.#unreported, (r.unreported ?? []).map(milestoneText));
    const since = (at) => (at ? '+' + exact((Date.parse(at) - chart.createdAt) / 1000) : '–');
    rows(this.#milestones, r.milestones.map((m) => ({
      key: m.milestone + ' ' + (m.container ?? '') + ' ' + (m.attempt ?? 0),
      cells: [attemptText(phaseName(visible(m.milestone)), m.attempt), visible(m.container), number(since(m.earliest)), number(since(m.latest)),
        number(m.earliest && m.latest ? exact((Date.parse(m.latest) - Date.parse(m.earliest)) / 1000) : '–'), m.sources.map((s) => phaseName(visible(s))).join(', ')],
    })));
  }
}

function link(text) {
  const made = element('a', 'quiet', text);
  made.setAttribute('rel', 'noreferrer');
  return made;
}

function section(name, ...children) { return element('div', 'section panel', element('h2', '', name), ...children); }

function capital(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

function fill(host, texts) {
  host.parentElement.hidden = texts.length === 0;
  list(host, texts);
}

function list(host, texts) {
  host.hidden = texts.length === 0;
  sync(host, texts, (text, i) => i, () => element('li'), write);
}
