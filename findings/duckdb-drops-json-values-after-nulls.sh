#!/usr/bin/env bash
# DuckDB makes NULL of every value of a JSON column whose first 20,480 rows are null, and says nothing.
#
# Guess: the column gets the type of its first value, or the read ends with an error that names the row, as in polars.
# Seen: duckdb 2.0.1 (PyPI): `read_json` gives such a column the type "NULL", and texts, numbers and objects of later
# rows become NULL, also in a Parquet file. `sample_size=-1` reads them, and so do `read_csv` and duckdb 1.4.1. The page
# "Loading JSON" describes `sample_size` as the number of objects that decide the type, and a maintainer wrote in issue
# 17126 that the reader should never find the type NULL, since such values would be lost.
# An attribute that a later version of a model added is null in all older objects, which an export has first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv 2.0.1
2.0.1/bin/pip install -q duckdb==2.0.1
python3 -m venv 1.4.1
1.4.1/bin/pip install -q duckdb==1.4.1
{
  seq 20480 | sed 's/.*/{"name":"Anna","phone":null}/'
  echo '{"name":"Bob","phone":"00123"}'
} >people.jsonl
{
  echo name,phone
  seq 20480 | sed 's/.*/Anna,/'
  echo Bob,00123
} >people.csv
cat >show.py <<'PYTHON'
import sys

import duckdb

duckdb.sql("COPY (FROM read_json('people.jsonl')) TO 'people.parquet'")
for source in sys.argv[1:]:
    values = duckdb.sql(f"SELECT phone FROM {source} WHERE name = 'Bob'").fetchall()
    print(duckdb.__version__, source, duckdb.sql(f"FROM {source}").types[1], values)
PYTHON
{
  2.0.1/bin/python show.py "read_json('people.jsonl')" "'people.parquet'" "read_json('people.jsonl', sample_size=-1)" \
    "read_csv('people.csv', all_varchar=true)"
  1.4.1/bin/python show.py "read_json('people.jsonl')"
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
2.0.1 read_json('people.jsonl') "NULL" [(None,)]
2.0.1 'people.parquet' "NULL" [(None,)]
2.0.1 read_json('people.jsonl', sample_size=-1) VARCHAR [('00123',)]
2.0.1 read_csv('people.csv', all_varchar=true) VARCHAR [('00123',)]
1.4.1 read_json('people.jsonl') JSON [('"00123"',)]
SEEN
