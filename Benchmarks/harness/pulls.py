"""Pull delegates: what an event costs that a worker pulls and acknowledges, how soon a waiting pull gets it, and what pulls that wait
cost publishers."""
import json
import re
import resource
import select
import socket
import statistics
import time

from database import Nodes
from machine import machine_seconds
from programs import Failed, Herald
from report import Goal
from sampling import children_seconds, interleave, own_seconds, sample, take_turns

RUN = 100
# Tables in which nodes write when nothing happens.
IDLE = ("nodes", "shards")
# Waiting pulls, where the limit of descriptors allows so many, and the delegates that they are of.
WAITING, DELEGATES = 5_000, 500
# In seconds: the longest that the server lets a pull wait, and the age at which it is sent again.
LONGEST, RENEWED = 60, 40


class Client:
    """A connection on which one request follows the other. It reads no JSON: the worker is not measured."""

    def __init__(self, port):
        self.port = port
        self.socket = socket.create_connection(("127.0.0.1", port), 120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, path, body=b""):
        self.socket.sendall(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def response(self):
        """Status and body."""
        buffer = bytearray()
        while (end := buffer.find(b"\r\n\r\n")) < 0:
            self.read(buffer)
        length = re.search(rb"(?i)content-length: (\d+)", buffer[:end])
        size = end + 4 + (int(length[1]) if length else 0)
        while len(buffer) < size:
            self.read(buffer)
        return int(buffer[9:12]), bytes(buffer[end + 4:])

    def read(self, buffer):
        part = self.socket.recv(1 << 20)
        if not part:
            raise Failed("the server closed a connection")
        buffer += part

    def ask(self, path, body=b""):
        self.send(path, body)
        return self.response()


def is_readable(clients, seconds):
    """Waits until one of them has a response."""
    poll = select.poll()
    for client in clients:
        poll.register(client.socket, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def pulls(bench):
    one_worker(bench)
    on_postgres(bench)
    latency(bench)
    waiting(bench)


def registered(server, **fields):
    """The path of a new pull delegate."""
    status, answer = server.request("POST", "/v1/delegates", {"kind": "pull", **fields})
    if status != 201:
        raise Failed(f"registering a pull delegate was answered {status}: {answer[:300]}")
    return f"/v1/delegates/{json.loads(answer)['id']}"


def publish(server, count):
    events = json.dumps([{"type": "order.created", "data": {"note": "x" * 400}}] * 500).encode()
    with Client(server.port) as client:
        for _ in range(0, count, 500):
            if client.ask("/v1/events", events)[0] != 202:
                raise Failed("events were not accepted")


def drain(client, path, count, ack=""):
    """Pulls and acknowledges so many events, with one request for each run. Returns what acknowledges the last run."""
    for _ in range(0, count, RUN):
        status, body = client.ask(f"{path}/pull?max={RUN}{ack}")
        found = re.match(rb'{"lease":"([^"]+)"', body)
        if status != 200 or not found:
            raise Failed(f"a pull was answered {status}: {body[:200]}")
        ack = "&ack=" + found[1].decode()
    return ack


def worked(server, count):
    """Figures of one worker that drains a backlog of so many events."""
    node, database = getattr(server, "nodes", [server])[0], getattr(server, "database", None)
    path = registered(node, events=["order.*"])
    publish(node, count + count // 5)
    with Client(node.port) as client:
        ack = drain(client, path, count // 5)
        rows = rows_of(database) if database else {}
        busy, total = machine_seconds()
        ours = server.cpu() + own_seconds() + children_seconds()
        cpu, database_cpu = server.cpu(), database.cpu() if database else 0
        begin = time.monotonic()
        ack = drain(client, path, count, ack)
        seconds, cpu = time.monotonic() - begin, server.cpu() - cpu
        now_busy, now_total = machine_seconds()
        ours = server.cpu() + own_seconds() + children_seconds() - ours
        figures = {
            "events_per_s": count / seconds, "cpu_us_per_event": cpu * 1e6 / count,
            "foreign_cpu": max(0.0, now_busy - busy - ours) / max(0.01, now_total - total)}
        if database:
            figures["database_us_per_event"] = (database.cpu() - database_cpu) * 1e6 / count
            written = {name: number - rows.get(name, 0) for name, number in rows_of(database).items()}
            figures |= {"rows": written, "rows_beyond": (sum(written.values()) - written.get("attempts", 0)) / count}
        client.ask(f"{path}/ack", json.dumps({"lease": ack[5:]}).encode())
    return figures


def rows_of(database):
    # Sessions report their counts a second after they have become idle.
    time.sleep(1.5)
    return {name: number for name, number in database.rows_written().items() if name not in IDLE}


def one_worker(bench):
    title, count = f"one worker, runs of {RUN}", 20_000 if bench.quick else 60_000
    rounds = interleave(bench, {"herald": Herald}, lambda server, _: worked(server, count))
    bench.keep(title, rounds)
    bench.single(title, "events per second", rounds.median("herald", "events_per_s"), Goal(least=20_000, aim=40_000))
    bench.single(title, "CPU µs per event", rounds.median("herald", "cpu_us_per_event"), None)


def on_postgres(bench):
    title, count = f"one worker on PostgreSQL, runs of {RUN}", 20_000 if bench.quick else 60_000
    rounds = interleave(bench, {"herald": lambda folder: Nodes(2)}, lambda server, _: worked(server, count))
    bench.keep(title, rounds)
    bench.single(title, "events per second", rounds.median("herald", "events_per_s"), None)
    bench.single(title, "CPU µs of the database per event", rounds.median("herald", "database_us_per_event"), Goal(most=12, aim=8))
    bench.single(title, "rows beyond the attempt, per event", rounds.median("herald", "rows_beyond"), Goal(most=0.05, aim=0.04))


def rows_beyond():
    """For the scenario `counts`."""
    with Nodes(1) as server:
        return worked(server, 10_000)["rows_beyond"]


# MARK: How soon


def latency(bench):
    title, count = "publish to a waiting pull", 100 if bench.quick else 300
    bench.progress(title)
    with Herald(bench.folder()) as server:
        path = registered(server, events=["order.*"])
        bench.single(title, "p50 ms", arrival(server, server, path, count), Goal(most=2, aim=1))
    with Nodes(2) as servers:
        one, other = servers.nodes
        path = registered(one, events=["order.*"])
        bench.single(title, "on PostgreSQL, same node, p50 ms", arrival(one, one, path, count), Goal(most=2, aim=1.5))
        bench.single(title, "on PostgreSQL, another node, p50 ms", arrival(one, other, path, count), Goal(most=4, aim=2.5))


def arrival(puller, publisher, path, count):
    """Milliseconds from the publication at a node until the pull at a node has its response."""
    times, event = [], json.dumps({"type": "order.created", "data": {"note": "x" * 400}}).encode()
    with Client(puller.port) as client, Client(publisher.port) as other:
        for _ in range(count):
            client.send(f"{path}/pull?wait=20")
            time.sleep(0.02)
            begin = time.perf_counter()
            other.send("/v1/events", event)
            is_readable([client], 30)
            times.append((time.perf_counter() - begin) * 1000)
            lease = re.match(rb'{"lease":"([^"]+)"', client.response()[1])
            if not lease or other.response()[0] != 202:
                raise Failed("a pull got no event")
            client.ask(f"{path}/ack", json.dumps({"lease": lease[1].decode()}).encode())
    return statistics.median(times)


# MARK: Pulls that wait


class Waiters:
    """Pulls that wait for events that are never published."""

    def __init__(self, server, paths, count):
        self.server, self.paths, self.count, self.clients, self.begin = server, paths, count, [], 0

    def renew(self):
        """Sends all again when they would soon end."""
        if self.clients and time.monotonic() - self.begin < RENEWED:
            return
        # The server counts a pull whose client has left until its time is up.
        for client in self.clients:
            client.response()
        while len(self.clients) < self.count:
            self.clients.append(Client(self.server.port))
        self.begin = time.monotonic()
        for number, client in enumerate(self.clients):
            client.send(f"{self.paths[number % len(self.paths)]}/pull?wait={LONGEST}")
        time.sleep(2)
        if is_readable(self.clients, 0):
            raise Failed("a pull did not wait")

    def close(self):
        for client in self.clients:
            client.socket.close()
        self.clients = []


def waiting(bench):
    """What publishing costs with pulls that wait for other events, and without."""
    count = possible_waits()
    title = f"publish with {count:,} waiting pulls that do not match"
    with Herald(bench.folder()) as none, Herald(bench.folder()) as many:
        for server in (none, many):
            paths = [registered(server, events=[f"other.kind_{number}"]) for number in range(DELEGATES)]
        waiters = Waiters(many, paths, count)

        def take(server):
            if server is many:
                waiters.renew()
            figures = sample(server, c=64, d=bench.seconds)
            return figures | {"alone_p50_us": sample(server, c=1, d=bench.seconds)["accepted_p50_us"]}

        rounds = take_turns(bench, {"without": none, "herald": many}, take)
        waiters.close()
    bench.keep(title, rounds)
    goal = Goal(most=1.2, aim=1.05)
    bench.compare(title, "CPU µs per event", rounds, "cpu_us_per_event", "without", goal, reference="itself without")
    bench.compare(title, "answered after, p50 µs, one connection", rounds, "alone_p50_us", "without", goal, reference="itself without")


def possible_waits():
    """How many pulls of one app the server lets wait here: three quarters of half of its connections, of which it has one for
    three descriptors."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        hard = max(hard, 8 * WAITING)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(WAITING, hard // 8 - 100)
