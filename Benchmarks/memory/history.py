#!/usr/bin/env python3
"""Gives a store persistent history, for `godwit compact`: history.py STORE CHANGES

The tables are Core Data's. Ten changes make a transaction, as a save of an application does. The names and entities of the
changes are made up, so nothing but a measurement may read them.
"""
import os
import sqlite3
import sys

store, changes = sys.argv[1], int(sys.argv[2])
db = sqlite3.connect(store)
db.executescript("""
CREATE TABLE ATRANSACTIONSTRING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR );
CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER, ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, ZQUERYGEN BLOB );
CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB );
CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID);
CREATE INDEX ATRANSACTION_ZAUTHORTS_INDEX ON ATRANSACTION (ZAUTHORTS);
CREATE INDEX Z_TRANSACTION_TransactionTimestampIndex ON ATRANSACTION (ZTIMESTAMP COLLATE BINARY ASC);
""")
db.execute("INSERT INTO ATRANSACTIONSTRING VALUES (1, 16003, NULL, 'app')")
db.executemany(
    "INSERT INTO ATRANSACTION VALUES (?, 16002, NULL, 1, 1, NULL, 1, ?, NULL, ?)",
    ((n, 700000000.0 + n, os.urandom(36)) for n in range(1, changes // 10 + 1)))
db.executemany(
    "INSERT INTO ACHANGE VALUES (?, 16001, NULL, ?, 1, ?, ?, ?)",
    ((n, n % 3, n % 5000 + 1, n // 10 + 1, b"\x0a\x14" if n % 3 == 1 else None) for n in range(1, changes + 1)))
db.executemany(
    "INSERT INTO Z_PRIMARYKEY VALUES (?, ?, 0, ?)",
    ((16001, "CHANGE", changes), (16002, "TRANSACTION", changes // 10), (16003, "TRANSACTIONSTRING", 1)))
db.commit()
