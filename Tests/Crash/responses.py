"""Hostile responses over HTTP/1.1, TLS and HTTP/2, hostile requests and TLS handshakes, and a hostile PostgreSQL, while the server
runs under valgrind: whole messages of real programs, mutated, mixed with good ones, over connections that are used again. Nothing may
read or write memory that it has not, and the server serves on."""

import os
import pathlib
import random
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib

import herald
from herald import Broken, Connection, Failure, Folder, Herald

QUICK, FULL, UNIT = 1_500, 300_000, "responses"
# Responses until the delegates are replaced: a hostile response may disable one.
ROUND = 300
HOSTILE = 0.4
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def gzip(text):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(text) + packer.flush()


def chunked(body):
    return b"%x\r\n%s\r\n0\r\n" % (len(body), body)


RESPONSES = [
    GOOD,
    b"HTTP/1.1 204 No Content\r\nDate: Wed, 25 Nov 2026 20:00:00 GMT\r\nServer: nginx/1.22.1\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\tfolded: first\r\nX-Long: a\r\n  b\r\n\tc\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n " + b"z" * 300 + b"\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" + GOOD,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n" + chunked(b"hello") + b"X-End: 1\r\n folded\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(gzip(b"x" * 5_000)) + b"\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 5\r\n\r\n\x0b\x02\x80ok",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, deflate, zstd\r\nContent-Length: 4\r\n\r\n\x28\xb5\x2f\xfd",
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: //[::1]:1/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"a\", nonce=\"b\"\r\nSet-Cookie: a=b; Path=/\r\n"
    b"Alt-Svc: h3=\":1\"; ma=9\r\nStrict-Transport-Security: max-age=9\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nwithout a length",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\nContent-Range: bytes 0-9/3\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"v" * n) for n in range(90)) + b"Content-Length: 0\r\n\r\n",
    b"HTTP/2 200\r\ncontent-length: 0\r\n\r\n",
]
TOKENS = [b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b"\r\n ", b"\r\n\t", b"\r\n\r\n", b"HTTP/1.1 100 x\r\n\r\n", b"ffffffff", b"-1"]
REQUESTS = [
    b"GET /v1/events?limit=2 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"type\":\"f.a\"}",
    b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"e;a=b\r\n{\"type\":\"f.a\"}\r\n0\r\nX: y\r\n\r\n",
    b"GET /v1/events/stream?after=%30 HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 0\r\nAccept: text/event-stream\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: [::1]:1\r\nCookie: a=b; herald_session=c\r\nAuthorization: Bearer x\r\n folded: 1\r\n\r\n",
]


def mutated(data, chance, others):
    """The same with a few bytes changed, put in, taken out or repeated, or with the rest of another one."""
    data = bytearray(data)
    for _ in range(chance.choice([0, 1, 1, 2, 4, 9])):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(7)
        if kind == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at:at] = chance.choice(TOKENS)
        elif kind == 2:
            del data[at:at + chance.randrange(1, 20)]
        elif kind == 3:
            data[at:at] = data[at:at + chance.randrange(1, 60)] * chance.choice([1, 2, 50])
        elif kind == 4:
            other = chance.choice(others)
            data[at:] = other[chance.randrange(len(other)):]
        elif kind == 5:
            del data[at:]
        elif at < len(data):
            data[at] ^= 1 << chance.randrange(8)
    return bytes(data)


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    """A header of HPACK that is in no table."""
    return b"\0" + bytes([min(len(name), 126)]) + name[:126] + bytes([min(len(value), 126)]) + value[:126]


