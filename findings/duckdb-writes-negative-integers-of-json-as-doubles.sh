#!/usr/bin/env bash
# DuckDB copies a column of integers from JSON to Parquet as DOUBLE if one of them is negative.
#
# Guess: `COPY (SELECT * FROM read_json(…)) TO 'x.parquet'` keeps integers of 64 bits as they are.
# Seen: duckdb 2.0.1 (PyPI): a column with a negative integer is read as HUGEINT, which Parquet does not have. DuckDB
# writes DOUBLE without a word, which rounds above 2^53. Columns without negative integers stay BIGINT.
# An export that goes into Parquet needs `SELECT * REPLACE (count::BIGINT AS count)`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q duckdb==2.0.1
printf '{"mixed": 1, "plain": 1}\n{"mixed": -9007199254740993, "plain": 9007199254740993}\n' >rows.jsonl
cat >show.py <<'PYTHON'
import duckdb

read = "read_json('rows.jsonl', sample_size=-1)"
print("read", *duckdb.sql(f"FROM {read}").types)
for columns in ["*", "* REPLACE (mixed::BIGINT AS mixed)"]:
    duckdb.sql(f"COPY (SELECT {columns} FROM {read}) TO 'rows.parquet'")
    found = duckdb.sql("FROM 'rows.parquet'")
    print("copied", *found.types, *(int(value) for value in found.fetchall()[1]))
PYTHON
venv/bin/python show.py | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
read HUGEINT BIGINT
copied DOUBLE BIGINT -9007199254740992 9007199254740993
copied BIGINT BIGINT -9007199254740993 9007199254740993
SEEN
