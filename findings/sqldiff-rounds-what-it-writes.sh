#!/usr/bin/env bash
# sqldiff writes numbers with 15 digits and texts up to their first NUL, so that its SQL does not make the databases
# equal.
#
# Guess: `sqldiff a b | sqlite3 a` makes the rows of `a` those of `b`, as its page says ("will transform").
# Seen: sqlite3-tools 3.40.1-2+deb12u2 (Debian 12): a date of 757425600.1234567 arrives as 757425600.123457, a text of
# three characters with a NUL in the middle as its first one, and a second sqldiff finds the same differences again. An
# integer 1 and a REAL 1.0 are no difference, although SQLite tells them apart. The page's list of limits has none of
# this.
# Core Data stores a date as a number with up to 17 digits. Two stores that sqldiff made equal differ in many of them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root sqlite3-tools=3.40.1-2+deb12u2
dpkg -x sqlite3-tools_*.deb root
cat >make.py <<'PYTHON'
import sqlite3

rows = {"a.sqlite": [(1, 0.0), (2, "text"), (3, 1)], "b.sqlite": [(1, 757425600.1234567), (2, "a\0b"), (3, 1.0)]}
for name, values in rows.items():
    with sqlite3.connect(name) as connection:
        connection.execute("CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY, ZVALUE)")
        connection.executemany("INSERT INTO ZPERSON VALUES (?, ?)", values)
PYTHON
cat >show.py <<'PYTHON'
import sqlite3

for name in ["a.sqlite", "b.sqlite"]:
    print(name, [value for value, in sqlite3.connect(name).execute("SELECT ZVALUE FROM ZPERSON")])
PYTHON
sqldiff=root/usr/bin/sqldiff
python3 make.py
"$sqldiff" a.sqlite b.sqlite >changes.sql
python3 -c "import sqlite3; sqlite3.connect('a.sqlite').executescript(open('changes.sql').read())"
{
  cat changes.sql
  python3 show.py
  echo "again:"
  "$sqldiff" a.sqlite b.sqlite
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
UPDATE ZPERSON SET ZVALUE=757425600.123457 WHERE Z_PK=1;
UPDATE ZPERSON SET ZVALUE='a' WHERE Z_PK=2;
a.sqlite [757425600.123457, 'a', 1]
b.sqlite [757425600.1234567, 'a\x00b', 1.0]
again:
UPDATE ZPERSON SET ZVALUE=757425600.123457 WHERE Z_PK=1;
UPDATE ZPERSON SET ZVALUE='a' WHERE Z_PK=2;
SEEN
