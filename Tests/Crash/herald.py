"""What the attacks share: the server as a process, requests, the receiver, publishers with a ledger of all that was acknowledged,
and the comparison of that ledger with what a server has and what its receivers got."""

import atexit
import collections
import json
import mmap
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BINARY = os.environ.get("HERALD_BINARY", str(ROOT / ".build/release/herald"))
OUTPUT = ROOT / ".build/crash"
processes = set()
# Seconds for what has to happen, on any machine: only an attack that fails waits so long.
PATIENCE = 600


# A process of herald ends by no other signal than the kill of an attack.
CRASHES = {signal.SIGILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGTRAP, signal.SIGFPE}


@atexit.register
def stop_all():
    for process in list(processes):
        if process.poll() is None:
            process.kill()
            process.wait()


def crashes():
    """A sentence for each process that ended by a fault of its own: an attack sees only closed connections. Each is told once."""
    crashed = [process for process in processes if process.poll() is not None and -process.returncode in CRASHES]
    processes.difference_update(crashed)
    return [f"{' '.join(process.args[:2])} ended by {signal.Signals(-process.returncode).name}" for process in crashed]


class Failure(Exception):
    """A promise did not hold."""


class Broken(Exception):
    """A connection ended before the response."""


class Outcome:
    """What an attack did, and what came of it."""

    def __init__(self, deadline=float("inf"), is_full=False):
        self.deadline, self.is_full = deadline, is_full
        self.counts = collections.Counter()
        self.figures = collections.defaultdict(list)
        self.failures = []

    def is_late(self):
        """Whether a sample has taken as long as it may: the counts say what was done."""
        return time.monotonic() > self.deadline

    def fail(self, text):
        self.failures.append(text)
        if len(self.failures) <= 20:
            print(f"    FAILED: {text}", flush=True)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0


def wait_for(what, condition, seconds=PATIENCE, pause=0.02):
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"not within {seconds} s: {what}")
        time.sleep(pause)


class Folder:
    """A folder of its own, in memory unless it must be on a disk. Kept when something failed in it."""

    def __init__(self, name, on_disk=False):
        base = None if on_disk or not os.access("/dev/shm", os.W_OK) else "/dev/shm"
        self.path = tempfile.mkdtemp(prefix=f"herald-crash-{name}-", dir=base)

    def __enter__(self):
        return self

    def __truediv__(self, name):
        return os.path.join(self.path, name)

    def __exit__(self, kind, error, trace):
        if kind is None:
            return shutil.rmtree(self.path, ignore_errors=True)
        kept = OUTPUT / "failures" / os.path.basename(self.path)
        shutil.copytree(self.path, kept, symlinks=True)
        shutil.rmtree(self.path, ignore_errors=True)
        print(f"    kept: {kept}", flush=True)


