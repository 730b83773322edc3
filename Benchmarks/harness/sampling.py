"""Taking samples: what a load costs a server, beside how much the rest of the machine was disturbed."""
import os
import resource
import shutil
import statistics
import time

from machine import machine_seconds
from programs import Failed, publish

# How long a server may go on with what a load left behind, before its CPU time is read: its last write, mostly.
SETTLING = 0.3
DRAIN = 60

# The share of the machine that others may take without making a round worthless.
DISTURBED = 0.10


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def own_seconds():
    usage = os.times()
    return usage.user + usage.system


def percentiles(of, result):
    return {f"{of}_{name}_us": value for name, value in result["latency_us"].items()}


def sample(server, receiver=None, per_event=0, beside=(), warm_up=0.3, warm_events=1000, **load):
    """Publishes, waits for the deliveries of it, `per_event` of each event, and returns figures. `beside` are other
    programs of ours, whose CPU time is not a disturbance."""
    if warm_up:
        if receiver:
            receiver.reset()  # What came before must not be taken for the warm-up, which would then arrive among the rest.
        done = publish(server, **{"c": load.get("c", 64), "d": warm_up, "n": warm_events, "s": load.get("s", 512)})
        if receiver:
            receiver.wait(done["accepted"] * per_event, DRAIN)
    if receiver:
        time.sleep(0.15)
        receiver.reset()
    helpers = [server, *beside] + ([receiver] if receiver else [])
    busy, total = machine_seconds()
    ours = sum(x.cpu() for x in helpers) + children_seconds() + own_seconds()
    began = server.cpu()

    result = publish(server, **load)
    stats = receiver.wait(result["accepted"] * per_event, DRAIN) if receiver else None
    time.sleep(SETTLING)

    cpu = server.cpu() - began
    now_busy, now_total = machine_seconds()
    ours = sum(x.cpu() for x in helpers) + children_seconds() + own_seconds() - ours
    figures = {
        "events": result["accepted"],
        "events_per_s": result["per_s"],
        "cpu_us_per_event": cpu * 1e6 / result["accepted"],
        **percentiles("accepted", result),
        "peak_memory": server.peak_memory(),
        "foreign_cpu": max(0.0, now_busy - busy - ours) / max(0.01, now_total - total),
    }
    if stats:
        received = max(1, stats["received"])
        figures |= {
            "deliveries": stats["received"],
            "missing": result["accepted"] * per_event - stats["unique"],
            "repeated": stats["received"] - stats["unique"],
            "deliveries_per_s": received / max(1e-6, stats["seconds"]),
            "cpu_us_per_delivery": cpu * 1e6 / received,
            **percentiles("delivered", stats),
        }
    return figures


def complete(figures):
    """A server that loses events is not fast."""
    if figures["missing"] > 0:
        raise Failed(f"{figures['missing']} of {figures['events']} events did not arrive everywhere")
    return figures


class Rounds:
    """Samples of several variants, taken in turns, so that a change of the machine meets all of them."""

    def __init__(self):
        self.samples = {}

    @property
    def count(self):
        return max(map(len, self.samples.values()), default=0)

    def add(self, figures):
        for variant, sample_figures in figures.items():
            self.samples.setdefault(variant, []).append(sample_figures)

    def values(self, variant, figure):
        return [x[figure] for x in self.samples[variant]]

    def median(self, variant, figure):
        return statistics.median(self.values(variant, figure))

    def ratios(self, variant, other, figure):
        """Of each round by itself."""
        pairs = zip(self.values(variant, figure), self.values(other, figure))
        return [a / b for a, b in pairs if b]

    def worst_foreign(self):
        return max(x["foreign_cpu"] for samples in self.samples.values() for x in samples)


def interleave(bench, variants, take):
    """`variants`: name → a function that makes the server from a folder; `take`: takes a sample of it, once it runs."""
    def sample_fresh(name, make):
        folder = bench.folder()
        with make(folder) as server:
            figures = take(server, name)
        shutil.rmtree(folder, ignore_errors=True)
        return figures

    return _rounds(bench, variants, sample_fresh)


def take_turns(bench, servers, take):
    """The same with servers that run already."""
    return _rounds(bench, servers, lambda _, server: take(server))


def together(bench, take):
    """The same when `take` samples all variants at once."""
    rounds = Rounds()
    while rounds.count < bench.rounds:
        began = time.monotonic()
        figures = take(rounds.count + 1)
        if max(x["foreign_cpu"] for x in figures.values()) > DISTURBED and bench.patience.left > 0:
            bench.patience.left -= time.monotonic() - began
            continue
        rounds.add(figures)
    return rounds


def _rounds(bench, variants, take):
    """A round that others disturbed is repeated, while there is patience."""
    def take_all(number):
        figures = {}
        for name, variant in variants.items():
            bench.progress(f"{name}, round {number} of {bench.rounds}")
            bench.patience.wait()
            figures[name] = take(name, variant)
        return figures

    return together(bench, take_all)
