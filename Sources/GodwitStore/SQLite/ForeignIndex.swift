import CSQLite
import Foundation
import GodwitModel

/// An index of a store whose order, or whose entries, only the store's application knows: SQLite lacks its collation or
/// its function.
package struct ForeignIndex: Hashable, Sendable {
  package let name: String
  /// The table of the index, as the schema spells it.
  package let table: String
  /// The name of the collation or function.
  let lacked: String
  /// Whether it is a function: then not even the number of the index's entries is known.
  let isOfFunction: Bool

  /// Why SQLite cannot write the index: a part of a sentence.
  package var reason: String {
    "its index '\(name)' of table '\(table)' needs the \(isOfFunction ? "function" : "collation") '\(lacked)', which only the application has"
  }
}

/// The indexes and tables of one database for which SQLite lacks a collation or function. Its check complains about them
/// without a reason.
struct ForeignSchema {
  var indexes: [ForeignIndex] = []
  /// The tables whose rules or columns call a function that SQLite lacks.
  var tables: Set<String> = []

  var isEmpty: Bool { indexes.isEmpty && tables.isEmpty }

  /// Whether a line of SQLite's check follows from a stand-in: the order of an index, and what a function gives.
  func explains(_ complaint: String) -> Bool {
    if complaint.hasPrefix("row not in PRIMARY KEY order for ") {
      return indexes.contains { complaint.hasSuffix(" order for \($0.table)") }
    }
    // The number of entries is right in any order.
    let isOfNumber = complaint.hasPrefix("wrong # of entries in index ")
    return indexes.contains { ($0.isOfFunction || !isOfNumber) && complaint.hasSuffix(" index \($0.name)") }
      || tables.contains {
        complaint == "CHECK constraint failed in \($0)" || complaint.hasPrefix("NULL value in \($0).")
      }
  }
}

/// Collations and functions of applications.
///
/// SQLite refuses each statement that uses an index whose collation or function is not registered. A connection that only
/// reads a store therefore compares bytes for such a collation: no statement of ours asks for its order. A connection that
/// writes to the store must not do that, as the index would get a wrong order.
extension StoreConnection {
  private static let ownCollations = ["BINARY", "NOCASE", "RTRIM"]

  /// Compares bytes for each collation that SQLite lacks, from now on. For a connection that writes to no table with an
  /// index of such a collation.
  func standInForCollations() {
    hasStandIns = true
    sqlite3_collation_needed(handle, nil) { _, handle, _, name in
      guard let handle, let name else { return }
      sqlite3_create_collation_v2(handle, name, SQLITE_UTF8, nil, StoreConnection.compareBytes, nil)
    }
  }

