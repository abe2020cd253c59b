// Functions for bursts. The pulls of a burst are so close in time that they could have waited for each other. All functions are pure.

const APART = 60000; // minimum time without a pull between two bursts, in milliseconds
const MOST = 40;

// burstOf returns the latest burst of pulls, the oldest first. Each pull has the instants `from`, `to` and `startedAt` in milliseconds.
// `startedAt` is the time of the request to the runtime, or NaN if no source reports this time.
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

// lanesOf puts pulls into as few lanes as possible.
export function lanesOf(burst) {
  const lanes = [];
  const pulling = burst.filter((p) => Number.isFinite(p.startedAt)).sort((a, b) => a.startedAt - b.startedAt);
  for (const p of pulling) {
    const slack = 20; // the timestamps of two sources can overlap
    let lane = lanes.find((l) => l.at(-1).to <= p.startedAt + slack);
    if (!lane) lanes.push(lane = []);
    lane.push(p);
  }
  return lanes;
}
