// Texts and styles for the words in records. The page shows an unknown word unchanged.

import { count, exact, percent } from './format.js';
import { phases } from './phases.js';
import { visible } from './text.js';

// The causes, in the order of the legends. tokens.css has the colours and patterns of the causes.
const causes = {
  placement: "the pod's placement rules",
  scheduler: 'the scheduler',
  kubelet: 'the kubelet',
  api_server: 'the API server',
  volumes: 'volumes',
  device: 'a device driver',
  network: 'the network plugin',
  runtime: 'the runtime',
  config: "the pod's configuration",
  pull_queue: "the node's pull queue",
  registry: 'the registry or its mirror',
  disk: 'the disk',
  app: 'the application',
  gate: 'the owner of a gate',
  backoff: 'back-off',
  sandbox_setup: 'volumes, network or runtime',
  image_pull: 'the registry or the disk',
  unknown: 'unknown (no evidence)',
};

export function causeNames() { return Object.keys(causes); }

export function causeName(cause) { return Object.hasOwn(causes, cause) ? causes[cause] : cause; }

export function shortCause(cause) { return visible(cause).replaceAll('_', ' '); }

export function mostCauses(causes, nameOf) {
  const whole = causes.reduce((sum, { seconds }) => sum + seconds, 0);
  return causes.slice(0, 3).filter(({ seconds }) => seconds > 0).map(({ cause, seconds }) => nameOf(visible(cause)) + ' ' + percent(seconds, whole)).join(', ');
}

export function causeStyle(cause) { return Object.hasOwn(causes, cause) ? cause : 'unknown'; }

// The function `possible` returns the phases that the time of a row can belong to. A group of phases lists its members in `merged`.
export function possible(phase, merged) {
  return merged.length > 0 && ['unattributed', 'sandbox_setup', 'image_pull'].includes(phase) ? merged : [phase, ...merged];
}

export function phaseMeans(phase) { return Object.hasOwn(phases, phase) ? phases[phase] : ''; }

export function phaseName(phase) { return String(phase).replaceAll('_', ' '); }

export function attemptText(name, attempt) { return name + (attempt > 0 ? ' #' + (attempt + 1) : ''); }

// milestoneText counts attempts from 1. Records count attempts from 0.
export function milestoneText(text) { return visible(text).replace(/#(\d{1,5})$/, (_, n) => ' #' + (+n + 1)); }

// waitsOf describes how other pulls delayed a pull.
export function waitsOf(p) {
  const by = p.blocked_by;
  return [by?.seconds > 0 ? 'waited ' + exact(by.seconds) + ' behind ' + (by.image === p.image ? 'the same image' : visible(by.image, 400)) + ' of ' + visible(by.namespace) + '/' + visible(by.pod) :
    p.pulls_ahead > 1 ? 'behind ' + p.pulls_ahead + ' pulls' : '', p.pulls_beside > 0 ? 'beside ' + count(p.pulls_beside, 'other pull', 'other pulls') : ''].filter(Boolean).join(', ');
}

export function outcomeText(p) { return visible(p.outcome) + (p.failure ? ': ' + phaseName(visible(p.failure)) : ''); }

const states = {
  starting: '◐',
  ready: '✓',
  succeeded: '✓',
  failed: '✕',
  deleted: '⊘',
  given_up: '…',
};

export function stateNames() { return Object.keys(states); }

export function stateSign(state) { return Object.hasOwn(states, state) ? states[state] : '?'; }

export function stateStyle(state) { return Object.hasOwn(states, state) ? state : 'other'; }

export { phaseName as stateName };
