import GodwitModel

extension StoreMetadata {
  /// Reads the metadata of an atomic store.
  ///
  /// - Throws: `.dataWrong` when its head is damaged, or its hashes are none.
  init(readingAtomicStore files: StoreFiles) throws {
    switch files.type {
    case .binary: self = try BinaryStoreReader(path: files.path, name: files.givenPath).metadata
    default: try self.init(try XMLStoreReader(path: files.path, name: files.givenPath), path: files.givenPath)
    }
  }

  init(_ reader: XMLStoreReader, path: String) throws {
    try self.init(atomicStore: .xml, uuid: reader.uuid, values: reader.metadata, path: path)
  }

  /// - Throws: `.dataWrong` when the hashes are none, or the store is of an application's own type.
  init(atomicStore type: StoreType, uuid: String, values found: [Text: PropertyListValue], path: String) throws {
    var values = found
    if let hashes = values[Key.versionHashes] {
      guard hashes.dictionary?.values.allSatisfy({ $0.bytes != nil }) == true else {
        throw GodwitError(
          .dataWrong, "cannot read the metadata of '\(path)': key '\(Key.versionHashes)' holds no hashes",
          remedy: "restore the store from a backup")
      }
    }
    try StoreType.refuseCustom(values, path: path)
    // An XML file does not say it of itself; Core Data adds it when it reads the metadata.
    values[Key.storeType] = .string(type.rawValue)
    values[Key.storeUUID] = nil
    self.uuid = uuid
    self.values = values
  }

  /// The values that an atomic store holds: all except its type and those that concern only SQLite.
  var atomicValues: [Text: PropertyListValue] {
    values.filter { ![Key.storeType, Key.autoVacuumLevel].contains($0.key.string) }
  }
}
