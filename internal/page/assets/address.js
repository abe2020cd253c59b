// The address of a view. All of it is in the fragment: it is the same behind every proxy, no server sees it, and whoever gets the
// link sees what its sender saw.

const views = ['startups', 'pulls', 'registries', 'evidence'];

// parse reads a fragment. What it does not know it ignores, so that a link of a later version still leads somewhere.
export function parse(fragment) {
  const text = fragment.replace(/^#\/?/, '');
  const cut = text.indexOf('?');
  const path = (cut < 0 ? text : text.slice(0, cut)).split('/').map(decode);
  const query = new URLSearchParams(cut < 0 ? '' : text.slice(cut + 1));
  if (path[0] === 'pods' && path.length === 3 && path[1] && path[2]) {
    return { view: 'pod', namespace: path[1], name: path[2], uid: query.get('uid') ?? '' };
  }
  if (views.includes(path[0])) return { view: path[0], query };
  return { view: 'startups', query };
}

export function ofPod(namespace, name, uid) {
  return '#/pods/' + encodeURIComponent(namespace) + '/' + encodeURIComponent(name) + (uid ? '?uid=' + encodeURIComponent(uid) : '');
}

// ofView is the address of a view with those of the settings that are not empty.
export function ofView(view, settings = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(settings)) if (value) query.set(name, value);
  const text = query.toString();
  return '#/' + (view === 'startups' ? '' : view) + (text ? '?' + text : '');
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // somebody cut the link
  }
}
