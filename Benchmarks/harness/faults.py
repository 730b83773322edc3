"""Receivers that half work: what Herald delivers to them, end to end, against the goals of flow control.

The rows about one receiver are delegates of one server, all offered the same events; outages and probes go on beside them in
servers of their own. What one row would disturb in another is measured alone, afterwards."""
import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import math
import os
import statistics
import subprocess
import threading
import time

import plots
import report
from programs import BUILD, HERALD, ROOT, Failed, Herald, Program, Receiver, free_ports, publish

RATE = 200
"""Events per second that each receiver is offered."""
WINDOW = 30
"""The last seconds of the load, in which is measured."""
STOPPING = threading.Event()
"""Whoever waits for something ends early."""
EVENT = {"type": "order.created", "data": {"note": "x" * 300}}


class FaultyReceiver(Program):
    """`herald receiver`: each path has faults of its own, and says in each second what it got."""

    def __init__(self, seed=0):
        port, self.control_port = free_ports(2)
        super().__init__([
            HERALD, "receiver", "--port", str(port), "--control", str(self.control_port), "--quiet", "--seed", str(seed)], port)

    def url(self, target):
        return f"http://127.0.0.1:{self.port}{target}"

    def order(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=30)
        with contextlib.closing(connection):
            status, answer = self.request(method, path, body, connection)
        if status >= 300:
            raise Failed(f"{method} {path} was answered {status}: {answer[:300]}")
        return answer

    def counts(self):
        """By path: lists of numbers, one for each second."""
        return json.loads(self.order("GET", "/counts"))["paths"]

    def seconds(self):
        """Since the counts began."""
        return json.loads(self.order("GET", "/counts"))["seconds"]


@dataclasses.dataclass(frozen=True)
class Row:
    """A figure and what must hold for it."""

    receiver: str
    goal: str
    measured: str
    holds: bool | None
    """`None`: not judged."""
    reason: str = ""

    @property
    def verdict(self):
        return {True: "yes", False: "NO", None: ""}[self.holds]


@dataclasses.dataclass(frozen=True)
class Lane:
    """A receiver under an even load."""

    name: str
    target: str
    kind: str
    """Which goal it has."""
    least: float = 0
    """Useful deliveries per second in the window."""
    most_attempts: float | None = None
    repeats: int = 1
    """Receivers of this kind, of which the mean counts."""
    plot: bool = False


def lanes(repeats):
    for percent in (10, 20, 30, 40, 50):
        for status in (503, 429, 500):
            plot = (status, percent) in ((503, 10), (503, 30), (503, 50))
            kind = "aim" if percent == 40 else "half" if percent == 50 else "lag"
            yield Lane(f"{status} at random, {percent} %", f"/status/{status}/share/{percent}", kind, RATE * 0.6, plot=plot)
    for percent, least in ((1, 0.95), (5, 0.90), (20, 0.70)):
        yield Lane(f"429 with `Retry-After: 1`, {percent} %", f"/status/429/retry-after/1/share/{percent}", "share", RATE * least,
                   plot=percent == 5)
        yield Lane(f"503 with `Retry-After: 1`, {percent} %", f"/status/503/retry-after/1/share/{percent}", "share", RATE * least)
    yield Lane("bucket of 50/s, 429 beyond", "/rate/50/burst/2", "bucket", 45, 75, plot=True)
    yield Lane("1 % hang", "/hang/share/1", "hang", RATE * 0.9, repeats=repeats, plot=True)
    # At most 128 hang at once, four times `max_in_flight`: 170 a second.
    yield Lane("5 % hang", "/hang/share/5", "hang", 100, repeats=repeats, plot=True)
    # What has no goal in the table is shown.
    yield Lane("bucket of 50/s, 50 at once", "/rate/50/burst/50", "bucket", 45, 75)
    yield Lane("50 in each second", "/rate/50/window/1", "shown")
    yield Lane("500 in each 10 s, with `Retry-After`", "/rate/50/window/10/announce", "shown")
    yield Lane("queue of 50/s, room for 10", "/workers/4/delay/0.08/room/10", "shown")
    yield Lane("queue of 100/s, half of it under load", "/workers/10/delay/0.1/room/12/strain/10", "shown")
    yield Lane("slow start: 20 to 200/s in 60 s", "/rate/200/slow-start/60", "shown")
    yield Lane("10 s up, 10 s down (503)", "/status/503/for/10/every/20", "shown", plot=True)
    yield Lane("down 3 s each minute", "/status/503/for/3/every/60", "shown")


