#!/usr/bin/env bash
# nska_deserialize gives the same empty text for nil, for an empty text and for a date before the year 1, such as
# `Date.distantPast`. Of two keys 1 and "1" it keeps one.
#
# Guess: a date that Python cannot hold ends the call with an error, or stays a number. Nil is None, as Python has it.
# Seen: nska-deserialize 1.5.1 (PyPI): -63114076800 seconds since 2001, which is `distantPast`, is ''. `distantFuture`
# is a date. NSKeyedUnArchiver 1.5.2 ends with "year 0 is out of range", and bpylist2 4.1.1 gives the number of seconds
# since 1970. Both keep nil, '' and the two keys apart. The package says of nil alone that it becomes '', since a
# property list has none (its change log, 1.5.0, and comments in nska_deserialize.py).
# `distantPast` is the usual "never" of an application. An examiner cannot tell it from a value that was not set.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q nska-deserialize==1.5.1 NSKeyedUnArchiver==1.5.2 bpylist2==4.1.1
cat >show.py <<'PYTHON'
import plistlib
from plistlib import UID

import nska_deserialize
import NSKeyedUnArchiver
from bpylist2 import archiver


def archive(objects, root=1):
    whole = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$objects": ["$null"] + objects}
    return plistlib.dumps({**whole, "$top": {"root": UID(root)}}, fmt=plistlib.FMT_BINARY)


def named(name):
    return {"$classname": name, "$classes": [name, "NSObject"]}


def date(seconds):
    return archive([{"NS.time": seconds, "$class": UID(2)}, named("NSDate")])


def told(read, data):
    try:
        return repr(read(data))
    except ValueError as error:
        return f"ValueError: {error}"


archives = {
    "nil": archive([], 0),
    "empty text": archive([""]),
    "distantPast": date(-63114076800.0),
    "distantFuture": date(63113904000.0),
    "keys 1 and '1'": archive([
        {"NS.keys": [UID(2), UID(3)], "NS.objects": [UID(4), UID(5)], "$class": UID(6)}, 1, "1", "number", "text",
        named("NSDictionary"),
    ]),
}
readers = {
    "nska_deserialize": nska_deserialize.deserialize_plist_from_string,
    "NSKeyedUnArchiver": NSKeyedUnArchiver.unserializeNSKeyedArchiver,
    "bpylist2": archiver.unarchive,
}
for name, data in archives.items():
    print(name)
    for reader, read in readers.items():
        print(f"  {reader}: {told(read, data)}")
PYTHON
venv/bin/python show.py 2>/dev/null | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
nil
  nska_deserialize: {'root': ''}
  NSKeyedUnArchiver: None
  bpylist2: None
empty text
  nska_deserialize: {'root': ''}
  NSKeyedUnArchiver: ''
  bpylist2: ''
distantPast
  nska_deserialize: {'root': ''}
  NSKeyedUnArchiver: ValueError: year 0 is out of range
  bpylist2: -62135769600.0
distantFuture
  nska_deserialize: {'root': datetime.datetime(4001, 1, 1, 0, 0)}
  NSKeyedUnArchiver: datetime.datetime(4001, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
  bpylist2: 64092211200.0
keys 1 and '1'
  nska_deserialize: {'1': 'text'}
  NSKeyedUnArchiver: {1: 'number', '1': 'text'}
  bpylist2: {1: 'number', '1': 'text'}
SEEN
