// What the words of a record mean to people, and which style shows them. A word that is not here, of a later agent, is shown as it is.

// causes, in the order of legends. The style of each, colour and pattern, is in tokens.css.
const causes = {
  placement: 'what the pod asks of a node',
  scheduler: 'the scheduler',
  kubelet: 'kubelet',
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
  unknown: 'nobody: no evidence',
};

export function causeNames() { return Object.keys(causes); }

// charged is who is to blame.
export function charged(cause) { return Object.hasOwn(causes, cause) ? causes[cause] : cause; }

// causeStyle is the name of the cause's style.
export function causeStyle(cause) { return Object.hasOwn(causes, cause) ? cause : 'unknown'; }

const phases = {
  scheduling_gate: 'A scheduling gate holds the pod.',
  unschedulable: 'A scheduler finds no node that fits.',
  scheduling: 'Created until a node was chosen.',
  kubelet_pickup: 'Scheduled until kubelet acknowledged the pod.',
  api_server: 'Kubelet cannot read from the API server what the pod needs.',
  pod_config: 'A ConfigMap, a Secret or the runtime class that the pod names is missing.',
  volumes: 'Kubelet mounts volumes before it asks for the sandbox.',
  device: 'A driver prepares a dynamically allocated resource.',
  network: 'The network plugin sets up the sandbox, or the network of the node is not ready.',
  sandbox_image: 'The runtime pulls the sandbox (pause) image.',
  sandbox: 'The runtime starts the sandbox.',
  kubelet_sync: 'Kubelet between two steps.',
  pull_queue: 'Kubelet wants the image and waits for other pulls of the node.',
  pull: 'The runtime asks the registry or its mirror, until the last byte has come.',
  unpack: 'The last byte has come; the runtime still unpacks.',
  image_backoff: 'A pull failed; kubelet waits before it tries again.',
  container_config: 'Kubelet cannot make the container as it is configured.',
  container_create: 'The runtime makes the container.',
  container_start: 'The runtime starts the container.',
  init_run: 'An init container runs.',
  post_start_hook: 'The container runs; kubelet waits for its post-start hook.',
  failed_run: 'A run that ended before the pod was ready.',
  sandbox_lost: 'The sandbox died; lost until the next one begins.',
  crash_backoff: 'A run failed; kubelet waits before it starts the container again.',
  startup_probe: 'The container runs; its startup probe does not pass yet.',
  readiness_probe: 'The container runs; its readiness probe does not pass yet.',
  readiness_gates: 'Containers are ready; a readiness gate is not.',
  unattributed: 'No evidence tells whose time this was.',
};

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
