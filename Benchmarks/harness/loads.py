"""Scenarios in which the load differs: size of the events, number of delegates, share of the capacity."""
import statistics

from programs import Herald, Ingest, Pipeline, Receiver, StoringHerald
from report import Goal
from sampling import complete, interleave, sample, take_turns

IN_FLIGHT = 64


def wanted_by(receiver, delegates):
    return [{"url": receiver.url(number), "max_in_flight": IN_FLIGHT} for number in range(1, delegates + 1)]


def whole_path(bench, delegates, events, goal, rate_goal=None):
    with Receiver(delegates) as receiver:
        rounds = interleave(
            bench,
            {
                "pipeline": lambda folder: Pipeline(folder, receiver),
                "herald": lambda folder: Herald(folder, wanted_by(receiver, delegates)),
            },
            lambda server, _: complete(sample(
                server, receiver, delegates, warm_events=max(10, 1000 // delegates), c=64, d=bench.seconds * 4,
                n=events if not bench.quick else events // 2)))
    title = f"whole path, {delegates:,} delegate{'s' if delegates > 1 else ''}"
    bench.keep(title, rounds)
    bench.compare(title, "CPU µs per delivery", rounds, "cpu_us_per_delivery", "pipeline", goal)
    bench.compare(title, "deliveries per second", rounds, "deliveries_per_s", "pipeline", rate_goal)
    bench.compare(title, "accepted per second", rounds, "events_per_s", "pipeline")
    bench.compare(title, "peak memory, MiB", rounds, "peak_memory", "pipeline", scale=1 << 20)
    return title, rounds


def one_delegate(bench):
    whole_path(bench, 1, 30_000, Goal(most=1.4, aim=1.15, of=6))


def ten_delegates(bench):
    title, rounds = whole_path(
        bench, 10, 8_000, Goal(most=1.35, aim=1.1, of=7), Goal(least=0.75, aim=0.92, of=7))
    compare_further_delivery(bench, title, rounds)


def compare_further_delivery(bench, title, rounds):
    """What a delivery costs when an event has been accepted, stored and delivered once."""
    one = bench.samples.get("whole path, 1 delegate")
    if not one:
        return
    herald, pipeline = (
        (rounds.median(name, "cpu_us_per_event") - statistics.median(x["cpu_us_per_event"] for x in one[name])) / 9
        for name in ("herald", "pipeline"))
    bench.reckon(title, "CPU µs of each further delivery", herald, pipeline, "pipeline")


def hundreds_of_delegates(bench):
    whole_path(bench, 100, 300, None)
    whole_path(bench, 1_000, 20, None)


def sizes(bench):
    """Durable publish of larger events; 512 bytes are the scenario `publish`."""
    for size in (4096, 65536):
        for connections in (64, 1):
            rounds = interleave(
                bench, {"durable": lambda folder: Ingest(folder, durable=True), "herald": StoringHerald},
                lambda server, _, c=connections, s=size: sample(server, c=c, s=s, d=0.6))
            title = f"durable publish of {size >> 10} KiB, {connections} connection{'s' if connections > 1 else ''}"
            bench.keep(title, rounds)
            bench.compare(title, "CPU µs per event", rounds, "cpu_us_per_event", "durable")
            bench.compare(title, "accepted per second", rounds, "events_per_s", "durable")


SHARES = (10, 50, 80)


def latency_under_load(bench):
    """Open loop: events come at fixed times, at a share of what each server was just seen to deliver, and one that is
    late is measured from the time at which it was due."""
    folder = bench.folder()
    with Receiver() as receiver:
        with Pipeline(folder, receiver) as pipeline, Herald(folder, wanted_by(receiver, 1)) as herald:
            servers = {"pipeline": pipeline, "herald": herald}
            capacity = take_turns(
                bench, servers, lambda server: complete(sample(server, receiver, 1, c=64, d=bench.seconds * 4, n=20_000)))
            rates = {id(server): capacity.median(name, "deliveries_per_s") for name, server in servers.items()}
            for share in SHARES:
                rounds = take_turns(
                    bench, servers,
                    lambda server, part=share / 100: complete(sample(
                        server, receiver, 1, warm_up=0, c=64, d=bench.seconds * 1.5, r=rates[id(server)] * part)))
                title = f"{share} % of capacity, open loop"
                bench.keep(title, rounds)
                bench.compare(title, "events per second", rounds, "events_per_s", "pipeline")
                for name in ("p50", "p95", "p99", "p99.9"):
                    bench.compare(title, f"post to receiver, {name} µs", rounds, f"delivered_{name}_us", "pipeline")
