"""What is measured. Each scenario takes a `Bench`, and adds lines to its report."""
import json
import os
import shutil
import subprocess
import time

from backups import backup
from counts import counts
from embedding import embedding
from faults import faults
from growth import growth
from loads import IN_FLIGHT, hundreds_of_delegates, latency_under_load, one_delegate, sizes, ten_delegates
from machine import machine_seconds
from others import others
from nodes import nodes
from programs import ROOT, Failed, Herald, Ingest, Pipeline, Receiver, StoringHerald, Unstored, built
from pulls import pulls
from report import Goal
from sampling import children_seconds, complete, interleave, own_seconds, sample, take_turns, together
from sending import sending
from soak import small, soak
from streams import idle_streams, live_streams
from transport import tls


def durable_publish(bench):
    variants = {
        "bare": lambda folder: Ingest(folder, durable=False),
        "unstored": Unstored,
        "durable": lambda folder: Ingest(folder, durable=True),
        "herald": StoringHerald,
    }
    bench.progress("durable publish: building")
    built(Unstored.PRODUCT)
    for connections in (64, 1):
        many = connections > 1
        rounds = interleave(
            bench, variants,
            lambda server, _, c=connections: sample(server, c=c, d=bench.seconds))
        title = f"durable publish, {connections} connection{'s' if connections > 1 else ''}"
        bench.keep(title, rounds)
        bench.compare(title, "CPU µs per event", rounds, "cpu_us_per_event", "durable",
                      Goal(most=1.1, aim=1, of=2) if many else Goal(most=1.15, aim=1.05, of=2))
        bench.compare(title, "CPU µs per event, without the log", rounds, "cpu_us_per_event", "bare",
                      Goal(most=1.4, aim=1.2, of=1) if many else None, herald="unstored")
        bench.compare(title, "accepted per second", rounds, "events_per_s", "bare",
                      Goal(least=0.42, aim=0.5, of=3) if many else None)
        bench.compare(title, "accepted per second", rounds, "events_per_s", "durable")
        bench.compare(title, "answered after, p50 µs", rounds, "accepted_p50_us", "durable")
        bench.compare(title, "answered after, p99 µs", rounds, "accepted_p99_us", "durable",
                      Goal(most=1.3, aim=1.1, of=3) if many else None)
        if many:
            bench.compare(title, "peak memory, MiB", rounds, "peak_memory", "durable", scale=1 << 20)


def many_connections(bench):
    title, counts = "durable publish, many connections", (64, 128, 256, 384, 1000)
    rounds = interleave(
        bench, {str(connections): StoringHerald for connections in counts},
        lambda server, connections: sample(server, c=int(connections), d=0.6))
    bench.keep(title, rounds)
    for connections in counts[1:]:
        bench.compare(title, f"accepted per second at {connections}", rounds, "events_per_s", "64",
                      Goal(least=0.6, aim=0.9, of=9), herald=str(connections), reference="itself at 64")


def idle_latency(bench):
    with Receiver() as receiver:
        rounds = interleave(
            bench,
            {
                "pipeline": lambda folder: Pipeline(folder, receiver),
                "herald": lambda folder: Herald(folder, [{"url": receiver.url(1)}]),
            },
            lambda server, _: complete(sample(server, receiver, 1, c=1, r=100, d=bench.seconds * 2)))
    title = "one event at a time, 100 per second"
    bench.keep(title, rounds)
    bench.compare(title, "post to receiver, p50 µs", rounds, "delivered_p50_us", "pipeline", Goal(most=1.1, aim=1, of=8))
    bench.compare(title, "post to receiver, p99 µs", rounds, "delivered_p99_us", "pipeline", Goal(most=1.2, aim=1, of=8))


def many_delegates(bench):
    """An event that 3 delegates want, with and without 10,000 others."""
    others, title = 10_000, "3 delegates of 10,003"
    folder = bench.folder()
    with Receiver() as receiver:
        wanted = [{"url": receiver.url(n), "max_in_flight": IN_FLIGHT, "events": ["order.created"]} for n in (1, 2, 3)]
        unwanted = [{"url": receiver.url(100 + n), "events": [f"other.kind_{n}"]} for n in range(others)]
        with Herald(folder, wanted) as few, Herald(folder, wanted) as many:
            time.sleep(1)
            before = many.memory()
            bench.progress(f"{title}: registering")
            many.register_many(unwanted)
            time.sleep(1)
            grown = (many.memory() - before) / others
            rounds = take_turns(
                bench, {"3 of 3": few, "3 of 10,003": many},
                lambda server: complete(sample(server, receiver, 3, c=64, d=bench.seconds * 4, n=10_000)))
    shutil.rmtree(folder, ignore_errors=True)
    bench.keep(title, rounds)
    bench.compare(title, "CPU µs per event", rounds, "cpu_us_per_event", "3 of 3", Goal(most=1.1, aim=1.05, of=15),
                  herald="3 of 10,003", reference="itself with 3")
    bench.single(title, "memory of an idle delegate, bytes", grown, Goal(most=1400, aim=1024, of=16))


