"""A lost connection to Java writes no traceback of py4j's, and other libraries' records still arrive."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOST = """
import logging, socket, sys, threading
from py4j.java_gateway import GatewayParameters, JavaGateway
from jobs.spark.silence import silence_py4j

if sys.argv[1] == "silent":
    silence_py4j()

def hang_up(server):
    while True:
        server.accept()[0].close()

with socket.create_server(("127.0.0.1", 0)) as server:
    threading.Thread(target=hang_up, args=(server,), daemon=True).start()
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=server.getsockname()[1]))
    try:
        gateway.jvm.java.lang.System.nanoTime()
    except Exception as error:
        print(type(error).__name__)
    logging.getLogger("py4j.java_gateway").error("a line of py4j's")
    try:
        raise ValueError("lost")
    except ValueError:
        logging.getLogger("another").exception("a line of another's")
"""


@pytest.mark.parametrize("way", ["silent", "loud"])
def test_py4j_s_records_are_dropped_and_others_pass(way: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOST, way], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Py4J"), done.stdout
    assert ("a line of py4j's" in done.stderr, "while sending command" in done.stderr) == (way == "loud",) * 2
    assert "a line of another's" in done.stderr
    assert "ValueError: lost" in done.stderr
