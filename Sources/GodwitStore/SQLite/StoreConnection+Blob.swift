import CSQLite
import GodwitModel

extension StoreConnection {
  /// Fills a blob with the bytes of a value of its size, a piece at a time.
  ///
  /// Call inside the transaction that made the row, before the column is indexed.
  package func fillBlob(
    database: String = "main", table: String, column: String, key: Int64, with value: any LargeBytes
  ) throws {
    let blob = try openBlob(database: database, table: table, column: column, row: key, isWritten: true)
    defer { sqlite3_blob_close(blob) }
    try withUnsafeTemporaryAllocation(byteCount: Self.pieceBytes, alignment: 16) { buffer in
      for offset in stride(from: 0, to: value.byteCount, by: buffer.count) {
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, value.byteCount - offset)])
        try value.read(piece, at: offset)
        errno = 0
        let code = sqlite3_blob_write(blob, piece.baseAddress, Int32(piece.count), Int32(offset))
        guard code == SQLITE_OK else { throw lastError(code, sql: nil) }
      }
    }
  }

  /// Gives a row of the main database the bytes of values in an ordinary statement, for tables that `LargeRowWriter`
  /// does not serve: SQLite holds a value where others follow it in the row.
  package func store(_ values: [String: any LargeBytes], in table: String, key: Int64) throws {
    for (column, value) in values.sorted(by: { $0.key < $1.key }) {
      let statement = try prepare(
        "UPDATE main.\(StoreSchema.identifier(table)) SET \(StoreSchema.identifier(column)) = ?1 WHERE Z_PK = ?2")
      defer { statement.finalize() }
      try statement.bind(zeros: value.byteCount, at: 1)
      statement.bind(key, at: 2)
      try statement.runBound()
      try fillBlob(table: table, column: column, key: key, with: value)
    }
  }

  private static let pieceBytes = 1 << 18

  /// Opens a text or blob in its row.
  func openBlob(
    database: String, table: String, column: String, row: Int64, isWritten: Bool
  ) throws -> OpaquePointer {
    var blob: OpaquePointer?
    errno = 0
    let code = withHandle { sqlite3_blob_open($0, database, table, column, row, isWritten ? 1 : 0, &blob) }
    guard code == SQLITE_OK, let blob else {
      let error = lastError(code, sql: nil)
      sqlite3_blob_close(blob)
      throw error
    }
    return blob
  }
}
