#!/usr/bin/env python3
"""Compares the migration of many small stores with copying them, in turns.

  Benchmarks/many/small.py [GODWIT [STORES [OBJECTS [ROUNDS]]]]
  Benchmarks/many/small.py --flush MS [GODWIT [STORES [OBJECTS [ROUNDS]]]]
  Benchmarks/many/small.py --list [GODWIT [PATHS]]

Migrates copies of a store from `Peoplizer` to `Peoplizer 2` with one, two and three jobs, with receipts and without.
The floor copies each with `VACUUM INTO` and syncs the copy and its folder, in two processes. The stores are in TMPDIR.
Prints the medians of milliseconds a store, and of the ratio to the floor of the same round.

With --flush each sync of a file or a file system takes so many milliseconds more, one at a time, as on a disk that writes
its cache out. That needs a C compiler.

With --list it makes a million empty files in a thousand folders, and times a shard of one store in a thousand, which
lists all of them, beside `find`.
"""
import concurrent.futures
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
MODELS = REPOSITORY / "jobs" / "peoplizer" / "Peoplizer.xcdatamodeld"


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def copy(store):
    target = store.parent.parent / "floor" / store.name
    connection = sqlite3.connect(store)
    connection.execute("VACUUM INTO ?", (str(target),))
    connection.close()
    sync(target)
    sync(target.parent)


def floor(stores, pool):
    folder = stores[0].parent.parent / "floor"
    folder.mkdir()
    began = time.monotonic()
    list(pool.map(copy, stores, chunksize=10))
    seconds = time.monotonic() - began
    shutil.rmtree(folder)
    return seconds


def migrate(godwit, job, jobs):
    shutil.rmtree(job.parent / "out", ignore_errors=True)
    os.sync()
    began = time.monotonic()
    shutil.rmtree(job.with_suffix(".results"), ignore_errors=True)
    subprocess.run([godwit, "run", job, "--quiet", "--shard", "1/1", "--jobs", str(jobs)], check=True)
    return time.monotonic() - began


def main(godwit=REPOSITORY / ".build" / "release" / "godwit", stores="200", objects="2000", rounds="7"):
    with tempfile.TemporaryDirectory(prefix="godwit-small-") as name:
        root = pathlib.Path(name)
        (root / "stores").mkdir()
        first = root / "first.sqlite"
        command = [godwit, "make-store", f"{MODELS}#Peoplizer", first, "--rows", objects]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        paths = [root / "stores" / f"{number}.sqlite" for number in range(int(stores))]
        for path in paths:
            shutil.copyfile(first, path)
        jobs = {}
        for what, line in [("with its receipt", ""), ("without a receipt", "receipt: none\n")]:
            jobs[what] = root / f"{len(jobs)}.yaml"
            jobs[what].write_text(
                f'godwit: 1\nsource: "stores/*.sqlite"\ndestination: "out/{{name}}.sqlite"\nmodels: "{MODELS}"\n'
                f"destination-model: Peoplizer 2\n{line}"
            )
        floors, times, ratios = [], {}, {}
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            list(pool.map(len, ["a", "b", "c", "d"]))
            for _ in range(int(rounds)):
                for what, job in jobs.items():
                    for count in (1, 2, 3):
                        floors.append(floor(paths, pool))
                        seconds = migrate(godwit, job, count)
                        times.setdefault((what, count), []).append(seconds)
                        ratios.setdefault((what, count), []).append(seconds / floors[-1])
        each = 1000 / len(paths)
        print(f"floor, two processes: {statistics.median(floors) * each:.2f} ms a store")
        for (what, count), seconds in times.items():
            ratio = statistics.median(ratios[what, count])
            print(f"{what}, --jobs {count}: {statistics.median(seconds) * each:.2f} ms a store, {ratio:.1f} times the floor")


FLUSH = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
#define SYNC(name) \\
  int name(int descriptor) { \\
    int (*real)(int) = dlsym(RTLD_NEXT, #name); \\
    pthread_mutex_lock(&disk); \\
    usleep(MICROSECONDS); \\
    pthread_mutex_unlock(&disk); \\
    return real(descriptor); \\
  }
SYNC(fsync)
SYNC(fdatasync)
SYNC(syncfs)
"""


def flushing(milliseconds, *arguments):
    """Runs the comparison with a library between the programs and the C library."""
    with tempfile.TemporaryDirectory(prefix="godwit-flush-") as name:
        source = pathlib.Path(name) / "flush.c"
        source.write_text(FLUSH)
        library = source.with_suffix(".so")
        microseconds = f"-DMICROSECONDS={int(float(milliseconds) * 1000)}"
        subprocess.run(["cc", "-shared", "-fPIC", microseconds, source, "-o", library, "-ldl", "-lpthread"], check=True)
        subprocess.run([sys.executable, __file__, *arguments], check=True, env=os.environ | {"LD_PRELOAD": str(library)})


def listing(godwit=REPOSITORY / ".build" / "release" / "godwit", paths="1000000"):
    with tempfile.TemporaryDirectory(prefix="godwit-list-") as name:
        root = pathlib.Path(name)
        for folder in range(1000):
            (root / "stores" / str(folder)).mkdir(parents=True)
        for number in range(int(paths)):
            os.close(os.open(root / "stores" / str(number % 1000) / f"{number}.sqlite", os.O_CREAT | os.O_WRONLY))
        job = root / "job.yaml"
        job.write_text(
            f'godwit: 1\nsource: "stores/**/*.sqlite"\ndestination: "out/{{folder}}/{{name}}.sqlite"\n'
            f'models: "{MODELS}"\nstores: {{max-failed: 0}}\n'
        )
        began = time.monotonic()
        subprocess.run(["find", root / "stores", "-name", "*.sqlite"], check=True, stdout=subprocess.DEVNULL)
        floor = time.monotonic() - began
        began = time.monotonic()
        # The first store of the shard is empty and fails, which ends the run: what is left is the listing.
        run = subprocess.run(
            [godwit, "run", job, "--quiet", "--shard", "1/1000"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        seconds = time.monotonic() - began
        print(f"find: {floor:.2f} s; a shard of 1/1000: {seconds:.2f} s, status {run.returncode}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--list"]:
        listing(*arguments[1:])
    elif arguments[:1] == ["--flush"]:
        flushing(*arguments[1:])
    else:
        main(*arguments)
