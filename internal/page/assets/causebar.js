// Bars that show the share of the time that each cause took.

import { element, lay, mark, restyle, sync, write } from './dom.js';
import { age, byCause, grown, totalOf } from './startup.js';
import { brief, exact, percent } from './text.js';
import { causeName, causeStyle } from './words.js';

// The bar of a start-up in a list.
export function drawCauses(node, s, now) {
  const total = age(s, now);
  const stops = [];
  let at = 0;
  let drawn = 0;
  s.stretches.forEach((stretch, i) => {
    at += stretch.seconds + (i === s.stretches.length - 1 ? grown(s, now) : 0);
    const to = Math.round(1000 * at / total) / 10;
    if (!(to > drawn)) return; // too short to see
    stops.push('var(--' + causeStyle(stretch.cause) + ') ' + drawn + '% ' + to + '%');
    drawn = to;
  });
  const image = stops.length > 0 ? 'linear-gradient(90deg,' + stops.join(',') + ')' : 'none';
  if (node.drawnImage !== image) {
    node.drawnImage = image;
    node.style.backgroundImage = image;
  }
}

// A bar with a legend.
export class CauseBar {
  #bar = element('div', 'cause-bar');
  #legend = element('ul', 'legend');
  root = element('div', '', this.#bar, this.#legend);

  // Each part has a cause and a length in seconds.
  draw(parts) {
    const total = totalOf(parts);
    sync(this.#bar, parts.filter(({ seconds }) => seconds > 0), (p, i) => i, () => element('i'), (node, p) => {
      restyle(node, 'c-' + causeStyle(p.cause));
      lay(node, 'flex-grow', (p.seconds / total).toFixed(4));
      mark(node, 'title', causeName(p.cause) + ' ' + exact(p.seconds));
    });
    sync(this.#legend, byCause(parts).filter(({ seconds }) => seconds > 0), (p) => p.cause, () => element('li', '', element('i', 'swatch'), element('span'), element('b'), element('small')), (node, p) => {
      const [, name, length, share] = node.children;
      restyle(node, 'c-' + causeStyle(p.cause));
      write(name, causeName(p.cause));
      write(length, brief(p.seconds));
      write(share, percent(p.seconds, total));
    });
  }
}
