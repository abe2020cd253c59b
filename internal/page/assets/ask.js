// Questions to the agent. Addresses are relative to the page's own, wherever a proxy has put it.

import { message } from './text.js';

// Refusal is an answer that is an error; its message says why in the agent's words.
export class Refusal extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

const tries = 4;

// ask asks for JSON. An agent that has too much to do is asked again when it says so.
export async function ask(path, signal) {
  for (let again = 1; ; again++) {
    const answer = await fetch(path, { signal, headers: { Accept: 'application/json' } });
    if (answer.ok) return answer.json();
    if ((answer.status === 429 || answer.status === 503) && again < tries) {
      await answer.body?.cancel();
      await pause(1000 * again * Math.min(Number(answer.headers.get('Retry-After')) || 1, 5), signal);
      continue;
    }
    throw new Refusal(answer.status, await why(answer));
  }
}

async function why(answer) {
  try {
    const { reason } = await answer.json();
    if (reason) return message(reason);
  } catch { /* a proxy's answer is no JSON */ }
  return 'unexpected response: ' + answer.status + ' ' + message(answer.statusText);
}

export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}
