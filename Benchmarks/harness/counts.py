"""Figures that are counted, not timed: system calls, allocations and bytes on disk, and what nodes ask of PostgreSQL. They hardly
depend on the machine or on its mood, so they can tell whether a change made Herald dearer: `Benchmarks/run --only counts --check`.

Events are posted one after the other, each after its answer, so that the server commits each by itself: commits that are
shared would depend on who was faster. What merges nevertheless only lowers a figure."""
import http.client
import json
import os
import shutil
import socket
import struct
import time

from database import Nodes
from loads import wanted_by
from machine import written_bytes
from nodes import statements_per_second, thousand_per_second
from programs import BUILD, ROOT, Failed, Herald, Receiver
from pulls import rows_beyond
from report import Goal

BOUNDS = os.path.join(ROOT, "Benchmarks", "bounds.json")
# How many events are published before those that count: the server has made its buffers and statements by then.
WARM = 100
# How many count, by the number of delegates that want them all.
EVENTS = {0: 300, 1: 300, 10: 100}
# What the server does by itself now and then falls into one of these parts: of each figure the lowest one counts.
PARTS = 4
DRAIN = 60
# For which nodes on PostgreSQL deliver a thousand events per second, and are idle.
SECONDS = 6
# A second after its start the server looks at what it may remove for the first time, and prepares what it needs for that. On a
# slow machine this would otherwise be counted with the events.
FIRST_LOOK = 1.3

# How often a thread looks for work depends on who was faster: libmicrohttpd alone takes six calls more for an event, or not.
WAITING = {"epoll_wait", "epoll_ctl", "poll", "recvfrom", "futex"}
FIGURES = ("system calls", "system calls other than waits", "allocations", "allocated bytes", "bytes on disk")


def counts(bench):
    """Adds a line for each figure; what is recorded is the aim, and with its margin the bound."""
    bounds = read_bounds()
    measured = {place(delegates): measure(bench, delegates, EVENTS[delegates]) for delegates in EVENTS}
    bench.samples["counts"] = measured
    for where, figures in measured.items():
        for what in FIGURES:
            recorded = bounds["recorded"].get(where, {}).get(what)
            # Waits and bytes on disk belong to the machine as well: they are shown, and held to nothing.
            margin = bounds["margin"].get(what)
            goal = recorded and margin and Goal(most=recorded * (1 + margin), aim=recorded)
            bench.single("counts", f"{what} {where}", figures[what], goal)
    # What a delivery adds to the event that it is of.
    none, ten = measured[place(0)], measured[place(10)]
    for what in FIGURES:
        bench.single("counts", f"{what} per delivery, of ten", (ten[what] - none[what]) / 10, None)
    asked_of_database(bench)


def asked_of_database(bench):
    """The goals of measurements/nodes.md, with room for a machine that is slow: then fewer deliveries share what is written."""
    bench.progress("counts: two nodes on PostgreSQL")
    with Receiver(10) as receiver, Nodes(2, wanted_by(receiver, 10)) as servers:
        beyond = thousand_per_second(servers, receiver, SECONDS)["rows_beyond"]
        # Every 20 seconds a node that has delivered writes its counts: it falls into one of two parts.
        statements = min(statements_per_second(servers, SECONDS) for _ in range(2))
    where = "of two nodes on PostgreSQL"
    bench.single("counts", f"rows beyond the attempt per delivery, {where}", beyond, Goal(most=0.5, aim=0.2))
    bench.single("counts", f"statements per second of an idle one, {where}", statements, Goal(most=11.5, aim=10))
    bench.progress("counts: a worker that pulls")
    bench.single(
        "counts", "rows beyond the attempt per event, pulled in runs of 100 on PostgreSQL", rows_beyond(), Goal(most=0.08, aim=0.05))


def place(delegates):
    return f"per event, {delegates or 'no'} delegate{'' if delegates == 1 else 's'}"


def measure(bench, delegates, events):
    """Per event: of a server with so many delegates, which all want it."""
    folder = bench.folder()
    with Receiver(delegates or 1) as receiver:
        wanted = [{"url": receiver.url(number)} for number in range(1, delegates + 1)]
        bench.progress(f"counts: allocations, {delegates} delegates")
        figures = allocations(folder, wanted, receiver, events)
        bench.progress(f"counts: system calls, {delegates} delegates")
        calls = system_calls(folder, wanted, receiver, events)
    shutil.rmtree(folder, ignore_errors=True)
    others = sum(count for name, count in calls.items() if name not in WAITING)
    return figures | {"system calls": sum(calls.values()), "system calls other than waits": others, "calls": calls}


def load(server, receiver, delegates, events):
    """One connection, one event at a time: the next one is posted when this one has been answered and has arrived."""
    receiver.reset()
    with socket.create_connection(("127.0.0.1", server.port), DRAIN) as connection:
        asking = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=DRAIN)
        for number in range(1, events + 1):
            post(connection, server.port, number)
            deadline = time.monotonic() + DRAIN
            while receiver.stats(asking)["unique"] < number * delegates:
                if time.monotonic() > deadline:
                    raise Failed("an event did not arrive everywhere")
        asking.close()
    time.sleep(0.2)


