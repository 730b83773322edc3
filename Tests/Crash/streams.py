"""Several servers on one PostgreSQL, and clients of their event streams. A server dies, and its clients resume at another one with
the id of the last message: each gets every event once, in the order of the log."""

import json
import random
import socket
import threading
import time

from herald import PATIENCE, Failure, Folder, Ledger, compare_logs, wait_for
from nodes import NODES, Nodes
from postgres import Postgres

QUICK, FULL, UNIT = 2, 100, "nodes that die under streams"
CLIENTS = 20
# Of one database, before the streams are compared.
CHAPTER = 25
PAUSE = 1.5


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        number = min(CHAPTER, count - chapter * CHAPTER)
        with Folder("streams") as folder, Postgres() as database:
            before = len(outcome.failures)
            attack(database, number, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test streams --count {number} --seed {seed + chapter}")


class Client(threading.Thread):
    """Follows all events, at any node that is there, as an `EventSource` does."""

    def __init__(self, nodes, seed):
        super().__init__(daemon=True)
        self.nodes, self.chance = nodes, random.Random(seed)
        self.received, self.last, self.resets, self.resumed, self.index = [], None, 0, [], None
        self.is_ready, self.stopped = threading.Event(), False
        self.connection = None
        self.start()

    def run(self):
        lost = None
        while not self.stopped:
            self.index = self.chance.randrange(NODES)
            try:
                address = ("127.0.0.1", self.nodes.servers[self.index].port)
                with socket.create_connection(address, timeout=20) as self.connection:
                    for _ in self.messages():
                        if lost:
                            self.resumed.append(time.monotonic() - lost)
                            lost = None
            except OSError:
                pass
            lost = lost or time.monotonic()
            time.sleep(0.05)

    def messages(self):
        """Each message, when what it says is noted."""
        resume = f"Last-Event-ID: {self.last}\r\n" if self.last else ""
        self.connection.sendall(f"GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\n{resume}\r\n".encode())
        with self.connection.makefile("rb") as lines:
            if b" 200 " not in lines.readline():
                return
            name, identity, data = None, None, None
            for line in lines:
                # Lines of the header and sizes of chunks have no such beginnings.
                word, _, value = line.decode().rstrip("\r\n").partition(": ")
                if word == "event":
                    name = value
                elif word == "id":
                    identity = value
                elif word == "data":
                    data = value
                elif not line.strip() and data is not None:
                    self.note(name, identity, data)
                    yield name
                    name, identity, data = None, None, None

    def note(self, name, identity, data):
        if name == "reset":
            self.resets += 1
        elif name is None:
            if json.loads(data)["id"] != identity:
                self.resets += 1
            self.received.append(identity)
        self.last = identity or self.last
        self.is_ready.set()

    def stop(self):
        self.stopped = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.join()


def attack(database, count, seed, outcome):
    chance, ledger = random.Random(seed), Ledger()
    nodes = Nodes([database.create("herald")] * NODES, ledger, seed)
    clients = [Client(nodes, f"{seed}-{number}") for number in range(CLIENTS)]
    for client in clients:
        if not client.is_ready.wait(PATIENCE):
            raise Failure("a stream did not begin")
    for index in range(NODES):
        nodes.publish(index)
    for _ in range(count):
        time.sleep(chance.uniform(0.2, PAUSE))
        # One with a client.
        index = chance.choice(clients).index
        outcome.counts["streams"] += sum(client.index == index for client in clients)
        nodes.servers[index].kill()
        time.sleep(chance.uniform(0, PAUSE))
        nodes.loads[index].wait()
        nodes.start(index)
        outcome.counts["deaths"] += 1
        if outcome.is_late():
            break
    for load in nodes.loads:
        load.stop()
    events = compare_logs(nodes.servers, ledger, outcome, "after it")
    log = [event["id"] for event in events if not event["type"].startswith("herald.")]
    try:
        wait_for("the streams have everything", lambda: all(client.received[-1:] == log[-1:] for client in clients), pause=0.1)
    except Failure:
        pass
    for client in clients:
        client.stop()
        outcome.counts["received"] += len(client.received)
        outcome.figures["resumed"] += client.resumed
        missed = set(log) - set(client.received)
        outcome.counts["missed"] += len(missed)
        outcome.counts["twice"] += len(client.received) - len(set(client.received))
        if client.resets:
            outcome.fail(f"a stream began anew {client.resets} times")
        if client.received != log:
            outcome.fail(f"a stream has missed {len(missed)} of {len(log)} events, or has others, such as {sorted(missed)[:3]}")
    outcome.counts["events"] += len(log)
    for index in range(NODES):
        nodes.end(index, outcome)


def row(o):
    return (
        f"{NODES} nodes on one PostgreSQL, under load, with {CLIENTS} clients of the event stream: a node is killed, and its clients resume "
        "with `Last-Event-ID` at any other one",
        f"{o['deaths']:,} killed, with {o['streams']:,} streams; {o['events']:,} events, {o['received']:,} received",
        f"{o['missed']} missed, {o['twice']} twice, each stream in the order of the log; streams continued after p50 {o['resumed_p50']:,} ms, "
        f"at most {o['resumed_max']:,} ms")
