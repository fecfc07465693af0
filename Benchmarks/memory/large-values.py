#!/usr/bin/env python3
"""Measures how often each verb holds one large value.

  Benchmarks/memory/large-values.py [--mebibytes N] [--memory MIB] [--godwit PATH] [--verbs LIST] [CASE ...]

Makes a store of three objects, of which one has a value of N MiB, and runs each verb in a process of its own. Prints
the most that was resident (as the kernel counts it), and how many times the value that is beyond what the same verb
takes for a small value. CASE is a part of the names of the cases to run. Needs python3; the stores are in TMPDIR.
"""

import argparse
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser()
parser.add_argument("--mebibytes", type=int, default=100)
parser.add_argument("--memory", type=int, default=16)
parser.add_argument("--godwit", default=os.path.join(here, "../../.build/debug/godwit"))
parser.add_argument("--verbs", metavar="LIST", help="with commas; run always")
parser.add_argument("cases", nargs="*", metavar="CASE")
options = parser.parse_args()
godwit = os.path.realpath(options.godwit)

MODEL = """<?xml version="1.0" encoding="UTF-8"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="1" \
sourceLanguage="Swift">
  <entity name="Doc" representedClassName="Doc" syncable="YES">
    <attribute name="body" optional="YES" attributeType="String"/>
    <attribute name="name" {name} attributeType="String"/>
    <attribute name="scan" optional="YES" attributeType="Binary"{external}/>
    <attribute name="thumb" optional="YES" attributeType="Binary"/>
    {more}
  </entity>
</model>
"""
FILE = "00000001-1111-2222-3333-444444444444"


def model(folder, number, external, more="", optional=True):
    path = f"{folder}/Docs.xcdatamodeld/Docs {number}.xcdatamodel"
    os.makedirs(path)
    with open(path + "/contents", "w") as file:
        file.write(
            MODEL.format(
                external=' allowsExternalBinaryDataStorage="YES"' if external else "", more=more,
                name='optional="YES"' if optional else ""))


