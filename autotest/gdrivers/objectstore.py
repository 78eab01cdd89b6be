"""A small S3 server in memory: PUT, GET with ranges, HEAD, DELETE, listing, copying, multipart uploads. Objects appear whole or not at all."""
import re
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

import webserver


class ObjectStore(webserver.Server):
    """Serves buckets of any name on 127.0.0.1 while used as a context.

    objects   {"bucket/key": bytes}
    ages      {"bucket/key": days since it was modified}, 0 where nothing is said
    log       (method, "bucket/key") of every request
    refuse    called with (method, "bucket/key"); where it is true the answer is 403
    latency   seconds that every answer waits
    most      requests that were under way at once
    """

    def __init__(self):
        self.objects, self.uploads, self.log, self.refuse, self.lock = {}, {}, [], lambda method, key: False, threading.Lock()
        self.ages, self.latency, self.under_way, self.most = {}, 0.0, 0, 0
        super().__init__(_Handler)

    def settings(self):
        """The configuration options with which GDAL's /vsis3/ asks it; while it serves."""
        return {"AWS_HTTPS": "NO", "AWS_VIRTUAL_HOSTING": "FALSE", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
                "AWS_REGION": "us-east-1", "AWS_S3_ENDPOINT": self.host}


class _Handler(webserver.Handler):
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
        owner = self.server.owner
        owner.log.append((self.command, key))
        with owner.lock:
            owner.under_way += 1
            owner.most = max(owner.most, owner.under_way)
        time.sleep(owner.latency)
        with owner.lock:
            owner.under_way -= 1
        return key, query, body, self.server.owner.refuse(self.command, key)

    def do_PUT(self):
        key, query, body, refused = self._begin()
        if refused:
            return self.answer(403)
        owner = self.server.owner
        with owner.lock:
            if "uploadId" in query:
                owner.uploads[query["uploadId"]][int(query["partNumber"])] = body
            elif "x-amz-copy-source" in self.headers:
                source = urllib.parse.unquote(self.headers["x-amz-copy-source"]).lstrip("/")
                if source not in owner.objects:
                    return self.answer(404)
                owner.objects[key] = owner.objects[source]
            else:
                owner.objects[key] = body
        self.answer(200, {"ETag": '"%x"' % hash(body)})

    def do_POST(self):
        key, query, body, refused = self._begin()
        if refused:
            return self.answer(403)
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
        self.answer(200, {"Content-Type": "application/xml"}, answer.encode())

    def do_DELETE(self):
        key, query, _, refused = self._begin()
        self.server.owner.uploads.pop(query["uploadId"], None) if "uploadId" in query else self.server.owner.objects.pop(key, None)
        self.answer(403 if refused else 204)

    def do_GET(self):
        key, query, _, refused = self._begin()
        if refused:
            return self.answer(403)
        objects = self.server.owner.objects
        if "/" not in key.rstrip("/") and key not in objects:
            return self._list(key.rstrip("/"), query)
        if key not in objects:
            return self.answer(404)
        data, etag = objects[key], '"%x"' % hash(objects[key])
        part = self.part(len(data))
        if part is None or self.command == "HEAD":
            return self.answer(200, {"ETag": etag}, data)
        begin, end = part
        if begin >= end:
            return self.answer(416, {"Content-Range": "bytes */%d" % len(data)})
        self.answer(206, {"ETag": etag, "Content-Range": "bytes %d-%d/%d" % (begin, end - 1, len(data))}, data[begin:end])

    do_HEAD = do_GET

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
                modified = time.gmtime(time.time() - 86400 * self.server.owner.ages.get(key, 0))
                entries += "<Contents><Key>%s</Key><Size>%d</Size><LastModified>%s</LastModified></Contents>" % (
                    escape(name), len(self.server.owner.objects[key]), time.strftime("%Y-%m-%dT%H:%M:%S.000Z", modified))
        entries += "".join("<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % escape(folder) for folder in sorted(folders))
        body = '<?xml version="1.0"?><ListBucketResult><Name>%s</Name><Prefix>%s</Prefix><IsTruncated>false</IsTruncated>%s</ListBucketResult>'
        self.answer(200, {"Content-Type": "application/xml"}, (body % (bucket, escape(prefix), entries)).encode())
