#!/usr/bin/env bash
# Alembic, sqlite-utils and peewee change a column of a SQLite table and silently remove all triggers of the table.
#
# Guess: each tool keeps what it does not have to change, or names what it removes.
# Seen (PyPI): batch mode of alembic 1.20.1 (SQLAlchemy 2.1.9), `sqlite-utils transform` 4.2.1 and `alter_column_type`
# of peewee 4.5.3 copy the rows into a new table and drop the old one with its triggers, without a warning. sqlite-utils
# also gives other columns new types, REAL for TIMESTAMP and DECIMAL, and alembic's index loses DESC. alembic's page
# about batch mode has no word on triggers; sqlite-utils' says that `.transform()` does not "upgrade" them. ALTER TABLE
# … RENAME COLUMN of SQLite keeps all.
# Core Data keeps derived attributes up to date with triggers. After such a change their values grow old.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q alembic==1.20.1 SQLAlchemy==2.1.9 sqlite-utils==4.2.1 peewee==4.5.3
cat >show.py <<'PYTHON'
import sqlite3
import subprocess
import sys

import peewee
import sqlalchemy
from alembic.migration import MigrationContext
from alembic.operations import Operations
from playhouse.migrate import SqliteMigrator, migrate

STORE = """
CREATE TABLE ZBOX (Z_PK INTEGER PRIMARY KEY, ZITEMCOUNT INTEGER);
CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, ZBOX INTEGER, ZDONE INTEGER, ZMADEAT TIMESTAMP, ZPRICE DECIMAL);
CREATE INDEX Z_Item_byMadeAt ON ZITEM (ZMADEAT DESC);
CREATE TRIGGER Z_DA_ZITEM_INSERT AFTER INSERT ON ZITEM BEGIN
  UPDATE ZBOX SET ZITEMCOUNT = ZITEMCOUNT + 1 WHERE Z_PK = NEW.ZBOX;
END;
INSERT INTO ZBOX VALUES (1, 0);
INSERT INTO ZITEM VALUES (1, 1, 1, 757425600, 1.5);
"""


def by_sqlite(path):
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE ZITEM RENAME COLUMN ZDONE TO ZISDONE")


def by_alembic(path):
    with sqlalchemy.create_engine(f"sqlite:///{path}").begin() as connection:
        with Operations(MigrationContext.configure(connection)).batch_alter_table("ZITEM") as table:
            table.alter_column("ZDONE", new_column_name="ZISDONE")


def by_sqlite_utils(path):
    command = [sys.executable, "-m", "sqlite_utils", "transform", path, "ZITEM", "--rename", "ZDONE", "ZISDONE"]
    print(subprocess.run(command, capture_output=True, text=True, check=True).stderr, end="")


def by_peewee(path):
    database = peewee.SqliteDatabase(path)
    migrate(SqliteMigrator(database).alter_column_type("ZITEM", "ZDONE", peewee.BooleanField(null=True)))
    database.close()


for change in [by_sqlite, by_alembic, by_sqlite_utils, by_peewee]:
    path = f"{change.__name__}.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(STORE)
    change(path)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO ZITEM (ZBOX) VALUES (1)")
        triggers = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()[0]
        count = connection.execute("SELECT ZITEMCOUNT FROM ZBOX").fetchone()[0]
        types = [row[2] for row in connection.execute("PRAGMA table_info(ZITEM)").fetchall()[3:]]
        index = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index'").fetchone()[0]
        order = "DESC" if "DESC" in index else "ASC"
        print(f"{change.__name__}: triggers {triggers}, count {count} of 2,", *types, order)
PYTHON
venv/bin/python -W error show.py | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
by_sqlite: triggers 1, count 2 of 2, TIMESTAMP DECIMAL DESC
by_alembic: triggers 0, count 1 of 2, TIMESTAMP DECIMAL ASC
by_sqlite_utils: triggers 0, count 1 of 2, REAL REAL DESC
by_peewee: triggers 0, count 1 of 2, TIMESTAMP DECIMAL DESC
SEEN
