"""A worker of a pull delegate that may be killed at any moment: it pulls from any node, and acknowledges, reports failures, gives back,
extends, and lets leases expire. It notes each step in a file, a settlement also before it. Some events end it, whoever gets them.

usage: puller.py NOTES SEED MODE DELEGATE ORDERING PORT …    MODE: wild, or calm: it acknowledges everything
"""

import datetime
import json
import os
import random
import sys
import time
import zlib

from herald import Broken, Connection

# In seconds: the smallest that Herald accepts.
ACK_SECONDS = 5
# One of so many events ends the worker that gets it.
DEADLY = {"none": 1_000, "strict": 3_000}


def is_deadly(event, ordering):
    return zlib.crc32(event.encode()) % DEADLY[ordering] == 0


def milliseconds(text):
    return round(datetime.datetime.fromisoformat(text).timestamp() * 1000)


class Puller:
    def __init__(self, notes, seed, mode, delegate, ordering, ports):
        self.notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.chance, self.ordering, self.ports = random.Random(seed), ordering, ports
        self.path, self.connection, self.is_calm = f"/v1/delegates/{delegate}", None, mode == "calm"

    def note(self, **fields):
        os.write(self.notes, json.dumps(fields | {"at": round(time.time() * 1000)}).encode() + b"\n")

    def ask(self, path, body=None):
        """Status and body; `None` without a response."""
        try:
            if self.connection is None:
                self.connection = Connection(self.chance.choice(self.ports), timeout=15)
            return self.connection.ask("POST", self.path + path, body)
        except Broken:
            self.connection = None
            time.sleep(0.05)
            return None, None

    def settle(self, lease, **body):
        self.note(step="settle", lease=lease, **body)
        self.settled(lease, self.ask("/ack", {"lease": lease, **body})[0])

    def settled(self, lease, status):
        if status:
            self.note(step="settled", lease=lease, status=status)

    def run(self):
        acknowledged = None
        while True:
            limit, wait = self.chance.choice([1, 5, 20, 100]), self.chance.choice([0, 1, 3])
            begin = round(time.time() * 1000)
            if acknowledged:
                self.note(step="settle", lease=acknowledged)
            status, run = self.ask(
                f"/pull?max={limit}" + (f"&wait={wait}" if wait else "") + (f"&ack={acknowledged}" if acknowledged else ""))
            if status not in (None, 200, 409, 503):
                self.note(step="refused", status=status, problem=run)
            if acknowledged and status in (200, 409):
                # Of all others it is unknown whether the acknowledgement or the pull failed.
                self.settled(acknowledged, status)
            acknowledged = None
            if status == 200 and run["lease"]:
                acknowledged = self.handle(begin, run)
            elif status != 200 or not wait:
                time.sleep(0.1)
            if self.chance.random() < 0.1 and self.connection:
                self.connection.close()
                self.connection = None

    def handle(self, begin, run):
        """Returns the lease that the next pull acknowledges."""
        lease, expires = run["lease"], milliseconds(run["expires_at"])
        self.note(
            step="pulled", lease=lease, begin=begin, expires=expires, created=expires - run["ack_seconds"] * 1000,
            events=[[event["id"], event["attempt"]] for event in run["events"]])
        ids = [event["id"] for event in run["events"]]
        # The next pull acknowledges.
        kind = 0.5 if self.is_calm else self.chance.random()
        if not self.is_calm and any(is_deadly(one, self.ordering) for one in ids):
            os._exit(1)
        if not self.is_calm:
            time.sleep(self.chance.uniform(0, 0.05))
        if kind < 0.08:
            failed = self.chance.sample(ids, self.chance.randint(1, min(3, len(ids))))
            returned = [one for one in ids if one not in failed and self.chance.random() < 0.1]
            self.settle(lease, failed=[{"id": one, "reason": "chance"} for one in failed], returned=returned)
        elif kind < 0.14:
            self.settle(lease, release=True)
        elif kind < 0.20:
            self.extend(lease)
        elif kind < 0.21:
            # Too late, or just in time.
            time.sleep(ACK_SECONDS + self.chance.uniform(-0.02, 0.02))
            self.settle(lease)
        elif kind < 0.22:
            pass  # It expires.
        elif kind < 0.6:
            return lease
        else:
            self.settle(lease)
        return None

    def extend(self, lease):
        status, answer = self.ask("/extend", {"lease": lease, "ack_seconds": ACK_SECONDS + self.chance.randint(0, 3)})
        if status == 200:
            self.note(step="extended", lease=lease, expires=milliseconds(answer["expires_at"]))
            # Beyond the end that it had.
            if self.chance.random() < 0.2:
                time.sleep(ACK_SECONDS)
        self.settle(lease)


if __name__ == "__main__":
    Puller(*sys.argv[1:6], [int(port) for port in sys.argv[6:]]).run()
