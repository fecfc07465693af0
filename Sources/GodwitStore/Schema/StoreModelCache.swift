import GodwitModel

/// The model that Core Data keeps inside a store, from framework version 637 on.
///
/// `GodwitXcode` turns the bytes into a model. They may be of another version than the store:
/// compare the model's version hashes with those of the metadata.
package enum StoreModelCache {
  /// The most bytes that are read.
  static let limitBytes: Int64 = 64 << 20

  /// The bytes of `Z_MODELCACHE`; nil when the store has no such table, or nothing in it.
  ///
  /// - Parameter path: The name of the store in messages.
  /// - Throws: `.dataWrong` when there are more than 64 MiB.
  package static func content(of connection: StoreConnection, path: String) throws -> [UInt8]? {
    let schema = StoreConnection.sourceSchema
    guard try connection.hasPlainTable("Z_MODELCACHE", schema: schema, path: path),
      try connection.columnNames(of: "Z_MODELCACHE", in: schema).contains("Z_CONTENT")
    else { return nil }
    let content = try connection.withLengthLimit(.init(bytes: limitBytes)) {
      try connection.value("SELECT Z_CONTENT FROM \(schema).Z_MODELCACHE WHERE Z_CONTENT IS NOT NULL LIMIT 1")
    }
    guard let content else {
      throw GodwitError(
        .dataWrong,
        "cannot read the model in '\(path)': expected at most \(limitBytes >> 20) MiB in 'Z_MODELCACHE', found more")
    }
    guard case .blob(let bytes)? = content, !bytes.isEmpty else { return nil }
    return bytes
  }

  /// The bytes of `Z_MODELCACHE` of the store at a path, leaving no trace.
  package static func content(ofStoreAt path: String) throws -> [UInt8]? {
    // An atomic store carries none.
    guard try StoreFiles(path: path).type == .sqlite else { return nil }
    return try content(of: try StoreConnection.openStore(readingAt: path), path: path)
  }
}
