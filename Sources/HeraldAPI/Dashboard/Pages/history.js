// Samples of /metrics over the last 15 minutes, as rates. Counters start again at 0 with the server.

const span = 15 * 60 * 1000;

export class History {
  points = [];
  #last = null;

  /// A page of metrics in the text format of Prometheus.
  add(text, now = Date.now()) {
    const sample = read(text, now);
    if (this.#last) {
      const point = difference(this.#last, sample);
      if (point) this.points.push(point);
    }
    this.#last = sample;
    this.points = this.points.filter((each) => each.time > now - span);
  }
}

function read(text, time) {
  const values = new Map();
  for (const line of text.split("\n")) {
    const space = line.lastIndexOf(" ");
    if (space > 0 && !line.startsWith("#")) values.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  const sum = (prefix) => [...values].reduce((total, [key, value]) => (key.startsWith(prefix) ? total + value : total), 0);
  const buckets = [...values].filter(([key]) => key.startsWith("herald_attempt_duration_seconds_bucket"))
    .map(([key, value]) => ({ bound: Number(/le="([^"]+)"/.exec(key)[1].replace("+Inf", "Infinity")), value }));
  return {
    time, buckets,
    events: sum("herald_events_published_total"),
    succeeded: values.get('herald_attempts_total{outcome="succeeded"}') ?? 0,
    failed: values.get('herald_attempts_total{outcome="failed"}') ?? 0,
  };
}

/// The rates between two samples; `null` if the server was restarted, or unreachable for long.
function difference(before, after) {
  const seconds = (after.time - before.time) / 1000;
  const events = after.events - before.events;
  const succeeded = after.succeeded - before.succeeded;
  const failed = after.failed - before.failed;
  if (seconds <= 0 || events < 0 || succeeded < 0 || failed < 0) return null;
  const attempts = succeeded + failed;
  return {
    time: after.time,
    events: events / seconds,
    deliveries: succeeded / seconds,
    success: attempts > 0 ? (100 * succeeded) / attempts : null,
    latency: percentile(before.buckets, after.buckets, 0.95),
  };
}

/// In milliseconds, from the growth of the histogram; within a bucket a uniform distribution is assumed.
function percentile(before, after, share) {
  const counts = after.map(({ bound, value }, index) => ({ bound, value: value - (before[index]?.value ?? 0) }));
  const total = counts.at(-1)?.value ?? 0;
  if (total <= 0) return null;
  const index = counts.findIndex(({ value }) => value >= share * total);
  const lower = index > 0 ? counts[index - 1] : { bound: 0, value: 0 };
  const upper = counts[index];
  if (upper.bound === Infinity) return lower.bound * 1000;
  const part = (share * total - lower.value) / Math.max(1e-9, upper.value - lower.value);
  return (lower.bound + part * (upper.bound - lower.bound)) * 1000;
}
