#!/usr/bin/env bash
# `.recover` of Debian 12's sqlite3 recovers nothing: its library lacks the table that the command reads.
#
# Guess: the command of the packaged shell works with the packaged library.
# Seen: sqlite3 3.40.1-2+deb12u2 (Debian 12): `.recover` of a sound database prints "no such table: sqlite_dbpage" or
# "SQL logic error", and not one of its rows.
# A page about damaged stores cannot recommend the command there.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root sqlite3=3.40.1-2+deb12u2 libsqlite3-0=3.40.1-2+deb12u2
for package in *.deb; do dpkg -x "$package" root; done
LD_LIBRARY_PATH=$work/root/usr/lib/$(uname -m)-linux-gnu
export LD_LIBRARY_PATH
sqlite3=root/usr/bin/sqlite3
"$sqlite3" store.sqlite "CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY, ZNAME); INSERT INTO ZPERSON VALUES (1, 'name')"
{
  echo "dump: $("$sqlite3" store.sqlite .dump | grep -c INSERT)"
  echo "recover: $("$sqlite3" store.sqlite .recover 2>/dev/null | grep -c INSERT || true)"
  "$sqlite3" store.sqlite 'SELECT count(*) FROM sqlite_dbpage' 2>&1 || true
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
dump: 1
recover: 0
Error: in prepare, no such table: sqlite_dbpage
SEEN
