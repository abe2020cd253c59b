// What the views have in common: an element, a sentence at the top, and the buttons to share the view.

import { element, perFrame } from './dom.js';

export class View {
  verdict = element('p', 'verdict');
  changed = perFrame(() => this.redraw());

  constructor(style, share, known) {
    this.root = element('section', style);
    this.share = share;
    this.known = known;
  }

  // compose adds the sentence, the tools and the other elements to the view, in this order.
  compose(tools, ...more) { this.root.append(this.verdict, element('div', 'tools', ...tools, this.share.root), ...more); }

  tick() { this.changed(); }

  // redraw calls the method `draw` if the view is on the page.
  redraw() {
    if (!this.root.isConnected) return;
    this.share?.draw();
    this.draw();
  }
}
