"""A PostgreSQL server in a folder of its own, and a proxy in front of it that loses what it is told to lose."""

import glob
import os
import pwd
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

from herald import Failure, processes, wait_for

# Each is returned once. They are below those that Linux gives to connections: none takes the port of a server that was killed, and starts
# again.
PORTS = iter(random.sample(range(20_000, 32_000), 12_000))
# PostgreSQL refuses to run as root; Debian's package brings this user.
USER = "postgres"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": 60,
    "shared_buffers": "64MB",
    "wal_level": "replica",
    "max_wal_senders": 8,
    "log_min_messages": "warning",
}


def program(name):
    """The newest one: Debian keeps those of a server out of the search path."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=lambda path: int(path.split("/")[4]))
    path = found[-1] if found else shutil.which(name)
    if path is None:
        raise Failure(f"{name} is not installed: script/bootstrap installs it")
    return path


def free_port():
    for port in PORTS:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise Failure("no port is free")


class Postgres:
    """One server, with trust on loopback. `primary`: the one that it is a standby of."""

    def __init__(self, primary=None, **settings):
        self.user = USER if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        # In memory: a server that is killed loses nothing by it, and a flush takes what `commit_delay` makes of it.
        self.folder = tempfile.mkdtemp(prefix="herald-crash-postgres-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        os.chown(self.folder, pwd.getpwnam(self.user).pw_uid, -1)
        self.data, self.port, self.process = f"{self.folder}/data", free_port(), None
        self.settings = {**SETTINGS, **settings, "port": self.port, "unix_socket_directories": self.folder}
        if primary is None:
            self.run("initdb", "-D", self.data, "-A", "trust", "-U", "herald", "-E", "UTF8", "--locale", "C", "--no-sync")
            self.begin()
        else:
            self.follow(primary)

    def follow(self, primary):
        """Begins as a standby, whatever it was."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.run(
            "pg_basebackup", "-h", "127.0.0.1", "-p", str(primary.port), "-U", "herald", "-D", self.data, "-R", "-X", "stream",
            "--checkpoint=fast", "--no-sync")
        self.begin()

    def begin(self):
        with open(f"{self.data}/postgresql.conf", "a", encoding="utf-8") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in self.settings.items())
        self.start()

    def set(self, name, value):
        """For good, and at once."""
        self.ask(f"ALTER SYSTEM SET {name} = '{value}'")
        self.ask("SELECT pg_reload_conf()")

    def as_user(self):
        return {"user": self.user} if os.geteuid() == 0 else {}

    def run(self, name, *arguments):
        result = subprocess.run(
            [program(name), *arguments], capture_output=True, text=True, cwd=self.folder, timeout=120, **self.as_user())
        if result.returncode != 0:
            raise Failure(f"{name}: {result.stderr}")
        return result.stdout

    def start(self):
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(
                [program("postgres"), "-D", self.data], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, **self.as_user())
        processes.add(self.process)
        wait_for("PostgreSQL starts", self.is_ready)

    def is_ready(self):
        if self.process.poll() is not None:
            raise Failure(f"PostgreSQL ended with status {self.process.returncode}: {self.folder}/log")
        return self.ask("SELECT 1", check=False) == "1"

    def ask(self, text, database="postgres", check=True):
        """What psql prints, without its frame."""
        result = subprocess.run(
            [program("psql"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "herald", "-d", database, "-XAtqc", text],
            capture_output=True, text=True, timeout=120, check=False)
        if check and result.returncode != 0:
            raise Failure(f"psql: {result.stderr}")
        return result.stdout.strip()

    def end(self, number=signal.SIGQUIT):
        """By default as a crash: what is not flushed is gone, connections break off."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(60)
        processes.discard(self.process)

    def restart(self, number=signal.SIGQUIT):
        self.end(number)
        self.start()

    def cpu(self):
        """Seconds of CPU time of all its processes, also of those that have ended."""
        ticks = 0
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path, encoding="utf-8") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:  # It has ended.
                continue
            if path == f"/proc/{self.process.pid}/stat":
                ticks += sum(int(field) for field in fields[11:15])
            elif int(fields[1]) == self.process.pid:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def create(self, database):
        self.ask(f"CREATE DATABASE {database}")
        return self.url(database)

    def url(self, database, port=None):
        return f"postgres://herald@127.0.0.1:{port or self.port}/{database}"

    def close(self):
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        # What a failed attack left shows why it failed; an interrupted one leaves nothing.
        if kind is not None and issubclass(kind, Exception):
            print(f"    kept: {self.folder}", flush=True)
            return self.end()
        return self.close()


# What a proxy does with a message that it waits for, and with all that follows on that connection.
BEFORE, AFTER, SWALLOW = "before it", "after it", "without closing"


class Proxy:
    """Passes on the bytes of every connection, until a message comes that it waits for: a statement whose text contains some
    words is to be executed. Format: "Message Flow" and "Message Formats" of PostgreSQL's manual, protocol 3.0."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.lock = threading.Lock()
        self.words, self.action, self.skip, self.hit = None, None, 0, threading.Event()
        self.is_cut = False
        self.pairs = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def lose(self, words, action, skip=0):
        """From the `skip + 1`th execution of such a statement on, once: cuts the connection before the server gets it, cuts it
        when the server has it so that its response is lost, or keeps both ends open and passes nothing on any more."""
        with self.lock:
            self.words, self.action, self.skip = words, action, skip
            self.hit.clear()

    def cut_all(self):
        """Nobody gets through from now on."""
        self.is_cut = True
        for pair in list(self.pairs):
            self.drop(*pair)

    def mend(self):
        self.is_cut = False

    def close(self):
        self.listener.close()
        self.cut_all()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                if self.is_cut:
                    raise OSError("cut")
                server = socket.create_connection(("127.0.0.1", self.server_port), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = (client, server)
            self.pairs.add(pair)
            state = {"silent": False}
            threading.Thread(target=self.forward, args=(pair, state), daemon=True).start()
            threading.Thread(target=self.reply, args=(pair, state), daemon=True).start()

    def drop(self, client, server):
        self.pairs.discard((client, server))
        for one in (client, server):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def reply(self, pair, state):
        client, server = pair
        try:
            while data := server.recv(1 << 16):
                if not state["silent"]:
                    client.sendall(data)
        except OSError:
            pass
        if not state["silent"]:
            self.drop(*pair)

    def forward(self, pair, state):
        client, server = pair
        try:
            for data, action in self.messages(client):
                if action == BEFORE:
                    break
                if action is not None:
                    state["silent"] = True
                server.sendall(data)
                if action == AFTER:
                    # The server works on what it has got, although the client is gone.
                    threading.Event().wait(0.05)
                    break
        except OSError:
            pass
        self.drop(*pair)

    def messages(self, client):
        """The client's bytes, as whole messages; with what to do when the time has come."""
        buffer, statements, portals, has_begun, due = b"", {}, {}, False, None
        while data := client.recv(1 << 16):
            buffer += data
            done = 0
            while True:
                head = 1 if has_begun else 0
                if len(buffer) < done + head + 4:
                    break
                length = struct.unpack_from(">i", buffer, done + head)[0]
                end = done + head + length
                if len(buffer) < end:
                    break
                body = buffer[done + head + 4:end]
                kind = buffer[done:done + 1] if has_begun else b""
                if not has_begun:
                    # Requests for encryption come before the start, which names version 3.
                    has_begun = struct.unpack_from(">i", body)[0] >> 16 == 3
                elif kind == b"P":
                    name, text = body.split(b"\0")[:2]
                    statements[name] = text.decode("utf-8", "replace")
                elif kind == b"B":
                    portal, name = body.split(b"\0")[:2]
                    portals[portal] = statements.get(name, "")
                elif kind == b"E" and self.is_meant(portals.get(body.split(b"\0")[0], "")):
                    due = self.action
                elif kind == b"Q" and self.is_meant(body.decode("utf-8", "replace")):
                    due = self.action
                if due == BEFORE:
                    yield buffer[:done], None
                    return self.happened()
                done = end
                # A message to execute does nothing until the Sync behind it.
                if due and kind in (b"S", b"Q"):
                    self.happened()
                    yield buffer[:done], due
                    buffer, done = buffer[done:], 0
                    due = None
            if done:
                yield buffer[:done], None
                buffer = buffer[done:]

    def is_meant(self, text):
        with self.lock:
            if self.words is None or self.words.lower() not in text.lower():
                return False
            if self.skip:
                self.skip -= 1
                return False
            self.words = None
            return True

    def happened(self):
        self.hit.set()


class Wire(Proxy):
    """The way of one node to the database. While it is cut, it holds back all bytes and closes nothing; afterwards they go on, too
    late. `is_deaf`: what the server notifies of is lost; for sessions without encryption."""

    def __init__(self, server_port, is_deaf=False):
        self.is_deaf, self.is_passable = is_deaf, threading.Event()
        self.is_passable.set()
        super().__init__(server_port)

    def url(self, database):
        return f"postgres://herald@127.0.0.1:{self.port}/{database}?sslmode=disable&gssencmode=disable"

    def cut(self):
        self.is_passable.clear()

    def mend(self):
        self.is_passable.set()

    def close(self):
        self.mend()
        super().close()

    def forward(self, pair, state):
        client, server = pair
        self.pass_on(pair, client, server, lambda data: data)

    def reply(self, pair, state):
        client, server = pair
        self.pass_on(pair, server, client, self.without_notifications() if self.is_deaf else lambda data: data)

    def pass_on(self, pair, source, target, change):
        try:
            while data := source.recv(1 << 16):
                self.is_passable.wait()
                target.sendall(change(data))
            self.is_passable.wait()
        except OSError:
            pass
        self.drop(*pair)

    @staticmethod
    def without_notifications():
        """Takes the server's bytes, and returns those of whole messages without NotificationResponse."""
        buffer = b""

        def change(data):
            nonlocal buffer
            buffer, done, kept = buffer + data, 0, []
            while len(buffer) >= done + 5:
                end = done + 1 + struct.unpack_from(">i", buffer, done + 1)[0]
                if len(buffer) < end:
                    break
                if buffer[done:done + 1] != b"A":
                    kept.append(buffer[done:end])
                done = end
            buffer = buffer[done:]
            return b"".join(kept)

        return change
