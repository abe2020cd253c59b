// The box with details of the element at the pointer or the focus.

import { element, lay, write, sync } from './dom.js';

export class Detail {
  root = element('div', 'detail');
  #title = element('b');
  #words = element('p');
  #facts = element('dl');
  of = null;

  constructor() {
    this.root.id = 'detail';
    this.root.setAttribute('role', 'tooltip');
    this.root.hidden = true;
    this.root.append(this.#title, this.#words, this.#facts);
  }

  show(anchor, { title, words, facts }) {
    this.of = anchor;
    write(this.#title, title);
    write(this.#words, words ?? '');
    this.#words.hidden = !words;
    sync(this.#facts, facts.filter(([, value]) => value), ([name]) => name, () => element('div', '', element('dt'), element('dd')), (node, [name, value]) => {
      write(node.firstChild, name);
      write(node.lastChild, value);
    });
    this.root.hidden = false;
    this.#place(anchor);
  }

  hide() {
    this.of = null;
    this.root.hidden = true;
  }

  #place(anchor) {
    if (window.innerWidth < 800) { // the style sheet puts the box at the bottom
      lay(this.root, 'left', '');
      lay(this.root, 'top', '');
      return;
    }
    const about = anchor.getBoundingClientRect();
    const own = this.root.getBoundingClientRect();
    const left = Math.min(Math.max(8, about.left + about.width / 2 - own.width / 2), window.innerWidth - own.width - 8);
    const below = about.bottom + 8;
    const top = below + own.height > window.innerHeight ? Math.max(8, about.top - own.height - 8) : below;
    lay(this.root, 'left', left + 'px');
    lay(this.root, 'top', top + 'px');
  }
}
