"""A small S3 server in memory: PUT, GET with ranges, HEAD, DELETE, listing, copying, multipart uploads. Objects appear whole or not at all."""
import base64
import hashlib
import hmac
import re
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

import webserver


class ObjectStore(webserver.Server):
    """Serves buckets of any name on 127.0.0.1 while used as a context.

    objects   {"bucket/key": bytes}
    removed   keys of the objects that were removed, in their order
    classes   {"bucket/key": storage class}, STANDARD where nothing is said; what is archived is for refuse() to refuse
    log       (method, "bucket/key") of every request
    refuse    called with (method, "bucket/key"); where it is true the answer is 403
    fault     called with (method, "bucket/key", query as a dictionary); a status that it returns is the answer, or bytes with status 200
    loses     called with (method, "bucket/key") after the work is done; where it is true the connection ends without an answer
    sees      called with the headers of each PUT
    holds     the conditions that a PUT is held to, of "If-Match" and "If-None-Match"
    compresses  whether a proxy before it compresses what it sends, unless it is asked not to: the ETag is weak then
    """

    def __init__(self):
        self.objects, self.uploads, self.log, self.removed, self.refuse, self.lock = {}, {}, [], [], lambda method, key: False, threading.Lock()
        self.fault = lambda method, key, query: None
        self.classes = {}
        self.holds = ("If-Match", "If-None-Match")
        self.compresses = False
        self.loses, self.sees = lambda method, key: False, lambda headers: None
        super().__init__(_Handler)

    def settings(self):
        """The configuration options with which GDAL's /vsis3/ asks it; while it serves."""
        return {"AWS_HTTPS": "NO", "AWS_VIRTUAL_HOSTING": "FALSE", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
                "AWS_REGION": "us-east-1", "AWS_S3_ENDPOINT": self.host}

    def is_refused(self, key, headers):
        """Whether a PUT is of another version than its conditions name."""
        now = etag_of(self.objects[key]) if key in self.objects else None
        return ("If-None-Match" in self.holds and headers.get("If-None-Match") == "*" and now is not None) or \
            ("If-Match" in self.holds and headers.get("If-Match", now) != now)

    def describes(self, key):
        """The headers that tell the version of an object."""
        return {"ETag": etag_of(self.objects[key])}


class GoogleStore(ObjectStore):
    """The same as Google's is: it holds a PUT to the number of the object, 0 for none, and to no ETag."""

    def settings(self):
        """The configuration options with which GDAL's /vsigs/ asks it."""
        return {"CPL_GS_ENDPOINT": "http://%s/" % self.host, "GS_ACCESS_KEY_ID": "id", "GS_SECRET_ACCESS_KEY": "key"}

    def is_refused(self, key, headers):
        """A signature that does not cover the condition is refused as well: then no PUT succeeds."""
        more = "".join("%s:%s\n" % (name.lower(), value) for name, value in sorted(headers.items()) if name.lower().startswith("x-goog-"))
        signed = "PUT\n%s\n%s\n%s\n%s/%s" % (*(headers.get(name, "") for name in ("Content-MD5", "Content-Type", "Date")), more, key)
        signature = base64.b64encode(hmac.new(b"key", signed.encode(), hashlib.sha1).digest()).decode()
        now = self.describes(key)["x-goog-generation"] if key in self.objects else "0"
        return headers["Authorization"] != "GOOG1 id:" + signature or headers.get("x-goog-if-generation-match", now) != now

    def describes(self, key):
        return {**super().describes(key), "x-goog-generation": str(int(hashlib.md5(self.objects[key]).hexdigest()[:12], 16))}


def etag_of(data):
    return '"%s"' % hashlib.md5(data).hexdigest()


