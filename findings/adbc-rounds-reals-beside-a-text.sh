#!/usr/bin/env bash
# ADBC's SQLite driver rounds the REALs of a column that also has a text to 7 digits, in the first 1,024 rows only.
#
# Guess: each number becomes a text with all its digits, as SQLite's CAST makes it, or the read ends with an error.
# Seen: adbc-driver-sqlite 1.13.0 (PyPI): 1234567.89 is read as "1.234568e+06", alone and through polars 2.1.0 with
# `engine='adbc'`. From the second batch on the same number is "1234567.89". The driver's page (Type Inference) says of
# it that a column becomes DOUBLE, then STRING, if needed. CAST(amount AS TEXT) keeps the digits, and so does polars
# with Python's sqlite3.
# A NUMERIC column of decimals has texts, such as NaN, and a store's dates have 16 digits.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q adbc-driver-sqlite==1.13.0 polars==2.1.0 pyarrow==26.0.1
cat >show.py <<'PYTHON'
import sqlite3

import adbc_driver_sqlite.dbapi
import polars

with sqlite3.connect("prices.db") as connection:
    connection.execute("CREATE TABLE price (pk INTEGER PRIMARY KEY, amount NUMERIC)")
    amounts = ["NaN"] + [1234567.89] * 1024
    connection.executemany("INSERT INTO price (amount) VALUES (?)", [(amount,) for amount in amounts])
columns = {}
with adbc_driver_sqlite.dbapi.connect("prices.db") as connection, connection.cursor() as cursor:
    for column in ["amount", "CAST(amount AS TEXT)"]:
        cursor.execute(f"SELECT {column} FROM price")
        columns[f"adbc {column}"] = cursor.fetch_arrow_table().column(0).to_pylist()
query = "SELECT amount FROM price"
columns["polars adbc"] = polars.read_database_uri(query, "sqlite:///prices.db", engine="adbc")["amount"].to_list()
columns["polars sqlite3"] = polars.read_database(query, sqlite3.connect("prices.db"))["amount"].to_list()
for name, values in columns.items():
    print(f"{name}:", *values[:2], values[-1])
PYTHON
venv/bin/python show.py | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
adbc amount: NaN 1.234568e+06 1234567.89
adbc CAST(amount AS TEXT): NaN 1234567.89 1234567.89
polars adbc: NaN 1.234568e+06 1234567.89
polars sqlite3: NaN 1234567.89 1234567.89
SEEN
