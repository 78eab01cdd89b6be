"""Runs scripts of this folder, each in a process of its own: a fork of this one, which has imported what takes most of their time.

    python forks.py

Each line of its input is [script, arguments, folder, environment] in JSON, each line that it prints [exit status, what the script said on stderr].
"""
import importlib
import json
import os
import runpy
import sys
import tempfile

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # nothing else is said there
for name in ("numpy", "zarr", "xarray", "rioxarray"):
    try:
        importlib.import_module(name)
    except ImportError:
        pass  # the script that needs it says so


def forked():
    """The next script, in the process that is to run it; None where there is no more."""
    for line in iter(sys.stdin.readline, ""):
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            child = os.fork()
            if child == 0:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                return json.loads(line)
            _, status = os.waitpid(child, 0)
            said.seek(0)
            answers.write(json.dumps([status, said.read()]) + "\n")
            answers.flush()
    return None


asked = forked()
if asked:
    script, arguments, folder, environment = asked
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(script)
    runpy.run_path(script, run_name="__main__")
