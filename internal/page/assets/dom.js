// Functions for HTML elements and tables. The functions add text only as text nodes, never as markup.

// `properties` is a class name, or an object with properties of the element.
export function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  if (properties) Object.assign(made, typeof properties === 'string' ? { className: properties } : properties);
  made.append(...children);
  return made;
}

export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function restyle(node, style) {
  if (node.className !== style) node.className = style;
}

export function mark(node, attribute, value) {
  if (node.getAttribute(attribute) !== value) node.setAttribute(attribute, value);
}

// `from` and `to` are shares of the available width, from 0 to 1.
export function place(node, from, to) {
  const left = Math.min(Math.max(from, 0), 1);
  const right = Math.min(Math.max(to, left), 1);
  lay(node, 'left', (100 * left).toFixed(3) + '%');
  lay(node, 'width', (100 * (right - left)).toFixed(3) + '%');
}

export function lay(node, property, value) {
  if (node.style.getPropertyValue(property) !== value) node.style.setProperty(property, value);
}

// perFrame returns a function that schedules `work` for the next frame. More calls before that frame have no effect.
export function perFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

// sync gives `host` one child for each item, in order. sync reuses elements, so that they do not lose the focus.
export function sync(host, items, keyOf, make, fill) {
  const had = new Map();
  for (const child of [...host.children]) {
    if (had.has(child.itemKey)) child.remove(); // a duplicate key
    else had.set(child.itemKey, child);
  }
  let next = host.firstElementChild;
  items.forEach((item, i) => {
    const key = keyOf(item, i);
    let child = had.get(key);
    had.delete(key);
    if (!child) {
      child = make(item);
      child.itemKey = key;
    }
    if (child === next) next = next.nextElementSibling;
    else host.insertBefore(child, next);
    fill(child, item, i);
  });
  for (const child of had.values()) child.remove();
}

export function list(host, texts) {
  host.hidden = texts.length === 0;
  sync(host, texts, (text, i) => i, () => element('li'), write);
}

export function table(heads, body) {
  const row = element('tr', '', ...heads.map((h) => element('th', { className: h[0] === '#' ? 'number' : '', scope: 'col' }, h.replace('#', ''))));
  return element('div', 'scrolls', element('table', '', element('thead', '', row), body));
}

// Each item is a list of cells. A cell is a text, or an object with `text` and optionally `link`, `note`, `style` and `bars`. A bar has
// `style`, `from` and `to`.
export function rows(body, items) {
  sync(body, items, (cells, i) => textOf(cells[0]) + ' ' + i + cells.map((c) => (linkOf(c) ? 'a' : '-')).join(''),
    (cells) => element('tr', '', ...cells.map((c) => element('td', '', element(linkOf(c) ? 'a' : 'span'), element('small')))), (node, cells) => {
      cells.forEach((cell, i) => {
        const td = node.children[i];
        restyle(td, cell.style ?? '');
        write(td.firstChild, textOf(cell));
        write(td.children[1], cell.note ?? '');
        if (linkOf(cell)) mark(td.firstChild, 'href', cell.link);
        if (cell.bars) drawBars(td, cell.bars);
      });
    });
}

function textOf(cell) { return String(cell.text ?? cell); }

function drawBars(td, bars) {
  if (td.children.length === 2) td.append(element('div', 'bars'));
  sync(td.lastChild, bars, (bar, i) => i, () => element('i'), (node, bar) => {
    restyle(node, bar.style);
    place(node, bar.from, bar.to);
  });
}

function linkOf(cell) { return typeof cell === 'object' ? cell.link : ''; }

export function number(text, more) { return { text: String(text), style: 'number', ...more }; }
