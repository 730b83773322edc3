"""What is measured. Each scenario takes a `Bench`, and adds lines to its report."""
import json
import shutil
import subprocess
import time

from machine import machine_seconds
from programs import MULTICAST, Failed, Herald, Ingest, Pipeline, Receiver, publish
from report import Goal
from streams import idle_streams, live_streams
from sampling import children_seconds, interleave, own_seconds, sample, take_turns, together

IN_FLIGHT = 64


def durable_publish(bench):
    for connections in (64, 1):
        rounds = interleave(
            bench,
            {
                "bare": lambda folder: Ingest(folder, durable=False),
                "durable": lambda folder: Ingest(folder, durable=True),
                "herald": Herald,
            },
            lambda server, _, c=connections: sample(server, c=c, d=bench.seconds))
        title = f"durable publish, {connections} connection{'s' if connections > 1 else ''}"
        bench.keep(title, rounds)
        many = connections > 1
        bench.compare(title, "CPU µs per event", rounds, "cpu_us_per_event", "durable",
                      Goal(most=1.35, aim=1.1) if many else None)
        bench.compare(title, "accepted per second", rounds, "events_per_s", "bare",
                      Goal(least=0.30, aim=0.42) if many else None)
        bench.compare(title, "accepted per second", rounds, "events_per_s", "durable")
        bench.compare(title, "answered after, p50 µs", rounds, "accepted_p50_us", "durable")
        bench.compare(title, "answered after, p99 µs", rounds, "accepted_p99_us", "durable")
        if many:
            bench.compare(title, "peak memory, MiB", rounds, "peak_memory", "durable", scale=1 << 20)


def many_connections(bench):
    if bench.quick:
        return
    title, counts = "durable publish, many connections", (64, 128, 256, 384, 1000)
    rounds = interleave(
        bench, {str(connections): Herald for connections in counts},
        lambda server, connections: sample(server, c=int(connections), d=1))
    bench.keep(title, rounds)
    for connections in counts[1:]:
        bench.compare(title, f"accepted per second at {connections}", rounds, "events_per_s", "64",
                      Goal(least=0.6, aim=0.9), herald=str(connections), reference="itself at 64")


