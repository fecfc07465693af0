#!/usr/bin/env python3
"""Makes the stores of a fleet, measures the floor, checks what a fleet made, and kills a node. `run` calls it.

fleet.py make FOLDER COUNT GODWIT MODELS   makes FOLDER/stores and FOLDER/expected.jsonl
fleet.py floor FOLDER PROCESSES            copies every store with SQLite, syncs it, and prints the seconds
fleet.py check FOLDER NAME GODWIT SAMPLE   checks what the fleet FOLDER/NAME.yaml made, and prints figures
fleet.py progress FOLDER NAME              prints how many stores of the fleet have ended
fleet.py kill-node CLUSTER NODE PID        kills a slurmd and everything that it started
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import plistlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import uuid

VERSIONS = ["Peoplizer", "Peoplizer 2", "Peoplizer 3", "Peoplizer 4", "Peoplizer 5"]
# Objects in a store, and the share of stores that have so many.
SIZES = [(200, 0.60), (1000, 0.25), (2000, 0.14), (20000, 0.01)]
# Of the last version, beside people.
TABLES = ["ZADDRESS", "ZCOMPANY", "ZSCHOOL"]
BROKEN = ["value", "truncated", "garbage", "page", "foreign", "empty"]


def fail(message):
    sys.exit(f"error: {message}")


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def counts_expected(store, version):
    """What the mapping models make of a source, counted apart from Godwit: jobs/peoplizer/README.md."""

    def one(sql):
        return store.execute(sql).fetchone()[0]

    if version < 3:  # Person, before Adult and Child.
        adults = one("SELECT count(*) FROM ZPERSON WHERE ZAGE >= 18 OR ZAGE IS NULL")
        children = one("SELECT count(*) FROM ZPERSON WHERE ZAGE < 18")
        is_adult, is_child = "(ZAGE >= 18 OR ZAGE IS NULL)", "ZAGE < 18"
    else:
        numbers = dict(store.execute("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY"))
        is_adult, is_child = f"Z_ENT = {numbers['Adult']}", f"Z_ENT = {numbers['Child']}"
        adults = one(f"SELECT count(*) FROM ZPERSON WHERE {is_adult}")
        children = one(f"SELECT count(*) FROM ZPERSON WHERE {is_child}")
    addresses = companies = schools = 0
    if version == 4:  # It is copied.
        return [adults, children] + [one(f"SELECT count(*) FROM {table}") for table in TABLES]
    if version == 1:
        addresses = one(
            "SELECT count(*) FROM (SELECT DISTINCT ZSTREET, ZSTATE FROM ZPERSON"
            " WHERE ZSTREET IS NOT NULL OR ZSTATE IS NOT NULL)")
    if version >= 2:
        addresses = one("SELECT count(*) FROM ZADDRESS")
        companies = one(f"SELECT count(DISTINCT ZCOMPANYNAME) FROM ZPERSON WHERE {is_adult}")
        schools = one(f"SELECT count(DISTINCT ZSCHOOLNAME) FROM ZPERSON WHERE {is_child}")
    return [adults, children, addresses, companies, schools]


def counts_made(store):
    numbers = dict(store.execute("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY"))
    people = dict(store.execute("SELECT Z_ENT, count(*) FROM ZPERSON GROUP BY Z_ENT"))
    tables = [store.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES]
    return [people.pop(numbers["Adult"], 0), people.pop(numbers["Child"], 0), *tables] + list(people.values())


def break_store(path, how, seed):
    size = path.stat().st_size
    if how == "value":
        store = sqlite3.connect(path)
        store.execute("UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK = (SELECT min(Z_PK) FROM ZPERSON)")
        store.commit()
        store.close()
    elif how == "truncated":
        os.truncate(path, size // 2)
    elif how == "garbage":
        path.write_bytes(random.Random(seed).randbytes(min(size, 20000)))
    elif how == "page":
        # The first page of the people: without it the table cannot be read.
        store = sqlite3.connect(path)
        root = store.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ZPERSON'").fetchone()[0]
        page = store.execute("PRAGMA page_size").fetchone()[0]
        store.close()
        with open(path, "r+b") as file:
            file.seek((root - 1) * page)
            file.write(random.Random(seed).randbytes(page))
    elif how == "foreign":
        path.unlink()
        store = sqlite3.connect(path)
        store.execute("CREATE TABLE note (text TEXT)")
        store.commit()
        store.close()
    elif how == "empty":
        os.truncate(path, 0)


def make_some(folder, first, last):
    """Makes the stores FIRST ..< LAST as altered copies of the templates."""
    folder = pathlib.Path(folder)
    made = []
    for number in range(first, last):
        chance = random.Random(number)
        version = chance.choices(range(5), [3, 3, 4, 4, 1])[0]
        rows = chance.choices([size for size, _ in SIZES], [share for _, share in SIZES])[0]
        # Every hundredth is broken, each in the next way.
        broken = BROKEN[number // 100 % len(BROKEN)] if number % 100 == 50 else None
        if broken and version == 4:
            version = 3
        path = folder / "stores" / f"{number // 100:04}" / f"user {number:06}.sqlite"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / "templates" / f"{version}-{rows}.sqlite", path)
        store = sqlite3.connect(path, isolation_level=None)
        store.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")
        store.execute("UPDATE ZPERSON SET ZNAME = ? || Z_PK WHERE Z_PK % 7 = ?", (f"user {number} ", number % 7))
        store.execute("DELETE FROM ZPERSON WHERE Z_PK % 50 = ?", (number % 50,))
        store.execute("UPDATE Z_METADATA SET Z_UUID = ?", (str(uuid.UUID(int=number)).upper(),))
        store.execute("COMMIT")
        entry = {"store": str(path.relative_to(folder)), "version": version, "broken": broken}
        entry["counts"] = None if broken else counts_expected(store, version)
        store.close()
        if broken:
            break_store(path, broken, number)
        made.append(json.dumps(entry))
    return made


def make(folder, count, godwit, models):
    root = pathlib.Path(folder)
    templates = root / "templates"
    templates.mkdir(parents=True)
    for number, version in enumerate(VERSIONS):
        for rows, _ in SIZES:
            path = templates / f"{number}-{rows}.sqlite"
            command = [godwit, "make-store", f"{models}#{version}", str(path), "--rows", str(rows)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool, open(root / "expected.jsonl", "w") as expected:
        parts = [
            pool.submit(make_some, folder, first, min(first + 500, count)) for first in range(0, count, 500)]
        for part in parts:
            expected.write("\n".join(part.result()) + "\n")
    shutil.rmtree(templates)


def copy_some(pairs):
    for source, copy in pairs:
        store = sqlite3.connect(f"file:{source.replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True)
        store.execute("VACUUM INTO ?", (copy,))
        store.close()
        for path, flags in ((copy, os.O_RDONLY), (os.path.dirname(copy), os.O_RDONLY | os.O_DIRECTORY)):
            descriptor = os.open(path, flags)
            os.fsync(descriptor)
            os.close(descriptor)


def floor(folder, processes):
    root = pathlib.Path(folder)
    pairs = []
    for entry in lines(root / "expected.jsonl"):
        if entry["counts"] is None:
            continue
        copy = root / "floor" / pathlib.Path(entry["store"]).relative_to("stores")
        copy.parent.mkdir(parents=True, exist_ok=True)
        pairs.append((str(root / entry["store"]), str(copy)))
    began = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        list(pool.map(copy_some, [pairs[index:index + 50] for index in range(0, len(pairs), 50)]))
    print(f"{time.monotonic() - began:.2f}")
    shutil.rmtree(root / "floor")


def results(root, name):
    """The lines of all shards, by the name of the store. A torn last line is no line."""
    found = {}
    for path in sorted((root / f"{name}.fleet" / "results").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            if line:
                entry = json.loads(line)
                found.setdefault(pathlib.Path(entry["store"]).name, []).append(entry)
    return found


def content(path):
    """A digest of everything in a store but what a run says about itself: its time, and the path of its source."""
    store = sqlite3.connect(f"file:{str(path).replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True)
    store.text_factory = bytes
    sum = hashlib.sha256()
    for name, sql in store.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall():
        sum.update(name + b"\0" + (sql or b"") + b"\0")
    for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
        table = name.decode()
        if table == "Z_METADATA":
            version, identifier, plist = store.execute("SELECT Z_VERSION, Z_UUID, Z_PLIST FROM Z_METADATA").fetchone()
            metadata = plistlib.loads(plist)
            metadata.pop("GodwitJobs", None)
            sum.update(repr((version, identifier, sorted(metadata.items()))).encode())
            continue
        for row in store.execute(f'SELECT * FROM "{table}" ORDER BY rowid'):
            sum.update(repr(row).encode())
    store.close()
    return sum.hexdigest()


def check_one(root, made, entry):
    """Findings about one store's destination."""
    path = pathlib.Path(made)
    problems = []
    if entry["counts"] is None:
        if path.exists():
            problems.append(f"{path} was made of a store that is broken ({entry['broken']})")
        return problems
    if not path.exists():
        return [f"{path} is missing"]
    try:
        store = sqlite3.connect(f"file:{str(path).replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True)
        state = store.execute("PRAGMA integrity_check").fetchone()[0]
        if state != "ok":
            problems.append(f"{path}: {state}")
        counts = counts_made(store)
        if counts != entry["counts"]:
            kinds = "adults, children, addresses, companies, schools"
            problems.append(f"{path}: expected {entry['counts']} {kinds}, found {counts}")
        store.close()
    except sqlite3.DatabaseError as error:
        problems.append(f"{path}: {error}")
    for suffix in (".godwit", "-wal", "-journal"):
        if os.path.exists(f"{path}{suffix}"):
            problems.append(f"{path}{suffix} was left")
    return problems


def single_run(root, name, godwit, entry, made):
    """Migrates a store by a run of its own, and compares the contents."""
    alone = root / "alone" / name / pathlib.Path(entry["store"]).name
    alone.parent.mkdir(parents=True, exist_ok=True)
    command = [
        godwit, "run", str(root / f"{name}.job.yaml"), "--quiet", "--source", str(root / entry["store"]),
        "--destination", str(alone)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{entry['store']} alone: status {done.returncode}: {done.stderr}"]
    if not os.path.exists(made):
        return []  # check_one has said so.
    return [] if content(alone) == content(made) else [f"{made} differs from a run of its own"]


def check(folder, name, godwit, sample):
    root = pathlib.Path(folder)
    expected = lines(root / "expected.jsonl")
    out = root / f"{name}.out"
    ended = results(root, name)
    plan = json.loads((root / f"{name}.fleet" / "plan.json").read_text(encoding="utf-8"))
    problems = []
    recorded = unreadable = twice = 0
    places = []
    for entry in expected:
        store = pathlib.Path(entry["store"])
        place = out / store.relative_to("stores")
        places.append(str(place))
        mine = ended.pop(store.name, [])
        finished = [line for line in mine if line["outcome"] == "finished"]
        if len(finished) > 1:
            twice += 1
            problems.append(f"{store} was finished {len(finished)} times")
        if entry["broken"]:
            if mine and mine[-1]["outcome"] == "failed" and mine[-1]["status"] != 0:
                recorded += 1
            elif not mine:
                unreadable += 1
            else:
                problems.append(f"{store} is broken ({entry['broken']}), and its last result is {mine[-1]['outcome']}")
        elif not mine or mine[-1]["outcome"] not in ("finished", "already finished"):
            problems.append(f"{store}: its last result is {mine[-1]['outcome'] if mine else 'none'}")
    problems += [f"a result of {store}, which is no store" for store in ended]
    # A broken store that the plan could not read is in the plan.
    if plan["unreadable"] != unreadable:
        problems.append(f"the plan has {plan['unreadable']} unreadable stores, and {unreadable} have no result")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(check_one, [root] * len(expected), places, expected, chunksize=100):
            problems += found
        whole = [index for index, entry in enumerate(expected) if entry["counts"] is not None]
        chosen = random.Random(7).sample(whole, min(sample, len(whole)))
        for found in pool.map(
            single_run, [root] * len(chosen), [name] * len(chosen), [godwit] * len(chosen),
            [expected[index] for index in chosen], [places[index] for index in chosen]):
            problems += found
    known = {os.path.basename(place) for place in places}
    for path in out.rglob("*"):
        base = path.name.removesuffix(".receipt.json")
        if path.is_file() and base not in known and ".godwit" not in str(path):
            problems.append(f"{path} is no destination")
    for problem in problems[:20]:
        print(problem, file=sys.stderr)
    verdict = f"{len(problems)} problems" if problems else "as expected"
    print(
        f"{name}: {len(expected)} stores, {sum(entry['counts'] is not None for entry in expected)} migrated,"
        f" {recorded} failed and recorded, {unreadable} unreadable in the plan, {twice} twice,"
        f" {len(chosen)} compared with runs of their own: {verdict}")
    sys.exit(1 if problems else 0)


def progress(folder, name):
    print(len(results(pathlib.Path(folder), name)))


def processes_of(cluster, node):
    """The processes of all jobs on a node, and the slurmstepd that watches each."""
    found = set()
    wanted = {f"SLURM_CLUSTER_NAME={cluster}".encode(), f"SLURMD_NODENAME={node}".encode()}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if not wanted <= set((entry / "environ").read_bytes().split(b"\0")):
                continue
            found.add(int(entry.name))
            status = (entry / "status").read_text().split("\n")
            parent = next(int(line.split()[1]) for line in status if line.startswith("PPid:"))
            if (pathlib.Path("/proc") / str(parent) / "comm").read_text().startswith("slurmstepd"):
                found.add(parent)
        except (OSError, StopIteration):
            continue
    return found


def kill_node(cluster, node, daemon):
    """A node loses its power: nothing on it gets a signal that it could answer."""
    os.kill(daemon, signal.SIGKILL)
    killed = set()
    while found := processes_of(cluster, node) - killed:
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        killed |= found
    print(f"killed node {node}: slurmd and {len(killed)} processes of its jobs")


def main(arguments):
    match arguments:
        case ["make", folder, count, godwit, models]:
            make(folder, int(count), godwit, models)
        case ["floor", folder, processes]:
            floor(folder, int(processes))
        case ["check", folder, name, godwit, sample]:
            check(folder, name, godwit, int(sample))
        case ["progress", folder, name]:
            progress(folder, name)
        case ["kill-node", cluster, node, daemon]:
            kill_node(cluster, node, int(daemon))
        case _:
            fail(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
