// What the views have in common.

import { element, perFrame } from './dom.js';

export class View {
  verdict = element('p', 'verdict');
  changed = perFrame(() => this.redraw());

  constructor(style, share, known) {
    this.root = element('section', style);
    this.share = share;
    this.known = known;
  }

  compose(tools, ...more) { this.root.append(this.verdict, element('div', 'tools', ...tools, this.share.root), ...more); }

  tick() { this.changed(); }

  redraw() {
    if (!this.root.isConnected) return;
    this.share?.draw();
    this.draw();
  }
}
