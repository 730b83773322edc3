"""Clients of Herald's live streams, many in one process."""
import resource
import select
import socket
import time

from programs import Failed

REQUEST = b"GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
POST = (b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s")


class Listeners:
    """Open streams that have been told `ready`; a context manager that ends them."""

    def __init__(self, server, count):
        self.server, self.count, self.sockets, self.epoll = server, count, {}, select.epoll()

    def __enter__(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = min(hard, self.count + 1_000)
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        try:
            for _ in range(self.count):
                client = socket.create_connection(("127.0.0.1", self.server.port), 30)
                client.sendall(REQUEST)
                self.sockets[client.fileno()] = client
                self.epoll.register(client.fileno(), select.EPOLLIN)
                if len(self.sockets) % 100 == 0:
                    self.read_all(b"event: ready", 100)
            if rest := self.count % 100:
                self.read_all(b"event: ready", rest)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for client in self.sockets.values():
            client.close()
        self.epoll.close()

    def read_all(self, wanted, count, seconds=30):
        """Waits until so many have got a message with these bytes, and returns when each did, by the monotonic clock."""
        deadline, times, parts = time.monotonic() + seconds, [], {}
        while len(times) < count:
            if time.monotonic() > deadline:
                raise Failed(f"only {len(times)} of {count} streams were told")
            for number, _ in self.epoll.poll(1):
                bytes_read = self.sockets[number].recv(65536)
                if not bytes_read:
                    raise Failed("a stream was ended")
                now = time.monotonic()
                parts[number] = parts.get(number, b"") + bytes_read
                if wanted in parts[number] and parts[number].endswith(b"\n\n"):
                    times.append(now)
                    parts[number] = b""
        return times


def idle_streams(server, count):
    """Bytes by which the server grows for each of many streams that are told nothing, when there are some already: what
    the first ones need is not theirs alone."""
    with Listeners(server, 500):
        time.sleep(1)
        before = server.memory()
        with Listeners(server, count):
            time.sleep(1)
            return (server.memory() - before) / count


def live_streams(server, count, events):
    """Milliseconds from the beginning of a post until a client has the event; all clients take turns in one process."""
    took = []
    with Listeners(server, count) as listeners, socket.create_connection(("127.0.0.1", server.port), 30) as publisher:
        for number in range(events):
            body = b'{"type":"order.paid","id":"live-%d-%d","data":{"note":"%s"}}' % (time.monotonic_ns(), number, b"x" * 200)
            began = time.monotonic()
            publisher.sendall(POST % (len(body), body))
            took += [(each - began) * 1000 for each in listeners.read_all(b"order.paid", count)]
            publisher.recv(65536)
            time.sleep(0.02)
    took.sort()
    return {"p50": took[len(took) // 2], "p99": took[len(took) * 99 // 100]}