def dead_neighbours(bench):
    """A fast delegate alone, and beside 20 that never answer, under the same even load."""
    dead, title = 20, "beside 20 that never answer"
    folder = bench.folder()
    with Receiver() as receiver, Receiver(dead) as silent:
        fast = [{"url": receiver.url(1), "max_in_flight": IN_FLIGHT}]
        hanging = [{"url": silent.url(number, "?hang=1")} for number in range(1, dead + 1)]
        with Herald(folder, fast) as alone, Herald(folder, fast + hanging) as beside:
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
        bench.single("empty process", "resident memory, MiB", server.memory() / (1 << 20), Goal(most=40, aim=24, of=16))
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
    bench.single(title, "ready after, s", sorted(times)[1], None)


def streams(bench):
    """Clients of the live stream: what one costs that is told nothing, and how soon many are told."""
    folder = bench.folder()
    with Herald(folder) as server:
        time.sleep(1)
        bench.progress("4,000 idle streams")
        grown = idle_streams(server, 4_000)
        bench.single("4,000 idle streams", "memory of one, bytes", grown, Goal(most=16 << 10, aim=4 << 10))
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
    bench.progress("multicast: building")
    program = built("MulticastBenchmark", os.path.join(ROOT, "Benchmarks", "multicast"))

    def take(number):
        bench.progress(f"multicast, round {number} of {bench.rounds}")
        bench.patience.wait()
        return run_multicast(program, calls)

    title = "multicast in the process"
    rounds = together(bench, take)
    bench.keep(title, rounds)

    def compare(what, count, variant, reference, goal=None):
        bench.compare(title, f"ns per {what} of {count:,}", rounds, f"ns_{count}", reference, goal, herald=variant)

    goals = {
        ("counted", 1000): Goal(most=1.5, aim=1.2, of=10),
        ("notification_center", 1): Goal(most=0.25, aim=0.12, of=12),
        ("notification_center", 1000): Goal(most=0.6, aim=0.45, of=12),
    }
    for count in (1, 10, 1000):
        for reference in ("plain", "counted", "weak_boxes", "book", "notification_center"):
            compare("weak delegate", count, "weak", reference, goals.get((reference, count)))
    compare("strong delegate", 1000, "strong", "plain")
    compare("handler", 1000, "handlers", "plain", Goal(most=1.2, aim=0.5, of=11))
    compare("handler, two threads at once,", 1000, "handlers_two_threads", "handlers", Goal(most=1.5, aim=1.1, of=13))
    for count in (1, 10, 1000):
        goal = Goal(most=0.7, aim=0.5, of=12) if count == 1 else None
        compare("handler of a state", count, "state_handlers", "notification_center", goal)
        compare("handler of a state on the main actor", count, "state_main_handlers", "notification_center", goal)
        compare("view controller of a state", count, "state_main_delegates", "notification_center", goal)
        compare("view controller of logins", count, "auth_main_delegates", "notification_center", goal)

    def single(what, figure, most, aim):
        bench.single(title, what, rounds.median("members", figure), Goal(most=most, aim=aim, of=19))

    single("bytes of a weak member", "bytes", 128, 120)
    single("ms to remove 100,000, in order", "forward", 50, 35)
    single("ms to remove 100,000, backwards", "backward", 50, 35)
    single("ms to remove 100,000, at random", "random", 150, 100)
    single("frames between caller and delegate", "frames_multicast", 4, 2)
    single("frames between an assignment and the delegate of a state", "frames_state", 4, 2)
    single("frames between a login and its delegate", "frames_auth", 4, 2)


def run_multicast(program, calls):
    (busy, total), ours = machine_seconds(), own_seconds() + children_seconds()
    run = subprocess.run([program, str(calls)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise Failed(f"MulticastBenchmark: {run.stderr.strip()}")
    now_busy, now_total = machine_seconds()
    ours = own_seconds() + children_seconds() - ours
    foreign = max(0.0, now_busy - busy - ours) / max(0.01, now_total - total)
    return {variant: figures | {"foreign_cpu": foreign} for variant, figures in json.loads(run.stdout).items()}


ALL = {
    "counts": counts,
    "publish": durable_publish,
    "embedding": embedding,
    "sizes": sizes,
    "connections": many_connections,
    "backup": backup,
    "one": one_delegate,
    "ten": ten_delegates,
    "hundreds": hundreds_of_delegates,
    "sending": sending,
    "latency": idle_latency,
    "load": latency_under_load,
    "many": many_delegates,
    "dead": dead_neighbours,
    "tls": tls,
    "resident": resident,
    "growth": growth,
    "streams": streams,
    "pulls": pulls,
    "multicast": multicast,
    "others": others,
    "soak": soak,
    "small": small,
    "faults": faults,
    "nodes": nodes,
}

# What is measured only when --only names it: faults are about rates that somebody else sets, and nodes about the database.
APART = ("faults", "nodes")

# What --quick leaves out, unless --only names it.
LONG = ("sizes", "connections", "backup", "hundreds", "load", "growth", "pulls", "others", "soak", "small")
