#!/usr/bin/env bash
# DataFusion and Daft cut the fraction off a number of JSON lines, and DuckDB rounds it, if it comes after many whole
# numbers.
#
# Guess: the column becomes one of floating point numbers, or the read ends with an error, as polars' does.
# Seen (PyPI): after 60,000 whole numbers 757425600.5 is read as 757425600 by datafusion 55.0.0, by daft 0.7.26 and by
# duckdb 2.0.1, and 757425601.7 as 757425601 by the first two and 757425602 by the last, without an error. polars 2.1.0
# ends with one. daft also makes null of a text that comes after that many nulls. datafusion has
# `schema_infer_max_records`, duckdb `sample_size`, daft only `schema`. Issue 10265 of arrow-rs has the reader of
# DataFusion.
# SQLite stores a date of a whole second as an integer in Core Data's columns, so a dump of a table has both kinds.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q datafusion==55.0.0 daft==0.7.26 duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1
{
  seq 60000 | sed 's/.*/{"ZNAME":"a name of some length","ZBORN":757425600,"ZPHONE":null}/'
  echo '{"ZNAME":"b","ZBORN":757425600.5,"ZPHONE":"00123"}'
  echo '{"ZNAME":"c","ZBORN":757425601.7,"ZPHONE":"00456"}'
} >rows.jsonl
cat >show.py <<'PYTHON'
import daft
import datafusion
import duckdb
import polars

path = "rows.jsonl"
types = {"ZBORN": daft.DataType.float64(), "ZPHONE": daft.DataType.string()}
context = datafusion.SessionContext()


def by_datafusion(column, **options):
    frame = context.read_json(path, file_extension=".jsonl", **options)
    return frame.select(datafusion.col('"ZNAME"'), datafusion.col(f'"{column}"')).to_pydict()


def by_daft(column, **options):
    return daft.read_json(path, **options).to_pydict()


def by_duckdb(column, options=""):
    return duckdb.sql(f"SELECT ZNAME, {column} FROM read_json('{path}'{options})").pl().to_dict(as_series=False)


def by_polars(column):
    return polars.read_ndjson(path).to_dict(as_series=False)


for name, read, column, options in [
    ("datafusion", by_datafusion, "ZBORN", {}),
    ("datafusion", by_datafusion, "ZBORN", {"schema_infer_max_records": 100_000}),
    ("daft", by_daft, "ZBORN", {}),
    ("daft", by_daft, "ZPHONE", {}),
    ("daft", by_daft, "ZBORN", {"schema": types}),
    ("daft", by_daft, "ZPHONE", {"schema": types}),
    ("duckdb", by_duckdb, "ZBORN", {}),
    ("duckdb", by_duckdb, "ZBORN", {"options": ", sample_size=-1"}),
    ("polars", by_polars, "ZBORN", {}),
]:
    try:
        table = read(column, **options)
        values = dict(zip(table["ZNAME"], table[column]))
        print(name, column, *options, values["b"], values["c"])
    except polars.exceptions.ComputeError as error:
        print(name, column, type(error).__name__)
PYTHON
venv/bin/python show.py 2>/dev/null | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
datafusion ZBORN 757425600 757425601
datafusion ZBORN schema_infer_max_records 757425600.5 757425601.7
daft ZBORN 757425600 757425601
daft ZPHONE None None
daft ZBORN schema 757425600.5 757425601.7
daft ZPHONE schema 00123 00456
duckdb ZBORN 757425600 757425602
duckdb ZBORN options 757425600.5 757425601.7
polars ZBORN ComputeError
SEEN