def whole_path(bench, delegates, events):
    with Receiver(delegates) as receiver:
        def herald(folder):
            return WithDelegates(folder, [
                {"url": receiver.url(number), "max_in_flight": IN_FLIGHT} for number in range(1, delegates + 1)])

        rounds = interleave(
            bench,
            {"pipeline": lambda folder: Pipeline(folder, receiver), "herald": herald},
            lambda server, _: complete(sample(
                server, receiver, delegates, c=64, d=bench.seconds * 2, n=events if not bench.quick else events // 2)))
    title = f"whole path, {delegates} delegate{'s' if delegates > 1 else ''}"
    bench.keep(title, rounds)
    one = delegates == 1
    bench.compare(title, "CPU µs per delivery", rounds, "cpu_us_per_delivery", "pipeline",
                  Goal(most=1.4, aim=1.15) if one else Goal(most=1.35, aim=1.1))
    bench.compare(title, "deliveries per second", rounds, "deliveries_per_s", "pipeline",
                  None if one else Goal(least=0.75, aim=0.92))
    bench.compare(title, "accepted per second", rounds, "events_per_s", "pipeline")
    bench.compare(title, "peak memory, MiB", rounds, "peak_memory", "pipeline", scale=1 << 20)


def one_delegate(bench):
    whole_path(bench, 1, 40_000)


def ten_delegates(bench):
    whole_path(bench, 10, 12_000)


def idle_latency(bench):
    with Receiver() as receiver:
        rounds = interleave(
            bench,
            {
                "pipeline": lambda folder: Pipeline(folder, receiver),
                "herald": lambda folder: WithDelegates(folder, [{"url": receiver.url(1)}]),
            },
            lambda server, _: complete(sample(server, receiver, 1, c=1, r=100, d=bench.seconds)))
    title = "one event at a time, 100 per second"
    bench.keep(title, rounds)
    bench.compare(title, "post to receiver, p50 µs", rounds, "delivered_p50_us", "pipeline", Goal(most=1.6, aim=1.15))
    bench.compare(title, "post to receiver, p99 µs", rounds, "delivered_p99_us", "pipeline")


def many_delegates(bench):
    """An event that 3 delegates want, with and without 10,000 others."""
    others, title = 10_000, "3 delegates of 10,003"
    folder = bench.folder()
    with Receiver() as receiver:
        wanted = [{"url": receiver.url(n), "max_in_flight": IN_FLIGHT, "events": ["order.created"]} for n in (1, 2, 3)]
        unwanted = [{"url": receiver.url(100 + n), "events": [f"other.kind_{n}"]} for n in range(others)]
        with WithDelegates(folder, wanted) as few, WithDelegates(folder, wanted) as many:
            time.sleep(1)
            before = many.memory()
            bench.progress(f"{title}: registering")
            many.register_many(unwanted)
            time.sleep(1)
            grown = (many.memory() - before) / others
            rounds = take_turns(
                bench, {"3 of 3": few, "3 of 10,003": many},
                lambda server: complete(sample(server, receiver, 3, c=64, d=bench.seconds, n=10_000)))
    shutil.rmtree(folder, ignore_errors=True)
    bench.keep(title, rounds)
    bench.compare(title, "CPU µs per event", rounds, "cpu_us_per_event", "3 of 3", Goal(most=1.2, aim=1.1),
                  herald="3 of 10,003", reference="itself with 3")
    bench.single(title, "memory of an idle delegate, bytes", grown, Goal(most=2048, aim=1024))


def dead_neighbours(bench):
    """A fast delegate alone, and beside 20 that never answer, under the same even load."""
    dead, title = 20, "beside 20 that never answer"
    folder = bench.folder()
    with Receiver() as receiver, Receiver(dead) as silent:
        fast = [{"url": receiver.url(1), "max_in_flight": IN_FLIGHT}]
        hanging = [{"url": silent.url(number, "?hang=1")} for number in range(1, dead + 1)]
        with WithDelegates(folder, fast) as alone, WithDelegates(folder, fast + hanging) as beside:
            rounds = take_turns(
                bench, {"alone": alone, "beside the dead": beside},
                lambda server: complete(sample(
                    server, receiver, 1, beside=(silent,), warm_up=0, c=8, r=500, d=bench.seconds * 1.5)))
            hung = silent.stats()["hanging"]
    if hung < dead:
        raise Failed(f"only {hung} callbacks hung: the dead delegates were not dead")
    shutil.rmtree(folder, ignore_errors=True)
    bench.keep(title, rounds)
    for figure in ("p50", "p99"):
        bench.compare(title, f"post to receiver, {figure} µs, 500 events/s", rounds, f"delivered_{figure}_us", "alone",
                      Goal(most=2, aim=1.2), herald="beside the dead", reference="itself without")


def resident(bench):
    """The process that does nothing yet, and how soon one with a history is ready."""
    events, delegates = 100_000, 1_000
    folder = bench.folder()
    bench.progress("starting with a history")
    with Herald(folder) as server:
        time.sleep(1)
        bench.single("empty process", "resident memory, MiB", server.memory() / (1 << 20), Goal(most=40, aim=24))
        server.register_many(
            [{"url": f"http://127.0.0.1:9/hook/{n}", "events": [f"other.kind_{n}"]} for n in range(delegates)])
        event = {"type": "order.created", "data": {"note": "x" * 400}}
        for _ in range(events // 500):
            server.request("POST", "/v1/events", [event] * 500)
        time.sleep(0.5)
        server.stop()
        times = []
        for _ in range(3):
            bench.patience.wait()
            began = time.monotonic()
            server.start()
            times.append(time.monotonic() - began)
            server.stop()
        server.start()
    shutil.rmtree(folder, ignore_errors=True)
    title = "start with 100,000 events, 1,000 delegates"
    bench.single(title, "ready after, s", sorted(times)[1], Goal(most=2, aim=0.5))


def streams(bench):
    """Clients of the live stream: what one costs that is told nothing, and how soon many are told."""
    folder = bench.folder()
    with Herald(folder) as server:
        time.sleep(1)
        bench.progress("5,000 idle streams")
        grown = idle_streams(server, 5_000)
        bench.single("5,000 idle streams", "memory of one, bytes", grown, Goal(most=16 << 10, aim=4 << 10))
    with Herald(folder) as server:
        bench.progress("1,000 live streams")
        bench.patience.wait()
        told = live_streams(server, 1_000, 20 if bench.quick else 100)
        title = "1,000 live streams, one event at a time"
        bench.single(title, "post to client, p50 ms", told["p50"], Goal(most=100, aim=20))
        bench.single(title, "post to client, p99 ms", told["p99"], None)
    shutil.rmtree(folder, ignore_errors=True)


def multicast(bench):
    """The library alone, in one process: nanoseconds for each delegate that is told, in several ways."""
    calls = 500_000 if bench.quick else 2_000_000

    def take(number):
        bench.progress(f"multicast, round {number} of {bench.rounds}")
        bench.patience.wait()
        return run_multicast(calls)

    title = "multicast in the process"
    rounds = together(bench, take)
    bench.keep(title, rounds)

    def compare(what, count, variant, reference, goal=None):
        bench.compare(title, f"ns per {what} of {count:,}", rounds, f"ns_{count}", reference, goal, herald=variant)

    goals = {
        ("plain", 1000): Goal(most=5, aim=3.6),
        ("counted", 1000): Goal(most=5, aim=3.6),
        ("notification_center", 1): Goal(most=0.25, aim=0.12),
        ("notification_center", 1000): Goal(most=0.6, aim=0.45),
    }
    for count in (1, 10, 1000):
        for reference in ("plain", "counted", "weak_boxes", "book", "notification_center"):
            compare("weak delegate", count, "weak", reference, goals.get((reference, count)))
    compare("strong delegate", 1000, "strong", "plain")
    compare("handler", 1000, "handlers", "plain", Goal(most=1.2, aim=0.5))
    compare("handler, two threads at once,", 1000, "handlers_two_threads", "handlers", Goal(most=1.5, aim=1.1))


def run_multicast(calls):
    (busy, total), ours = machine_seconds(), own_seconds() + children_seconds()
    run = subprocess.run([MULTICAST, str(calls)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise Failed(f"MulticastBenchmark: {run.stderr.strip()}")
    now_busy, now_total = machine_seconds()
    ours = own_seconds() + children_seconds() - ours
    foreign = max(0.0, now_busy - busy - ours) / max(0.01, now_total - total)
    return {variant: figures | {"foreign_cpu": foreign} for variant, figures in json.loads(run.stdout).items()}


class WithDelegates(Herald):
    """Herald with delegates registered as soon as it runs."""

    def __init__(self, folder, delegates):
        super().__init__(folder)
        self.delegates = delegates

    def start(self):
        super().start()
        self.register(self.delegates)


def complete(figures):
    """A server that loses events is not fast."""
    if figures["missing"]:
        raise Failed(f"{figures['missing']} of {figures['events']} events did not arrive everywhere")
    return figures


ALL = {
    "publish": durable_publish,
    "connections": many_connections,
    "one": one_delegate,
    "ten": ten_delegates,
    "latency": idle_latency,
    "many": many_delegates,
    "dead": dead_neighbours,
    "resident": resident,
    "streams": streams,
    "multicast": multicast,
}
