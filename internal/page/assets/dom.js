// Elements. Text goes in as text; nothing here reads markup.

// element makes one; children are elements or texts.
export function element(tag, style = '', ...children) {
  const made = document.createElement(tag);
  if (style) made.className = style;
  made.append(...children);
  return made;
}

// say sets a text, if it is another one: what does not change costs no layout.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function restyle(node, style) {
  if (node.className !== style) node.className = style;
}

export function mark(node, attribute, value) {
  if (node.getAttribute(attribute) !== value) node.setAttribute(attribute, value);
}

// place sets where something begins and how wide it is, as shares of a whole; what is cut off stays inside.
export function place(node, from, to) {
  const left = Math.min(Math.max(from, 0), 1);
  const right = Math.min(Math.max(to, left), 1);
  lay(node, 'left', (100 * left).toFixed(3) + '%');
  lay(node, 'width', (100 * (right - left)).toFixed(3) + '%');
}

export function lay(node, property, value) {
  if (node.style.getPropertyValue(property) !== value) node.style.setProperty(property, value);
}

// sync makes the children of a host those of the items, in their order. Children of items that were there stay the same elements,
// so that focus and pointer stay where they are.
export function sync(host, items, keyOf, make, fill) {
  const had = new Map();
  for (const child of [...host.children]) {
    if (had.has(child.itemKey)) child.remove(); // two items had one key
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
