// What the words of a record mean to people, and which style shows them. A word that is not here, of a later agent, is shown as it is.

import { phases } from './phases.js';

// causes, in the order of legends. The style of each, colour and pattern, is in tokens.css.
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
  unknown: 'unknown (no evidence)',
};

export function causeNames() { return Object.keys(causes); }

// charged is who is to blame.
export function charged(cause) { return Object.hasOwn(causes, cause) ? causes[cause] : cause; }

// causeStyle is the name of the cause's style.
export function causeStyle(cause) { return Object.hasOwn(causes, cause) ? cause : 'unknown'; }

// phaseMeans is one sentence; empty for a phase that is not known.
export function phaseMeans(phase) { return Object.hasOwn(phases, phase) ? phases[phase] : ''; }

// phaseName is a phase in prose.
export function phaseName(phase) { return String(phase).replaceAll('_', ' '); }

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

// stateStyle is the name of the state's style.
export function stateStyle(state) { return Object.hasOwn(states, state) ? state : 'other'; }

export function stateName(state) { return String(state).replaceAll('_', ' '); }
