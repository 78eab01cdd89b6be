"""A small HTTP server for the tests: byte ranges, ETags, no directory listing, a log of every request, and failures on demand."""
import os
import re
import sys
import threading
import time
import urllib.parse
from collections import namedtuple
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Request = namedtuple("Request", "method path range status sent headers query")


class RangeServer:
    """Serves the files under `root` on 127.0.0.1 while used as a context.

    faults       {path: what to answer instead}: an HTTP status, or "short" for a body that breaks off half way; a list of them is
                 used up, one for each request
    ranges       "all"; "plain": any with a suffix range ("the last n bytes") is answered with `no_suffix`; "none": Range is ignored
    preconditions  whether If-Match is obeyed
    etags        whether answers have an ETag
    before       called with (method, path, headers) before each answer; a status that it returns is the answer
    latency      seconds that every answer waits
    log          every request so far, as Request
    connections  how many there were
    """
    hosts = set()

    def __init__(self, root):
        self.root, self.faults, self.latency, self.log = str(root), {}, 0.0, []
        self.ranges, self.no_suffix, self.before, self.connections = "all", 416, None, 0
        self.preconditions = self.etags = True
        self._server = _Server(("127.0.0.1", 0), _Handler)
        while self.host in RangeServer.hosts:  # of which the driver may remember something
            self._server.server_close()
            self._server = _Server(("127.0.0.1", 0), _Handler)
        RangeServer.hosts.add(self.host)
        self._server.daemon_threads = True
        self._server.owner = self

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *exception):
        self._server.shutdown()
        self._server.server_close()

    @property
    def host(self):
        return "127.0.0.1:%d" % self._server.server_port

    def vsi(self, path):
        """The name under which GDAL opens a file or directory of this server."""
        return "/vsicurl/http://%s/%s" % (self.host, path)

    def requests(self, pattern=""):
        """The requests whose path, without the first slash, matches a regular expression."""
        return [request for request in self.log if re.search(pattern, request.path)]

    def bytes_sent(self, pattern=""):
        return sum(request.sent for request in self.requests(pattern))


class _Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that breaks off is none
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        self.server.owner.connections += 1
        super().setup()

    def do_GET(self):
        self._answer(with_body=True)

    def do_HEAD(self):
        self._answer(with_body=False)

    def log_message(self, *arguments):
        pass

    def _answer(self, with_body):
        owner = self.server.owner
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path).lstrip("/")
        time.sleep(owner.latency)
        fault = owner.before(self.command, path, self.headers) if owner.before else None
        if fault is None:
            fault = owner.faults.get(path)
            if isinstance(fault, list):
                fault = fault.pop(0) if fault else None
        status, headers, body = (fault, {}, b"") if isinstance(fault, int) else self._find(os.path.join(owner.root, path))
        sent = body if with_body else b""
        if fault == "short":
            sent = sent[:len(sent) // 2]
            self.close_connection = True
        owner.log.append(Request(self.command, path, self.headers.get("Range"), status, len(sent), self.headers.items(), query))
        self.send_response(status)
        for name, value in headers.items():
            if name != "ETag" or owner.etags:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(sent)

    def _find(self, name):
        """(status, headers, body) for a file, or the part of it that the Range header asks for."""
        if not os.path.isfile(name):
            return 404, {}, b""
        with open(name, "rb") as file:
            status = os.fstat(file.fileno())
            size, etag = status.st_size, '"%x"' % (status.st_mtime_ns ^ status.st_size)
            if self.server.owner.preconditions and self.headers.get("If-Match", etag) != etag:
                return 412, {}, b""
            wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
            ranges = self.server.owner.ranges
            if not wanted or ranges == "none":
                return 200, {"Accept-Ranges": "none" if ranges == "none" else "bytes", "ETag": etag}, file.read()
            first, last = wanted.groups()
            if not first and ranges == "plain":
                if self.server.owner.no_suffix == 200:
                    return 200, {"ETag": etag}, file.read()
                return self.server.owner.no_suffix, {}, b""
            begin = int(first) if first else max(0, size - int(last))
            end = min(int(last) + 1, size) if first and last else size
            if begin >= end:
                return 416, {"Content-Range": "bytes */%d" % size}, b""
            file.seek(begin)
            return 206, {"Content-Range": "bytes %d-%d/%d" % (begin, end - 1, size), "ETag": etag}, file.read(end - begin)
