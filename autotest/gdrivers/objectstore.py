"""A small S3 server in memory: PUT, GET with ranges, HEAD, DELETE, listing, multipart uploads. Objects appear whole or not at all."""
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape


class ObjectStore:
    """Serves buckets of any name on 127.0.0.1 while used as a context.

    objects   {"bucket/key": bytes}
    log       (method, "bucket/key") of every request
    refuse    called with (method, "bucket/key"); where it is true the answer is 403
    """

    def __init__(self):
        self.objects, self.uploads, self.log, self.refuse, self.lock = {}, {}, [], lambda method, key: False, threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.owner = self
        self.host = "127.0.0.1:%d" % self._server.server_port

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *exception):
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def _begin(self):
        """(key, query, body, whether it is refused)"""
        path, _, query = self.path.partition("?")
        key = urllib.parse.unquote(path).lstrip("/")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if self.headers.get("Transfer-Encoding", "") == "chunked":
            body = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    break
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.owner.log.append((self.command, key))
        return key, query, body, self.server.owner.refuse(self.command, key)

    def _answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", headers.pop("length", None) or str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_PUT(self):
        key, query, body, refused = self._begin()
        if refused:
            return self._answer(403)
        owner = self.server.owner
        with owner.lock:
            if "uploadId" in query:
                owner.uploads[query["uploadId"]][int(query["partNumber"])] = body
            else:
                owner.objects[key] = body
        self._answer(200, ETag='"%x"' % hash(body))

    def do_POST(self):
        key, query, body, refused = self._begin()
        if refused:
            return self._answer(403)
        owner = self.server.owner
        with owner.lock:
            if "uploads" in query:
                number = str(len(owner.uploads))
                owner.uploads[number] = {}
                answer = "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>" % number
            elif "uploadId" in query:
                parts = owner.uploads.pop(query["uploadId"])
                owner.objects[key] = b"".join(parts[number] for number in sorted(parts))
                answer = "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"
            else:  # delete several
                bucket = key.split("/")[0]
                for name in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                    owner.objects.pop("%s/%s" % (bucket, name), None)
                answer = "<DeleteResult></DeleteResult>"
        self._answer(200, answer.encode(), Content_Type="application/xml")

    def do_DELETE(self):
        key, query, _, refused = self._begin()
        self.server.owner.uploads.pop(query["uploadId"], None) if "uploadId" in query else self.server.owner.objects.pop(key, None)
        self._answer(403 if refused else 204)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        key, query, _, refused = self._begin()
        if refused:
            return self._answer(403)
        objects = self.server.owner.objects
        if "/" not in key.rstrip("/") and key not in objects:
            return self._list(key.rstrip("/"), query)
        if key not in objects:
            return self._answer(404)
        data, etag = objects[key], '"%x"' % hash(objects[key])
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not wanted or self.command == "HEAD":
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("ETag", etag)
            self.end_headers()
            return None if self.command == "HEAD" else self.wfile.write(data)
        first, last = wanted.groups()
        begin = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last) + 1, len(data)) if first and last else len(data)
        if begin >= end:
            return self._answer(416, Content_Range="bytes */%d" % len(data))
        self._answer(206, data[begin:end], ETag=etag, Content_Range="bytes %d-%d/%d" % (begin, end - 1, len(data)))

    def _list(self, bucket, query):
        prefix, delimiter, entries, folders = query.get("prefix", ""), query.get("delimiter", ""), "", set()
        for key in sorted(self.server.owner.objects):
            name = key[len(bucket) + 1:]
            if not key.startswith(bucket + "/") or not name.startswith(prefix):
                continue
            rest = name[len(prefix):]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
            else:
                entries += "<Contents><Key>%s</Key><Size>%d</Size><LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>" % (
                    escape(name), len(self.server.owner.objects[key]))
        entries += "".join("<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % escape(folder) for folder in sorted(folders))
        body = '<?xml version="1.0"?><ListBucketResult><Name>%s</Name><Prefix>%s</Prefix><IsTruncated>false</IsTruncated>%s</ListBucketResult>'
        self._answer(200, (body % (bucket, escape(prefix), entries)).encode(), Content_Type="application/xml")