  private static let compareBytes:
    @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafeRawPointer?, Int32, UnsafeRawPointer?) -> Int32 = {
      _, firstCount, first, secondCount, second in
      let shared = Int(min(firstCount, secondCount))
      if let first, let second, shared > 0 {
        let order = memcmp(first, second, shared)
        if order != 0 { return order }
      }
      return firstCount == secondCount ? 0 : firstCount < secondCount ? -1 : 1
    }

  /// The indexes of a database that SQLite cannot keep as the application does.
  package func foreignIndexes(in schema: String) throws -> [ForeignIndex] {
    try withStandIns(for: schema) { $0.indexes }
  }

  /// Runs `body` with a stand-in for each collation and function that SQLite lacks for a database, so that its tables can be
  /// written. Their indexes get an order that the application does not know: for copies that only Godwit reads.
  package func standingIn<T>(for schema: String, _ body: () throws -> T) throws -> T {
    try withStandIns(for: schema) { _ in try body() }
  }

  /// Runs `body`, which writes nothing, with a stand-in for each collation and function that SQLite lacks for a database.
  func withStandIns<T>(for schema: String, _ body: (ForeignSchema) throws -> T) throws -> T {
    let schema = isOwnSource && schema == Self.sourceSchema ? "main" : schema
    // The check itself tells of a damaged schema.
    var found = ForeignSchema()
    do { found.indexes = try collatedIndexes(in: schema) } catch let error as GodwitError
      where error.code == .dataWrong
    {}
    let collations = Set(found.indexes.map(\.lacked))
    let isForNow = !hasStandIns && !collations.isEmpty
    if isForNow { standInForCollations() }
    var functions: [String] = []
    defer {
      for name in functions { unregister(function: name, arguments: -1) }
      if isForNow { forgetCollations(collations) }
    }
    while let name = unknownFunction(in: schema), !functions.contains(name) {
      try createFunction(
        name, -1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, state: NoState(), call: { _, _, _ in })
      functions.append(name)
      try find(name, in: schema, &found)
    }
    return try body(found)
  }

  private func collatedIndexes(in schema: String) throws -> [ForeignIndex] {
    var found: [ForeignIndex] = []
    try query(
      """
      SELECT DISTINCT t.name, l.name, x.coll FROM \(quoted(schema)).sqlite_master t, pragma_index_list(t.name, ?1) l, \
      pragma_index_xinfo(l.name, ?1) x WHERE t.type = 'table' AND t.rootpage > 0 ORDER BY 1, 2, 3
      """, [.text(schema)]
    ) { row in
      guard let table = row.string(0), let name = row.string(1), let collation = row.string(2),
        !Self.ownCollations.contains(collation.uppercased())
      else { return true }
      found.append(ForeignIndex(name: name, table: table, lacked: collation, isOfFunction: false))
      return true
    }
    return found
  }

  /// Stands for a function that gives NULL.
  private final class NoState {}

  private func forgetCollations(_ names: Set<String>) {
    hasStandIns = false
    sqlite3_collation_needed(handle, nil, nil)
    for name in names { sqlite3_create_collation_v2(handle, name, SQLITE_UTF8, nil, nil, nil) }
  }

  /// A function that SQLite lacks for its check of a database. The check is compiled, and not run.
  private func unknownFunction(in schema: String) -> String? {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, "PRAGMA \(quoted(schema)).integrity_check", -1, &statement, nil) != SQLITE_OK
    else { return nil }
    let words = String(cString: sqlite3_errmsg(handle))
    guard words.hasPrefix(Self.unknownFunctionWords), words.hasSuffix("()") else { return nil }
    return String(words.dropFirst(Self.unknownFunctionWords.count).dropLast(2))
  }

  /// Adds the indexes and tables whose definitions have the name of a function: more than call it, at most.
  private func find(_ function: String, in schema: String, _ found: inout ForeignSchema) throws {
    let name = function.lowercased()
    let list = "\(quoted(schema)).sqlite_master"
    try query(
      """
      SELECT t.name, t.sql, i.name, i.sql FROM \(list) t LEFT JOIN \(list) i ON i.type = 'index' AND i.tbl_name = t.name \
      COLLATE NOCASE WHERE t.type = 'table' AND t.rootpage > 0
      """
    ) { row in
      guard let table = row.string(0) else { return true }
      let isInTable = row.string(1)?.lowercased().contains(name) == true
      if isInTable { found.tables.insert(table) }
      if let index = row.string(2), isInTable || row.string(3)?.lowercased().contains(name) == true {
        found.indexes.append(
          ForeignIndex(name: index, table: table, lacked: function, isOfFunction: true))
      }
      return true
    }
  }

  // MARK: SQLite's messages

  private static let unknownFunctionWords = "unknown function: "
  private static let unknownCollationWords = "no such collation sequence: "

  /// Whether SQLite says that it lacks a collation or a function of the schema. It says `no such function` of one in a
  /// statement of ours.
  static func isForeignName(_ message: String) -> Bool {
    message.hasPrefix(unknownFunctionWords) || message.hasPrefix(unknownCollationWords)
  }

  static let foreignNameRemedy =
    "drop the index in a copy of the store, and use the copy: the application makes the index again"
}