def post(connection, port, number):
    """In one packet, so that the server reads as often each time."""
    body = json.dumps({"type": "order.created", "data": {"benchmark_id": number, "note": "x" * 400}})
    connection.sendall((
        f"POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
    answer = connection.recv(65536)
    if not answer.startswith(b"HTTP/1.1 202"):
        raise Failed(f"an event was answered {answer[:300].decode(errors='replace')}")


def allocations(folder, wanted, receiver, events):
    path = os.path.join(folder, "allocations")
    environment = {"LD_PRELOAD": os.path.join(BUILD, "allocations.so"), "ALLOCATIONS": path}

    def read(server):
        with open(path, "rb") as file:
            return (*struct.unpack("=QQ", file.read(16)), written_bytes(server.process.pid))

    with Herald(folder, wanted, environment=environment) as server:
        time.sleep(FIRST_LOOK)
        load(server, receiver, len(wanted), WARM)
        parts, before = [], read(server)
        for _ in range(PARTS):
            load(server, receiver, len(wanted), events // PARTS)
            now = read(server)
            parts.append([(new - old) / (events // PARTS) for new, old in zip(now, before)])
            before = now
        number, size, written = (min(figures) for figures in zip(*parts))
    if not number:
        raise Failed("no allocation was counted")
    return {"allocations": number, "allocated bytes": size, "bytes on disk": written}


def system_calls(folder, wanted, receiver, events):
    """By name. strace tells its counts at the end only, so what a start, a warm-up and an end cost is counted by itself, and
    subtracted."""
    few = traced(folder, wanted, receiver, WARM)
    many = traced(folder, wanted, receiver, WARM + events)
    return {name: (count - few.get(name, 0)) / events for name, count in many.items() if count != few.get(name, 0)}


def traced(folder, wanted, receiver, events):
    output = os.path.join(folder, f"strace-{events}")
    # -D: the server is our child, and strace its tracer beside it.
    strace = ["strace", "-D", "-f", "-qq", "-c", "-U", "calls,name", "-o", output]
    with Herald(folder, wanted, prefix=strace) as server:
        time.sleep(FIRST_LOOK)
        load(server, receiver, len(wanted), events)
    deadline = time.monotonic() + 10
    while True:
        with open(output) as file:
            lines = [line.split() for line in file]
        if lines and lines[-1][-1] == "total":
            return {name: int(calls) for calls, name in lines if calls.isdigit() and name != "total"}
        if time.monotonic() > deadline:
            raise Failed("strace did not tell what it counted")
        time.sleep(0.02)


def read_bounds():
    with open(BOUNDS) as file:
        return json.load(file)


def record(bench):
    """Measures several times, and makes the highest figures the ones that later runs are held to."""
    recorded = {}
    for _ in range(bench.rounds):
        for where, figures in {place(delegates): measure(bench, delegates, EVENTS[delegates]) for delegates in EVENTS}.items():
            known = recorded.setdefault(where, {})
            for what, value in figures.items():
                known[what] = highest(known.get(what), value)
    bounds = read_bounds()
    bounds["recorded"] = {where: {what: rounded(value) for what, value in figures.items()}
                          for where, figures in recorded.items()}
    with open(BOUNDS, "w") as file:
        json.dump(bounds, file, indent=1)
        file.write("\n")


def highest(known, value):
    if isinstance(value, dict):
        known = known or {}
        return {name: max(known.get(name, 0), value.get(name, 0)) for name in known.keys() | value.keys()}
    return value if known is None else max(known, value)


def rounded(value):
    if isinstance(value, dict):
        return {name: round(calls, 2) for name, calls in sorted(value.items()) if abs(calls) >= 0.05}
    return round(value, 2)


def exceeded(lines, measured):
    """What to say about each figure that is beyond its bound."""
    recorded = read_bounds()["recorded"]
    if not measured:
        return []  # Why not has been said.
    if recorded.keys() != measured.keys():
        return ["Benchmarks/bounds.json holds no bounds for these figures; `Benchmarks/run --only counts --record` makes them"]
    complaints = []
    for line in lines:
        if line.scenario != "counts" or line.holds != "no":
            continue
        text = f"{line.what}: {line.measured:.2f}; at most {line.goal.most:.2f} are allowed, {line.goal.aim:g} were recorded"
        if line.what.startswith("system calls"):
            where = "per event" + line.what.partition("per event")[2]
            text += more(measured[where]["calls"], recorded[where]["calls"])
        complaints.append(text)
    return complaints


def more(calls, before):
    """The system calls that became more, most first."""
    grown = {name: count - before.get(name, 0) for name, count in calls.items()}
    worst = sorted((name for name in grown if grown[name] >= 0.1), key=grown.get, reverse=True)[:4]
    return "".join(f"; {name} {before.get(name, 0):.2f} → {calls[name]:.2f}" for name in worst)
