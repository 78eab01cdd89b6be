"""The HTTP server of the tests, with two differences that matter to time: its answer to HEAD reads the file, which is big here; and it
lets five connections wait at a time, so that a client that opens many sees some refused and tries them again a second later."""
import os
import time
import urllib.parse

import webserver


class Server(webserver.RangeServer):
    def __init__(self, root):
        super().__init__(root)
        self._server.RequestHandlerClass = _Handler
        self._server.socket.listen(128)


class _Handler(webserver._Handler):
    def do_HEAD(self):
        owner, path = self.server.owner, urllib.parse.unquote(self.path.partition("?")[0]).lstrip("/")
        time.sleep(owner.latency)
        name = os.path.join(owner.root, path)
        status, size = (200, os.path.getsize(name)) if os.path.isfile(name) else (404, 0)
        owner.log.append(webserver.Request("HEAD", path, None, status, 0, self.headers.items(), ""))
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(size))
        self.end_headers()
