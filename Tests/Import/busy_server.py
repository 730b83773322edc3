"""A server of Herald for tests that has no configuration and is busy: it refuses all that is to be made. Prints its port, and then
a line for each request that it refuses."""
import http.server
import json


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send(200, "application/json", {"data": [], "next_cursor": None})

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print(self.command, self.path, flush=True)
        problem = {"type": "/problems/busy", "title": "The service is busy", "status": 503, "detail": "Try again later."}
        self.send(503, "application/problem+json", problem)

    def send(self, status, kind, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
