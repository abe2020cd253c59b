// What the words of a record mean to people, and which style shows them. A word that is not here, of a later agent, is shown as it is.

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

const phases = {
  scheduling_gate: 'A scheduling gate holds the pod.',
  unschedulable: 'The scheduler finds no suitable node.',
  scheduling: 'From creation until the scheduler chose a node.',
  kubelet_pickup: 'From scheduling until the kubelet acknowledged the pod.',
  api_server: 'The kubelet cannot read objects that the pod needs from the API server.',
  pod_config: 'A ConfigMap, Secret or runtime class of the pod is missing.',
  volumes: 'The kubelet mounts volumes before it requests the sandbox.',
  device: 'A driver prepares a dynamically allocated resource.',
  network: 'The network plugin sets up the sandbox, or the network of the node is not ready.',
  sandbox_image: 'The runtime pulls the sandbox (pause) image.',
  sandbox: 'The runtime starts the sandbox.',
  kubelet_sync: 'The kubelet is between two steps.',
  pull_queue: 'The kubelet waits for other pulls on the node before it pulls the image.',
  pull: 'The runtime downloads the image from the registry or its mirror.',
  unpack: 'The download is complete; the runtime is still unpacking.',
  image_backoff: 'A pull failed; the kubelet waits before it retries.',
  container_config: 'The kubelet cannot create the container as configured.',
  container_create: 'The runtime creates the container.',
  container_start: 'The runtime starts the container.',
  init_run: 'An init container runs.',
  post_start_hook: 'The container runs; the kubelet waits for its post-start hook.',
  failed_run: 'A run that ended before the pod was ready.',
  sandbox_lost: 'The sandbox died; time lost until the next one starts.',
  crash_backoff: 'A run failed; the kubelet waits before it restarts the container.',
  startup_probe: 'The container runs; its startup probe has not passed yet.',
  readiness_probe: 'The container runs; its readiness probe has not passed yet.',
  readiness_gates: 'Containers are ready; a readiness gate is not.',
  unattributed: 'No evidence shows the cause of this time.',
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
