// A time axis from 0 to a number of seconds.

const steps = [1, 2, 5];

// ticks are the round numbers of an axis, at most so many beside 0.
export function ticks(total, most = 6) {
  if (!(total > 0)) return [0];
  const step = stepOf(total, most);
  const all = [];
  for (let i = 0; i * step <= total * 1.0001; i++) all.push(i * step);
  return all;
}

function stepOf(total, most) {
  if (total > 90) { // minutes and hours are not counted in tens
    for (const step of [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]) if (total / step <= most) return step;
  }
  for (let power = 1e-4; ; power *= 10) {
    for (const step of steps) if (total / (step * power) <= most) return step * power;
  }
}

// tickText is as exact as the axis needs.
export function tickText(seconds, total) {
  if (seconds === 0) return '0 s';
  if (total > 90) {
    const minutes = seconds / 60;
    return minutes < 60 ? +minutes.toFixed(1) + ' m' : +(minutes / 60).toFixed(1) + ' h';
  }
  return +seconds.toPrecision(3) + ' s';
}
