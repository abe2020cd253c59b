// Numbers as text. Lengths are in seconds.

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

// The function `running` omits digits of a growing length that would change too fast to read.
export function running(seconds) {
  if (!(seconds >= 0)) return '–';
  return seconds < 59.95 ? seconds.toFixed(seconds < 10 ? 1 : 0) + ' s' : brief(seconds);
}

export function ago(seconds) {
  if (Number.isNaN(seconds)) return '–';
  if (seconds < 1) return 'now';
  if (seconds < 60) return Math.floor(seconds) + ' s ago';
  if (seconds < 3600) return Math.floor(seconds / 60) + ' m ago';
  if (seconds < 86400) return Math.floor(seconds / 3600) + ' h ago';
  return Math.floor(seconds / 86400) + ' d ago';
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

function pad(n) { return String(n).padStart(2, '0'); }