class Connection:
    """One connection of HTTP/1.1, one request at a time."""

    def __init__(self, port, timeout=30, source=None):
        """`source`: the address on the loopback interface from which the client comes."""
        try:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout, source_address=source and (source, 0))
        except OSError as error:
            raise Broken(str(error)) from error
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def close(self):
        self.socket.close()

    def ask(self, method, path, body=None, headers=None):
        """Status and body; the body of a JSON response is read."""
        self.send(method, path, body, headers)
        return self.answer()[:2]

    def send(self, method, path, body=None, headers=None):
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        payload = b""
        if body is not None:
            payload = json.dumps(body).encode()
            lines += ["Content-Type: application/json", f"Content-Length: {len(payload)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        try:
            self.socket.sendall("\r\n".join(lines + ["", ""]).encode() + payload)
        except OSError as error:
            raise Broken(str(error)) from error

    def answer(self):
        """Status, body and header of the response to what was sent."""
        try:
            while b"\r\n\r\n" not in self.rest:
                self.read()
            head, _, self.rest = self.rest.partition(b"\r\n\r\n")
            first, *fields = head.decode("latin-1").split("\r\n")
            header = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
            length = int(header.get("content-length", 0))
            while len(self.rest) < length:
                self.read()
        except OSError as error:
            raise Broken(str(error)) from error
        content, self.rest = self.rest[:length], self.rest[length:]
        is_json = "json" in header.get("content-type", "")
        return int(first.split(" ")[1]), json.loads(content) if is_json and content else content, header

    def read(self):
        data = self.socket.recv(1 << 18)
        if not data:
            raise Broken("closed")
        self.rest += data


class Herald:
    """The real binary, serving from a folder, or from the database at a URL."""

    def __init__(self, data, *arguments, environment=None, prefix=(), seconds=PATIENCE, is_patient=True, port=0):
        place = "--store" if str(data).startswith("postgres://") else "--data"
        command = [*prefix, BINARY, "serve", "--listen", f"127.0.0.1:{port}", place, str(data), "--log-format", "json", *arguments]
        self.data, self.lines, self.port = str(data), [], None
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        processes.add(self.process)
        self.has_port = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if not self.has_port.wait(seconds) and is_patient:
            self.kill()
            raise Failure(f"it did not listen within {seconds} s")

    def read(self):
        with self.process.stderr:
            for line in self.process.stderr:
                if self.note(line):
                    self.has_port.set()
        self.has_port.set()

    def note(self, line):
        """Whether it is the one that says where the server listens."""
        try:
            entry = json.loads(line)
        except ValueError:
            entry = {"message": line.decode("utf-8", "replace").strip()}
        self.lines.append(entry)
        if entry.get("message") != "listening":
            return False
        self.port = int(entry["address"].rsplit(":", 1)[1])
        return True

    def expect(self):
        """Itself, if it listens."""
        if self.port is None:
            status = self.ended()
            raise Failure(f"refused to start, status {status}: {self.lines[-1] if self.lines else 'no line'}")
        return self

    def ended(self, seconds=PATIENCE):
        """The exit status, negative for a signal."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure(f"it did not end within {seconds} s") from None
        processes.discard(self.process)
        self.reader.join(5)
        return status

    def kill(self):
        self.process.kill()
        return self.ended()

    def stop(self, seconds=PATIENCE):
        self.process.terminate()
        return self.ended(seconds)

    def ask(self, method, path, body=None, headers=None):
        connection = Connection(self.port)
        try:
            return connection.ask(method, path, body, headers)
        finally:
            connection.close()

    def register(self, url, **fields):
        status, answer = self.ask("POST", "/v1/delegates", {"url": url, **fields})
        if status != 201:
            raise Failure(f"not registered: {answer}")
        return answer["id"]

    def events(self):
        """The log, oldest first."""
        connection, found, path = Connection(self.port), [], "/v1/events?limit=200"
        while path:
            status, page = connection.ask("GET", path)
            if status != 200:
                raise Failure(f"GET {path}: {status} {page}")
            found += page["data"]
            path = page["next_cursor"] and f"/v1/events?limit=200&cursor={page['next_cursor']}"
        connection.close()
        return found[::-1]

    def log(self, message):
        return [entry for entry in self.lines if message in entry.get("message", "")]


def command(*arguments):
    """Runs a command of herald to its end: status and text."""
    result = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    return result.returncode, result.stdout + result.stderr


class Receiver:
    def __init__(self, ledger, seed=0, port=None):
        self.ledger = str(ledger)
        arguments = [sys.executable, str(HERE / "receiver.py"), self.ledger, str(seed)] + ([str(port)] if port else [])
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        processes.add(self.process)
        self.port = int(self.process.stdout.readline())

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def set_faulty(self, faulty):
        self.process.send_signal(signal.SIGUSR2 if faulty else signal.SIGUSR1)

    def callbacks(self):
        """All callbacks, in the order of their arrival: (time, path, id, status, address). A line that the receiver is still writing
        has no end yet, and is read the next time."""
        with open(self.ledger, encoding="utf-8") as file:
            lines = [line.split() for line in file if line.endswith("\n")]
        return [(float(at), path, event, status, peer) for at, path, event, status, peer in lines]

    def receipts(self):
        """For each path the successful callbacks: (time, id), in the order of their arrival."""
        found = collections.defaultdict(list)
        for at, path, event, status, _ in self.callbacks():
            if status == "200":
                found[path].append((at, event))
        return found

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        processes.discard(self.process)


class Ledger:
    """What was posted, and what was acknowledged when. One thread writes each entry."""

    def __init__(self):
        self.posted = {}  # id: data
        self.acknowledged = {}  # id: time
        self.batches = []  # ids that were posted together
        self.marks = {}  # idempotency key: whether a response came
        self.states = collections.defaultdict(list)  # user: statuses that were put, acknowledged or not
        self.app_states = []
        self.refused = collections.Counter()
        self.slowest = 0.0
        self.unanswered = 0


class Load:
    """Publishers that post as fast as they are answered, until they are stopped or the server is gone: single events, arrays,
    idempotency keys, logins and logouts, the state of the app. The subject of an event is its publisher."""

    def __init__(self, herald, ledger, name, seed=0, publishers=3, pause=0.0, size=0, limit=None):
        self.port, self.ledger, self.name, self.pause, self.size = herald.port, ledger, name, pause, size
        self.limit = limit
        self.stopped = threading.Event()
        self.threads = [
            threading.Thread(target=self.publish, args=(number, random.Random(f"{seed}-{name}-{number}")), daemon=True)
            for number in range(publishers)
        ]
        for thread in self.threads:
            thread.start()

    def wait(self):
        for thread in self.threads:
            thread.join()

    def stop(self):
        self.stopped.set()
        self.wait()

    def publish(self, publisher, chance):
        try:
            connection = Connection(self.port)
            number = 0
            while not self.stopped.is_set() and (self.limit is None or number < self.limit):
                number += 1
                self.post(connection, publisher, number, chance)
                if self.pause:
                    time.sleep(self.pause)
        except Broken:
            pass

    def post(self, connection, publisher, number, chance):
        ledger, base, kind = self.ledger, f"{self.name}-{publisher}-{number}", chance.randrange(12)

        def event(identity, **more):
            data = {"n": number, "x": "x" * chance.randrange(self.size + 1)}
            if identity:
                ledger.posted[identity] = data
            return {"type": "load.test", "subject": f"s{publisher}", "data": {**data, **more}} | (
                {"id": identity} if identity else {})

        if kind == 0:
            ids = [f"{base}.{index}" for index in range(5)]
            ledger.batches.append(ids)
            self.ask(connection, ids, "POST", "/v1/events", [event(one) for one in ids])
        elif kind == 1:
            # Twice with the same key. A post that was not answered is repeated after the restart, too.
            key = f"key-{base}"
            ledger.marks[key] = event(None, mark=key)
            for _ in range(2):
                self.ask(connection, [], "POST", "/v1/events", ledger.marks[key], {"Idempotency-Key": key})
        elif kind == 2:
            status = chance.choice(["logged_in", "logged_out"])
            user = f"u{publisher}"
            ledger.states[user].append(status)
            answer = self.ask(connection, [], "PUT", f"/v1/auth/{user}", {"status": status})
            if answer:
                ledger.acknowledged[answer["event_id"]] = time.monotonic()
        elif kind == 3 and publisher == 0:
            ledger.app_states.append(base)
            answer = self.ask(connection, [], "PUT", "/v1/app-state", {"state": {"step": base}})
            if answer:
                ledger.acknowledged[answer["event_id"]] = time.monotonic()
        else:
            self.ask(connection, [base], "POST", "/v1/events", event(base))

    def ask(self, connection, ids, *request):
        begin = time.monotonic()
        try:
            status, answer = connection.ask(*request)
        except Broken:
            self.ledger.unanswered += 1
            self.ledger.slowest = max(self.ledger.slowest, time.monotonic() - begin)
            raise
        end = time.monotonic()
        self.ledger.slowest = max(self.ledger.slowest, end - begin)
        if status not in (200, 202):
            self.ledger.refused[status] += 1
            return None
        for one in ids:
            self.ledger.acknowledged[one] = end
        return answer


def compare_log(herald, ledger, outcome, where, until=None):
    """What the server has with what was acknowledged (before a time). Returns the log."""
    log = herald.events()
    there = {event["id"] for event in log}
    expected = {one for one, at in ledger.acknowledged.items() if until is None or at <= until}
    lost = expected - there
    outcome.counts["lost"] += len(lost)
    if lost:
        outcome.fail(f"{where}: {len(lost)} acknowledged events are lost, such as {sorted(lost)[:3]}")
    if len(there) != len(log):
        outcome.fail(f"{where}: an event is listed twice")
    for ids in ledger.batches:
        if 0 < len(there.intersection(ids)) < len(ids):
            outcome.fail(f"{where}: of {ids} only some are there")
    marks = collections.Counter(
        event["data"]["mark"] for event in log if isinstance(event["data"], dict) and "mark" in event["data"])
    for mark, count in marks.items():
        if count > 1:
            outcome.fail(f"{where}: with one idempotency key {count} events: {mark}")
    for event in log:
        if event["id"] in ledger.posted and event["data"] != ledger.posted[event["id"]]:
            outcome.fail(f"{where}: {event['id']} is not as it was posted")
    compare_states(log, outcome, where)
    return log


def compare_logs(servers, ledger, outcome, where):
    """The same for nodes on one database, whose logs are equal. Returns the log."""
    wait_until_same(servers)
    logs = [compare_log(server, ledger, outcome, where) for server in servers]
    # Herald itself may publish at the same time.
    shared = min(map(len, logs))
    if any(log[:shared] != logs[0][:shared] for log in logs):
        outcome.fail(f"{where}: two nodes have different logs")
    return logs[0]


def wait_until_same(servers):
    """Until what one node has accepted last is in the lists of all, which takes a quarter of a second at most."""
    def newest(server):
        return server.ask("GET", "/v1/events?limit=1")[1]["data"][0]["id"]

    wait_for("all nodes list the same", lambda: len({newest(server) for server in servers}) == 1)


def due(log):
    """The ids that a webhook for all events gets: those about delegates do not count among them."""
    return {event["id"] for event in log if not event["type"].startswith("herald.")}


def compare_states(log, outcome, where):
    """Each change of a login has its auth.status_changed, right after it, and nothing else has one."""
    status, app_state, cause = {}, None, None
    for event in log:
        if cause is not None:
            if event["type"] != "auth.status_changed" or event["data"]["cause"] != cause:
                return outcome.fail(f"{where}: no auth.status_changed after {cause}")
            cause = None
        elif event["type"] == "auth.status_changed":
            return outcome.fail(f"{where}: auth.status_changed without a cause: {event['id']}")
        elif event["type"] in ("auth.logged_in", "auth.logged_out"):
            now = event["type"].removeprefix("auth.")
            if status.get(event["subject"], "unknown") != now:
                cause = event["id"]
            status[event["subject"]] = now
        elif event["type"] == "app_state.changed":
            if event["data"]["previous"] != app_state:
                return outcome.fail(f"{where}: {event['id']} has another previous state")
            app_state = event["data"]["state"]
    if cause is not None:
        outcome.fail(f"{where}: no auth.status_changed after {cause}")


def compare_current_states(herald, log, outcome, where):
    """What the server says is the state with the last events of the log."""
    last = {event["subject"].removeprefix("user:"): event["type"].removeprefix("auth.")
            for event in log if event["type"] in ("auth.logged_in", "auth.logged_out")}
    for user, status in last.items():
        _, answer = herald.ask("GET", f"/v1/auth/{user}")
        if answer["status"] != status:
            outcome.fail(f"{where}: {user} is {answer['status']}, and {status} in the log")
    state = [event["data"]["state"] for event in log if event["type"] == "app_state.changed"]
    if state and herald.ask("GET", "/v1/app-state")[1]["state"] != state[-1]:
        outcome.fail(f"{where}: the state of the app is not the last of the log")


def check_folder(data, outcome, where, result=None):
    """What `herald check` says of it, which may have run already."""
    status, text = result or command("check", data)
    if status != 0:
        outcome.fail(f"{where}: herald check: {text}")


# The layout of struct control in shim.c.
FIELDS = ["armed", "kinds", "files", "seen", "skip", "count", "action", "milliseconds", "hits", "clock_seconds"]
WRITE, FLUSH, CUT = 1, 2, 4
DATABASE, LOG, EXTENT, LOCK, FOLDER = 1, 2, 4, 8, 16
SHORT, SLOW, KILL = 1000, 1001, 1002


def library(name):
    """Compiles a library that is loaded before the others of a process."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    source, target, made = HERE / f"{name}.c", OUTPUT / f"{name}.so", OUTPUT / f"{name}-{os.getpid()}.so"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(
            [os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
        made.rename(target)
    return target


class Shim:
    """Says which calls fail while a server runs under shim.c."""

    def __init__(self, folder, data, record=None):
        path = folder / "control"
        with open(path, "wb") as file:
            file.write(bytes(64))
        self.file = open(path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 64)
        self.environment = {"LD_PRELOAD": str(library("shim")), "SHIM_FOLDER": os.path.realpath(data), "SHIM_CONTROL": path}
        if record:
            self.environment["SHIM_RECORD"] = record

    def set(self, **values):
        for name, value in values.items():
            struct.pack_into("<i" if name == "clock_seconds" else "<I", self.memory, FIELDS.index(name) * 4, value)

    def get(self, name):
        return struct.unpack_from("<I", self.memory, FIELDS.index(name) * 4)[0]

    def arm(self, kinds, files, action, skip=0, count=0xFFFFFFFF, milliseconds=0):
        self.set(armed=0)
        self.set(kinds=kinds, files=files, action=action, skip=skip, count=count, milliseconds=milliseconds, seen=0, hits=0)
        self.set(armed=1)

    def disarm(self):
        """How many calls failed."""
        self.set(armed=0)
        return self.get("hits")

    def close(self):
        self.memory.close()
        self.file.close()
