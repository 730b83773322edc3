"""Programs publish in their own transactions, a third of which they roll back: with herald.publish, with a row of an outbox, and with
a message of the log. PostgreSQL crashes, nodes and drains are killed: events are exactly the commits."""

import os
import random
import signal
import subprocess
import tempfile
import threading
import time

from herald import BINARY, Folder, Herald, processes, wait_for
from postgres import Postgres, free_port, program

QUICK, FULL, UNIT = 8, 400, "parts killed"
NODES, WORKERS = 2, 3
# Of one database, before everything is compared. While it crashes every few seconds, the slot begins at the same position, and each
# read of the messages decodes all since.
CHAPTER = 40
# In the database of the program. `work` ends a third of its transactions with ROLLBACK.
PROGRAM = """
CREATE TABLE done (id text PRIMARY KEY);
CREATE TABLE outbox (id text PRIMARY KEY, rank bigint GENERATED ALWAYS AS IDENTITY, type text, data json);
CREATE PROCEDURE work(name text, count int) LANGUAGE plpgsql AS $$ BEGIN
    FOR n IN 1..count LOOP
        INSERT INTO done VALUES (name || n);
        PERFORM herald.publish('work.sql', to_json(n), id => 's' || name || n);
        INSERT INTO outbox (id, type, data) VALUES ('o' || name || n, 'work.outbox', to_json(n));
        PERFORM pg_logical_emit_message(true, 'herald', json_build_object('id', 'm' || name || n, 'type', 'work.message')::text);
        PERFORM pg_logical_emit_message(true, 'herald', '{"type": "work.unnamed"}');
        IF random() < 1.0 / 3 THEN
            ROLLBACK;
            RAISE INFO 'rolled back';
        ELSE
            COMMIT;
        END IF;
    END LOOP;
END $$;
CREATE PUBLICATION herald;
SELECT herald.allow('herald');
"""
# The kinds of events, with what stands before the name of a commit in their ids.
NAMED = {"work.sql": "s", "work.outbox": "o", "work.message": "m"}


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        with Folder("pending"), Postgres(wal_level="logical") as database:
            attack(database, min(CHAPTER, count - chapter * CHAPTER), seed + chapter, outcome)


class Worker(threading.Thread):
    """Runs transactions until it is stopped, in one session after the other."""

    def __init__(self, database, name):
        super().__init__(daemon=True)
        self.database, self.name_of_work, self.stopped, self.started = database, name, threading.Event(), 0
        self.rolled_back = 0
        self.start()

    def run(self):
        while not self.stopped.is_set():
            self.started += 1
            self.rolled_back += self.call(f"CALL work('{self.name_of_work}.{self.started}.', 50)").count("INFO:")

    def call(self, text):
        """What psql reports."""
        arguments = ["-h", "127.0.0.1", "-p", str(self.database.port), "-U", "herald", "-d", "shop", "-Xqc", text]
        return subprocess.run([program("psql"), *arguments], capture_output=True, text=True, timeout=120, check=False).stderr

    def stop(self):
        self.stopped.set()
        self.join()


class Drain:
    """A drain that starts again whenever it is killed."""

    def __init__(self, url, port, *arguments):
        self.command = [BINARY, "drain", url, *arguments]
        self.environment = {**os.environ, "HERALD_SERVER": f"http://127.0.0.1:{port}", "XDG_CONFIG_HOME": "/nonexistent"}
        self.start()

    def start(self):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors)
        processes.add(self.process)

    def text(self):
        """What it has reported."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def end(self, number):
        self.process.send_signal(number)
        status = self.process.wait(60)
        processes.discard(self.process)
        return status


def attack(database, count, seed, outcome):
    chance = random.Random(seed)
    url = database.create("shop")
    ports = [free_port() for _ in range(NODES)]
    nodes = [Herald(url, port=port).expect() for port in ports]
    subprocess.run(
        [program("psql"), "-h", "127.0.0.1", "-p", str(database.port), "-U", "herald", "-d", "shop", "-Xq", "-v", "ON_ERROR_STOP=1"],
        input=PROGRAM, text=True, check=True, stdout=subprocess.DEVNULL)
    # After the publication, which it looks up in the catalog of its own time.
    database.ask("SELECT pg_create_logical_replication_slot('herald_slot', 'pgoutput')", "shop")
    drains = [
        Drain(url, ports[0], "--table", "outbox", "--order", "rank", "--columns", "id,type,data"),
        Drain(url, ports[1], "--messages", "herald_slot")]
    workers = [Worker(database, f"w{number}") for number in range(WORKERS)]
    for number in range(count):
        time.sleep(chance.uniform(0.1, 0.8))
        kind = ["drain", "node", "drain", "database"][number % 4]
        if kind == "database":
            database.restart()
        elif kind == "node":
            index = chance.randrange(NODES)
            nodes[index].kill()
            time.sleep(chance.uniform(0, 0.3))
            nodes[index] = Herald(url, port=ports[index]).expect()
        else:
            drain = chance.choice(drains)
            drain.end(signal.SIGKILL)
            drain.start()
        outcome.counts[kind] += 1
        if outcome.is_late():
            break
    for worker in workers:
        worker.stop()

    def number(text):
        return int(database.ask(text, "shop") or -1)

    commits = number("SELECT count(*) FROM done")
    def ended():
        for drain in drains:
            if drain.process.poll() is not None:
                outcome.fail(f"a drain ended by itself with {drain.process.returncode}: {drain.text()}")
                return True
        return False

    wait_for(
        "all that was committed is published",
        lambda: ended() or number("SELECT (SELECT count(*) FROM herald.submissions) + (SELECT count(*) FROM outbox)") == 0
        and number("SELECT count(*) FROM herald.events WHERE type = 'work.unnamed'") >= commits, pause=0.3)
    for kind, prefix in NAMED.items():
        events = f"SELECT id FROM herald.events WHERE type = '{kind}'"
        expected = f"SELECT '{prefix}' || id FROM done"
        missing, extra = (number(f"SELECT count(*) FROM ({one} EXCEPT {other}) AS x") for one, other in [(expected, events), (events, expected)])
        double = number(f"SELECT count(*) - count(DISTINCT id) FROM ({events}) AS x")
        outcome.counts["lost"] += missing
        outcome.counts["uncommitted"] += extra
        outcome.counts["double"] += double
        if missing or extra or double:
            outcome.fail(f"{kind}: {missing} lost, {extra} of no commit, {double} twice, of {commits}")
    unnamed = number("SELECT count(*) FROM herald.events WHERE type = 'work.unnamed'")
    if unnamed != commits:
        outcome.fail(f"{unnamed} events without an id of their own, of {commits} commits")
    refused = number("SELECT count(*) FROM herald.pending_refused")
    if refused:
        outcome.fail(f"{refused} refused")
    outcome.counts["commits"] += commits
    outcome.counts["rolled back"] += sum(worker.rolled_back for worker in workers)
    for drain in drains:
        if drain.end(signal.SIGTERM) != 0:
            outcome.fail("a drain did not end with status 0")
    for node in nodes:
        node.stop()


def row(o):
    return (
        "programs publish in transactions, a third of which are rolled back: with `herald.publish`, a row of an outbox, and a message; "
        "nodes and drains are killed, PostgreSQL crashes",
        f"{o['commits']:,} commits with four events each, {o['rolled back']:,} transactions rolled back; {o['drain']:,} drains and {o['node']:,} nodes killed, {o['database']:,} crashes",
        f"{o['lost']} lost, {o['uncommitted']} of a rollback, {o['double']} published twice")
