// Texts and styles for the words in records, such as states and causes. The page shows unknown words, too.

import { ask } from './ask.js';
import { visible } from './text.js';

// The causes, in the order of the legends. tokens.css has the colors and patterns of the causes.
const causes = {
  __proto__: null,
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

// Some causes occur only in the start-up of a node.
const nodeCauses = { __proto__: causes, machine: 'the machine', taint_owner: "the taint's owner", none: 'none (the node waited for a pod)' };

export function causeNames() { return Object.keys(causes); }

export function causeName(cause) { return nodeCauses[cause] ?? visible(cause); }

export function causeStyle(cause) { return cause in nodeCauses ? cause : 'unknown'; }

// possible returns the phases to which the time of a row can belong. If `merged` is not empty, a phase such as
// `image_pull` only stands for the phases in `merged`.
export function possible(phase, merged) {
  return merged.length > 0 && ['unattributed', 'sandbox_setup', 'image_pull'].includes(phase) ? merged : [phase, ...merged];
}

const meanings = new Map(); // a sentence for each phase

export function learnPhases() {
  if (meanings.size === 0) ask('api/v1/phases').then(({ items }) => items.forEach(({ phase, text }) => meanings.set(phase, text))).catch(() => {}); // the page works without `meanings`
}

export function phaseMeans(phase) { return meanings.get(phase) ?? ''; }

export function spaced(word) { return visible(word).replaceAll('_', ' '); }

export function attemptText(name, attempt) { return name + (attempt > 0 ? ' #' + (attempt + 1) : ''); }

// Records number attempts from 0. milestoneText numbers attempts from 1.
export function milestoneText(text) { return visible(text).replace(/#(\d{1,5})$/, (_, n) => ' #' + (+n + 1)); }

const states = {
  __proto__: null,
  starting: '◐',
  ready: '✓',
  succeeded: '✓',
  failed: '✕',
  deleted: '⊘',
  given_up: '…',
};

export function stateNames() { return Object.keys(states); }

export function stateSign(state) { return states[state] ?? '?'; }

export function stateStyle(state) { return state in states ? state : 'other'; }