REASONS = {403: (b"AccessDenied", b"Nobody &amp; nothing may do this")}


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
        owner.begin(self.command, key, query)
        self.status = owner.fault(self.command, key, query) or (403 if owner.refuse(self.command, key) else 204)
        return key, query, body, self.status != 204

    def refusal(self):
        if isinstance(self.status, bytes):
            return self.answer(200, {"Content-Type": "text/html"}, self.status)
        self.answer(self.status, body=b"<Error><Code>%s</Code><Message>%s</Message></Error>" % REASONS.get(self.status, (b"Failed", b"As asked for")))

    def do_PUT(self):
        key, query, body, refused = self._begin()
        if refused:
            return self.refusal()
        owner = self.server.owner
        owner.sees(self.headers)
        with owner.lock:
            if "uploadId" in query:
                owner.uploads[query["uploadId"]][int(query["partNumber"])] = body
            elif "x-amz-copy-source" in self.headers:
                source = urllib.parse.unquote(self.headers["x-amz-copy-source"]).lstrip("/")
                if source not in owner.objects:
                    return self.answer(404)
                owner.objects[key] = owner.objects[source]
            elif owner.is_refused(key, self.headers):
                return self.answer(412)
            else:
                owner.objects[key] = body
        if owner.loses(self.command, key):
            self.close_connection = True
            return None
        self.answer(200, {"ETag": etag_of(body)})

    def do_POST(self):
        key, query, body, refused = self._begin()
        if refused:
            return self.refusal()
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
                names = re.findall(r"<Key>(.*?)</Key>", body.decode())
                for name in names:
                    owner.objects.pop("%s/%s" % (bucket, name), None)
                    owner.removed.append("%s/%s" % (bucket, name))
                answer = "<DeleteResult>%s</DeleteResult>" % "".join("<Deleted><Key>%s</Key></Deleted>" % name for name in names)
        self.answer(200, {"Content-Type": "application/xml"}, answer.encode())

    def do_DELETE(self):
        key, query, _, refused = self._begin()
        if not refused:
            self.server.owner.uploads.pop(query["uploadId"], None) if "uploadId" in query else self.server.owner.objects.pop(key, None)
            self.server.owner.removed.append(key)
        self.answer(self.status)

    def do_GET(self):
        key, query, _, refused = self._begin()
        if refused:
            return self.refusal()
        objects = self.server.owner.objects
        if "/" not in key.rstrip("/") and key not in objects:
            return self._list(key.rstrip("/"), query)
        if key not in objects:
            return self.answer(404)
        data, version = objects[key], self.server.owner.describes(key)
        if self.server.owner.compresses and self.headers.get("Accept-Encoding") != "identity":
            version["ETag"] = "W/" + version["ETag"]
        part = self.part(len(data))
        if part is None or self.command == "HEAD":
            return self.answer(200, version, data)
        begin, end = part
        if begin >= end:
            return self.answer(416, {"Content-Range": "bytes */%d" % len(data)})
        self.answer(206, {**version, "Content-Range": "bytes %d-%d/%d" % (begin, end - 1, len(data))}, data[begin:end])

    do_HEAD = do_GET

    def _list(self, bucket, query):
        """A page of at most 1000 names, in their order: that of ListObjects, or of ListObjectsV2."""
        owner, prefix, delimiter = self.server.owner, query.get("prefix", ""), query.get("delimiter", "")
        names = {}  # those of objects and of folders: whether it is a folder
        for key in owner.objects:
            name = key[len(bucket) + 1:]
            if key.startswith(bucket + "/") and name.startswith(prefix):
                rest = name[len(prefix):]
                is_folder = bool(delimiter) and delimiter in rest
                names[prefix + rest.split(delimiter)[0] + delimiter if is_folder else name] = is_folder
        after, most = query.get("continuation-token", query.get("marker", "")), min(int(query.get("max-keys", 1000)), 1000)
        page = sorted(name for name in names if name > after)
        is_cut, page, entries = len(page) > most, page[:most], ""
        for name in page:
            if names[name]:
                entries += "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % escape(name)
            else:
                key = "%s/%s" % (bucket, name)
                modified = time.gmtime()
                entries += "<Contents><Key>%s</Key><Size>%d</Size><LastModified>%s</LastModified><StorageClass>%s</StorageClass></Contents>" % (
                    escape(name), len(owner.objects[key]), time.strftime("%Y-%m-%dT%H:%M:%S.000Z", modified), owner.classes.get(key, "STANDARD"))
        if is_cut:
            marker = "NextContinuationToken" if "list-type" in query else "NextMarker"
            entries += "<%s>%s</%s>" % (marker, escape(page[-1]), marker)
        body = '<?xml version="1.0"?><ListBucketResult><Name>%s</Name><Prefix>%s</Prefix><IsTruncated>%s</IsTruncated>%s</ListBucketResult>'
        self.answer(200, {"Content-Type": "application/xml"}, (body % (bucket, escape(prefix), str(is_cut).lower(), entries)).encode())
