#!/usr/bin/env bash
# pandas rounds the integers of JSON lines where another row of the column has null, also when Int64 is asked for.
#
# Guess: a column of whole numbers with a null becomes a nullable integer column, at least with dtype Int64 or with a
# backend of nullable types.
# Seen: pandas 3.1.1 with pyarrow 26.0.1 (PyPI), `read_json(lines=True)`: 7251509897564976044 becomes
# 7251509897564976128, the nearest floating point number, with `dtype={'key': 'Int64'}`, with
# `dtype_backend='numpy_nullable'` and with `'pyarrow'`. Only `engine='pyarrow'` with that backend keeps it.
# 64-bit identifiers of other systems, often found in Core Data stores, then name another record, or none.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q pandas==3.1.1 pyarrow==26.0.1
cat >people.jsonl <<'LINES'
{"key":7251509897564976044}
{"key":null}
LINES
venv/bin/python - >seen <<'PYTHON'
import pandas
for options in [
    {}, {'dtype': {'key': 'Int64'}}, {'dtype_backend': 'numpy_nullable'}, {'dtype_backend': 'pyarrow'},
    {'engine': 'pyarrow', 'dtype_backend': 'pyarrow'},
]:
    print(int(pandas.read_json('people.jsonl', lines=True, **options)['key'][0]))
PYTHON
cat seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
7251509897564976128
7251509897564976128
7251509897564976128
7251509897564976128
7251509897564976044
SEEN
