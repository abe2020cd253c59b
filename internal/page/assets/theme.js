// Dark or light, as the system has it or as the reader wants it here.

import { say } from './dom.js';

const KEY = 'podlapse-theme';
const order = ['system', 'dark', 'light'];

export function themeButton(button) {
  let theme = order.includes(kept()) ? kept() : 'system';
  const apply = () => {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    say(button, 'theme: ' + theme);
  };
  button.addEventListener('click', () => {
    theme = order[(order.indexOf(theme) + 1) % order.length];
    try { localStorage.setItem(KEY, theme); } catch { /* a browser may keep nothing */ }
    apply();
  });
  apply();
}

function kept() {
  try { return localStorage.getItem(KEY) ?? ''; } catch { return ''; }
}
