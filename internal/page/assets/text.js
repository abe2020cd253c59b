// The page limits the length of untrusted text. The page shows the codes of characters that could mislead readers: control characters,
// bidirectional controls and zero-width characters.

const NAMES = 200;
const MESSAGES = 1000;

const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

// Many combining marks on one letter would cover the lines above.
const piled = /(\p{M}{4})\p{M}+/gu;

function show(character) { return '⟨' + character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '⟩'; }

// The function `visible` limits the length of a text, and adds the number of removed characters.
export function visible(text, most = NAMES) {
  if (text === undefined || text === null) return '';
  text = String(text);
  const more = text.length - most;
  if (more > 0) text = text.slice(0, most);
  text = text.toWellFormed().replace(hidden, show).replace(piled, '$1');
  return more > 0 ? text + '… (' + more.toLocaleString('en') + ' more)' : text;
}

export function message(text) { return visible(text, MESSAGES); }
