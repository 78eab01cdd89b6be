"""Runs the cases and prints the table: benchmark.py DATA OUT.json [--size small|full] [--rounds N] [--cases REGULAR-EXPRESSION]
    [--contenders ours,cog,...] [--threads 1,2,4] [--quick [--keep]]

Each run is a process of its own (worker.py); the contenders of a case take turns. A first run of each, which also fills the page cache,
checks that all yield the same values; with --rounds 0, as for the small size, its time is all there is. No time is judged: a table says
what was met. With --threads this driver runs alone, with each number of threads, and the table shows its efficiency.

--quick runs some cases in full size against what is least in each, the limit or a COG, so that machines can be compared, and says which are
slower than last time: by more than NOISE over last.json, which --keep writes anew.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

import cases
import rasters

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "gdrivers"))
from webserver import RangeServer  # noqa: E402

SCALES = {"small": 8, "full": 1}
THREADS = "2"  # what --threads changes
DIFFERS = "reads other values than the first"
SLOW = 8.0  # a contender that takes so many seconds is not asked again
LAST, NOISE = os.path.join(HERE, "last.json"), 1.1
PLUGINS, PEERS, LIMIT = (os.environ["BENCHMARK_" + name] for name in ("PLUGINS", "PEERS", "LIMIT"))
OWN = ["ours"] + ["before"] * ("BENCHMARK_BEFORE" in os.environ)
FOLDERS = {"ours": PLUGINS, "plain": PLUGINS, "before": os.environ.get("BENCHMARK_BEFORE", "disable")}  # of plugins


def environment(contender, case=None):
    settings = {"GDAL_NUM_THREADS": THREADS, "RAYON_NUM_THREADS": THREADS, "PYTHONDONTWRITEBYTECODE": "1",
                "GDAL_DRIVER_PATH": FOLDERS.get(contender, "disable")}
    if case and case.latency is not None:
        settings["GDAL_DISABLE_READDIR_ON_OPEN"] = "EMPTY_DIR"  # what everyone who reads COGs over HTTP sets
    return {**os.environ, **settings, **(case.environment if case else {})}


def limit_command(case, data, scale):
    if case.layout:
        target, layout, source = data + "limit.zarr", case.layout, rasters.SOURCES[case.data]
        shutil.rmtree(target, ignore_errors=True)
        size = rasters.scaled(source.size, scale)
        return [LIMIT + "_create", rasters.source_path(data, case.data), target, size, size, rasters.scaled(layout.shard, scale),
                rasters.chunk_of(layout, scale), rasters.ITEM_SIZES[source.dtype], THREADS]
    if case.data in rasters.DEEP:
        (steps, height, width), shard, (_, chunk, _) = rasters.deep_sizes(case.data, scale)
        return [LIMIT + "_map", data + rasters.file_name(case.data) + ".zarr/data", steps, height, width, shard[1], shard[2], chunk,
                rasters.scaled(200, scale), THREADS]
    layout = rasters.LAYOUTS[case.data]
    size, dtype = rasters.scaled(rasters.SOURCES[layout.source].size, scale), rasters.SOURCES[layout.source].dtype
    return [LIMIT, data + rasters.file_name(case.data) + ".zarr/data", size, size, rasters.scaled(layout.shard, scale),
            rasters.chunk_of(layout, scale), rasters.ITEM_SIZES[dtype], layout.codec.split("-")[0], THREADS]


def run_one(contender, case, base, scale, check):
    """The JSON that a run prints, or {"failed": the last line of what it says}."""
    if contender == "limit":
        command = limit_command(case, base, scale)
    else:
        python = PEERS if contender in cases.LIBRARIES else "/usr/bin/python3"
        command = [python, os.path.join(HERE, "worker.py"), contender, case.name, base, scale] + ["check"] * check
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, env=environment(contender, case))
    except subprocess.TimeoutExpired:
        return {"failed": "more than 600 s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().split("\n") or ["?"])[-1]}
    return json.loads(done.stdout.strip().split("\n")[-1])


def run(contender, case, data, server, scale, check):
    """A run; over HTTP with what it asked the server for."""
    if case.latency is None:
        return run_one(contender, case, data + "/", scale, check)
    server.latency = case.latency
    before = len(server.log)
    base = ("/vsicurl/" if contender in cases.VIA_GDAL else "") + "http://%s/" % server.host
    result = run_one(contender, case, base, scale, check)
    asked = server.log[before:]
    return {**result, "requests": len(asked), "sent": sum(request.sent for request in asked)}


def run_case(case, data, server, scale, rounds):
    """{contender: the medians of its runs}, and complaints about values that differ or contenders that fail."""
    runs = {contender: [run(contender, case, data, server, scale, check=True)] for contender in case.contenders}
    wrong, expected = [], next((result["crc"] for (result,) in runs.values() if "crc" in result), None)
    for contender, (result,) in runs.items():
        if "failed" in result:
            wrong.append("%s: %s fails: %s" % (case.name, contender, result["failed"]))
        elif contender not in case.differing and result["crc"] != expected:
            wrong.append("%s: %s %s" % (case.name, contender, DIFFERS))
    for turn in range(rounds):  # in both orders: what runs before a contender matters to it
        for contender, results in list(runs.items())[::1 if turn % 2 == 0 else -1]:
            if "failed" not in results[0] and not (len(results) > 1 and results[-1]["seconds"] > SLOW):
                results.append(run(contender, case, data, server, scale, check=False))
    medians = {}
    for contender, results in runs.items():
        timed = results[1:] or results
        keys = [key for key in timed[0] if key not in ("crc", "failed") and all(key in result for result in timed)]
        medians[contender] = {key: statistics.median(result[key] for result in timed) for key in keys} if "seconds" in keys else {}
    return medians, wrong


# --------------------------------------------------------------------------------------------------------------- the table

def ratio(medians, other):
    if not medians.get(other) or not medians["ours"]:
        return None
    return medians["ours"]["seconds"] / medians[other]["seconds"]


def missed(case, medians):
    """The bars that were not met, as text."""
    ours, words = medians["ours"], []
    if not ours:
        return ["all: it fails"]
    for bar, most in case.bars.items():
        if bar in ("cog", "gtiff", "gdal", "plain", "limit") or bar in cases.LIBRARIES:
            value, what = ratio(medians, bar), "%.2f x " + bar
        elif bar == "size":
            cog = medians.get("cog")
            value, what = ours["size"] / cog["size"] if cog else None, "%.2f x the size of cog"
        else:
            value, what = ours[bar], {"seconds": "%.4f s", "megabytes": "%.0f MB", "requests": "%.0f requests"}[bar]
        if value is not None and value > most:
            words.append("%s > %g" % (what % value, most))
    if case.latency is None:
        words += ["behind %s" % peer for peer in cases.LIBRARIES if (ratio(medians, peer) or 0) > 1]
    return words


def brief(seconds):
    return "%.4f" % seconds if seconds < 0.1 else "%.2f" % seconds


def cell(result):
    if not result:
        return "fails"
    text = "%s (%s) %4.0fM" % (brief(result["seconds"]), brief(result["cpu"]), result["megabytes"])
    if "size" in result:
        text += " =%.1fM" % (result["size"] / 1e6)
    if "written" in result:
        text += " +%.1fM" % (result["written"] / 1e6)
    if "requests" in result:
        text += " %drq %s" % (result["requests"], "%.1fM" % (result["sent"] / 1e6) if result["sent"] >= 1e5 else "%dk" % (result["sent"] / 1e3))
    return text


def print_table(results, full):
    contenders = cases.VIA_GDAL + ["limit"] + cases.LIBRARIES
    if not any("before" in medians for medians in results.values()):
        contenders.remove("before")
    others = [name for name in contenders if name in ("before", "cog", "gtiff", "gdal", "plain", "limit")]
    head = ["case"] + contenders + ["/" + name for name in others] + ["to reach" if full else ""]
    rows = [head]
    for name, medians in results.items():
        case = cases.CASES[name]
        ratios = [ratio(medians, other) for other in others]
        verdict = ", ".join(missed(case, medians)) or ("met" if case.bars else "")
        rows.append([name] + [cell(medians[c]) if c in medians else "" for c in contenders] +
                    ["%.2f" % r if r else "" for r in ratios] + [verdict if full else ""])
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        print(" | ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    print("Cells: median seconds (processor seconds), peak memory, =size of what was written, +bytes written for it, HTTP requests and bytes. /cog: ours divided by COG, and so on.")


def efficiency(by_threads):
    """The table of --threads: seconds (processor seconds), and what share of all threads' time shortens the run."""
    counts = sorted(by_threads, key=int)
    print(" | ".join(["case"] + ["%s threads" % n for n in counts] + ["efficiency of %s" % n for n in counts[1:]]))
    for name in by_threads[counts[0]]:
        ours = [by_threads[n][name].get("ours") for n in counts]
        cells = ["%s (%s)" % (brief(o["seconds"]), brief(o["cpu"])) if o else "fails" for o in ours]
        for n, o in zip(counts[1:], ours[1:]):
            more = int(n) / int(counts[0])
            cells.append("%.2f" % (ours[0]["seconds"] / o["seconds"] / more) if o and ours[0] else "")
        print(" | ".join([name] + cells))


