"""A small HTTP server for the tests: byte ranges, ETags, no directory listing, a log of every request, and failures on demand.
Server and Handler are what it shares with objectstore.py."""
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
from collections import namedtuple
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Request = namedtuple("Request", "method path range status sent headers query")


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # with the usual five, a client that opens many connections waits a second for those that are refused

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that breaks off is none
            super().handle_error(request, client_address)


class Server:
    """Answers on 127.0.0.1 while used as a context, with a Handler whose `server.owner` it is."""

    hosts = set()

    def __init__(self, handler, ports=()):
        """On the first of `ports` that is free, else on any."""
        self.sockets, ports = [], list(ports)
        self.changed, self.under_way, self.most, self.together, self.gathers = threading.Condition(), 0, 0, 0, lambda *request: False
        while True:
            try:
                self._server = _Listener(("127.0.0.1", ports.pop(0) if ports else 0), handler)
            except OSError:
                continue
            self.host = "127.0.0.1:%d" % self._server.server_port
            if self.host not in Server.hosts:
                break
            self._server.server_close()  # of that one the driver may remember something
        Server.hosts.add(self.host)
        self._server.owner = self

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *exception):
        self._server.shutdown()
        self._server.server_close()

    def gather(self, together, gathers):
        """From now on a request for whose method, path, and headers or query, `gathers` is true is not answered before so many of them were under way
        at once (or a minute went by: then none waits any more). `most` tells how many were."""
        self.most, self.together, self.gathers = 0, together, gathers

    def begin(self, *request):
        if not self.gathers(*request):
            return
        with self.changed:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            self.changed.notify_all()
            if not self.changed.wait_for(lambda: self.most >= self.together, 60):
                self.together = 0
            self.under_way -= 1

    def die(self):
        """From now on there is nobody who answers, on connections that are open neither."""
        self._server.shutdown()
        self._server.server_close()
        for connection in self.sockets:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.server.owner.sockets.append(self.connection)

    def log_message(self, *arguments):
        pass

    def part(self, size):
        """(begin, end) of the bytes that the Range header asks for, of so many; None without one. Not begin < end: there are none."""
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not wanted:
            return None
        first, last = wanted.groups()
        return int(first) if first else max(0, size - int(last)), min(int(last) + 1, size) if first and last else size

    def answer(self, status, headers={}, body=b"", sent=None):
        """With `sent`, no more of the body than that follows."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:sent])


class RangeServer(Server):
    """Serves the files under `root` on 127.0.0.1 while used as a context.

    faults       {path: what to answer instead}: an HTTP status, alone or with a body in XML; "short" for a body that breaks off half way,
                 "reset" where the connection is reset then, "idle" where it is reset before any answer; a list of them is used up, one for each request
    ranges       "all"; "plain": any with a suffix range ("the last n bytes") is answered with `no_suffix`; "none": Range is ignored;
                 a pair: what is added to the begin and the end that were asked for
    preconditions, etags  whether If-Match is obeyed, and answers have an ETag
    before       called with (method, path, headers) before each answer; a status that it returns is the answer
    latency      seconds that every answer waits
    bandwidth    bytes a second that all answers share, one after another; None: no limit
    log          every request so far, as Request
    connections  how many there were
    """

    def __init__(self, root, ports=()):
        self.root, self.faults, self.latency, self.log = str(root), {}, 0.0, []
        self.bandwidth, self.line, self.line_is_free = None, threading.Lock(), 0.0
        self.ranges, self.no_suffix, self.before, self.connections = "all", 416, None, 0
        self.preconditions = self.etags = True
        super().__init__(_Handler, ports)

    def vsi(self, path):
        """The name under which GDAL opens a file or directory of this server."""
        return "/vsicurl/http://%s/%s" % (self.host, path)

    def send(self, size):
        """Waits as long as so many bytes take behind those of other answers."""
        if self.bandwidth:
            with self.line:
                self.line_is_free = max(self.line_is_free, time.monotonic()) + size / self.bandwidth
                wait = self.line_is_free - time.monotonic()
            time.sleep(max(0, wait))

    def requests(self, pattern=""):
        """The requests whose path, without the first slash, matches a regular expression."""
        return [request for request in self.log if re.search(pattern, request.path)]

    def bytes_sent(self, pattern=""):
        return sum(request.sent for request in self.requests(pattern))


class _Handler(Handler):
    def setup(self):
        self.server.owner.connections += 1
        super().setup()

    def do_GET(self):
        owner = self.server.owner
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path).lstrip("/")
        time.sleep(owner.latency)
        owner.begin(self.command, path, self.headers)
        fault = owner.before(self.command, path, self.headers) if owner.before else None
        if fault is None:
            fault = owner.faults.get(path)
            if isinstance(fault, list):
                fault = fault.pop(0) if fault else None
        if fault == "idle":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        if isinstance(fault, int):
            status, headers, body = fault, {}, b""
        elif isinstance(fault, tuple):
            status, headers, body = fault[0], {"Content-Type": "application/xml"}, fault[1].encode()
        else:
            status, headers, body = self._find(os.path.join(owner.root, path))
        sent = 0 if self.command == "HEAD" else len(body) // 2 if fault in ("short", "reset") else len(body)
        if fault in ("short", "reset"):
            self.close_connection = True
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        owner.log.append(Request(self.command, path, self.headers.get("Range"), status, sent, self.headers.items(), query))
        owner.send(sent)
        if not owner.etags:
            headers.pop("ETag", None)
        self.answer(status, headers, body, sent)

    do_HEAD = do_GET

    def _find(self, name):
        """(status, headers, body) for a file, or the part of it that the Range header asks for."""
        owner = self.server.owner
        if not os.path.isfile(name):
            return 404, {}, b""
        with open(name, "rb") as file:
            status = os.fstat(file.fileno())
            size, etag = status.st_size, '"%x"' % (status.st_mtime_ns ^ status.st_size)
            if owner.preconditions and self.headers.get("If-Match", etag) != etag:
                return 412, {}, b""
            # For HEAD, which tells no more than their number, so many zeros: files may be big.
            read = bytes if self.command == "HEAD" else file.read
            part = self.part(size)
            if part is None or owner.ranges == "none":
                return 200, {"Accept-Ranges": "none" if owner.ranges == "none" else "bytes", "ETag": etag}, read(size)
            if owner.ranges == "plain" and self.headers["Range"].startswith("bytes=-"):
                return (200, {"ETag": etag}, read(size)) if owner.no_suffix == 200 else (owner.no_suffix, {}, b"")
            begin, end = part
            if begin >= end:
                return 416, {"Content-Range": "bytes */%d" % size}, b""
            if isinstance(owner.ranges, tuple):
                begin, end = begin + owner.ranges[0], end + owner.ranges[1]
            file.seek(begin)
            return 206, {"Content-Range": "bytes %d-%d/%d" % (begin, end - 1, size), "ETag": etag}, read(end - begin)
