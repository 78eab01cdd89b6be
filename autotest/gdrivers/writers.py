"""Many writers of one store on an object store, beside readers: processes that write small windows into the same shards and chunks, set
items and add arrays, some of them killed, behind a proxy that waits and loses answers. Whatever a call that returned success has
written must be there afterwards.

    python3 autotest/gdrivers/writers.py --processes 8 --seconds 1200 --latency 0.02 --lose 0.01 --kill 10 HOST:PORT BUCKET
"""
import argparse
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SIZE, CHUNK, SHARD = 256, 32, 128  # four shards of sixteen chunks


class Proxy:
    """Hands requests on to a server, one connection each way; each answer waits, and some are lost after the server did the work."""

    def __init__(self, host, latency, lose, seed):
        self.target, self.latency, self.lose, self.random = host.split(":"), latency, lose, random.Random(seed)
        self.lost, self.statuses, self.socket = 0, {}, socket.create_server(("127.0.0.1", 0), backlog=128)
        self.host = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.socket.accept()
            threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    @staticmethod
    def message(source):
        """One message of HTTP: its head and its body; None at the end."""
        head = b""
        while b"\r\n\r\n" not in head:
            data = source.recv(65536)
            if not data:
                return None
            head += data
        head, _, body = head.partition(b"\r\n\r\n")
        fields = {line.split(b":")[0].strip().lower(): line.split(b":", 1)[1].strip() for line in head.split(b"\r\n")[1:]}
        if b"expect" in fields:  # answered here, and not handed on
            source.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = re.sub(rb"\r\nexpect:[^\r]*", b"", head, flags=re.I)
        if fields.get(b"transfer-encoding") == b"chunked":
            while not body.endswith(b"0\r\n\r\n"):
                body += source.recv(65536)
        while len(body) < int(fields.get(b"content-length", 0)):
            data = source.recv(1 << 20)
            if not data:
                return None
            body += data
        return head + b"\r\n\r\n" + body

    def connect(self, client):
        server = socket.create_connection((self.target[0], int(self.target[1])))
        try:
            while True:
                request = self.message(client)
                if request is None:
                    return
                server.sendall(request)
                answer = self.message_of(server, request.startswith(b"HEAD"))
                time.sleep(self.latency)
                self.statuses[answer[9:12]] = self.statuses.get(answer[9:12], 0) + 1
                if request.startswith(b"PUT") and self.random.random() < self.lose:
                    self.lost += 1
                    return
                client.sendall(answer)
        except (OSError, TypeError):
            pass
        finally:
            client.close()
            server.close()

    def message_of(self, server, is_head):
        if not is_head:
            return self.message(server)
        head = b""
        while b"\r\n\r\n" not in head:
            head += server.recv(65536)
        return head


def settings(endpoint):
    """The configuration options with which GDAL's /vsis3/ asks a server."""
    return {"AWS_HTTPS": "NO", "AWS_VIRTUAL_HOSTING": "FALSE", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secretkey",
            "AWS_REGION": "us-east-1", "AWS_S3_ENDPOINT": endpoint}


def configure(endpoint):
    from osgeo import gdal
    gdal.UseExceptions()
    for name, value in settings(endpoint).items():
        gdal.SetConfigOption(name, value)
    return gdal


def make(gdal, path):
    import numpy as np
    source = gdal.GetDriverByName("MEM").Create("", SIZE, SIZE, 1, gdal.GDT_UInt32)
    source.GetRasterBand(1).WriteArray(np.zeros((SIZE, SIZE), "uint32"))
    gdal.GetDriverByName("ShardedZarr").CreateCopy(path, source, options=[
        "CHUNK_SHAPE=%d" % CHUNK, "SHARD_SHAPE=%d" % SHARD, "ARRAY_NAME=v", "OVERVIEWS=NONE"])


def write(endpoint, path, number, count, journal, seed, seconds):
    """What a writer does until its time is over: `journal` gets a line before each call ("try"), and one when it has succeeded ("done")."""
    import numpy as np
    gdal = configure(endpoint)
    chance, end = random.Random(seed), time.time() + seconds
    with open(journal, "a", buffering=1) as log:
        step = int(time.time() * 10) & 0xFFFFFFF  # grows from one life of a writer to the next
        while time.time() < end:
            step += 1
            kind = chance.choice(["pixels"] * 6 + ["item", "array"])
            x, y = chance.randrange(SIZE // count) * count + number, chance.randrange(SIZE)  # columns of our own
            line = [kind, x, y, step, time.time()]
            log.write(json.dumps(["try"] + line) + "\n")
            try:
                if kind == "array":
                    dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER | gdal.OF_UPDATE, allowed_drivers=["ShardedZarr"])
                    root = dataset.GetRootGroup()
                    dimension = root.CreateDimension("d%d_%d" % (number, step), None, None, 2)
                    root.CreateMDArray("a%d_%d" % (number, step), [dimension], gdal.ExtendedDataType.Create(gdal.GDT_Byte))
                    del root, dimension
                else:
                    dataset = gdal.OpenEx('SHARDEDZARR:"%s":/v' % path, gdal.OF_RASTER | gdal.OF_UPDATE)
                    if kind == "pixels":
                        dataset.GetRasterBand(1).WriteArray(np.full((1, 1), step, "uint32"), x, y)
                    else:
                        dataset.SetMetadataItem("w%d" % number, str(step))
                dataset.FlushCache()
                log.write(json.dumps(["done"] + line) + "\n")
            except RuntimeError as error:
                log.write(json.dumps(["failed"] + line + [str(error)]) + "\n")
            dataset = None


