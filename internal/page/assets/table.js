// Tables of texts, links and bars.

import { element, mark, place, restyle, write, sync } from './dom.js';

export function table(heads, body) {
  const row = element('tr', '', ...heads.map((h) => {
    const head = element('th', h[0] === '#' ? 'number' : '', h.replace('#', ''));
    head.scope = 'col';
    return head;
  }));
  return element('div', 'scrolls', element('table', '', element('thead', '', row), body));
}

// rows fills the body of a table. Each row has a key and cells. A cell is a text, or an object with `text` and optionally `link`,
// `note`, `style` and `bars`. A bar has a style, and it has a start and an end as shares of the available width.
export function rows(body, items) {
  sync(body, items, (item, i) => item.key + ' ' + i + item.cells.map((c) => (linkOf(c) ? 'a' : '-')).join(''),
    (item) => element('tr', '', ...item.cells.map((c) => element('td', '', element(linkOf(c) ? 'a' : 'span'), element('small')))), (node, item) => {
      item.cells.forEach((cell, i) => {
        const td = node.children[i];
        restyle(td, cell.style ?? '');
        write(td.firstChild, String(cell.text ?? cell));
        write(td.children[1], cell.note ?? '');
        if (linkOf(cell)) mark(td.firstChild, 'href', cell.link);
        if (cell.bars) drawBars(td, cell.bars);
      });
    });
}

function drawBars(td, bars) {
  if (td.children.length === 2) td.append(element('div', 'bars'));
  sync(td.lastChild, bars, (bar, i) => i, () => element('i'), (node, bar) => {
    restyle(node, bar.style);
    place(node, bar.from, bar.to);
  });
}

function linkOf(cell) { return typeof cell === 'object' ? cell.link : ''; }

export function number(text, more) { return { text: String(text), style: 'number', ...more }; }
