"""What the servers of tests for `herald import` have in common: a token, and JSON by path."""
import http.server
import json
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    """A subclass has `token`, and `answer(path, query)`, which returns None for an unknown path."""

    protocol_version = "HTTP/1.1"
    # Head and body in one packet.
    wbufsize = 65536

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        status, answer = 200, self.answer(url.path, dict(urllib.parse.parse_qsl(url.query)))
        if self.headers["Authorization"] != f"Bearer {self.token}":
            status, answer = 401, {"detail": "Invalid token."}
        elif answer is None:
            status, answer = 404, {"detail": "Not found"}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client may be killed at any time."""


def serve(handler):
    """Prints the port, and serves until the process is killed."""
    server = Server(("127.0.0.1", 0), handler)
    print(server.server_port, flush=True)
    server.serve_forever()