def read(endpoint, path, journal, seconds):
    """What a reader does: a pixel never goes back to an older value."""
    import numpy as np
    gdal = configure(endpoint)
    end, last = time.time() + seconds, np.zeros((SIZE, SIZE), "uint32")
    reads = 0
    with open(journal, "w") as log:
        while time.time() < end:
            try:
                gdal.VSICurlClearCache()
                pixels = gdal.OpenEx('SHARDEDZARR:"%s":/v' % path).ReadAsArray()
            except RuntimeError as error:  # an answer was lost
                log.write("failed: %s\n" % error)
                continue
            if (pixels < last).any():
                y, x = np.argwhere(pixels < last)[0]
                log.write("back: %d, %d from %d to %d\n" % (x, y, last[y, x], pixels[y, x]))
            last = pixels
            reads += 1
        log.write("reads: %d\n" % reads)


def run(host, bucket, processes=4, seconds=10, latency=0.0, lose=0.0, kill=0.0, seed=1, folder=None):
    """Runs it; a dictionary of counts, and of what was lost."""
    folder = folder or tempfile.mkdtemp()
    path, proxy = "/vsis3/%s/writers_%d.zarr" % (bucket, seed), Proxy(host, latency, lose, seed)
    gdal = configure(host)
    make(gdal, path)
    journal = os.path.join(folder, "writer%d").__mod__
    chance, end = random.Random(seed), time.time() + seconds

    def start(number):
        return subprocess.Popen([sys.executable, __file__, "--writer", json.dumps(
            [proxy.host, path, number, processes, journal(number), chance.randrange(1 << 30), max(0.5, end - time.time())])])

    writers = [start(number) for number in range(processes)]
    reader = subprocess.Popen([sys.executable, __file__, "--reader", json.dumps([proxy.host, path, os.path.join(folder, "reader"), seconds])])
    killed = 0
    while kill and time.time() < end - kill:
        time.sleep(kill)
        number = chance.randrange(processes)
        writers[number].send_signal(signal.SIGKILL)
        writers[number].wait()
        killed += 1
        writers[number] = start(number)
    for writer in writers + [reader]:
        writer.wait(seconds + 120)
    return check(gdal, path, [journal(number) for number in range(processes)], os.path.join(folder, "reader"),
                 {"killed": killed, "answers lost": proxy.lost, "conflicts": proxy.statuses.get(b"412", 0)})


def check(gdal, path, journals, reader, counts):
    gdal.VSICurlClearCache()
    counts.update({"pixels": 0, "items": 0, "arrays": 0, "failed": 0, "lost": []})
    pixels = gdal.OpenEx('SHARDEDZARR:"%s":/v' % path)
    items, pixels = pixels.GetMetadata(), pixels.ReadAsArray()
    names = set(gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER, allowed_drivers=["ShardedZarr"]).GetRootGroup().GetMDArrayNames())
    for number, journal in enumerate(journals):
        done, tried = {}, {}
        for line in open(journal):
            what, kind, x, y, step = json.loads(line)[:5]
            place = (kind, x, y) if kind == "pixels" else (kind, step) if kind == "array" else (kind,)
            if what == "done":
                done[place], tried[place] = step, []
                counts[{"pixels": "pixels", "item": "items", "array": "arrays"}[kind]] += 1
            elif what == "try":
                tried.setdefault(place, []).append(step)
            else:
                counts["failed"] += 1
        for place, step in done.items():
            found = int(pixels[place[2], place[1]]) if place[0] == "pixels" else int(items.get("w%d" % number, 0)) if place[0] == "item" else step * (
                "a%d_%d" % (number, step) in names)
            if found != step and found not in tried[place]:  # a call that did not return may have written, or not
                counts["lost"].append((number, place, step, found))
    counts["reader"] = [line.strip() for line in open(reader) if not line.startswith("failed")]
    return counts


if __name__ == "__main__":
    if sys.argv[1] in ("--writer", "--reader"):
        {"--writer": write, "--reader": read}[sys.argv[1]](*json.loads(sys.argv[2]))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("host"), parser.add_argument("bucket")
        for name, default in (("processes", 8), ("seconds", 1200.0), ("latency", 0.02), ("lose", 0.01), ("kill", 10.0), ("seed", 1)):
            parser.add_argument("--" + name, type=type(default), default=default)
        print(json.dumps(run(**vars(parser.parse_args())), ))
