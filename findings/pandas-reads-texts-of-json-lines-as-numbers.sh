#!/usr/bin/env bash
# pandas reads the quoted texts of JSON lines as numbers, and an integer named `modified` as a date.
#
# Guess: JSON has types, so a quoted text stays a text and a number stays a number.
# Seen: pandas 3.1.1 (PyPI), `read_json(lines=True)`: the texts "00123" and "1e5" become 123.0 and 100000.0, and the
# number 700000000 of a column `modified` becomes 1992-03-07, seconds since 1970. With `dtype=False` and
# `convert_dates=False` both columns are what the file has.
# Core Data's dates are seconds since 2001, and postal codes and telephone numbers are texts of digits.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q pandas==3.1.1
cat >people.jsonl <<'LINES'
{"code":"00123","modified":700000000}
{"code":"1e5","modified":700000009}
LINES
venv/bin/python - >seen <<'PYTHON'
import pandas
for options in [{}, {'dtype': False, 'convert_dates': False}]:
    table = pandas.read_json('people.jsonl', lines=True, **options)
    print(table['code'].tolist(), [str(value) for value in table['modified']])
PYTHON
cat seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
[123.0, 100000.0] ['1992-03-07 20:26:40', '1992-03-07 20:26:49']
['00123', '1e5'] ['700000000', '700000009']
SEEN
