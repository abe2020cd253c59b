// The bar of a start-up in lists. Each phase has its share of the width, in the colour of its cause.

import { lay } from './dom.js';
import { causeStyle } from './words.js';
import { age, grown } from './startup.js';

export function drawCauses(node, s, now) {
  const total = age(s, now);
  if (!(total > 0)) {
    lay(node, 'background-image', 'none');
    return;
  }
  const stops = [];
  let at = 0;
  let drawn = 0;
  s.stretches.forEach((stretch, i) => {
    at += stretch.seconds + (i === s.stretches.length - 1 ? grown(s, now) : 0);
    const to = Math.round(1000 * at / total) / 10;
    if (to <= drawn) return; // too short to see
    const colour = 'var(--' + causeStyle(stretch.cause) + ')';
    stops.push(colour + ' ' + drawn + '% ' + to + '%');
    drawn = to;
  });
  const image = 'linear-gradient(90deg,' + stops.join(',') + ')';
  if (node.drawnImage !== image) {
    node.drawnImage = image;
    node.style.backgroundImage = image;
  }
}
