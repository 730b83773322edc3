"""Herald on a PostgreSQL database: servers that share it, and what both of them cost."""
import json
import os
import pathlib
import sys
import time

from machine import TICK, cpu_seconds
from programs import ROOT, Failed, Herald

sys.path.append(os.path.join(ROOT, "Tests", "Crash"))
# The attacks start PostgreSQL in the same way: in memory, so that the disk of this machine does not count.
from postgres import Postgres  # noqa: E402


class Database(Postgres):
    """A PostgreSQL server with one database. `flush`: what each flush takes, in microseconds; commits of that time share one."""

    def __init__(self, flush=0):
        super().__init__(commit_delay=flush, commit_siblings=0, shared_buffers="256MB", max_wal_size="4GB", max_connections=100)
        self.store = self.create("herald")

    def query(self, text):
        return self.ask(text, "herald")

    def cpu(self):
        """Of the server with all its sessions, also those that have ended."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        ended = (int(fields[13]) + int(fields[14])) / TICK
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return cpu_seconds(self.process.pid) + ended + sum(map(cpu_of, children))

    def rows_written(self):
        """Inserted, updated and deleted so far, by the table that a partition is one of."""
        written = {}
        for line in self.query(
                "SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE schemaname = 'herald'").splitlines():
            name, count = line.split("|")
            name = name.rstrip("0123456789").rstrip("_")
            written[name] = written.get(name, 0) + int(count)
        return written


def cpu_of(pid):
    try:
        return cpu_seconds(pid)
    except OSError:
        return 0


class Node(Herald):
    """A server that shares a database."""

    def __init__(self, database, settings=()):
        super().__init__("/tmp", (), settings)
        data = self.command.index("--data")
        os.rmdir(self.command[data + 1])
        self.command[data:data + 2] = ["--store", database.store]

    def nodes(self):
        return [node for node in json.loads(self.request("GET", "/v1/nodes")[1])["data"] if node["present"]]

    def shards(self):
        return next(node["shards"] for node in self.nodes() if node["is_self"])


class Nodes:
    """Several servers on a database of their own, as one server: posts go to all of them in turn, CPU time is that of all."""

    def __init__(self, count, delegates=(), flush=0, database=None):
        self.database = database or Database(flush)
        self.nodes = [Node(self.database) for _ in range(count)]
        self.delegates = delegates

    def __enter__(self):
        try:
            for node in self.nodes:
                node.start()
            wait_until("the shards are shared", lambda: self.share() == shares(len(self.nodes)))
            self.nodes[0].register(self.delegates)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            for node in self.nodes:
                if node.process is not None:
                    node.stop()
        finally:
            self.database.close()

    def share(self):
        return sorted(len(node["shards"]) for node in self.nodes[0].nodes())

    def cpu(self):
        return self.database.cpu() + sum(node.cpu() for node in self.nodes)

    def peak_memory(self):
        return max(node.peak_memory() for node in self.nodes)

    @property
    def port(self):
        return self.nodes[0].port

    @property
    def ports(self):
        return [node.port for node in self.nodes]


def shares(count):
    return sorted(64 // count + (number < 64 % count) for number in range(count))


def wait_until(what, condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.01)
