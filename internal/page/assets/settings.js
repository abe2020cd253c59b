// The reader's settings, which the browser stores, and the theme.

import { write } from './dom.js';

const THEME = 'podlapse-theme';
const order = ['system', 'dark', 'light'];

export function themeButton(button) {
  let theme = order.includes(kept(THEME)) ? kept(THEME) : 'system';
  const apply = () => {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    write(button, 'theme: ' + theme);
  };
  button.addEventListener('click', () => {
    theme = order[(order.indexOf(theme) + 1) % order.length];
    keep(THEME, theme);
    apply();
  });
  apply();
}

export function kept(key) {
  try { return localStorage.getItem(key) ?? ''; } catch { return ''; }
}

export function keep(key, value) {
  try { localStorage.setItem(key, value); } catch { /* the setting lasts until the page is closed */ }
}
