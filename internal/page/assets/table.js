// Tables of texts.

import { element, mark, say, sync } from './dom.js';

export function table(heads, body) {
  return element('div', 'scrolls', element('table', '', element('thead', '', element('tr', '', ...heads.map((h) => element('th', '', h)))), body));
}

// rows fills a table's body; each row has a key, the texts of its cells, and perhaps a note beside the second and an address behind the first.
export function rows(body, items) {
  sync(body, items, (item, i) => item.key + ' ' + i, (item) => element('tr', '', ...item.cells.map((_, i) => element('td', '', element(i === 0 && item.link ? 'a' : 'span'), element('small')))), (node, item) => {
    item.cells.forEach((cell, i) => say(node.children[i].firstChild, cell));
    say(node.children[1].lastChild, item.note ?? '');
    if (item.link) mark(node.firstChild.firstChild, 'href', item.link);
  });
}
