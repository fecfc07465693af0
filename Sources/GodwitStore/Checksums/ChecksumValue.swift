import CSQLite
import GodwitModel

/// Values as a checksum reads them: the same value gives the same words, however and wherever it is stored.
///
/// | value | words |
/// |---|---|
/// | none | 0 |
/// | a whole number, also one stored as a real | 1, the number |
/// | another real | 2, its bits |
/// | text | 3 + 256 × its bytes, the bytes filled up with zeros |
/// | binary data, in its row or in a file | 4 + 256 × its bytes, the bytes filled up with zeros |
/// | a file that is missing | 5, and the words of its name |
enum ChecksumTag {
  static let none: UInt64 = 0
  static let integer: UInt64 = 1
  static let real: UInt64 = 2
  static let text: UInt64 = 3
  static let data: UInt64 = 4
  static let missing: UInt64 = 5
}

/// The folders of a store's external files. While a store is under construction, some files may already be in the
/// folder of the destination: those of rows that it had before, and those that a run moved before it died.
package struct ExternalFiles: Sendable {
  private let folders: [SupportFolder]

  /// - Parameter destination: Where the store at the first path will be; nil for a finished store.
  package init(ofStoreAt store: String, becoming destination: String? = nil) {
    folders = [store, destination].compactMap { $0.map(SupportFolder.init(ofStoreAt:)) }
  }

  func find(_ name: String) throws -> (folder: SupportFolder, size: Int64)? {
    for folder in folders {
      if let size = try folder.size(of: name) { return (folder, size) }
    }
    return nil
  }
}

extension SipHash {
  mutating func add(tag: UInt64, count: Int) { add(tag | UInt64(count) << 8) }

  mutating func add(tag: UInt64, _ bytes: UnsafeRawBufferPointer) {
    add(tag: tag, count: bytes.count)
    add(bytes)
    endBytes()
  }

  mutating func add(integer: Int64) {
    add(ChecksumTag.integer)
    add(UInt64(bitPattern: integer))
  }

  mutating func add(real: Double) {
    // SQLite stores a whole real as an integer, and a decimal column returns it as one.
    if let whole = Int64(exactly: real) { return add(integer: whole) }
    add(ChecksumTag.real)
    add(real.bitPattern)
  }

  mutating func add(text: String) {
    var text = text
    text.withUTF8 { add(tag: ChecksumTag.text, UnsafeRawBufferPointer($0)) }
  }

  /// Adds a value of SQLite's that is protected: an argument of a function.
  ///
  /// - Parameter files: Where the value may be in a file of its own.
  @inline(__always) mutating func add(_ value: OpaquePointer?, files: ExternalFiles?) throws {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: add(integer: sqlite3_value_int64(value))
    case SQLITE_FLOAT: add(real: sqlite3_value_double(value))
    case SQLITE_TEXT: add(tag: ChecksumTag.text, try Self.bytes(UnsafeRawPointer(sqlite3_value_text(value)), of: value))
    case SQLITE_BLOB: try add(blob: try Self.bytes(sqlite3_value_blob(value), of: value), files: files)
    default: add(ChecksumTag.none)
    }
  }

  /// - Parameter start: The pointer from SQLite; nil for no bytes, or without memory.
  @inline(__always) private static func bytes(
    _ start: UnsafeRawPointer?, of value: OpaquePointer?
  ) throws -> UnsafeRawBufferPointer {
    let count = Int(sqlite3_value_bytes(value))
    guard start != nil || count == 0 else {
      throw GodwitError(
        .inputOutput, "cannot read a value: out of memory", remedy: "free memory and run the same command")
    }
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
  }

  private mutating func add(blob bytes: UnsafeRawBufferPointer, files: ExternalFiles?) throws {
    guard let files else { return add(tag: ChecksumTag.data, bytes) }
    switch bytes.first {
    case 1: add(tag: ChecksumTag.data, UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
    case 2:
      guard case .external(let name)? = StoredBinary(Array(bytes)) else { fallthrough }
      try add(file: name, in: files)
    default: add(tag: ChecksumTag.data, bytes)
    }
  }

  private mutating func add(file name: String, in files: ExternalFiles) throws {
    guard let (folder, size) = try files.find(name) else {
      add(ChecksumTag.missing)
      return add(text: name)
    }
    add(tag: ChecksumTag.data, count: Int(size))
    var read: Int64 = 0
    try folder.forEachPiece(of: name) { piece in
      read += Int64(piece.count)
      add(piece)
    }
    endBytes()
    guard read == size else {
      throw GodwitError(
        .stopped, "cannot read '\(folder.path(of: name))': it changed meanwhile",
        remedy: "stop what writes to the store and run the same command", stopReason: .sourceChanged)
    }
  }

  /// Adds a value of a row that was read with its large values left where they are.
  mutating func add(_ content: StoredContent, files: ExternalFiles?, on connection: StoreConnection) throws {
    switch content {
    case .value(.null): add(ChecksumTag.none)
    case .value(.integer(let number)): add(integer: number)
    case .value(.real(let number)): add(real: number)
    case .value(.text(let bytes)): bytes.withUnsafeBytes { add(tag: ChecksumTag.text, $0) }
    case .value(.blob(let bytes)): try bytes.withUnsafeBytes { try add(blob: $0, files: files) }
    case .large(let large): try add(large, isPrefixed: files != nil && !large.isText, on: connection)
    }
  }

  /// - Parameter isPrefixed: Whether a byte 1 before the data may say that the data is in the row.
  private mutating func add(_ large: LargeValue, isPrefixed: Bool, on connection: StoreConnection) throws {
    let value = try OpenValue(large, connection)
    try withUnsafeTemporaryAllocation(byteCount: 1 << 18, alignment: 16) { buffer in
      var first = 0
      if isPrefixed, value.byteCount > 0 {
        try value.read(UnsafeMutableRawBufferPointer(rebasing: buffer[..<1]), at: 0)
        if buffer[0] == 1 { first = 1 }
      }
      add(tag: large.isText ? ChecksumTag.text : ChecksumTag.data, count: value.byteCount - first)
      for offset in stride(from: first, to: value.byteCount, by: buffer.count) {
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, value.byteCount - offset)])
        try value.read(piece, at: offset)
        add(UnsafeRawBufferPointer(piece))
      }
      endBytes()
    }
  }
}
