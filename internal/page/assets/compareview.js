// The comparison of two start-ups: waterfalls side by side, with the difference in each phase.

import { idOf, ofComparison, ofPod, ofView, readID } from './address.js';
import { chartOf } from './chart.js';
import { compareCharts, difference, largest, signed } from './compare.js';
import { element, mark, number, rows, table, write } from './dom.js';
import { stamp } from './settings.js';
import { explainPod, shareButtons } from './share.js';
import { Source } from './source.js';
import { workloadOf } from './startup.js';
import { brief, exact, exactError, visible } from './text.js';
import { View } from './view.js';
import { attemptText, causeName, causeStyle, spaced } from './words.js';

export class CompareView extends View {
  #sides = [0, 1].map(() => new Source(() => this.changed()));
  #swap = element('a', 'quiet', 'Swap');
  #about = element('tbody');
  #rows = element('tbody');

  constructor(known, nodeOf) {
    super('compare-view', shareButtons(() => { const { id } = this.#sides[1]; return id ? explainPod(id.namespace, id.name) : ''; }, nodeOf));
    this.compose([this.#swap],
      element('div', 'panel', table(['Start-up', 'Pod', 'Workload', 'State', '#Took', 'Created', ''], this.#about)),
      element('div', 'panel', table(['Phase, cause', 'First', 'Second', '#Difference'], this.#rows)),
      element('p', 'facts', 'All bars have the same scale. A gray difference is at most its error bound. If the evidence of one start-up cannot separate some phases, these phases are in one row.'));
    known.listen((change) => { if (this.root.isConnected) for (const side of this.#sides) side.apply(change); });
  }

  show(address) {
    ['a', 'b'].forEach((name, i) => this.#sides[i].open(readID(address.query.get(name))));
    mark(this.#swap, 'href', ofComparison(this.#sides[1].id, this.#sides[0].id));
    this.changed();
  }

  hide() { for (const side of this.#sides) side.close(); }

  tick() { if (this.#sides.some((side) => side.record?.state === 'starting')) this.changed(); }

  draw() {
    rows(this.#about, this.#sides.map((side, i) => this.#aboutSide(side, i)));
    const charts = this.#sides.map(chart);
    if (!charts.every(Boolean)) {
      write(this.verdict, this.#sides.map((side) => side.problem).filter(Boolean).join(' ') || 'Loading …');
      rows(this.#rows, []);
      return;
    }
    const compared = compareCharts(...charts);
    this.#drawVerdict(compared);
    const error = this.#sides.reduce((sum, { record }) => sum + record.total_error_seconds, 0);
    rows(this.#rows, [...compared.rows.map((r) => [
      { text: r.names.map(spaced).join(' + '), note: [attemptText(r.container, r.attempt), r.causes.map(spaced).join(' or ')].filter(Boolean).join(' · ') },
      ...r.sides.map((side) => ({ text: side ? exact(side.seconds) : '–', bars: (side?.bars ?? []).map((b) => ({ style: 'c-' + causeStyle(b.cause), from: b.from / compared.total, to: b.to / compared.total })) })),
      difference(r.difference, r.accuracy)]), ['total', ...compared.totals.map(exact), difference(compared.totals[1] - compared.totals[0], error)]]);
  }

  #drawVerdict({ rows: all, totals }) {
    const more = totals[1] - totals[0];
    const top = largest(all);
    write(this.verdict, 'The second start-up took ' + brief(Math.abs(more)) + (more < 0 ? ' less' : ' more') + ' than the first. ' + (top && Math.abs(top.difference) > top.accuracy ?
      'The largest difference is in ' + top.names.map(spaced).join(' + ') + (top.container ? ' of ' + top.container : '') + ': ' + signed(top.difference, brief) + ' (cause: ' + top.causes.map(causeName).join(' or ') + ').' :
      'No phase differs by more than its error bound.'));
  }

  #aboutSide(side, i) {
    const r = side.record;
    const owner = r && workloadOf(r);
    const other = this.#sides[1 - i].id;
    return [i === 0 ? 'First' : 'Second', r ? { text: visible(r.namespace) + '/' + visible(r.name), link: ofPod(r.namespace, r.name, r.uid), note: side.problem } : side.id ? side.problem : 'Choose a start-up.',
      r ? { text: owner, link: ofView('startups', { owner }) } : '', r ? visible(r.state) : '', number(r ? exact(chart(side).total) : '', { note: r && exactError(r.total_error_seconds) }),
      r ? stamp(Date.parse(r.created_at)) : '', { text: 'change', link: other ? ofView('startups', { [i === 0 ? 'b' : 'a']: idOf(other) }) : '#/' }];
  }
}

function chart(side) { return side.record && chartOf(side.record, side.grown(), () => false); }
