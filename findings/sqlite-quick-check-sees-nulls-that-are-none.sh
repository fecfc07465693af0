#!/usr/bin/env bash
# SQLite's quick check names NULLs in a table without row numbers whose primary key has another order than its columns.
#
# Guess: `PRAGMA quick_check` reports a part of what `PRAGMA integrity_check` does, so a file that is whole has no line.
# Seen: SQLite 3.40.1 (apsw 3.40.1.0; the same version is Debian 12's): "NULL value in words.word" for each row that has
# a value there, while the full check says ok. SQLite 3.39.4 and 3.41.2 say ok to both. The order of the columns in the
# key makes the difference, not the order of the rows.
# An index of words that an application keeps beside its Core Data store may be such a table. A tool that takes the quick
# check's word refuses the store as damaged.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >check.py <<'PYTHON'
import apsw

for name, key in [("words", "document, word"), ("turned", "word, document")]:
    connection = apsw.Connection(":memory:")
    rows = lambda sql: [row[0] for row in connection.cursor().execute(sql)]
    rows(f"CREATE TABLE {name} (word TEXT NOT NULL, document INTEGER NOT NULL, PRIMARY KEY ({key})) WITHOUT ROWID")
    rows(f"INSERT INTO {name} VALUES ('core', 1), ('data', 1)")
    quick, full = rows("PRAGMA quick_check"), rows("PRAGMA integrity_check")
    print(apsw.sqlitelibversion(), f"key ({key}):", quick, full)
PYTHON
for package in apsw==3.39.4.0 apsw==3.40.1.0 apsw==3.41.2.0; do
  python3 -m venv "$package"
  "$package/bin/pip" install -q --disable-pip-version-check --only-binary :all: "$package"
  "$package/bin/python" check.py
done | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
3.39.4 key (document, word): ['ok'] ['ok']
3.39.4 key (word, document): ['ok'] ['ok']
3.40.1 key (document, word): ['NULL value in words.word', 'NULL value in words.word'] ['ok']
3.40.1 key (word, document): ['ok'] ['ok']
3.41.2 key (document, word): ['ok'] ['ok']
3.41.2 key (word, document): ['ok'] ['ok']
SEEN