# ---- What the server says ----

def delegate(server, identity):
    status, answer = server.request("GET", f"/v1/delegates/{identity}")
    if status != 200:
        raise Failed(f"GET /v1/delegates/{identity} was answered {status}")
    return json.loads(answer)


def reason(seen):
    """What the server says of a delegate that holds it up."""
    flow = seen.get("flow") or {}
    words = [f"status {seen['status']}"]
    words += [f"{name.replace('_', ' ')} {value}" for name, value in flow.items() if value is not None]
    lag = seen["lag"]
    words.append(f"{lag['events']:,} events without an attempt, {lag['in_flight']} in flight, {lag['retrying']:,} to be retried")
    return "; ".join(words)


def wait(seconds):
    if STOPPING.wait(seconds):
        raise Failed("interrupted")


def offer(server, seconds):
    """An even load, which ends early when all do."""
    command = [os.path.join(BUILD, "publish"), "-p", str(server.port), "-c", "16", "-d", str(seconds), "-r", str(RATE), "-s", "400"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while process.poll() is None:
            wait(0.05)
    finally:
        process.kill()
        said, complaint = process.communicate()
    if process.returncode or json.loads(said)["refused"]:
        raise Failed(f"publish: {complaint.strip() or said.strip()}")


def register(server, url, event=EVENT["type"], **settings):
    status, answer = server.request("POST", "/v1/delegates", {"url": url, "events": [event], **settings})
    if status != 201:
        raise Failed(f"registering a delegate was answered {status}: {answer[:300]}")
    return json.loads(answer)["id"]


def post(server, count, event=EVENT["type"]):
    """So many events, in batches."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    with contextlib.closing(connection):
        for first in range(0, count, 500):
            batch = [EVENT | {"type": event}] * min(500, count - first)
            while True:
                status, answer = server.request("POST", "/v1/events", batch, connection)
                if status in (200, 202):
                    break
                if status != 503:
                    raise Failed(f"posting events was answered {status}: {answer[:300]}")
                time.sleep(0.1)


def per_second(numbers, first, last):
    """The mean from second `first` to before second `last`."""
    return sum(numbers[first:last]) / (last - first)


# ---- Rows that go on side by side ----

def even_load(bench, seconds):
    """All lanes on one server and one receiver. They are looked at as soon as the load ends."""
    wanted = [lane for lane in lanes(4 if bench.quick else 10) for _ in range(lane.repeats)]
    with FaultyReceiver() as receiver, Herald(bench.folder()) as server:
        # Chances are drawn by path: the same fault at two paths is two runs.
        paths = [f"/lane/{index}" for index in range(len(wanted))]
        receiver.order("POST", "/script", {path: script(lane.target) for path, lane in zip(paths, wanted)})
        identities = [register(server, receiver.url(path)) for path in paths]
        receiver.order("DELETE", "/counts")
        offer(server, seconds)
        states = [delegate(server, identity) for identity in identities]
        counts = receiver.counts()
    return [(lane, counts.get(path, {}), state) for lane, path, state in zip(wanted, paths, states)]


def script(target):
    """Words of a path as steps in JSON. Numbers stay text, which the receiver takes as well."""
    words = target.split("/")[1:]
    plain = {"hang", "announce", "reset", "close", "together"}
    steps, index = [{}], 0
    while index < len(words):
        name = words[index]
        if name in plain:
            steps[-1][name] = True
            index += 1
        elif name == "then":
            steps.append({"status": words[index + 1]})
            index += 2
        else:
            steps[-1][name] = words[index + 1]
            index += 2
    return steps


def judge_lanes(results, seconds):
    rows, plots = [], []
    for lane, group in grouped(results):
        end = int(seconds)
        useful = statistics.fmean(per_second(padded(c, "useful", end), end - WINDOW, end) for c, _ in group)
        attempts = statistics.fmean(per_second(padded(c, "attempts", end), end - WINDOW, end) for c, _ in group)
        lag = max(state["lag"]["events"] for _, state in group)
        retrying = max(state["lag"]["retrying"] for _, state in group)
        active = all(state["status"] == "active" for _, state in group)
        measured = f"{useful:,.0f}/s useful, {attempts:,.0f}/s attempts, lag {lag:,}"
        if retrying:
            measured += f", {retrying:,} to be retried"
        if lane.repeats > 1:
            measured = f"mean of {len(group)}: " + measured
        worst = min(group, key=lambda pair: sum(pair[0].get("useful", [])))[1]
        goal, holds = {
            "lag": (f"lag ≤ {2 * RATE} events at the end", lag <= 2 * RATE),
            "aim": (f"aim: lag ≤ {2 * RATE} events at the end", None),
            "half": (f"≥ {lane.least:.0f}/s useful", useful >= lane.least),
            "share": (f"≥ {lane.least:.0f}/s useful", useful >= lane.least),
            "bucket": (f"≥ {lane.least:.0f}/s useful, ≤ {lane.most_attempts or 0:.0f}/s attempts",
                       useful >= lane.least and attempts <= (lane.most_attempts or 0)),
            "hang": (f"≥ {lane.least:.0f}/s useful, `active`", useful >= lane.least and active),
            "shown": ("", None),
        }[lane.kind]
        rows.append(Row(lane.name, goal, measured, holds, "" if holds else reason(worst)))
        if lane.plot:
            plots.append({"name": lane.name, "useful": padded(group[0][0], "useful", end),
                          "attempts": padded(group[0][0], "attempts", end)})
    return rows, plots


def grouped(results):
    groups = {}
    for lane, counts, state in results:
        groups.setdefault(lane, []).append((counts, state))
    return groups.items()


def padded(counts, what, seconds):
    numbers = counts.get(what, [])[:seconds]
    return numbers + [0] * (seconds - len(numbers))


def outage(bench, refused, seconds, backlog):
    """A receiver that is down while events gather, and comes back."""
    with FaultyReceiver() as receiver, Herald(bench.folder()) as server:
        identity = register(server, receiver.url("/hook"))
        receiver.order("DELETE", "/counts")
        offer(server, 5)
        began = time.monotonic()
        receiver.order("POST", "/refusal" if refused else "/outage")
        post(server, backlog)
        wait(max(0, seconds - (time.monotonic() - began)))
        receiver.order("POST", "/recovery")
        back = receiver.seconds()
        deadline, delivered = time.monotonic() + 62, False
        while time.monotonic() < deadline:
            wait(1)
            state = delegate(server, identity)
            if sum(state["lag"].values()) == 0:
                break
            if not delivered and any(receiver.counts()["/hook"]["useful"][int(back) + 1:]):
                # As long as the goal allows from now on, and a little more to see what became of it.
                deadline, delivered = time.monotonic() + 35, True
        counts = receiver.counts()["/hook"]
    return {"refused": refused, "seconds": seconds, "backlog": backlog, "back": int(back), "state": state,
            "useful": counts["useful"], "attempts": counts["attempts"]}


def judge_outage(result):
    useful, backlog = result["useful"][result["back"]:], result["backlog"]
    name = f"back after {result['seconds']:.0f} s of {'refused connections' if result['refused'] else '503'}, {backlog:,} held back"
    first = next((second for second, count in enumerate(useful) if count), None)
    done = sum(useful)
    why = reason(result["state"])
    if first is None:
        return [Row(name, "first success ≤ 60 s after its return", f"none in {len(useful)} s", False, why)]
    # From the first success until nearly all of it has come: retries after minutes are another matter.
    total, taken = 0, None
    for second, count in enumerate(useful):
        total += count
        if total >= 0.99 * backlog:
            taken = second - first + 1
            break
    pairs = zip(useful[first:], useful[first + 1:])
    # The first success comes within its second. After less than a minute it may begin with a quarter of the rate before.
    begins = 10 if result["seconds"] >= 60 else RATE / 4
    growth = max((after / max(before, begins) for before, after in pairs), default=0)
    # The count of a second may hold parts of two windows, each twice as fast as the one before.
    return [
        Row(name, "first success ≤ 60 s after its return", f"{first} s", first <= 60, "" if first <= 60 else why),
        Row("", "rate at most doubles each second (counted: ≤ 2.5 ×)", f"{growth:.1f} ×; {', '.join(map(str, useful[first:first + 8]))} …",
            growth <= 2.5, ""),
        Row("", "99 % delivered ≤ 30 s after the first success", f"{taken} s" if taken else f"{done:,} in {len(useful)} s",
            bool(taken and taken <= 30), "" if taken and taken <= 30 else why),
    ]


def failing(bench, count, seconds, settle):
    """Many delegates on one host that fail: how even their probes are."""
    with FaultyReceiver() as receiver, Herald(bench.folder()) as server:
        server.register_many([
            {"url": receiver.url(f"/status/503/delay/1?delegate={n}"), "events": [EVENT["type"]]} for n in range(count)])
        post(server, 50)
        wait(settle)
        receiver.order("DELETE", "/counts")
        wait(seconds)
        started = [0] * int(seconds)
        for path in receiver.counts().values():
            for second, number in enumerate(path["attempts"][:len(started)]):
                started[second] += number
    return {"count": count, "started": started}


def judge_failing(result):
    started = result["started"]
    mean = statistics.fmean(started)
    # A lane that fails is probed each minute at least.
    ratio = max(started) / mean if mean else math.inf
    return [Row(
        f"{result['count']:,} that fail, on one host", "probes that start in a second, and are open (1 s each), ≤ 2 × their mean",
        f"mean {mean:.1f}/s, most {max(started)}/s: {ratio:.1f} ×", ratio <= 2)]


# ---- Rows that are measured alone ----

def hanging_neighbours(bench, count, seconds):
    with Receiver() as good, FaultyReceiver() as bad, Herald(bench.folder()) as server:
        register(server, good.url(1))

        def load():
            good.reset()
            accepted = publish(server, c=8, d=seconds, r=RATE)["accepted"]
            time.sleep(0.5)
            return good.stats() | {"accepted": accepted}

        load()
        alone = load()
        server.register_many([{"url": bad.url(f"/hang?{n}"), "events": ["hang.test"]} for n in range(count)])
        post(server, 40, "hang.test")
        beside = load()
    return {"count": count, "alone": alone, "beside": beside}


def judge_hanging(result):
    alone, beside = result["alone"], result["beside"]
    before, after = alone["latency_us"]["p99"], beside["latency_us"]["p99"]
    name = f"{result['count']:,} that hang beside a healthy one at {RATE}/s"
    all_of_it = beside["unique"] >= beside["accepted"]
    return [
        Row(name, "healthy: all of it", f"{beside['unique']:,} of {beside['accepted']:,}", all_of_it),
        Row("", "healthy: p99 ≤ 3 × alone",
            f"{after / 1000:.1f} ms, alone {before / 1000:.1f} ms: {after / before:.1f} × (p50 "
            f"{beside['latency_us']['p50'] / 1000:.1f}, alone {alone['latency_us']['p50'] / 1000:.1f})" if beside["received"] else "nothing arrived",
            all_of_it and after <= 3 * before),
    ]


def noisy_neighbour(bench, backlog, rounds):
    """Latency of 50 quiet delegates, alone and beside one that works off a backlog."""
    quiet, pairs = 50, []
    with Receiver(quiet) as receiver, Receiver() as noisy, Herald(bench.folder()) as server:
        for number in range(1, quiet + 1):
            register(server, receiver.url(number))

        def load(seconds):
            receiver.reset()
            due = publish(server, c=8, d=seconds, r=20)["accepted"] * quiet
            # Those that are late count as well.
            stats = receiver.wait(due, 30)
            return stats["latency_us"]["p99"], due - stats["unique"]

        identity = register(server, noisy.url(1000), "bulk.load")
        load(2)
        for _ in range(rounds):
            server.request("POST", f"/v1/delegates/{identity}/pause")
            post(server, backlog, "bulk.load")
            time.sleep(1)
            alone, _ = load(10)
            server.request("POST", f"/v1/delegates/{identity}/resume")
            time.sleep(0.5)
            beside, missing = load(5)
            pairs.append((alone, beside, missing, delegate(server, identity)["lag"]["events"]))
            wait_until(lambda: delegate(server, identity)["lag"]["events"] == 0, 60)
    return {"backlog": backlog, "pairs": pairs}


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.2)


def judge_noisy(result):
    alone = statistics.median(pair[0] for pair in result["pairs"])
    beside = statistics.median(pair[1] for pair in result["pairs"])
    missing = sum(pair[2] for pair in result["pairs"])
    measured = f"{beside / 1000:.1f} ms, alone {alone / 1000:.1f} ms: {beside / alone:.1f} ×" if alone else "nothing arrived alone"
    holds = 0 < beside <= 2 * alone and not missing
    if missing:
        measured += f", {missing:,} missing"
    if not all(pair[3] for pair in result["pairs"]):
        measured += ", part of it without the backlog, which had ended"
        holds = None if holds else False
    return [Row(f"one with a backlog of {result['backlog']:,} beside 50 quiet ones", "quiet: p99 ≤ 2 × alone", measured, holds)]


def far_away(bench, count, events):
    """Many delegates whose receivers take 200 ms."""
    with Receiver() as receiver, Herald(bench.folder()) as server:
        server.register_many([
            {"url": receiver.url(n, "?delay_ms=200"), "events": [EVENT["type"]]} for n in range(1, count + 1)])
        time.sleep(1)
        receiver.reset()
        post(server, events)
        stats = receiver.stats()
        deadline = time.monotonic() + 120
        while stats["received"] < count * events and time.monotonic() < deadline:
            time.sleep(0.2)
            stats = receiver.stats()
    return {"count": count, "rate": stats["received"] / max(stats["seconds"], 1e-3), "missing": max(0, count * events - stats["received"])}


def judge_far_away(result):
    # The rate is that between the first and the last arrival: deliveries that never came do not lower it.
    missing = result["missing"]
    measured = f"{result['rate']:,.0f}/s" + (f", {missing:,} missing" if missing else "")
    return [Row(f"{result['count']:,} delegates × 200 ms", "≥ 10,000/s", measured, result["rate"] >= 10_000 and not missing)]


# ---- All of it ----

def faults(bench):
    """Everything, in about 4 minutes or 15; `bench.faults` holds what was found."""
    quick = bench.quick
    seconds = 70 if quick else 600
    down = 60 if quick else 600
    aside = {
        "lanes": lambda: even_load(bench, seconds),
        "outage by 503": lambda: outage(bench, False, down, 50_000),
        "outage by refusal": lambda: outage(bench, True, down, 50_000),
        "failing": lambda: failing(bench, 1_000, 66 if quick else 300, 70 if quick else 300),
    }
    alone = {
        "hanging": lambda: hanging_neighbours(bench, 2_000, 10 if quick else 30),
        "noisy": lambda: noisy_neighbour(bench, 100_000 if quick else 200_000, 1 if quick else 7),
        "far away": lambda: far_away(bench, 1_000, 100 if quick else 300),
    }
    judges = {
        "lanes": lambda found: judge_lanes(found, seconds), "outage by 503": judge_outage,
        "outage by refusal": judge_outage, "failing": judge_failing, "hanging": judge_hanging, "noisy": judge_noisy,
        "far away": judge_far_away,
    }
    found, rows, plots = {}, [], []
    bench.progress(f"{len(aside)} groups of receivers side by side, {seconds} s and more")
    STOPPING.clear()
    with concurrent.futures.ThreadPoolExecutor(len(aside)) as pool:
        pending = {pool.submit(take): name for name, take in aside.items()}
        try:
            for future in concurrent.futures.as_completed(pending):
                found[pending[future]] = future.result()
        except BaseException:
            STOPPING.set()
            raise
    for name, take in alone.items():
        bench.progress(name)
        bench.patience.wait()
        found[name] = take()
    for name, judge in judges.items():
        judged = judge(found[name])
        if name == "lanes":
            judged, plots = judged
        rows += judged
    result = found["outage by 503"]
    plots.append({"name": f"down for {result['seconds']} s (503), {result['backlog']:,} held back",
                  "useful": result["useful"], "attempts": result["attempts"]})
    bench.faults = {"rows": [dataclasses.asdict(row) for row in rows], "plots": plots, "seconds": seconds, "quick": quick}


# ---- What it says ----

RESULT = os.path.join(ROOT, "Benchmarks", "results", "faults.json")
PAGE = os.path.join(ROOT, "Documentation", "measurements", "receivers.md")
PLOT = os.path.join(ROOT, "Documentation", "measurements", "delivery-rates.svg")
BEGIN, END = "<!-- faults:begin -->", "<!-- faults:end -->"
HEADS = ["receiver", "must", "measured", "holds"]


def notes(bench, machine):
    seconds = bench.faults["seconds"]
    return [
        machine,
        f"- {RATE} events/s are offered to each receiver for {seconds} s; rates are means of the last {WINDOW} s; `lag` counts "
        "events without an attempt when the load ends",
    ]


def hold(found):
    return all(row["holds"] is not False for row in found["rows"])


def cells(row):
    return [row["receiver"], row["goal"], row["measured"], {True: "yes", False: "no", None: ""}[row["holds"]]]


def table(found):
    """For a terminal; below it why rows do not hold, as far as the server says."""
    text = report.aligned([HEADS, *map(cells, found["rows"])])
    names, name = [], ""
    for row in found["rows"]:
        name = row["receiver"] or name
        if row["holds"] is False and row["reason"]:
            names.append(f"{name}: {row['reason']}")
    return text + ("\n\nWhat does not hold, and what the server says:\n" + "\n".join(names) if names else "")


def write(found):
    os.makedirs(os.path.dirname(RESULT), exist_ok=True)
    with open(RESULT, "w") as file:
        json.dump(found, file, indent=1, ensure_ascii=False)
        file.write("\n")


def publish_page():
    """Puts the table of the last run between the marks of Documentation/measurements/receivers.md, and draws its plot beside it."""
    with open(RESULT) as file:
        found = json.load(file)
    with open(PAGE) as file:
        text = file.read()
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        raise Failed(f"Documentation/measurements/receivers.md has no {BEGIN} with an {END} behind it")
    made = report.markdown_rows([HEADS, *map(cells, found["rows"])])
    notes = "\n".join(found["notes"])
    plot = "![Deliveries per second over time](delivery-rates.svg)"
    with open(PAGE, "w") as file:
        file.write(f"{text[:begin]}{BEGIN}\n\n{notes}\n\n{made}\n\n{plot}\n\n{text[end:]}")
    plots.rates(found["plots"]).write(PLOT)
    print("written: Documentation/measurements/receivers.md, delivery-rates.svg")
