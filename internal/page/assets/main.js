// Wires the page: what is known, the views over it, and the address that says which is shown.

import { parse } from './address.js';
import { mark, restyle, say } from './dom.js';
import { EvidenceView } from './evidenceview.js';
import { Feed } from './feed.js';
import { Health } from './health.js';
import { Known } from './known.js';
import { PodView } from './podview.js';
import { PullsView } from './pullsview.js';
import { RegistriesView } from './registriesview.js';
import { StartUpsView } from './startupsview.js';
import { visible } from './text.js';
import { themeButton } from './theme.js';

const TICK = 1000; // ms between two looks at what grows by itself
const HEALTH = 30000; // ms between two looks at what the stream does not tell

const at = (id) => document.getElementById(id);
const known = new Known();
const health = new Health(() => { drawHealth(); view?.changed(); });
const clock = () => health.now();
const complain = (error) => { trouble = visible(error?.message, 600); drawHealth(); };

const views = {
  startups: new StartUpsView(known, clock, readdress),
  pod: new PodView(known),
  pulls: new PullsView(known, clock, complain),
  registries: new RegistriesView(known, clock, complain),
  evidence: new EvidenceView(health),
};
let view = null;
let cameFromList = false;

// readdress puts what was chosen into the address, without a step back for each letter.
function readdress(address) {
  try {
    history.replaceState(null, '', address);
  } catch { // some browsers allow so many a minute
    location.replace(address); // follows by itself
    return;
  }
  follow();
}

// follow shows what the address says.
function follow() {
  const address = parse(location.hash);
  const next = views[address.view];
  const was = view;
  if (next !== was) {
    cameFromList = was === views.startups;
    was?.hide();
    was?.root.remove();
    at('main').append(next.root);
    view = next;
    trouble = '';
    drawHealth();
  }
  view.show(address);
  if (next !== was) window.scrollTo(0, scrolled.get(next) ?? 0);
  for (const tab of at('views').children) mark(tab, 'aria-current', tab.dataset.view === (address.view === 'pod' ? 'startups' : address.view) ? 'page' : 'false');
  drawTitle();
}

// scrolled is where each view was left, so that who comes back finds the place.
const scrolled = new Map();
window.addEventListener('scroll', () => { if (view !== views.pod) scrolled.set(view, window.scrollY); }, { passive: true });

function drawTitle() {
  const words = [view.title(), health.node ? visible(health.node.node) : '', 'podlapse'].filter(Boolean).join(' · ');
  if (document.title !== words) document.title = words;
}

function drawHealth() {
  const { node } = health;
  if (node) {
    say(at('node'), visible(node.node));
    say(at('version'), 'agent ' + visible(node.agent.version));
  }
  drawTitle();
  const missing = health.complaint();
  const words = refused || trouble || (missing && 'The agent lacks evidence: ' + missing + ' is down. Start-ups are less precise.');
  at('alert').hidden = !words;
  say(at('alert'), words);
}

let refused = ''; // why changes are not told
let trouble = ''; // why a view could not be asked for
let connection = '';

function connected(state, why) {
  refused = state === 'waiting' ? 'Not live: ' + why : '';
  const words = { live: 'live', connecting: 'connecting', waiting: 'not live', away: 'paused' }[state];
  if (connection !== state + refused) {
    if (state === 'live') health.want();
    connection = state + refused;
    drawHealth();
  }
  restyle(at('connection'), 'state ' + state);
  say(at('connection').lastElementChild, words);
  mark(at('connection'), 'title', why || words);
}

function key(event) {
  if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
  const typing = event.target.matches?.('input, select, textarea');
  if (event.key === 'Escape') {
    if (event.target.type === 'search' && event.target.value) {
      event.target.value = '';
      event.target.dispatchEvent(new Event('input'));
    } else if (typing) {
      event.target.blur();
    } else if (view !== views.startups) {
      if (cameFromList) history.back();
      else location.hash = '#/';
    }
  } else if (event.key === '/' && !typing) {
    event.preventDefault();
    if (view !== views.startups) location.hash = '#/';
    follow();
    views.startups.focusSearch();
  } else if (['ArrowDown', 'j'].includes(event.key) && (!typing || event.target.type === 'search') && !(typing && event.key === 'j')) {
    if (view.enter && (document.activeElement === document.body || typing || document.activeElement === at('main'))) {
      event.preventDefault(); // where there is nothing to enter the page scrolls
      view.enter();
    }
  }
}

known.hear((change) => { if (view === views.startups && change.kind !== 'pulls') view.changed(); });
at('skip').addEventListener('click', (event) => { event.preventDefault(); at('main').focus(); });
themeButton(at('theme'));
window.addEventListener('hashchange', follow);
document.addEventListener('keydown', key);
setInterval(() => { if (!document.hidden) view.tick(); }, TICK);
setInterval(() => { if (!document.hidden) health.want(); }, HEALTH);
follow();
new Feed(known, connected).run();
