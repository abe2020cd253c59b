// The reader's settings, which the browser stores: the theme and the time zone. Instants are in ms since 1970.

import { mark, write } from './dom.js';
import { pad } from './text.js';

const THEME = 'podlapse-theme';
const order = ['system', 'dark', 'light'];

export function themeButton(button) {
  let theme = order.includes(kept(THEME)) ? kept(THEME) : 'system';
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    write(button, 'theme: ' + theme);
  };
  button.addEventListener('click', () => {
    theme = order[(order.indexOf(theme) + 1) % order.length];
    keep(THEME, theme);
    apply();
  });
  apply();
}

function kept(key) {
  try { return localStorage.getItem(key) ?? ''; } catch { return ''; }
}

function keep(key, value) {
  try { localStorage.setItem(key, value); } catch { /* the setting lasts until the page is closed */ }
}

const ZONE = 'podlapse-time';
const LATEST = 8.64e15 - 864e5; // the latest possible Date is 8.64e15 ms after 1970

let local = kept(ZONE) === 'local';

export function zoneButton(button, changed) {
  const apply = () => {
    write(button, local ? 'time: local' : 'time: UTC');
    mark(button, 'aria-label', (local ? 'Times are in local time' : 'Times are in UTC') + '. Switch to ' + (local ? 'UTC' : 'local time') + '.');
  };
  button.addEventListener('click', () => {
    local = !local;
    keep(ZONE, local ? 'local' : 'utc');
    apply();
    changed();
  });
  apply();
}

export function clock(at) { return known(at) ? iso(at).slice(11, 23) : '–'; }

export function clockZone(at) { return known(at) ? clock(at) + ' ' + zoneOf(at) : '–'; }

export function stamp(at) { return known(at) ? iso(at).slice(0, 23).replace('T', ' ') + ' ' + zoneOf(at) : '–'; }

export function zoneOf(at) {
  if (!local) return 'UTC';
  const minutes = -new Date(at).getTimezoneOffset();
  return (minutes < 0 ? '-' : '+') + pad(Math.floor(Math.abs(minutes) / 60)) + ':' + pad(Math.abs(minutes) % 60);
}

// fieldOf formats an instant for an input of type datetime-local. atOf parses the value of such an input.
export function fieldOf(at) { return known(at) ? iso(at).slice(0, 19) : ''; }

export function atOf(field) { return field ? Date.parse(local ? field : field + 'Z') : NaN; }

function known(at) { return Number.isFinite(at) && Math.abs(at) < LATEST; }

function iso(at) { return new Date(local ? at - 60000 * new Date(at).getTimezoneOffset() : at).toISOString(); }
