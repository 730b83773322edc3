#!/usr/bin/env python3
"""Tries a Debian package that is installed in a chroot: usage: deb.py ROOT NEWER.deb

Starts the server as its unit says, publishes an event, upgrades under load, removes, installs again, and purges. There is no
systemd in the chroot: this program does what it would do. Needs root, and a network of its own, in which port 8080 is free.
"""
import ctypes
import http.client
import http.server
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(sys.argv[1])
NEWER = sys.argv[2]
UNIT = ROOT / "lib/systemd/system/herald.service"
PORT = 8080
SECONDS = 120
counts = {True: 0, False: 0}


def expect(what, is_right, detail=""):
    counts[bool(is_right)] += 1
    print(("ok      " if is_right else "FAILED  ") + what + ("" if is_right else f": {detail}"), flush=True)


def until(what, condition):
    """Waits until the condition returns something."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.01)
    raise SystemExit(f"FAILED  not within {SECONDS} s: {what}")


def in_chroot(*command):
    done = subprocess.run(["chroot", str(ROOT), *command], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Unit:
    """The parts of the unit that matter without systemd."""

    def __init__(self):
        self.lines = [line for line in UNIT.read_text().splitlines() if "=" in line and not line.startswith("#")]

    def all(self, key):
        return [line.split("=", 1)[1] for line in self.lines if line.startswith(key + "=")]

    def environment(self):
        variables = dict(entry.split("=", 1) for entry in self.all("Environment"))
        for name in self.all("EnvironmentFile"):
            file = ROOT / name.removeprefix("-").removeprefix("/")
            if file.exists():
                variables |= dict(line.split("=", 1) for line in file.read_text().splitlines() if line and line[0] != "#")
        return variables

    def user(self):
        entry = re.search(rf"^{self.all('User')[0]}:.*", (ROOT / "etc/passwd").read_text(), re.M).group(0).split(":")
        return int(entry[2]), int(entry[3])

    def filter(self):
        """The system calls that the unit allows."""
        allowed = set()
        for entry in self.all("SystemCallFilter"):
            if entry.startswith("~"):
                allowed -= calls(entry[1:])
            else:
                allowed |= calls(entry)
        return allowed


def calls(group):
    """A group of system calls, with the groups in it."""
    lines = subprocess.run(["systemd-analyze", "syscall-filter", group], check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.strip() for line in lines[1:] if line.strip() and not line.strip().startswith("#")}
    found = {name for name in names if not name.startswith("@")}
    for inner in names - found:
        found |= calls(inner)
    return found


class Server:
    """A server that runs as its unit says, with a socket of a service manager that this program reads."""

    def __init__(self, trace=None):
        unit = Unit()
        user, group = unit.user()
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = ROOT / "run/notify"
        path.unlink(missing_ok=True)
        self.manager.bind(str(path))
        path.chmod(0o666)
        self.manager.settimeout(SECONDS)
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "NOTIFY_SOCKET": "/run/notify", **unit.environment()}
        mask = int(unit.all("UMask")[0], 8)
        # A container may not raise its own limit.
        files = min(int(unit.all("LimitNOFILE")[0]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        library = ctypes.CDLL(None)

        def limit():
            os.umask(mask)
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            library.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
            if unit.all("MemoryDenyWriteExecute") == ["yes"]:
                library.prctl(65, 1, 0, 0, 0)  # PR_SET_MDWE, since Linux 6.3

        command = ["chroot", f"--userspec={user}:{group}", str(ROOT), "env", "--chdir=" + unit.all("WorkingDirectory")[0]]
        if trace:
            command = ["strace", "-f", "-q", "-o", str(trace), *command]
        self.log = open(ROOT / "herald.log", "ab")
        self.process = subprocess.Popen(
            [*command, *unit.all("ExecStart")[0].split()], env=environment, preexec_fn=limit, stdin=subprocess.DEVNULL, stderr=self.log)
        self.is_traced = trace is not None
        self.states = []

    def wait_for(self, state):
        while state not in self.states:
            try:
                self.states.append(self.manager.recv(4096).decode().split("\n")[0])
            except TimeoutError:
                raise SystemExit(f"FAILED  no {state}: {(ROOT / 'herald.log').read_text()[-2000:]}") from None

    def stop(self):
        server = self.process.pid
        if self.is_traced:
            server = int(pathlib.Path(f"/proc/{server}/task/{server}/children").read_text().split()[0])
        os.kill(server, signal.SIGTERM)
        self.wait_for("STOPPING=1")
        code = self.process.wait(SECONDS)
        self.manager.close()
        return code


class Receiver(http.server.ThreadingHTTPServer):
    """Accepts every callback, and keeps the ids of their events."""

    def __init__(self):
        self.ids = set()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                receiver.ids.add(self.headers["webhook-id"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def request(method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    try:
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class Load:
    """Publishes events from four threads, 125 in a second each, through every interruption."""

    def __init__(self):
        self.accepted = {}
        self.is_over = False
        self.threads = [threading.Thread(target=self.publish, args=(number,)) for number in range(4)]
        for thread in self.threads:
            thread.start()

    def publish(self, number):
        connection, count = None, 0
        next_time = time.monotonic()
        while not self.is_over:
            next_time = max(next_time + 0.008, time.monotonic() - 1)
            time.sleep(max(0, next_time - time.monotonic()))
            name = f"load-{number}-{count}"
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
                connection.request("POST", "/v1/events", json.dumps({"id": name, "type": "load.made"}), {"Content-Type": "application/json"})
                response = connection.getresponse()
                response.read()
                if response.status == 202:
                    self.accepted[name] = time.monotonic()
                    count += 1
            except (OSError, http.client.HTTPException):
                # The event is published again by the next turn: its id makes it one event.
                connection and connection.close()
                connection = None

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()

    def longest_gap(self):
        times = sorted(self.accepted.values())
        return max(after - before for before, after in zip(times, times[1:]))


def installed():
    print("== installed")
    for name in ["usr/bin/herald", "usr/share/man/man1/herald.1.gz", "usr/share/bash-completion/completions/herald",
                 "usr/share/zsh/vendor-completions/_herald", "usr/share/fish/vendor_completions.d/herald.fish"]:
        expect(f"/{name} is there", (ROOT / name).is_file())
    code, text = in_chroot("stat", "-c", "%U:%G %a", "/var/lib/herald")
    expect("/var/lib/herald is of the user herald, 700", text.strip() == "herald:herald 700", text)
    code, text = in_chroot("ldd", "/usr/bin/herald")
    expect("every library is found", code == 0 and "not found" not in text, text)
    settings = (ROOT / "etc/herald/herald.conf").read_text()
    expect("every setting of herald.conf is commented out", all(line.startswith("#") for line in settings.splitlines() if line))
    _, table = in_chroot("herald", "help", "table")
    documented = {name for name in re.findall(r"`(HERALD_\w+)`", table)}
    listed = set(re.findall(r"^#(HERALD_\w+)=", settings, re.M))
    expect("herald.conf has every setting but the keys and itself", documented - listed == {"HERALD_ADMIN_KEY", "HERALD_CONFIG", "HERALD_MASTER_KEY"}, documented ^ listed)


def first_event(receiver):
    print("== first event")
    trace = ROOT / "trace"
    server = Server(trace)
    server.wait_for("READY=1")
    status, body = request("POST", "/v1/delegates", {"url": f"http://127.0.0.1:{receiver.server_port}/"})
    expect("a webhook can be registered", status == 201, body)
    status, body = request("POST", "/v1/events", {"id": "first", "type": "order.placed"})
    expect("an event can be published", status == 202, body)
    until("the first event is delivered", lambda: "first" in receiver.ids)
    expect("the event is delivered", True)
    code = server.stop()
    expect("READY comes before STOPPING, and the server ends by itself", server.states == ["READY=1", "STOPPING=1"] and code == 0, (server.states, code))
    # Since the binary was started: `chroot` and `env` come before.
    calls_made = trace.read_text(errors="replace").rpartition(" execve(")[2]
    used = set(re.findall(r"^\d+ +(\w+)\(", calls_made, re.M))
    expect("the server uses system calls that the unit allows only", {"mmap", "accept4"} <= used <= Unit().filter(), used - Unit().filter())


def upgrade(receiver):
    print("== upgrade under load")
    with open(ROOT / "etc/herald/herald.conf", "a") as file:
        file.write("HERALD_LOG_LEVEL=debug\n")
    _, before = in_chroot("dpkg-query", "-W", "-f", "${Version}", "herald")
    server = Server()
    server.wait_for("READY=1")
    load = Load()
    until("events are accepted", lambda: len(load.accepted) >= 500)
    code, text = in_chroot("dpkg", "-i", "/newer.deb")
    expect("the newer package is installed while the server runs", code == 0 and server.process.poll() is None, text)
    # As `systemctl restart`, which the package calls where systemd runs.
    stopped = server.stop()
    server = Server()
    server.wait_for("READY=1")
    count = len(load.accepted)
    until("events are accepted again", lambda: len(load.accepted) >= count + 500)
    load.end()
    until("all accepted events are delivered", lambda: set(load.accepted) <= receiver.ids)
    expect(f"none of {len(load.accepted)} accepted events is lost", stopped == 0, stopped)
    print(f"        the longest time without an accepted event: {load.longest_gap():.2f} s (goal: 3 s)")
    _, after = in_chroot("dpkg-query", "-W", "-f", "${Version}", "herald")
    expect("the version is the newer one", before != after, after)
    expect("changed settings are kept", "HERALD_LOG_LEVEL=debug" in (ROOT / "etc/herald/herald.conf").read_text())
    server.stop()


def removal():
    print("== removal")
    code, text = in_chroot("dpkg", "-r", "herald")
    expect("it can be removed, and says nothing of data", code == 0 and "not empty" not in text, text)
    expect("the program is gone", not (ROOT / "usr/bin/herald").exists())
    expect("data and settings stay", (ROOT / "var/lib/herald/herald.db").exists() and (ROOT / "etc/herald/herald.conf").exists())
    code, text = in_chroot("dpkg", "-i", "/newer.deb")
    expect("it can be installed again", code == 0, text)
    server = Server()
    server.wait_for("READY=1")
    status, _ = request("GET", "/v1/events/first")
    expect("the events are there", status == 200, status)
    server.stop()
    code, text = in_chroot("dpkg", "-P", "herald")
    expect("it can be purged", code == 0 and "not empty" not in text, text)
    left = [name for name in ["var/lib/herald", "etc/herald", "usr/bin/herald"] if (ROOT / name).exists()]
    expect("data and settings are gone", not left, left)


def main():
    subprocess.run(["cp", NEWER, str(ROOT / "newer.deb")], check=True)
    receiver = Receiver()
    installed()
    first_event(receiver)
    upgrade(receiver)
    removal()
    print(f"{counts[True]} passed, {counts[False]} failed")
    return counts[False] > 0


sys.exit(main())