def answer_http2(stream, chance, is_hostile):
    """The frames of a response: HEADERS with :status 200, and DATA."""
    good = frame(1, 4, stream, b"\x88" + literal(b"server", b"h2")) + frame(0, 1, stream, b"ok")
    if not is_hostile:
        return good
    pieces = [
        good, frame(1, 5, stream, b"\x89"), frame(1, 4, stream, b"\x08\x03103" + literal(b"link", b"x")),
        frame(1, 0, stream, b"\x88") + frame(9, 4, stream, literal(b" folded", b"x") + literal(b"a", b"\0\r\n b")),
        frame(1, 4, stream, literal(b"x", b"y") + b"\x88"), frame(1, 5, stream, literal(b"trailer", b"z")),
        frame(3, 0, stream, (7).to_bytes(4, "big")), frame(3, 0, stream, (13).to_bytes(4, "big")),
        frame(7, 0, 0, chance.choice([0, stream, 1 << 30]).to_bytes(4, "big") + bytes(4)),
        frame(5, 4, stream, (2).to_bytes(4, "big") + b"\x82\x84\x86"), frame(4, 0, 0, b"\0\1\0\0\0\0\0\4\x7f\xff\xff\xff"),
        frame(4, 0, 0, b"\0\3\0\0\0\0"), frame(6, 0, 0, bytes(8)), frame(8, 0, stream, (0x7fffffff).to_bytes(4, "big")),
        frame(8, 0, 0, bytes(4)), frame(0, 9, stream, b"\xff" + b"p" * 20), frame(0, 0, stream, b"d" * 9_000), frame(2, 0, stream, bytes(5)),
        frame(10, 0, 0, b"\0\0a"), frame(0, 1, stream + 2, b"other"), frame(255, 255, 0, b"?"),
    ]
    chosen = b"".join(chance.choice(pieces) for _ in range(chance.randrange(1, 5)))
    if chance.random() < 0.5:
        chosen += good
    return mutated(chosen, chance, pieces) if chance.random() < 0.6 else chosen


class Receivers:
    """Listeners for HTTP/1.1, HTTP/1.1 over TLS, HTTP/2 over TLS, and HTTP/2 without. Each connection has its own random numbers."""

    def __init__(self, folder, seed):
        self.count, self.hostile, self.connections, self.seed = 0, 0, 0, seed
        self.lock = threading.Lock()
        self.ports = {}
        for name, protocols in {"http": None, "https": ["http/1.1"], "h2": ["h2"], "h2c": None}.items():
            context = None
            if protocols:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(folder / "cert", folder / "key")
                context.set_alpn_protocols(protocols)
            listener = socket.create_server(("127.0.0.1", 0), backlog=256)
            self.ports[name] = listener.getsockname()[1]
            threading.Thread(target=self.listen, args=(listener, context, name), daemon=True).start()

    def listen(self, listener, context, name):
        while True:
            connection, _ = listener.accept()
            self.connections += 1
            chance = random.Random(f"{self.seed}-{self.connections}")
            threading.Thread(target=self.serve, args=(connection, context, name, chance), daemon=True).start()

    def serve(self, connection, context, name, chance):
        try:
            connection.settimeout(20)
            if context:
                connection = context.wrap_socket(connection, server_side=True)
            with connection:
                (self.serve_http2 if name.startswith("h2") else self.serve_http1)(connection, chance)
        except (OSError, ValueError):
            pass

    def is_hostile(self, chance):
        is_hostile = chance.random() < HOSTILE
        with self.lock:
            self.count += 1
            self.hostile += is_hostile
        return is_hostile

    def send(self, connection, data, chance):
        """In one piece or in several. Returns whether the connection goes on."""
        cut = chance.randrange(len(data) + 1) if data and chance.random() < 0.3 else len(data)
        connection.sendall(data[:cut])
        if cut < len(data):
            time.sleep(0.002)
            connection.sendall(data[cut:])
        return chance.random() < 0.9

    def serve_http1(self, connection, chance):
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                got = connection.recv(1 << 16)
                if not got:
                    return
                data += got
            head, _, data = data.partition(b"\r\n\r\n")
            found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            length = int(found[1]) if found else 0
            while len(data) < length:
                data += connection.recv(1 << 16) or exit_thread()
            data = data[length:]
            is_hostile = self.is_hostile(chance)
            response = mutated(chance.choice(RESPONSES), chance, RESPONSES) if is_hostile else GOOD
            if not self.send(connection, response, chance) or (is_hostile and b"Content-Length" not in response):
                return

    def serve_http2(self, connection, chance):
        data, has_preface = b"", False
        connection.sendall(frame(4, 0, 0))
        while True:
            got = connection.recv(1 << 16)
            if not got:
                return
            data += got
            if not has_preface:
                if len(data) < 24:
                    continue
                data, has_preface = data[24:], True
            while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
                length, kind, flags = int.from_bytes(data[:3], "big"), data[3], data[4]
                stream = int.from_bytes(data[5:9], "big")
                data = data[9 + length:]
                if kind == 4 and not flags & 1:
                    connection.sendall(frame(4, 1, 0))
                elif kind in (0, 1) and flags & 1:
                    if not self.send(connection, answer_http2(stream, chance, self.is_hostile(chance)), chance):
                        return


