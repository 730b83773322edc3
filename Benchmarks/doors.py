"""Attacks of Benchmarks/hostile on the way in: connections and TLS handshakes from a few addresses, 127.0.0.2 and later."""

import dataclasses
import http.client
import os
import selectors
import socket
import ssl
import subprocess
import time

HOST = b"Host: localhost\r\n"
HALF = b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-Half: "


def hello():
    """The first message of a TLS client, as bytes that can be sent again and again."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()


def certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"], check=True, capture_output=True)
    os.chmod(f"{folder}/key.pem", 0o600)
    return ["--tls-certificate", f"{folder}/certificate.pem", "--tls-key", f"{folder}/key.pem"]


def poll(port):
    """A request that waits until the state changes."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/v1/app-state")
    tag = connection.getresponse().getheader("ETag").encode()
    return b"GET /v1/app-state?wait=30 HTTP/1.1\r\n" + HOST + b"If-None-Match: " + tag + b"\r\n\r\n"


def connect(port, address, message):
    client = socket.socket()
    client.setblocking(False)
    client.setsockopt(socket.SOL_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
    client.bind((address, 0))
    client.connect_ex(("127.0.0.1", port))
    return client, message


def shake_hands(port, address, door, counts):
    """As many handshakes as it can up to its share of the rate, each given up after the server's answer."""
    message = hello()
    rate = door.rate / door.addresses
    waiting = selectors.DefaultSelector()
    begin, made, ended = time.monotonic(), 0, 0
    while True:
        due = int((time.monotonic() - begin) * rate) - made
        for _ in range(min(due, 200 - len(waiting.get_map()))):
            client, _ = connect(port, address, message)
            waiting.register(client, selectors.EVENT_WRITE)
            made += 1
        for key, events in waiting.select(0.01):
            client = key.fileobj
            try:
                if events & selectors.EVENT_WRITE:
                    client.send(message)
                    waiting.modify(client, selectors.EVENT_READ)
                    continue
                counts[2 if client.recv(4096) else 5] += 1
            except OSError:
                counts[5] += 1
            waiting.unregister(client)
            client.close()
            ended += 1
        # What was too much is not made later.
        made = max(made, int((time.monotonic() - begin) * rate) - 1000)


def keep_open(port, address, door, counts):
    """As many connections as an address may have, opened again when they are closed, up to its share of the rate. Without a bound,
    loopback carries 40,000 per second, and what is measured is the system's work for the attackers."""
    clients, message = selectors.DefaultSelector(), door.message(port)
    begin, made = time.monotonic(), 0
    while True:
        due = door.connections + int((time.monotonic() - begin) * door.rate / door.addresses) - made
        for _ in range(min(due, door.connections - len(clients.get_map()))):
            made += 1
            client, _ = connect(port, address, None)
            clients.register(client, selectors.EVENT_READ | selectors.EVENT_WRITE)
        for key, events in clients.select(0.05):
            client = key.fileobj
            try:
                if events & selectors.EVENT_WRITE:
                    client.send(message)
                    clients.modify(client, selectors.EVENT_READ)
                    continue
                client.recv(4096)
            except OSError:
                pass
            counts[5] += 1
            clients.unregister(client)
            client.close()


@dataclasses.dataclass(frozen=True)
class Door:
    """An attack from some addresses, a process for each."""
    addresses: int
    send: object = keep_open
    message: object = lambda port: HALF
    connections: int = 200
    # New connections per second of all addresses.
    rate: int = 8_000
    memory: str = ""
    is_tls: bool = False
    # Between two connections of the client that is measured. With more than 50 TLS handshakes in a second it is a heavy client
    # itself, as are the attackers.
    pause: float = 0.003

    def flags(self, folder):
        return (["--memory", self.memory] if self.memory else []) + (certificate(folder) if self.is_tls else [])

    def attack(self, port, number, counts):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        self.send(port, f"127.0.0.{2 + number}", self, counts)


DOORS = {
    "handshakes": Door(8, shake_hands, rate=10_000, is_tls=True, pause=0.03),
    "half requests": Door(4, memory="64MiB"),
    "long polls": Door(4, message=poll, memory="64MiB"),
    "many halves": Door(40),
}
