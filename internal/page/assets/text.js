// Formats untrusted text and numbers. The page limits the length of untrusted text. Control characters,
// bidirectional controls and zero-width characters could mislead readers, so the page shows their codes.

const NAMES = 200;
const MESSAGES = 1000;

const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

// Many combining marks on one letter would cover the lines above.
const piled = /(\p{M}{4})\p{M}+/gu;

function show(character) { return '⟨' + character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '⟩'; }

export function visible(text, most = NAMES) {
  text = String(text ?? '');
  const more = text.length - most;
  if (more > 0) text = text.slice(0, most);
  text = text.toWellFormed().replace(hidden, show).replace(piled, '$1');
  return more > 0 ? text + '… (' + more.toLocaleString('en') + ' more)' : text;
}

export function message(text) { return visible(text, MESSAGES); }

// Lengths are in seconds.
export function exact(seconds) { return seconds === undefined ? '–' : seconds.toFixed(3) + ' s'; }

export function exactError(seconds) { return (seconds === undefined ? '' : '±') + exact(seconds); }

export function brief(seconds) {
  if (!(seconds >= 0)) return '–';
  if (seconds < 0.9995) return Math.round(seconds * 1000) + ' ms';
  if (seconds < 9.995) return seconds.toFixed(2) + ' s';
  if (seconds < 59.95) return seconds.toFixed(1) + ' s';
  const whole = Math.round(seconds);
  if (whole < 3600) return Math.floor(whole / 60) + ' m ' + pad(whole % 60) + ' s';
  if (whole < 86400) return Math.floor(whole / 3600) + ' h ' + pad(Math.floor(whole / 60) % 60) + ' m';
  return Math.floor(whole / 86400) + ' d ' + pad(Math.floor(whole / 3600) % 24) + ' h';
}

// A duration that still grows, without the digits that change too fast to read.
export function running(seconds) {
  if (!(seconds >= 0)) return '–';
  return seconds < 59.95 ? seconds.toFixed(seconds < 10 ? 1 : 0) + ' s' : brief(seconds);
}

// An estimated duration.
export function about(seconds) { return seconds < 59.5 ? Math.max(1, Math.round(seconds)) + ' s' : brief(Math.round(seconds)); }

export function ago(seconds) {
  if (Number.isNaN(seconds)) return '–';
  const [unit, length] = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]].find(([, least]) => seconds >= least) ?? [];
  return unit ? Math.floor(seconds / length) + ' ' + unit + ' ago' : 'now';
}

export function bytes(count) {
  if (!(count > 0)) return '–';
  if (count < 1024) return count + ' B';
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = count / 1024;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1024; unit++; }
  return (value < 10 ? value.toFixed(1) : Math.round(value)) + ' ' + units[unit];
}

export function rate(count, seconds) {
  return count > 0 && seconds > 0 ? bytes(count / seconds) + '/s' : '–';
}

export function percent(part, whole) {
  if (!(whole > 0)) return '0 %';
  const share = 100 * part / whole;
  return (share > 0 && share < 1 ? '<1' : Math.round(share)) + ' %';
}

export function count(n, one, many) { return n + ' ' + (n === 1 ? one : many); }

export function pad(n) { return String(n).padStart(2, '0'); }
