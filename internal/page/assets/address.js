// The address of a view is in the URL's fragment, because fragments work behind every proxy.

const views = ['startups', 'workloads', 'images', 'pulls', 'registries', 'node', 'quality', 'compare'];

// If the page does not know the fragment's view, parse returns the view of start-ups, and the unknown part in
// `ignored`.
export function parse(fragment) {
  const text = fragment.replace(/^#\/?/, '');
  const cut = text.indexOf('?');
  const path = (cut < 0 ? text : text.slice(0, cut)).split('/').map(decode);
  const query = new URLSearchParams(cut < 0 ? '' : text.slice(cut + 1));
  if (path[0] === 'pods' && path.length === 3 && path[1] && path[2]) {
    return { view: 'pod', namespace: path[1], name: path[2], uid: query.get('uid') ?? '' };
  }
  const known = views.includes(path[0]);
  return { view: known ? path[0] : 'startups', query, ignored: known ? '' : path.join('/') };
}

export function ofPod(namespace, name, uid) { return '#/pods/' + podPath({ namespace, name, uid }); }

export function podPath({ namespace, name, uid }) { return encodeURIComponent(namespace) + '/' + encodeURIComponent(name) + (uid ? '?uid=' + encodeURIComponent(uid) : ''); }

// The fragment omits empty settings.
export function ofView(view, settings = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(settings)) if (value) query.set(name, value);
  const text = query.toString();
  return '#/' + (view === 'startups' ? '' : view) + (text ? '?' + text : '');
}

export function ofComparison(a, b) { return ofView('compare', { a: a && idOf(a), b: b && idOf(b) }); }

export function idOf({ namespace, name, uid }) { return [namespace, name, uid ?? ''].map(encodeURIComponent).join('/'); }

export function readID(text) {
  const [namespace, name, uid, ...more] = (text ?? '').split('/').map(decode);
  return namespace && name && more.length === 0 ? { namespace, name, uid: uid ?? '' } : null;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // the link is incomplete
  }
}
