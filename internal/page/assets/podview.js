// The view of one start-up: its verdict, the time of each cause, its waterfall, images, Events and evidence.

import { idOf, ofView, podPath } from './address.js';
import { CauseBar } from './causebar.js';
import { chartOf } from './chart.js';
import { element, list, mark, number, restyle, rows, sync, table, write } from './dom.js';
import { downloadText, pullCells, pullHeads } from './pulls.js';
import { clockZone, stamp } from './settings.js';
import { explainPod, shareButtons } from './share.js';
import { Source } from './source.js';
import { byCause, ownerOf, startUpOf, stuckIn, stuckText, workloadOf } from './startup.js';
import { Termination } from './termination.js';
import { exact, exactError, message, running, visible } from './text.js';
import { View } from './view.js';
import { Waterfall } from './waterfall.js';
import { attemptText, causeName, learnPhases, milestoneText, spaced, stateSign, stateStyle } from './words.js';
import { Help } from './workload.js';

export class PodView extends View {
  #source = new Source(() => this.changed());
  #waterfall = new Waterfall(() => this.changed());
  #termination = new Termination();
  #name = element('h1');
  #space = element('small');
  #state = element('span', 'badge');
  #facts = element('p', 'facts');
  #owner = element('a');
  #node = element('a', { href: ofView('node') });
  #details = element('span');
  #notes = element('ul', 'notes');
  #causes = new CauseBar();
  #help = new Help();
  #download = element('p', 'download');
  #images = element('tbody');
  #events = element('ol', 'events');
  #milestones = element('tbody');
  #gaps = element('ul', 'gaps');
  #unreported = element('ul', 'gaps');
  #links = { compare: link('Compare'), trace: link('Perfetto trace'), json: link('JSON') };
  #body = element('div', 'pod-body');
  #problem = element('p', 'empty');

  constructor(known, nodeOf) {
    super('pod-view', shareButtons(() => (this.#source.id ? explainPod(this.#source.id.namespace, this.#source.id.name) : ''), nodeOf), known);
    known.listen((change) => { if (this.root.isConnected) this.#source.apply(change); });
    this.#facts.append(this.#owner, this.#node, this.#details);
    this.#body.append(
      element('div', 'pod-head', element('div', 'pod-title', this.#space, this.#name), this.#state, element('span', 'pod-links', this.share.root, this.#links.compare, this.#links.trace, this.#links.json)),
      this.verdict, this.#download, this.#facts, this.#notes,
      element('div', 'panel', this.#causes.root), this.#help.root, element('div', 'panel', this.#waterfall.root), this.#termination.root,
      section('Images', table(['Container', ...pullHeads], this.#images)),
      section('Events', this.#events), section('Missing evidence', this.#gaps), section('This container runtime cannot report', this.#unreported),
      element('details', 'section panel', element('summary', '', 'Evidence of each milestone'), table(['Milestone', 'Container', '#Earliest', '#Latest', '#Range', 'Sources'], this.#milestones)));
    this.root.append(element('a', { className: 'back', href: '#/' }, '← all start-ups'), this.#problem, this.#body);
  }

  show(address) {
    learnPhases();
    if (!this.#source.open(address)) return;
    this.#waterfall.forget();
    this.#body.hidden = true;
    this.#problem.hidden = false;
    write(this.#problem, 'Loading …');
  }

  hide() {
    this.#source.close();
    this.#source.record = null;
    this.#waterfall.detail.hide();
  }

  tick() { if (this.#source.record?.state === 'starting' && !this.#source.problem) this.changed(); }

  title() { const { id } = this.#source; return id ? visible(id.namespace) + '/' + visible(id.name) : ''; }

  enter() { this.#waterfall.enter(); }

  draw() {
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
    this.#drawDownloads(r, going);
    this.#causes.draw(byCause(r.phases.map((p, i) => ({ cause: p.cause, seconds: p.seconds + (i === r.phases.length - 1 ? grown : 0) }))));
    this.#help.draw(going ? [] : [...r.what_if ?? [], ...r.what_if_unknown ?? []]);
    this.#waterfall.draw(chart);
    this.#termination.draw(r.termination);
    this.#drawImages(r.pulls);
    this.#drawEvents(chart);
    this.#drawEvidence(r, chart);
  }

  #drawHead(r, chart, going) {
    write(this.#space, visible(r.namespace) + ' /');
    write(this.#name, visible(r.name));
    restyle(this.#state, 'badge state-' + stateStyle(r.state));
    write(this.#state, stateSign(r.state) + ' ' + spaced(r.state) + (going ? ' ' + running(chart.total) : ''));
    const s = startUpOf(r, this.#source.seenAt);
    const now = this.#source.problem ? this.#source.seenAt : performance.now();
    write(this.verdict, going ? capital(stuckText(s, now, running)) + ', cause: ' + causeName(stuckIn(s, now)?.cause) + '.' : s.verdict);
    write(this.#owner, r.owner ? 'owned by ' + ownerOf(r) : 'no owner');
    mark(this.#owner, 'href', ofView('startups', { owner: workloadOf(r) }));
    write(this.#node, 'on node ' + visible(r.node));
    write(this.#details, 'created ' + stamp(chart.createdAt) + ' · took ' + exact(chart.total) + ' ' + exactError(r.total_error_seconds) + (going ? ' so far' : ''));
    mark(this.#links.compare, 'href', ofView('startups', { owner: workloadOf(r), a: idOf(r) }));
    const path = 'api/v1/pods/' + podPath(r);
    mark(this.#links.json, 'href', path);
    mark(this.#links.trace, 'href', path.replace('?', '/trace?'));
    list(this.#notes, [this.#source.problem, r.reason && 'Reason: ' + visible(r.reason), r.gone_at && 'The pod was deleted at ' + stamp(Date.parse(r.gone_at)) + '. The agent keeps it in the history for a while.',
      r.reconstructed && 'Reconstructed: this start-up was complete before the agent saw the pod.',
      r.clock_skew && "The control plane's clock minus the node's clock is " + exact(r.clock_skew.least_seconds) + ' to ' + exact(r.clock_skew.most_seconds) + '.'].filter(Boolean));
  }

  #drawDownloads(r, going) {
    this.#download.hidden = !going;
    if (!going) return;
    const { items, seenAt } = this.known.pulls;
    const since = (performance.now() - seenAt) / 1000;
    const own = items.filter((p) => p.namespace === r.namespace && p.pod === r.name && !p.restart).map((p) => [visible(p.container), downloadText(p, since)]);
    write(this.#download, own.filter(([, text]) => text).map((words) => words.join(': ')).join('; '));
  }

  #drawImages(pulls) {
    this.#images.closest('.section').hidden = pulls.length === 0;
    rows(this.#images, pulls.map((p) => [attemptText(visible(p.container), p.attempt) + (p.kind && p.kind !== 'main' ? ' (' + spaced(p.kind) + ')' : ''), ...pullCells(p)]));
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
    rows(this.#milestones, r.milestones.map((m) => [
      attemptText(spaced(m.milestone), m.attempt), visible(m.container), number(since(m.earliest)), number(since(m.latest)),
      number(m.earliest && m.latest ? exact((Date.parse(m.latest) - Date.parse(m.earliest)) / 1000) : '–'), m.sources.map(spaced).join(', ')]));
  }
}

function link(text) { return element('a', { className: 'quiet', rel: 'noreferrer' }, text); }

function section(name, ...children) { return element('div', 'section panel', element('h2', '', name), ...children); }

function capital(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

function fill(host, texts) {
  host.parentElement.hidden = texts.length === 0;
  list(host, texts);
}
