"""Clients of two servers on one PostgreSQL change everything at once: keys, sessions, links, apps, delegates, subjects, events. What
one client uses another one removes. No request is answered with a fault of the server, and no server ends."""

import random
import re
import subprocess
import threading

from herald import BINARY, Broken, Connection, Failure, Folder, Herald, processes
from postgres import Postgres

QUICK, FULL, UNIT = 4_000, 200_000, "requests of eight clients"
NODES = 2
CLIENTS = 8
ADMIN = "operator-of-the-attack-by-changes"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
# Directives of the receiver.
PATHS = ["ok", "status/500", "delay/1"]


def run(count, seed, outcome):
    with Folder("changes"), Postgres() as database:
        database.create("herald")
        receiver, port = start_receiver()
        environment = {"HERALD_ADMIN_KEY": ADMIN, "HERALD_ALLOW_NETWORKS": "127.0.0.0/8"}
        servers = [Herald(database.url("herald"), environment=environment).expect() for _ in range(NODES)]
        things = Things(port)
        clients = [Client(number, servers, things, count // CLIENTS, random.Random(seed + number), outcome) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        for server in servers:
            if server.process.poll() is None and server.stop() != 0:
                outcome.fail("a node did not end with status 0")
        receiver.kill()
        receiver.wait()
        processes.discard(receiver)


def start_receiver():
    receiver = subprocess.Popen([BINARY, "receiver", "--port", "0", "--quiet"], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    processes.add(receiver)
    line = receiver.stdout.readline()
    found = re.search(r":(\d+)/", line)
    if not found:
        raise Failure(f"no receiver: {line}")
    threading.Thread(target=receiver.stdout.read, daemon=True).start()
    return receiver, int(found[1])


class Things:
    """What the clients have made, for all of them. Two may take the same one: that is the attack."""

    def __init__(self, receiver):
        self.receiver = receiver
        self.keys, self.sessions, self.apps, self.delegates = [], [], [], []


class Client(threading.Thread):
    def __init__(self, number, servers, things, count, chance, outcome):
        super().__init__(daemon=True)
        self.number, self.servers, self.things, self.count = number, servers, things, count
        self.chance, self.outcome = chance, outcome
        self.line = None
        self.uses = [
            self.add_key, self.use_key, self.use_key, self.revoke_key, self.sign_in, self.use_session, self.use_session, self.sign_out,
            self.visit, self.add_app, self.remove_app, self.add_delegate, self.change_delegate, self.publish, self.publish, self.erase,
            self.look]

    def run(self):
        for _ in range(self.count):
            if self.outcome.is_late() or self.outcome.failures:
                return
            try:
                self.chance.choice(self.uses)()
            except Broken as error:
                self.outcome.fail(f"a connection broke: {error}")

    def ask(self, method, path, body=None, headers=None):
        """Status, body and header, as the operator unless headers are given. The connection is kept as long as the server keeps it."""
        if self.line is None or self.chance.random() < 0.1:
            if self.line:
                self.line.close()
            # Wrong keys are delayed for an address, so each client has many.
            source = f"127.0.{self.number + 1}.{self.chance.randrange(1, 250)}"
            self.line = Connection(self.chance.choice(self.servers).port, 30, source)
        self.line.send(method, path, body, self.operator() if headers is None else headers)
        status, answer, header = self.line.answer()
        if header.get("connection") == "close":
            self.line.close()
            self.line = None
        self.outcome.counts["requests"] += 1
        # On a busy machine the database may be late.
        self.outcome.counts["unavailable"] += status == 503
        if status >= 500 and status != 503:
            self.outcome.fail(f"{method} {path}: {status} {answer}")
        return status, answer, header

    def operator(self):
        app = self.pick(self.things.apps) if self.chance.random() < 0.5 else None
        return {"Authorization": f"Bearer {ADMIN}", **({"Herald-App": app} if app else {})}

    def pick(self, things):
        # Another client may empty the list in between.
        try:
            return things[self.chance.randrange(len(things))]
        except (ValueError, IndexError):
            return None

    def take(self, things):
        try:
            return things.pop(self.chance.randrange(len(things)))
        except (ValueError, IndexError):
            return None

    def add_key(self):
        scopes = [self.chance.choice(["read", "manage", "publish", "admin"])]
        status, answer, _ = self.ask("POST", "/v1/keys", {"name": "k", "scopes": scopes})
        if status == 201:
            self.things.keys.append((answer["id"], answer["key"]))

    def use_key(self):
        if key := self.pick(self.things.keys):
            self.ask("GET", self.chance.choice(["/v1/events?limit=1", "/v1/delegates"]), None, {"Authorization": f"Bearer {key[1]}"})

    def revoke_key(self):
        if key := self.take(self.things.keys):
            self.ask("DELETE", f"/v1/keys/{key[0]}")

    def sign_in(self):
        key = self.pick(self.things.keys)
        self.open({"key": key[1] if key and self.chance.random() < 0.6 else ADMIN})

    def visit(self):
        status, answer, _ = self.ask("POST", "/v1/portal-links", {"app": self.pick(self.things.apps) or "default"})
        if status == 201:
            self.open({"portal_link": answer["url"].rsplit("/", 1)[1]})

    def open(self, body):
        status, _, header = self.ask("POST", "/v1/session", body, SAME_ORIGIN)
        if status == 204:
            self.things.sessions.append(header["set-cookie"].split(";")[0])

    def use_session(self):
        if cookie := self.pick(self.things.sessions):
            self.session("GET", self.chance.choice(["/v1/session", "/v1/events?limit=1"]), cookie)

    def sign_out(self):
        if cookie := self.take(self.things.sessions):
            self.session("DELETE", "/v1/session", cookie)

    def session(self, method, path, cookie):
        # Of several cookies the valid one counts.
        self.ask(method, path, None, {"Cookie": f"herald_session=stale; {cookie}", **SAME_ORIGIN})

    def add_app(self):
        status, answer, _ = self.ask("POST", "/v1/apps", {"name": f"app-{self.chance.getrandbits(60)}"})
        if status == 201:
            self.things.apps.append(answer["id"])

    def remove_app(self):
        if len(self.things.apps) > 3 and (app := self.take(self.things.apps)):
            self.ask("DELETE", f"/v1/apps/{app}")

    def add_delegate(self):
        url = f"http://127.0.0.1:{self.chance.choice([9, self.things.receiver])}/{self.chance.randrange(99)}/{self.chance.choice(PATHS)}"
        ordering = self.chance.choice(["none", "subject", "strict"])
        status, answer, _ = self.ask("POST", "/v1/delegates", {"url": url, "events": ["a.*"], "ordering": ordering})
        if status == 201:
            self.things.delegates.append(answer["id"])

    def change_delegate(self):
        delegate = self.pick(self.things.delegates)
        if not delegate:
            return
        path = f"/v1/delegates/{delegate}"
        method, more, body = self.chance.choice(
            [("DELETE", "", None), ("PATCH", "", {"ordering": "subject"}), ("PATCH", "", {"events": ["*"]}), ("POST", "/pause", None),
             ("POST", "/resume", None), ("GET", "/stats", None), ("POST", "/replay", {"from": "2020-01-01T00:00:00Z"})])
        self.ask(method, path + more, body)

    def publish(self):
        events = [
            {"type": self.chance.choice(["a.b", "c.d"]), "subject": f"s:{self.chance.randrange(20)}", "data": number}
            for number in range(self.chance.randrange(1, 20))]
        self.ask("POST", "/v1/events", events)

    def erase(self):
        self.ask("DELETE", f"/v1/subjects/s:{self.chance.randrange(20)}")

    def look(self):
        self.ask("GET", self.chance.choice(["/v1/deliveries?state=pending", "/v1/audit", "/v1/nodes", "/metrics"]))


def row(o):
    return (
        f"{NODES} nodes on one PostgreSQL, {CLIENTS} clients that change and remove what the others use: keys, sessions, links, apps, "
        "webhooks, subjects and events",
        f"{o['requests']:,} requests", f"no fault of the server, and no server ended; {o['unavailable']} × 503")
