#!/usr/bin/env bash
# Of four readers of CSV only polars keeps nil and the empty text apart by default.
#
# Guess: pandas makes both a missing value. DuckDB, polars and pyarrow see that `""` is quoted and `,,` is not.
# Seen: polars 2.1.0 keeps them apart. DuckDB 2.0.1 makes both NULL, pyarrow 26.0.1 makes both the empty text, and pandas
# 3.1.1 makes both missing. DuckDB needs `allow_quoted_nulls = false`, and pyarrow `strings_can_be_null` together with
# `quoted_strings_can_be_null = False`. No option of pandas keeps them apart.
# An export of a store to CSV has both, for nil and for an empty String.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
printf 'id,name\n1,\n2,""\n3,x\n' >people.csv
venv/bin/python - >seen <<'PYTHON'
import duckdb, pandas, polars, pyarrow.csv
print('polars', polars.read_csv('people.csv')['name'].to_list())
duck = lambda options: [row[0] for row in duckdb.sql(f"SELECT name FROM read_csv('people.csv'{options})").fetchall()]
print('duckdb', duck(''), duck(', allow_quoted_nulls = false'))
arrow = lambda **options: pyarrow.csv.read_csv(
    'people.csv', convert_options=pyarrow.csv.ConvertOptions(**options))['name'].to_pylist()
print('pyarrow', arrow(), arrow(strings_can_be_null=True, quoted_strings_can_be_null=False))
print('pandas', pandas.read_csv('people.csv')['name'].isna().tolist(),
      pandas.read_csv('people.csv', keep_default_na=False)['name'].tolist())
PYTHON
cat seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
polars [None, '', 'x']
duckdb [None, None, 'x'] [None, '', 'x']
pyarrow ['', '', 'x'] [None, '', 'x']
pandas [True, True, False] ['', '', 'x']
SEEN