def compare(results, keep):
    """Says which cases of --quick are slower than last time."""
    ratios = {name: round(ratio(medians, reference(cases.CASES[name])) or 0, 3) for name, medians in results.items()}
    last = {}
    if os.path.exists(LAST):
        with open(LAST) as file:
            last = json.load(file)
    for name, now in ratios.items():
        slower = name in last and not 0 < now <= NOISE * last[name]
        words = "last time %.2f x" % last[name] + ": slower than last time" * slower if name in last else ""
        print("%-23s %5.2f x %-5s %s" % (name, now, reference(cases.CASES[name]), words))
    if keep:
        with open(LAST, "w") as file:
            json.dump({**last, **ratios}, file, indent=1)
            file.write("\n")


def reference(case):
    return next(name for name in ("limit", "cog", "gtiff", "gdal") if name in case.contenders)


def run_all(chosen, data, scale, rounds, server):
    """{name of a case: its medians}, and all complaints."""
    results, wrong = {}, []
    for case in chosen:
        print("%s ..." % case.name, file=sys.stderr, flush=True)
        if case.data:
            subprocess.run([sys.executable, os.path.join(HERE, "rasters.py"), data, str(scale), case.data], check=True, env=environment("ours"))
        os.makedirs(data, exist_ok=True)
        results[case.name], complaints = run_case(case, data, server, scale, rounds)
        for contender, medians in results[case.name].items():
            print("    %-12s %s" % (contender, cell(medians)), file=sys.stderr, flush=True)
        wrong += complaints
    return results, wrong


