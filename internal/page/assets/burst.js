// The pulls that belong together: those that go on, or those that were on last, and what they may have waited for. Pure.

const APART = 60000; // ms without a pull that part two bursts
const MOST = 40;

// burstOf takes pulls with instants in ms, from, to and startedAt (when the runtime was asked; NaN where nobody tells); goes says that
// one goes on. It returns the latest burst, the oldest first.
export function burstOf(pulls) {
  const all = pulls.filter((p) => Number.isFinite(p.from) && Number.isFinite(p.to)).sort((a, b) => b.to - a.to).slice(0, MOST);
  const burst = [];
  let begins = Infinity;
  for (const p of all) {
    if (burst.length > 0 && p.to < begins - APART) break;
    burst.push(p);
    begins = Math.min(begins, p.from);
  }
  return burst.sort((a, b) => a.from - b.from || a.to - b.to);
}

// lanesOf packs what the runtime pulled into as few lanes as it needs: one, on a node that pulls one image at a time.
export function lanesOf(burst) {
  const lanes = [];
  const pulling = burst.filter((p) => Number.isFinite(p.startedAt)).sort((a, b) => a.startedAt - b.startedAt);
  for (const p of pulling) {
    const slack = 20; // what stamps of two sources may overlap by
    let lane = lanes.find((l) => l.at(-1).to <= p.startedAt + slack);
    if (!lane) lanes.push(lane = []);
    lane.push(p);
  }
  return lanes;
}
