#!/usr/bin/env bash
# A NUMERIC column rounds a decimal that it is given as a text, and keeps no sign that it did.
#
# Guess: NUMERIC affinity converts a text to a number only if the number is equal to the text, and else keeps the text.
# Seen: SQLite 3.54.1 (apsw 3.54.1.0, PyPI): "0.1234567890123456789" becomes a REAL with 17 digits, and
# "1.0000000000000001" the integer 1. The rule compares the first 15 significant digits only. A column without a declared
# type keeps each value as it is given, and compares numbers as numbers.
# Core Data's decimals have 38 digits: an export must decide value by value, in a column without affinity.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q apsw==3.54.1.0
venv/bin/python - >seen <<'PYTHON'
import apsw
connection = apsw.Connection(':memory:')
connection.execute('CREATE TABLE price (numeric NUMERIC, plain)')
for text in ['1.25', '9007199254740993', '0.1234567890123456789', '1.0000000000000001']:
    connection.execute('DELETE FROM price')
    connection.execute('INSERT INTO price VALUES (?1, ?1)', (text,))
    print(text, *connection.execute('SELECT numeric, typeof(numeric), typeof(plain) FROM price').fetchone())
PYTHON
cat seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
1.25 1.25 real text
9007199254740993 9007199254740993 integer text
0.1234567890123456789 0.12345678901234568 real text
1.0000000000000001 1 integer text
SEEN