def main():
    global THREADS
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--size", choices=SCALES, default="small")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--cases", default="")
    parser.add_argument("--contenders", default=",".join(OWN + ["gdal", "cog", "gtiff", "plain", "limit"] + cases.LIBRARIES))
    parser.add_argument("--threads", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.size = "full"
    full = arguments.size == "full"
    rounds = (5 if full else 0) if arguments.rounds is None else arguments.rounds
    scale, data = SCALES[arguments.size], os.path.join(os.path.abspath(arguments.data), arguments.size)
    chosen = [case for case in cases.CASES.values() if re.search(arguments.cases, case.name) and (full or not case.only_full)]

    if arguments.quick:
        chosen = [case for case in chosen if case.name in cases.QUICK]
        for case in chosen:
            case.contenders = [name for name in case.contenders if name in (*OWN, reference(case))]
    for case in chosen:
        case.contenders = [name for name in case.contenders if name in (["ours"] if arguments.threads else OWN + arguments.contenders.split(","))]
    counts = arguments.threads.split(",") if arguments.threads else [THREADS]
    by_threads, wrong = {}, []
    with RangeServer(data) as server:
        for THREADS in counts:
            by_threads[THREADS], complaints = run_all(chosen, data, scale, rounds, server)
            wrong += complaints
    results = by_threads[counts[-1]]
    with open(arguments.out, "w") as file:
        json.dump({"size": arguments.size, "rounds": rounds, "threads": counts, "cases": results, "by_threads": by_threads, "wrong": wrong}, file, indent=1)
    if arguments.quick:
        compare(results, arguments.keep)
    elif arguments.threads:
        efficiency(by_threads)
    else:
        print_table(results, full)
    print("\n".join("WRONG: " + complaint for complaint in wrong) or "All contenders of a case read the same values.")
    # That another contender cannot do a case, or is not here, is no failure of ours.
    return any("ours fails" in complaint or DIFFERS in complaint for complaint in wrong) or not results


if __name__ == "__main__":
    sys.exit(main())
