import GodwitModel

extension StoreMetadata {
  /// Reads the head of an XML store.
  ///
  /// - Throws: `.dataWrong` when the head is damaged, or its hashes are not hashes.
  init(readingXMLStore files: StoreFiles) throws {
    try self.init(try XMLStoreReader(path: files.path, name: files.givenPath), path: files.givenPath)
  }

  init(_ reader: XMLStoreReader, path: String) throws {
    var values = reader.metadata
    if let hashes = values[Key.versionHashes] {
      guard hashes.dictionary?.values.allSatisfy({ $0.bytes != nil }) == true else {
        throw GodwitError(
          .dataWrong, "cannot read the metadata of '\(path)': key '\(Key.versionHashes)' holds no hashes",
          remedy: "restore the store from a backup")
      }
    }
    // The file does not say it of itself; Core Data adds it when it reads the metadata.
    values[Key.storeType] = .string(StoreType.xml.rawValue)
    uuid = reader.uuid
    self.values = values
  }

  /// The values that an XML store holds: all except its type and those that concern only SQLite.
  var xmlValues: [String: PropertyListValue] {
    values.filter { $0.key != Key.storeType && $0.key != Key.autoVacuumLevel }
  }
}
