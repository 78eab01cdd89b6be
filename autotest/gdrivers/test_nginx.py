"""A store behind nginx, with TLS, over HTTP/1.1 and HTTP/2: a server that others wrote, as there are many."""
import os
import shutil
import socket
import subprocess
import time

import numpy as np
import pytest
from osgeo import gdal

import oracle
from stores import GZIP, LITTLE, array_meta, random_values, sharding
from support import assert_pixels, error_of, need, open_array, read_all

NGINX = os.path.join(os.path.dirname(os.environ.get("SHARDEDZARR_PEERS", "")), "nginx", "usr", "sbin", "nginx")
SHAPE = (200, 300)
VALUES = random_values(np.random.default_rng(1), "uint16", SHAPE)

CONFIG = """daemon off; master_process off; pid %(folder)s/pid; error_log %(folder)s/error.log;
events {}
http {
    log_format plain "$server_protocol $status $connection $request_uri";
    access_log %(folder)s/access.log plain;
    client_body_temp_path %(folder)s; proxy_temp_path %(folder)s; fastcgi_temp_path %(folder)s; uwsgi_temp_path %(folder)s; scgi_temp_path %(folder)s;
    server {
        listen 127.0.0.1:%(port)d ssl http2;
        ssl_certificate %(folder)s/cert.pem;
        ssl_certificate_key %(folder)s/key.pem;
        root %(root)s;
    }
}
"""


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def start(folder, root):
    """(nginx, its port): on a port that was free a moment ago, or else on another."""
    for _ in range(5):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        (folder / "nginx.conf").write_text(CONFIG % {"folder": folder, "root": root, "port": port})
        process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")],
                                   stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"]})
        while process.poll() is None:
            if accepts(port):
                return process, port
            time.sleep(0.02)
    raise AssertionError(process.stderr.read())


@pytest.fixture
def nginx(tmp_path):
    """(URL of a store for /vsicurl/, a function that gives the lines of the access log, the certificate)"""
    need("nginx, which peers.sh unpacks,", os.path.exists(NGINX))
    need("openssl", shutil.which("openssl"))
    folder = tmp_path / "nginx"
    folder.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")], check=True, capture_output=True)
    oracle.write(tmp_path / "s.zarr", array_meta(SHAPE, "uint16", (64, 64), [sharding((16, 16), LITTLE, GZIP)]), VALUES)
    process, port = start(folder, tmp_path)
    gdal.VSICurlClearCache()
    try:
        yield "/vsicurl/https://127.0.0.1:%d/s.zarr" % port, lambda: (folder / "access.log").read_text().splitlines(), str(folder / "cert.pem")
    finally:
        process.terminate()
        process.wait()
        gdal.VSICurlClearCache()


@pytest.mark.parametrize("version, protocol", [("1.1", "HTTP/1.1"), ("2", "HTTP/2.0")])
def test_a_store_is_read_over_tls(nginx, config, version, protocol):
    url, log, certificate = nginx
    config("GDAL_CURL_CA_BUNDLE", certificate)
    config("CURL_CA_BUNDLE", certificate)
    config("GDAL_HTTP_VERSION", version)
    assert_pixels(open_array(url), VALUES[np.newaxis])
    lines = [line.split() for line in log()]
    assert {line[0] for line in lines} == {protocol}
    assert {line[1] for line in lines} <= {"200", "206"} and len(lines) > 20
    assert len({line[2] for line in lines}) < len(lines) / 2, "connections are used again"


def test_untrusted_certificate_is_an_error(nginx):
    url, log, _ = nginx
    assert "certificate" in error_of(lambda: read_all(open_array(url))).lower()
    assert log() == []
