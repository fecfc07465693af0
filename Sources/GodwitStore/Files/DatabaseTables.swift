import Foundation
import GodwitModel

/// The tables of a SQLite file as SQLite sees them: for a file that is damaged, or that Core Data did not write.
package struct DatabaseTables: Sendable, Hashable, Encodable {
  /// A table with rows of its own.
  package struct Table: Sendable, Hashable, Encodable {
    package var name: String
    /// nil when the rows cannot be counted.
    package var rows: Int64?
    /// Why the rows cannot be counted.
    package var problem: String?
  }

  /// In name order, without SQLite's own.
  package var tables: [Table] = []
  /// The findings of SQLite's full check, at most 20 lines; empty for a sound file.
  package var complaints: [String] = []

  /// The most complaints that are listed.
  package static let complaintsMaximum = 20

  private static let prefix = StoreConnection.sourceSchema + "."

  /// Reads a file, leaving no trace. Costs a scan of the whole file.
  ///
  /// - Throws: when the file is not a SQLite database, or nothing can be read of it.
  package init(readingDatabaseAt path: String) throws {
    let connection = try Self.open(path)
    for name in try Self.names(connection) {
      var table = Table(name: name)
      do {
        table.rows = try connection.integer("SELECT count(*) FROM \(Self.prefix)\(quoted(name))")
      } catch let error as GodwitError { table.problem = error.message }
      tables.append(table)
    }
    complaints = try connection.complaints(
      about: StoreConnection.sourceSchema, isFull: true, limit: Self.complaintsMaximum)
  }

  /// A connection to memory with a SQLite file attached as `source`, whether or not Core Data wrote it. The file may be
  /// truncated; its remaining pages can be read.
  ///
  /// - Throws: as `StoreFiles.init` for all other faults.
  package static func open(_ path: String) throws -> StoreConnection {
    let connection = try StoreConnection(path: nil, cache: .mebibytes(1))
    do {
      try connection.attachSource(StoreFiles(path: path))
    } catch let error as GodwitError where error.topic == .cutOff {
      try connection.acceptDamagedSchema()
      // An error names this file, not the connection's own database in memory.
      connection.sourcePath = path
      try connection.attach(StoreFiles.uri(path: path, query: "mode=ro&immutable=1"))
    }
    return connection
  }

  /// The tables that have rows of their own, in name order, without SQLite's own.
  package static func names(_ connection: StoreConnection) throws -> [String] {
    // A view or a virtual table may run for ever.
    try connection.strings(
      "SELECT name FROM \(prefix)sqlite_master WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
  }
}
