import CSQLite
import GodwitModel

extension StoreConnection {
  /// Fills a blob of the main database that has the file's size with the bytes of an external file, a piece at a time.
  ///
  /// Call inside the transaction that made the row, before the column is indexed.
  ///
  /// - Throws: `.stopped` (75) when the file changed its size meanwhile; SQLite's errors as they map.
  package func fillBlob(table: String, column: String, key: Int64, with name: String, in folder: SupportFolder) throws {
    let blob = try openBlob(table: table, column: column, key: key)
    defer { sqlite3_blob_close(blob) }
    let size = Int(sqlite3_blob_bytes(blob))
    var offset = 0
    func check(_ isSame: Bool) throws {
      guard !isSame else { return }
      throw GodwitError(
        .stopped, "stopped: the external file '\(folder.path(of: name))' changed during the run",
        remedy: "make sure nothing writes to the source, `godwit discard` the job and run again",
        stopReason: .sourceChanged)
    }
    try folder.forEachPiece(of: name) { piece in
      try check(offset + piece.count <= size)
      let code = sqlite3_blob_write(blob, piece.baseAddress, Int32(piece.count), Int32(offset))
      guard code == SQLITE_OK else { throw lastError(code, sql: nil) }
      offset += piece.count
    }
    try check(offset == size)
  }

  /// Fills a blob with the bytes of a value of its size, a piece at a time.
  func fillBlob(
    database: String = "main", table: String, column: String, key: Int64, with value: OpenValue
  ) throws {
    let blob = try openBlob(database: database, table: table, column: column, key: key)
    defer { sqlite3_blob_close(blob) }
    try withUnsafeTemporaryAllocation(byteCount: Self.pieceBytes, alignment: 16) { buffer in
      for offset in stride(from: 0, to: value.byteCount, by: buffer.count) {
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, value.byteCount - offset)])
        try value.read(piece, at: offset)
        let code = sqlite3_blob_write(blob, piece.baseAddress, Int32(piece.count), Int32(offset))
        guard code == SQLITE_OK else { throw lastError(code, sql: nil) }
      }
    }
  }

  private static let pieceBytes = 1 << 18

  private func openBlob(
    database: String = "main", table: String, column: String, key: Int64
  ) throws -> OpaquePointer {
    var blob: OpaquePointer?
    let code = withHandle { sqlite3_blob_open($0, database, table, column, key, 1, &blob) }
    guard code == SQLITE_OK, let blob else {
      let error = lastError(code, sql: nil)
      sqlite3_blob_close(blob)
      throw error
    }
    return blob
  }
}
