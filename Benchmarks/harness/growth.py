"""What becomes of the cost of an event when a server has ten times as much of everything. Two servers with a history, one
of them with a tenth of the other's, get the same load in turns; then the large one is started again, and drained.
Goals that are made for a million events are not judged by the few of --quick."""
import http.client
import json
import shutil
import time

from loads import wanted_by
from programs import Failed, Herald, Receiver
from report import Goal
from sampling import complete, sample, take_turns

BATCH = 500
SETTLING = 1


def growth(bench):
    events, delegates = (20_000, 2_000) if bench.quick else (1_000_000, 100_000)
    folder = bench.folder()
    with Receiver() as receiver:
        wanted = [entry | {"events": ["order.created"]} for entry in wanted_by(receiver, 1)]
        with Herald(folder, wanted) as small, Herald(folder, wanted) as large:
            sizes = ((small, events // 10), (large, events))
            grow_log(bench, sizes)
            compare(bench, f"log of {events:,} events", receiver, small, large)
            grow_delegates(bench, receiver, ((small, delegates // 10), (large, delegates)))
            compare(bench, f"{delegates:,} idle delegates", receiver, small, large)
            start(bench, large, f"start with {events:,} events, {delegates:,} delegates")
            paused = grow_backlog(bench, receiver, small, large, events)
            compare(bench, f"backlog of {events:,} events", receiver, small, large)
            drain(bench, receiver, large, paused, events)
    shutil.rmtree(folder, ignore_errors=True)


def compare(bench, title, receiver, small, large):
    rounds = take_turns(
        bench, {"a tenth": small, "all": large},
        lambda server: complete(sample(server, receiver, 1, c=64, d=bench.seconds * 4, n=10_000)))
    bench.keep(title, rounds)
    bench.compare(title, "CPU µs per event, 1 delegate", rounds, "cpu_us_per_event", "a tenth",
                  Goal(most=1.1, aim=1.05, of=15), herald="all", reference="itself with a tenth")


def post_many(server, count, kind):
    """In batches, each after the answer to the last."""
    body = json.dumps([{"type": kind, "subject": "customer-17", "data": {"note": "x" * 400}}] * BATCH)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for _ in range(count // BATCH):
        connection.request("POST", "/v1/events", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 202:
            raise Failed(f"a batch of events was answered {answer.status}: {text[:300]}")
    connection.close()


def grow_log(bench, sizes):
    for server, count in sizes:
        bench.progress(f"growth: a log of {count:,} events")
        post_many(server, count, "history.kept")
    time.sleep(SETTLING)


def grow_delegates(bench, receiver, sizes):
    for server, count in sizes:
        bench.progress(f"growth: {count:,} delegates")
        time.sleep(SETTLING)
        before = server.memory()
        server.register_many(
            [{"url": receiver.url(100 + n), "events": [f"other.kind_{n}"]} for n in range(count)])
        time.sleep(SETTLING)
        grown = (server.memory() - before) / count
    bench.single(f"{count:,} idle delegates", "memory of each, bytes", grown, None if bench.quick else Goal(most=1400, aim=1024, of=16))


def start(bench, server, title):
    server.stop()
    times = []
    for number in range(3):
        bench.patience.wait()
        began = time.monotonic()
        server.start_again()
        times.append(time.monotonic() - began)
        if number < 2:
            server.stop()
    bench.single(title, "ready after, s", sorted(times)[1], None if bench.quick else Goal(most=0.8, aim=0.5, of=17))


def grow_backlog(bench, receiver, small, large, events):
    """Returns the delegate of the large server that all of it waits for."""
    def grow(server, count):
        bench.progress(f"growth: a backlog of {count:,} events more")
        post_many(server, count, "backlog.waits")
        time.sleep(SETTLING)
        return server.memory() / (1 << 20)

    wanted = wanted_by(receiver, 2)[1] | {"events": ["backlog.waits"]}
    small.register_paused(wanted)
    grow(small, events // 10)
    paused = large.register_paused(wanted)
    # A tenth of it fills whatever there is in the way of caches.
    tenth = grow(large, events // 10)
    bench.single(f"backlog of {events:,} events", "memory, MiB more than with a tenth", grow(large, events * 9 // 10) - tenth,
                 None if bench.quick else Goal(most=16, aim=4, of=16))
    return paused


def drain(bench, receiver, server, paused, events):
    title = f"drain of {events:,} events"
    bench.progress(title)
    receiver.reset()
    before, began, cpu = server.memory(), time.monotonic(), server.cpu()
    server.request("POST", f"/v1/delegates/{paused}/resume")
    while (received := receiver.stats()["received"]) < events:
        if time.monotonic() - began > 60 + events / 1000:
            raise Failed(f"only {received:,} of {events:,} waiting events arrived")
        time.sleep(0.1)
    took = time.monotonic() - began
    bench.single(title, "deliveries per second", events / took, None)
    bench.single(title, "CPU µs per delivery", (server.cpu() - cpu) * 1e6 / events, None)
    bench.single(title, "memory after it, MiB more than before", (server.memory() - before) / (1 << 20), None)
