"""Several servers on one PostgreSQL: what was made at one of them is used at another at once, what was revoked at one is refused by
the others, also by one that gets no notifications, and one that is cut off from the database lets nobody in."""

import random
import time

from herald import Broken, Connection, Failure, Folder, Herald, wait_for
from nodes import figures
from postgres import Postgres, Wire

QUICK, FULL, UNIT = 200, 10_000, "things that are made and used"
# The last one does not get what the server notifies of.
NODES = 3
DEAF = NODES - 1
# Of one database.
CHAPTER = 2_500
# How often a node is cut off: after each so many uses, and at least once.
CUT = 500
# Seconds within which what was revoked at one node is refused by the others.
REVOKED = 1
# Seconds after which a node without the database lets nobody in.
ALONE = 5
ADMIN = "operator-of-the-visibility-attack"
KINDS = ["key", "delegate", "event type", "app", "app by name", "event", "session", "portal session"]


def run(count, seed, outcome):
    for chapter in range((count + CHAPTER - 1) // CHAPTER):
        number = min(CHAPTER, count - chapter * CHAPTER)
        with Folder("visibility"), Postgres() as database:
            before = len(outcome.failures)
            attack(database, number, seed + chapter, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test visibility --count {number} --seed {seed + chapter}")


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


class Place:
    """A node, and the way to it. Each client has an address of its own: answers to wrong keys are delayed for an address."""

    clients = 0

    def __init__(self, server):
        self.server = server
        self.line = Connection(server.port)

    def admin(self, method, path, body=None, headers=None):
        """What the operator gets, who keeps his connection."""
        self.line.send(method, path, body, {**bearer(ADMIN), **(headers or {})})
        return self.line.answer()

    def make(self, path, body, headers=None):
        status, answer, _ = self.admin("POST", path, body, headers)
        if status not in (201, 202):
            raise Failure(f"POST {path}: {status} {answer}")
        return answer

    def client(self, timeout=30):
        Place.clients += 1
        number = Place.clients % 0xFFFFF
        return Connection(self.server.port, timeout, f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}")

    def guest(self, headers, path="/v1/events?limit=1", method="GET", body=None, timeout=30):
        """The answer to a client with a connection of its own."""
        connection = self.client(timeout)
        try:
            connection.send(method, path, body, headers)
            return connection.answer()
        finally:
            connection.close()


def attack(database, count, seed, outcome):
    chance = random.Random(seed)
    database.create("herald")
    wire = Wire(database.port, is_deaf=True)
    urls = [database.url("herald")] * DEAF + [wire.url("herald")]
    environment = {"HERALD_ADMIN_KEY": ADMIN, "HERALD_ALLOW_NETWORKS": "127.0.0.0/8"}
    servers = [Herald(url, environment=environment).expect() for url in urls]
    places = [Place(server) for server in servers]
    for number in range(count):
        if number % CUT == min(CUT, count) // 2:
            cut_off(places, wire, outcome)
        here, there = chance.sample(range(NODES), 2)
        # At the node that looks only now and then, this takes long: for one of four it is waited.
        waits = there != DEAF or chance.random() < 0.25
        use(KINDS[number % len(KINDS)], places[here], places[there], f"{seed}-{number}", there == DEAF, waits, outcome)
        if outcome.is_late():
            break
    for server in servers:
        if server.stop() != 0:
            outcome.fail("a node did not end with status 0")
    wire.close()


def use(kind, here, there, name, is_deaf, waits, outcome):
    """Makes something at one node and uses it at another one at once; then it is taken away."""
    path, credentials, cookie = None, None, None
    if kind == "key":
        key = here.make("/v1/keys", {"name": name, "scopes": ["read"]})
        answer = there.guest(bearer(key["key"]))
        path, credentials = f"/v1/keys/{key['id']}", bearer(key["key"])
    elif kind == "delegate":
        made = here.make("/v1/delegates", {"url": f"https://127.0.0.1:9/{name}", "events": ["never"]})
        path = f"/v1/delegates/{made['id']}"
        answer = there.admin("GET", path)
    elif kind == "event type":
        path = f"/v1/event-types/made.t{name.replace('-', '_')}"
        status, problem, _ = here.admin("PUT", path, {"description": name})
        if status != 201:
            raise Failure(f"PUT {path}: {status} {problem}")
        answer = there.admin("GET", path)
    elif kind in ("app", "app by name"):
        path = f"/v1/apps/{here.make('/v1/apps', {'name': f'app-{name}'})['id']}"
        by_name = {"Herald-App": f"app-{name}"}
        answer = there.admin("GET", path) if kind == "app" else there.admin("GET", "/v1/events?limit=1", None, by_name)
    elif kind == "event":
        answer = there.admin("GET", f"/v1/events/{here.make('/v1/events', {'type': 'made.event'})['id']}")
    else:
        link = here.make("/v1/portal-links", {"app": "default"})["url"].rsplit("/", 1)[1] if kind == "portal session" else None
        opened = here.guest({}, "/v1/session", "POST", {"portal_link": link} if link else {"key": ADMIN})
        cookie = opened[2].get("set-cookie", "").split(";")[0]
        if opened[0] != 204 or not cookie:
            raise Failure(f"no session: {opened}")
        credentials = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
        answer = there.guest(credentials)
    outcome.counts["used"] += 1
    outcome.counts["deaf uses"] += is_deaf
    if answer[0] != 200:
        outcome.counts["unknown"] += 1
        outcome.fail(f"{kind}: {answer[0]} at another node: {answer[1]}")
    if path is None and credentials is None:
        return
    status, problem, _ = here.guest(credentials, "/v1/session", "DELETE") if cookie else here.admin("DELETE", path)
    if status != 204:
        outcome.fail(f"{kind}: not taken away: {status} {problem}")
    if not waits:
        return
    revoked = accepted = time.monotonic()
    while True:
        asked = time.monotonic()
        status = (there.guest(credentials) if credentials else there.admin("GET", path))[0]
        if status in (401, 404):
            break
        if status != 200 or asked - revoked > 10:
            return outcome.fail(f"{kind}: {status} {asked - revoked:.1f} s after it was taken away")
        accepted = asked
    # Until the last request was sent that was accepted.
    outcome.figures["deaf" if is_deaf else "told"].append(accepted - revoked)
    outcome.counts["revoked"] += 1
    if accepted - revoked > REVOKED:
        outcome.fail(f"{kind}: accepted {accepted - revoked:.2f} s after it was taken away")


def cut_off(places, wire, outcome):
    """The last node loses the database without notice, and keys are revoked at another one."""
    here, there = places[0], places[DEAF]
    keys = [here.make("/v1/keys", {"name": "cut off", "scopes": ["read"]}) for _ in range(2)]
    stays, goes = (bearer(key["key"]) for key in keys)
    if there.guest(stays)[0] != 200 or there.guest(goes)[0] != 200:
        return outcome.fail("a key is unknown at another node")
    begin = time.monotonic()
    wire.cut()
    here.admin("DELETE", f"/v1/keys/{keys[1]['id']}")
    accepted = refused = begin
    while refused < begin + ALONE + 2:
        for credentials in (stays, goes):
            refused = time.monotonic()
            try:
                status = there.guest(credentials, timeout=1)[0]
            except Broken:
                # Let in, and waiting for the database.
                status = 200
            if status == 200:
                accepted = max(accepted, refused)
            elif status != 503:
                outcome.fail(f"cut off: {status}")
        time.sleep(0.02)
    outcome.counts["cuts"] += 1
    outcome.figures["alone"].append(accepted - begin)
    if accepted - begin > ALONE:
        outcome.fail(f"let in {accepted - begin:.2f} s after it was cut off")
    wire.mend()
    mended = time.monotonic()

    def is_back():
        if there.guest(goes)[0] == 200:
            raise Failure("a revoked key was let in by a node that was cut off")
        return there.guest(stays)[0] == 200

    wait_for("the node lets in again", is_back)
    outcome.figures["back"].append(time.monotonic() - mended)
    here.admin("DELETE", f"/v1/keys/{keys[0]['id']}")


def row(o):
    return (
        f"{NODES} nodes on one PostgreSQL, one of which gets no notifications: keys, webhooks, event types, apps, events and sessions are made "
        "at one, used at another at once, and taken away; and a node is cut off from the database",
        f"{o['used']:,} uses, {o['deaf uses']:,} of them at the node without notifications; {o['revoked']:,} taken away; {o['cuts']:,} cuts",
        f"{o['unknown']} × 401 or 404; what was taken away was accepted for (p50, p99, max) {figures(o, 'told')}, and {figures(o, 'deaf')} without "
        f"notifications; the isolated node accepted requests for at most {o['alone_max']:,} ms, and again within {o['back_max']:,} ms "
        "after the connection was restored")