def exit_thread():
    raise OSError("closed")


def attack_server(port, chance, outcome):
    """A hostile request, whose response is of no interest."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(mutated(chance.choice(REQUESTS), chance, REQUESTS))
            connection.settimeout(0.05)
            connection.recv(1 << 16)
    except OSError:
        pass
    outcome.counts["requests"] += 1


def hello():
    """The first bytes of a TLS client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def attack_handshake(port, chance, outcome):
    """A mutated start of a handshake, or mutated records after a good one."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            if chance.random() < 0.5:
                connection.sendall(mutated(hello(), chance, REQUESTS))
            else:
                context = ssl._create_unverified_context()
                with context.wrap_socket(connection, do_handshake_on_connect=True) as client:
                    client.sendall(mutated(chance.choice(REQUESTS), chance, REQUESTS))
                    # The rest is not encrypted, which the server has to notice.
                    socket.socket.sendall(client, mutated(hello(), chance, REQUESTS))
            connection.settimeout(0.05)
            connection.recv(1 << 16)
    except (OSError, ValueError):
        pass
    outcome.counts["handshakes"] += 1


def message(kind, *parts):
    payload = b"".join(parts)
    return kind + (len(payload) + 4).to_bytes(4, "big") + payload


READY = message(b"Z", b"I")
FAILED = message(b"E", b"SERROR\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0P15\0\0")
WELCOME = (
    message(b"R", bytes(4)) + message(b"S", b"server_version\0", b"15.9\0") + message(b"S", b"client_encoding\0UTF8\0")
    + message(b"K", bytes(8)) + READY)
ANSWERS = [
    FAILED + READY,
    message(b"T", b"\0\1", b"a\0", bytes(6), b"\0\0\0\x19\xff\xff", bytes(6)) + message(b"D", b"\0\1\0\0\0\1t") * 3
    + message(b"C", b"SELECT 3\0") + READY,
    message(b"1") + message(b"2") + message(b"n") + message(b"C", b"SELECT 0\0") + READY,
    message(b"N", b"SNOTICE\0Mhello\0\0") + message(b"A", bytes(4), b"herald\0x\0") + message(b"C", b"LISTEN\0") + READY,
    message(b"G", b"\0\0\1\0\0") + message(b"c") + READY,
    message(b"D", b"\x7f\xff", bytes(8)) + message(b"T", b"\xff\xff") + READY,
]


class Database:
    """What looks like PostgreSQL until its messages are read."""

    def __init__(self, seed):
        self.chance, self.count = random.Random(seed), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                connection.settimeout(10)
                data = connection.recv(1 << 16)
                if data[4:8] == b"\x04\xd2\x16\x2f":
                    connection.sendall(self.chance.choice([b"N", b"N", b"N", b"E", b"S"]))
                    data = connection.recv(1 << 16)
                self.send(connection, WELCOME, 0.2)
                while data:
                    data = connection.recv(1 << 16)
                    self.send(connection, self.chance.choice(ANSWERS), HOSTILE)
            except OSError:
                pass

    def send(self, connection, data, share):
        self.count += 1
        connection.sendall(mutated(data, self.chance, ANSWERS) if self.chance.random() < share else data)


def attack_database(prefix, seed, outcome):
    """A start on a database that is hostile: it is refused, or given up."""
    database = Database(seed)
    url = f"postgres://herald@127.0.0.1:{database.port}/herald?sslmode=prefer&connect_timeout=2"
    server = Herald(url, prefix=prefix, seconds=20, is_patient=False)
    status = server.process.poll()
    if status is None:
        server.process.terminate()
    status = server.ended(120)
    database.listener.close()
    outcome.counts["database"] += database.count
    if status < 0 or status == 70:
        outcome.fail(f"a hostile database: the server ended with status {status}: {server.lines[-1:]}")


def wrapper(folder):
    """A command that runs the binary under valgrind, which cannot read the debug information of Swift."""
    if not shutil.which("valgrind"):
        raise Failure("valgrind is missing: script/bootstrap --test")
    subprocess.run(["strip", "-g", "-o", folder / "herald", herald.BINARY], check=True)
    tool = f"valgrind --log-file={folder / 'memory'}.%p --undef-value-errors=no --soname-synonyms=somalloc='*jemalloc*'"
    return ["sh", "-c", f"shift; exec {tool} {folder / 'herald'} \"$@\"", "sh"]


def run(count, seed, outcome):
    chance = random.Random(seed)
    with Folder("responses") as folder:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
             folder / "key", "-out", folder / "cert", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
        os.chmod(folder / "key", 0o600)
        prefix = wrapper(folder)
        receivers = Receivers(folder, seed)
        begin = time.monotonic()
        server = Herald(
            folder / "data", "--certificate-authorities", folder / "cert", prefix=prefix, seconds=300).expect()
        door = Herald(
            folder / "door", "--tls-certificate", folder / "cert", "--tls-key", folder / "key", prefix=prefix, seconds=300).expect()
        # The time of a sample counts from here: under valgrind, and beside other work, the servers take most of it to start.
        outcome.deadline += time.monotonic() - begin
        try:
            while receivers.count < count and not outcome.is_late():
                attack(server, door, receivers, min(count, receivers.count + ROUND), chance, outcome)
            for number in range(count // 500):
                if number == 0 or not outcome.is_late():
                    attack_database(prefix, seed + number, outcome)
        except (Broken, OSError):
            pass
        outcome.counts["responses"] += receivers.count
        outcome.counts["hostile"] += receivers.hostile
        for one in (server, door):
            status = one.process.poll()
            if status is None:
                status = one.stop(120)
            if status != 0:
                outcome.fail(f"the server ended with status {status}")
        found = []
        for path in pathlib.Path(folder.path).glob("memory.*"):
            text = path.read_text(encoding="utf-8", errors="replace")
            found += re.findall(r"== (Invalid [^\n]*(?:\n==\d+== {3}[^\n]*){1,12})", text)
        outcome.counts["errors"] += len(found)
        if found:
            outcome.fail(f"valgrind: {found[0]}")
        if outcome.failures:
            raise Failure(f"to repeat: script/crash-test responses --count {count} --seed {seed}")


def attack(server, door, receivers, until, chance, outcome):
    """Publishes until so many responses were given, with new delegates."""
    connection = Connection(server.port, timeout=120)
    delegates, ports = [], receivers.ports
    for number, name in enumerate(["http", "http", "https", "h2", "h2", "h2c"]):
        scheme = "http" if name in ("http", "h2c") else "https"
        body = {
            "url": f"{scheme}://127.0.0.1:{ports[name]}/{name}{number}", "events": ["f.*"], "retry_schedule": [0.1],
            "timeout_seconds": 2, "http_version": "2" if name.startswith("h2") else "1.1"}
        status, answer = connection.ask("POST", "/v1/delegates", body)
        if status != 201:
            raise Failure(f"not registered: {answer}")
        delegates.append(answer["id"])
    end = time.monotonic() + 120
    while receivers.count < until and time.monotonic() < end and not outcome.is_late():
        size = chance.choice([1, 40, 4_000])
        connection.ask("POST", "/v1/events", [{"type": "f.a", "data": "x" * size} for _ in range(4)])
        attack_server(server.port, chance, outcome)
        attack_handshake(door.port, chance, outcome)
    for delegate in delegates:
        connection.ask("DELETE", f"/v1/delegates/{delegate}")
    connection.close()


def row(o):
    return (
        "hostile responses over HTTP/1.1, TLS and HTTP/2, hostile requests and handshakes, and a hostile PostgreSQL, with the server "
        "under valgrind",
        f"{o['responses']:,} responses, {o['hostile']:,} of them hostile; {o['requests']:,} requests; {o['handshakes']:,} handshakes; "
        f"{o['database']:,} messages of PostgreSQL",
        f"{o['errors']} invalid reads or writes, 0 ends of the server")
