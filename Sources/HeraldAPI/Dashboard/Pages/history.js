// Samples of /metrics over the last 15 minutes, as rates. Counters are those of one node, and start again at 0 with it.

const span = 15 * 60 * 1000;
const memory = 30 * 1000;

export class History {
  points = [];
  /// By node, because a load balancer alternates: the last sample, and the rates since the one before.
  #nodes = new Map();

  /// A page of metrics in the text format of Prometheus, and the ids of the nodes that run, if known.
  add(text, ids, now = Date.now()) {
    const sample = read(text, now);
    const last = this.#nodes.get(sample.node)?.sample;
    const change = last ? difference(last, sample) : null;
    this.#nodes.set(sample.node, { sample, change });
    for (const [node, each] of this.#nodes) if (each.sample.time < now - memory || (each.sample !== sample && ids[0] && !ids.some((id) => node.includes(id)))) this.#nodes.delete(node);
    if (change) this.points.push(total([...this.#nodes.values()].map((each) => each.change).filter(Boolean), now));
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
    node: [...values.keys()].find((key) => key.startsWith("herald_build_info")) ?? "",
    events: sum("herald_events_published_total"),
    succeeded: values.get('herald_attempts_total{outcome="succeeded"}') ?? 0,
    failed: values.get('herald_attempts_total{outcome="failed"}') ?? 0,
  };
}

/// The rates of a node between two samples; `null` if it was restarted.
function difference(before, after) {
  const seconds = (after.time - before.time) / 1000;
  const [events, succeeded, failed] = ["events", "succeeded", "failed"].map((key) => after[key] - before[key]);
  if (seconds <= 0 || events < 0 || succeeded < 0 || failed < 0) return null;
  const growth = after.buckets.map(({ bound, value }, index) => ({ bound, value: (value - (before.buckets[index]?.value ?? 0)) / seconds }));
  return { events: events / seconds, succeeded: succeeded / seconds, failed: failed / seconds, growth };
}

function total(nodes, time) {
  const sum = (key) => nodes.reduce((all, each) => all + each[key], 0);
  const attempts = sum("succeeded") + sum("failed");
  const growth = nodes[0].growth.map(({ bound }, index) => ({ bound, value: nodes.reduce((all, each) => all + (each.growth[index]?.value ?? 0), 0) }));
  return {
    time,
    // Each node counts the events of all.
    events: sum("events") / nodes.length,
    deliveries: sum("succeeded"),
    success: attempts > 0 ? 100 * (sum("succeeded") / attempts) : null,
    latency: percentile(growth, 0.95),
  };
}

/// In milliseconds.
function percentile(counts, share) {
  const total = counts.at(-1)?.value ?? 0;
  if (total <= 0) return null;
  const index = counts.findIndex(({ value }) => value >= share * total);
  const lower = index > 0 ? counts[index - 1] : { bound: 0, value: 0 };
  const upper = counts[index];
  if (upper.bound === Infinity) return lower.bound * 1000;
  const part = (share * total - lower.value) / Math.max(1e-9, upper.value - lower.value);
  return (lower.bound + part * (upper.bound - lower.bound)) * 1000;
}
