import { element, mark, write } from './dom.js';

const kinds = { __proto__: null, Deployment: 'deploy', StatefulSet: 'sts', DaemonSet: 'ds', ReplicaSet: 'rs', Job: 'job', CronJob: 'cronjob' };

// Readers paste the commands into a shell. Therefore, a command contains only names that Kubernetes allows.
const legal = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

export function explainPod(namespace, name) {
  return legal.test(namespace) && legal.test(name) ? 'kubectl podlapse explain ' + name + ' -n ' + namespace : '';
}

export function explainWorkload(workload, node, revisions = '') {
  const [namespace, kind, name] = workload.split('/');
  return legal.test(namespace) && legal.test(name ?? '') && kinds[kind] ? 'kubectl podlapse explain ' + kinds[kind] + '/' + name + ' -n ' + namespace + (revisions && revisions.split(',').every((r) => legal.test(r)) ? ' --revision ' + revisions : '') + (legal.test(node) ? ' --node ' + node : '') : '';
}

export function ofNode(command, node) { return legal.test(node) ? 'kubectl podlapse ' + command + node : ''; }

// A loopback URL works only on this computer. For a loopback URL, linkOf returns a command and the URL's fragment instead.
export function linkOf({ hostname, href, hash }, node) {
  if (!/^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return href;
  return (ofNode('page ', node) || 'kubectl podlapse page NODE') + "\nThen add this to the address that the command prints: '" + (hash || '#/').replaceAll("'", '%27') + "'";
}

// The command contains no filter except `owner`. Therefore, the page lists the other filters.
export function shareButtons(commandOf, nodeOf, filtersOf = () => ({})) {
  const command = copyButton('Copy command', commandOf);
  const link = copyButton('Copy link', () => linkOf(location, nodeOf()));
  const without = element('small');
  const root = element('span', 'share', command, without, link);
  return { root, draw: () => {
    command.hidden = commandOf() === '';
    const names = Object.entries(filtersOf()).filter(([name, value]) => value && name !== 'owner').map(([name]) => name);
    write(without, command.hidden || names.length === 0 ? '' : 'without the filters: ' + names.join(', '));
    mark(command.firstChild, 'title', commandOf());
    mark(link.firstChild, 'title', linkOf(location, nodeOf()));
  } };
}

function copyButton(label, textOf) {
  const button = element('button', { className: 'quiet', type: 'button' }, label);
  const text = element('code');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(textOf());
      write(button, 'Copied');
      setTimeout(() => write(button, label), 2000);
    } catch { // writeText works only with TLS or on loopback
      write(text, textOf());
    }
  });
  return element('span', 'copy', button, text);
}
