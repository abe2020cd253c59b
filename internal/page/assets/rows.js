// A list for very many items. The list draws only the items in or near the window.

import { element, lay, perFrame } from './dom.js';

const BEYOND = 400; // pixels outside the window in which the list also draws items

export class Rows {
  #host;
  #make;
  #fill;
  items = [];
  #tops = []; // the top of each item in pixels; the last entry is the end of the list
  #shown = new Map(); // key: element
  #spare = new Map(); // kind: elements
  #heights;
  #bound = perFrame(() => this.#draw());

  // `host` is a positioned element, as CSS defines it. `kinds` maps each kind of item to a CSS property with the height.
  constructor(host, kinds, make, fill) {
    this.#host = host;
    this.#heights = kinds;
    this.#make = make;
    this.#fill = fill;
    window.addEventListener('scroll', this.#bound, { passive: true });
    window.addEventListener('resize', () => { this.#measure(); this.#bound(); });
  }

  show(items) {
    this.items = items;
    this.#measure();
    this.#draw();
  }

  reveal(key) {
    const i = this.items.findIndex((item) => item.key === key);
    if (i < 0) return null;
    const top = this.#host.getBoundingClientRect().top + this.#tops[i];
    const bottom = top + this.#tops[i + 1] - this.#tops[i];
    const margin = 90; // for the page's header, which stays at the top
    if (top < margin) window.scrollBy(0, top - margin);
    else if (bottom > window.innerHeight - 40) window.scrollBy(0, bottom - window.innerHeight + 40);
    this.#draw();
    return this.#shown.get(key) ?? null;
  }

  #measure() {
    const style = getComputedStyle(this.#host);
    const height = {};
    for (const [kind, property] of Object.entries(this.#heights)) height[kind] = parseFloat(style.getPropertyValue(property)) || 40;
    this.#tops = [0];
    for (const item of this.items) this.#tops.push(this.#tops.at(-1) + height[item.kind]);
    lay(this.#host, 'height', this.#tops.at(-1) + 'px');
  }

  #draw() {
    if (this.#host.offsetParent === null) return; // another view is shown
    const top = -this.#host.getBoundingClientRect().top - BEYOND;
    const bottom = top + window.innerHeight + 2 * BEYOND;
    const from = Math.max(0, this.#at(top));
    const seen = new Set();
    let to = from;
    for (; to < this.items.length && this.#tops[to] < bottom; to++) seen.add(this.items[to].key);
    for (const [key, node] of this.#shown) {
      // The reader must not lose the focus.
      if (seen.has(key) || node.contains(document.activeElement)) continue;
      this.#shown.delete(key);
      node.hidden = true;
      this.#spares(node.itemKind).push(node);
    }
    for (let i = from; i < to; i++) this.#put(this.items[i], i);
    const places = this.#keepFocused(seen);
    for (let i = from; i < to; i++) places.push(i);
    this.#order(places.sort((a, b) => a - b));
  }

  #keepFocused(seen) {
    const places = [];
    for (const [key, node] of this.#shown) {
      if (seen.has(key)) continue;
      const i = this.items.findIndex((item) => item.key === key);
      if (i >= 0) {
        this.#put(this.items[i], i);
        places.push(i);
      } else node.hidden = true;
    }
    return places;
  }

  #order(places) {
    let next = shownFrom(this.#host.firstElementChild);
    for (const i of places) {
      const node = this.#shown.get(this.items[i].key);
      if (node !== next && next && node === shownFrom(next.nextElementSibling)) next = node; // the loop moves the skipped node later
      if (node === next) next = shownFrom(next.nextElementSibling);
      else move(this.#host, node, next);
    }
  }

  #put(item, i) {
    let node = this.#shown.get(item.key);
    if (!node) {
      node = this.#spares(item.kind).pop() ?? this.#add(item.kind);
      node.hidden = false;
      this.#shown.set(item.key, node);
    }
    lay(node, 'transform', 'translateY(' + this.#tops[i] + 'px)');
    this.#fill(node, item, i);
  }

  #add(kind) {
    const node = this.#make(kind);
    node.itemKind = kind;
    this.#host.append(node);
    return node;
  }

  #spares(kind) {
    if (!this.#spare.has(kind)) this.#spare.set(kind, []);
    return this.#spare.get(kind);
  }

  #at(pixels) {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#tops[middle + 1] <= pixels) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function shownFrom(node) {
  while (node?.hidden) node = node.nextElementSibling;
  return node;
}

function move(host, node, next) {
  if (host.moveBefore) {
    host.moveBefore(node, next);
    return;
  }
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  host.insertBefore(node, next);
  focused?.focus({ preventScroll: true });
}

export function heading() { return element('h2', 'section', element('span'), element('small')); }
