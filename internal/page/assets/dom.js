// Functions that create and change elements. These functions add text only as text nodes, never as markup.

export function element(tag, style = '', ...children) {
  const made = document.createElement(tag);
  if (style) made.className = style;
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

// place sets the left edge and the right edge of an element, as shares of the available width from 0 to 1.
export function place(node, from, to) {
  const left = Math.min(Math.max(from, 0), 1);
  const right = Math.min(Math.max(to, left), 1);
  lay(node, 'left', (100 * left).toFixed(3) + '%');
  lay(node, 'width', (100 * (right - left)).toFixed(3) + '%');
}

export function lay(node, property, value) {
  if (node.style.getPropertyValue(property) !== value) node.style.setProperty(property, value);
}

// perFrame returns a function that calls `work` once before the next frame.
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

// sync gives the element `host` one child for each item, in order. Each item keeps its child, so that the child keeps the focus.
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