class Case:
    """A store with a value that is `kind`, and a job that migrates it."""

    def __init__(self, name, kind, external=(False, False), manifest="", mapping="", more=None, optional=True, null=""):
        self.name, self.kind, self.external = name, kind, external
        self.manifest, self.mapping, self.optional, self.null = manifest, mapping, optional, null
        self.more = '<attribute name="twice" optional="YES" attributeType="String"/>' if more is None else more

    def make(self, folder, size):
        model(folder, 1, self.external[0])
        model(folder, 2, self.external[1], self.more, self.optional)
        store = folder + "/docs.sqlite"
        subprocess.run(
            [godwit, "make-store", folder + "/Docs.xcdatamodeld#Docs 1", store, "--rows", "3"], check=True,
            stdout=subprocess.DEVNULL)
        connection = sqlite3.connect(store)
        connection.execute("PRAGMA cache_size = -2000")
        support = folder + "/.docs_SUPPORT/_EXTERNAL_DATA"
        shutil.rmtree(folder + "/.docs_SUPPORT", ignore_errors=True)
        connection.execute("UPDATE ZDOC SET ZSCAN = NULL, ZBODY = 'body', ZNAME = 'name ' || Z_PK, ZTHUMB = x'0102'")
        if self.kind == "text":
            connection.execute("UPDATE ZDOC SET ZBODY = hex(randomblob(?)) WHERE Z_PK = 2", (size // 2,))
        elif self.kind == "blob" and self.external[0]:
            connection.execute(
                "UPDATE ZDOC SET ZSCAN = CAST(x'01' || randomblob(?) AS BLOB) WHERE Z_PK = 2", (size - 1,))
        elif self.kind == "blob":
            connection.execute("UPDATE ZDOC SET ZSCAN = randomblob(?) WHERE Z_PK = 2", (size,))
        elif self.kind == "file":
            os.makedirs(support)
            with open(f"{support}/{FILE}", "wb") as file:
                for start in range(0, size, 1 << 20):
                    file.write(os.urandom(min(1 << 20, size - start)))
            connection.execute("UPDATE ZDOC SET ZSCAN = ? WHERE Z_PK = 2", (b"\x02" + FILE.encode() + b"\0",))
        for key in self.null.split():
            connection.execute("UPDATE ZDOC SET ZNAME = NULL WHERE Z_PK = ?", (key,))
        connection.commit()
        connection.close()
        with open(folder + "/job.yaml", "w") as file:
            place = "" if "destination:" in self.manifest else "destination: out/docs.sqlite\n"
            file.write(
                "godwit: 1\nsource: docs.sqlite\n" + place + "models: Docs.xcdatamodeld\ndestination-model: Docs 2\n"
                + f"memory: {options.memory} MiB\n" + ("mappings: m.mapping.yaml\n" if self.mapping else "")
                + self.manifest)
        if self.mapping:
            with open(folder + "/m.mapping.yaml", "w") as file:
                file.write(
                    "godwit-mapping: 1\nsource-model: Docs 1\ndestination-model: Docs 2\nentity-mappings:\n"
                    "  - name: DocToDoc\n    source: Doc\n    destination: Doc\n" + self.mapping)


SWIFT = "    attributes:\n      twice: uppercase($source.name)\n      scan: $source.scan\n      thumb: $source.thumb\n      body: $source.body\n      name: $source.name\n"
POLICY = "    policy: Nobody\n"
QUARANTINE = "on-invalid: {quarantine: {max-rows: 10, max-percent: 100}}\n"
CASES = [
    Case("blob, inline to inline", "blob"),
    Case("text", "text"),
    Case("blob, inline to external", "blob", (False, True)),
    Case("blob, external to inline", "blob", (True, False)),
    Case("blob, external to external", "blob", (True, True)),
    Case("file, external to external", "file", (True, True)),
    Case("file, external to inline", "file", (True, False)),
    Case("policy, blob", "blob", manifest="unregistered-policies: default\n", mapping=POLICY + SWIFT),
    Case("policy, file, to inline", "file", (True, False), manifest="unregistered-policies: default\n",
         mapping=POLICY + SWIFT),
    Case("quarantine, blob held", "blob", manifest=QUARANTINE, mapping=SWIFT, optional=False, null="2"),
    Case("quarantine, blob kept", "blob", manifest=QUARANTINE, mapping=SWIFT, optional=False, null="3"),
    Case("quarantine, text held", "text", manifest=QUARANTINE, mapping=SWIFT, optional=False, null="2"),
    Case("quarantine, file held", "file", (True, True), manifest=QUARANTINE, mapping=SWIFT, optional=False, null="2"),
    Case("quarantine, file to inline", "file", (True, False), manifest=QUARANTINE, mapping=SWIFT, optional=False, null="2"),
    Case("quarantine, file to inline kept", "file", (True, False), manifest=QUARANTINE, mapping=SWIFT, optional=False, null="3"),
    Case("in place, blob, schema", "blob", manifest="destination: {existing: in-place}\n"),
    Case("in place, blob, SQL", "blob", (False, False), manifest="destination: {existing: in-place}\n", mapping=SWIFT),
    Case("in place, text, SQL", "text", (False, False), manifest="destination: {existing: in-place}\n", mapping=SWIFT),
    Case("in place, blob, inline to external", "blob", (False, True), manifest="destination: {existing: in-place}\n"),
    Case("in place, file, external to inline", "file", (True, False), manifest="destination: {existing: in-place}\n"),
    Case("in place, full", "blob", manifest="destination: {existing: in-place, keep-old: true}\n", mapping=POLICY + SWIFT),
    Case("to XML, blob", "blob", manifest="destination-type: xml\n"),
    Case("to XML, file", "file", (True, True), manifest="destination-type: xml\n"),
    Case("append, blob", "blob", manifest="destination: {path: out/docs.sqlite, existing: append}\n"),
    Case("append, file to inline", "file", (True, False), manifest="destination: {path: out/docs.sqlite, existing: append}\n"),
]


def peak(arguments, folder, output):
    """Bytes, and the exit status."""
    with open(output, "wb") as out, open(folder + "/errors", "wb") as errors:
        child = subprocess.Popen([godwit] + arguments, stdout=out, stderr=errors, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
    return usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)


def verbs(case):
    yield "plan", ["plan", "job.yaml"]
    yield "audit", ["audit", "job.yaml"]
    yield "inspect", ["inspect", "docs.sqlite", "--details", "--models", "Docs.xcdatamodeld"]
    model = ["--model", "Docs.xcdatamodeld#Docs 1"]
    for form in ["jsonl", "csv"]:
        yield "export " + form, ["export", "docs.sqlite", "--entity", "Doc", "--format", form] + model
    yield "export sqlite", ["export", "docs.sqlite", "--entity", "Doc", "--format", "sqlite", "-o", "e.sqlite"] + model
    for form in ["jsonl", "csv"]:
        yield "export raw " + form, ["export", "docs.sqlite", "--raw", "--table", "ZDOC", "--format", form]
    yield "export raw sqlite", [
        "export", "docs.sqlite", "--raw", "--table", "ZDOC", "--format", "sqlite", "-o", "r.sqlite"]
    yield "run", ["run", "job.yaml", "--quiet"]
    if "in-place" not in case.manifest:
        yield "verify", ["verify", "job.yaml"]
        yield "trace", ["trace", "job.yaml", "Doc/p2", "--side", "source"]
        yield "trace json", ["trace", "job.yaml", "Doc/p2", "--side", "source", "--format", "json"]
        yield "report", ["report", "job.yaml", "-o", "report.html"]
    if "append" not in case.manifest and "xml" not in case.manifest:
        place = "docs.sqlite" if "in-place" in case.manifest else "out/docs.sqlite"
        yield "verify receipt", ["verify", "--receipt", place + ".receipt.json"]


def measure(case, size):
    folder = tempfile.mkdtemp(prefix="godwit-memory-")
    try:
        # In a process of its own: the kernel counts a child's memory from its parent's on.
        maker = multiprocessing.get_context("fork").Process(target=case.make, args=(folder, size))
        maker.start()
        maker.join()
        if maker.exitcode != 0:
            sys.exit(f"error: cannot make the store of '{case.name}'")
        results = {}
        for name, arguments in verbs(case):
            if options.verbs and name not in options.verbs.split(",") and name != "run":
                continue
            results[name] = peak(arguments, folder, folder + "/output")
            expected = (0, 3) if name == "run" else (0, 2, 4) if name in ("plan", "audit") else (0,)
            if results[name][1] not in expected:
                with open(folder + "/errors") as errors:
                    first = errors.readline().strip()
                with open(folder + "/output", errors="replace") as output:
                    first = first or output.readline(500).strip()
                print(f"# {case.name}: {name} ended with {results[name][1]}: {first[:300]}", file=sys.stderr)
            if os.path.getsize(folder + "/output") > 1 << 20:
                os.truncate(folder + "/output", 0)
            for left in ["e.sqlite", "r.sqlite"]:
                if os.path.exists(f"{folder}/{left}"):
                    os.remove(f"{folder}/{left}")
        return results
    finally:
        shutil.rmtree(folder)


size = options.mebibytes << 20
print(f"value {options.mebibytes} MiB, budget {options.memory} MiB")
print("| case | verb | small value, MiB | peak, MiB | times the value |\n|---|---|---:|---:|---:|")
for case in CASES:
    if options.cases and not any(name in case.name for name in options.cases):
        continue
    small, large = measure(case, 5000), measure(case, size)
    for verb, (bytes, status) in large.items():
        base = small[verb][0]
        print(f"| {case.name} | {verb} | {base >> 20} | {bytes >> 20} | {(bytes - base) / size:.1f} |", flush=True)
