// Connects the start-ups, the views and the page's address. The address selects the view.

import { parse } from './address.js';
import { ignoredIn } from './choice.js';
import { CompareView } from './compareview.js';
import { mark, restyle, write } from './dom.js';
import { Feed } from './feed.js';
import { GroupsView } from './groupsview.js';
import { Health } from './health.js';
import { Known } from './known.js';
import { NodeView } from './nodeview.js';
import { PodView } from './podview.js';
import { PullsView } from './pullsview.js';
import { QualityView } from './qualityview.js';
import { RegistriesView } from './registriesview.js';
import { themeButton, zoneButton } from './settings.js';
import { StartUpsView } from './startupsview.js';
import { visible } from './text.js';

const TICK = 1000; // milliseconds between updates of durations that still grow
const HEALTH = 30000; // milliseconds between requests for data that the stream does not contain

const at = (id) => document.getElementById(id);
const known = new Known();
const health = new Health(() => { drawHealth(); view?.changed(); });
const clock = () => health.now();
const nodeOf = () => health.node?.node ?? '';
const complain = (error) => { trouble = visible(error?.message, 600); drawHealth(); };

const views = {
  startups: new StartUpsView(known, clock, readdress, nodeOf),
  pod: new PodView(known, nodeOf),
  compare: new CompareView(known, nodeOf),
  workloads: new GroupsView('workloads', known, clock, readdress, nodeOf, complain),
  images: new GroupsView('images', known, clock, readdress, nodeOf, complain),
  pulls: new PullsView(known, clock, complain, readdress, nodeOf),
  registries: new RegistriesView(known, clock, complain, nodeOf),
  node: new NodeView(known, nodeOf, health),
  quality: new QualityView(health),
};
let view = null;
let shown = ''; // the name of the view
let cameFromList = false;

// readdress changes the page's address without a new entry in the browser's history.
function readdress(address) {
  try {
    history.replaceState(null, '', address);
  } catch { // some browsers limit calls to replaceState
    location.replace(address); // the event `hashchange` calls the function `follow`
    return;
  }
  follow();
}

function follow() {
  const address = parse(location.hash);
  shown = address.view;
  const next = views[shown];
  const was = view;
  if (next !== was) {
    cameFromList = was === views.startups;
    was?.hide?.();
    was?.root.remove();
    at('main').append(next.root);
    view = next;
    trouble = '';
  }
  view.show(address);
  if (next !== was) window.scrollTo(0, scrolled.get(next) ?? 0);
  const tabOf = ['pod', 'compare'].includes(shown) ? 'startups' : shown;
  for (const tab of at('views').children) mark(tab, 'aria-current', tab.dataset.view === tabOf ? 'page' : 'false');
  ignored = address.ignored || address.query && ignoredIn(address.query);
  drawHealth();
}

// scrolled holds the scroll position of every view except views.pod.
const scrolled = new Map();
window.addEventListener('scroll', () => { if (view !== views.pod) scrolled.set(view, window.scrollY); }, { passive: true });

function drawTitle() {
  const words = [view.title?.() ?? shown, health.node ? visible(health.node.node) : '', 'podlapse'].filter(Boolean).join(' · ');
  if (document.title !== words) document.title = words;
}

function drawHealth() {
  const { node } = health;
  if (node) {
    write(at('node'), visible(node.node));
    write(at('version'), 'agent ' + visible(node.agent.version));
  }
  drawTitle();
  const missing = health.complaint();
  const words = refused || trouble || (ignored && 'The page ignores a part of the address: ' + visible(ignored) + '.') || (missing && 'A data source of the agent fails: ' + missing + ' is down. Start-ups are less precise.');
  at('alert').hidden = !words;
  write(at('alert'), words);
}

let refused = ''; // why the stream is closed
let trouble = ''; // why the request of a view failed
let ignored = ''; // the part of the address that the page does not understand
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
  write(at('connection').lastElementChild, words);
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
      event.preventDefault(); // prevents the browser from scrolling the page
      view.enter();
    }
  }
}

known.listen((change) => { if (view === views.startups && change.kind !== 'pulls') view.changed(); });
at('skip').addEventListener('click', (event) => { event.preventDefault(); at('main').focus(); });
themeButton(at('theme'));
zoneButton(at('zone'), follow);
window.addEventListener('hashchange', follow);
document.addEventListener('keydown', key);
setInterval(() => { if (!document.hidden) view.tick?.(); }, TICK);
setInterval(() => { if (!document.hidden) health.want(); }, HEALTH);
follow();
new Feed(known, connected).run();
