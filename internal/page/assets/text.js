// What others wrote, made fit to be shown. It goes into the page as text alone; here it is bounded, and what would steer the
// reader's eye instead of being read (control and bidi characters, what has no width) becomes visible.

const NAMES = 200;
const MESSAGES = 1000;

const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

// More marks than any language puts on a letter would paint over the lines above.
const piled = /(\p{M}{4})\p{M}+/gu;

function show(character) { return '⟨' + character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '⟩'; }

// visible is a text of at most so many characters and a note of how many more there were.
export function visible(text, most = NAMES) {
  if (text === undefined || text === null) return '';
  text = String(text);
  const more = text.length - most;
  if (more > 0) text = text.slice(0, most);
  text = text.toWellFormed().replace(hidden, show).replace(piled, '$1');
  return more > 0 ? text + '… (' + more.toLocaleString('en') + ' more)' : text;
}

// message is visible for what people wrote in sentences.
export function message(text) { return visible(text, MESSAGES); }
