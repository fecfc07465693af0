import GodwitModel

extension StoreSummary {
  /// Reads an atomic store front to back, counting objects by the entities that the file names.
  init(readingAtomicStore files: StoreFiles) throws {
    let (metadata, highest): (StoreMetadata, Int64)
    // Entities of the metadata are listed without an object too.
    var rows: [String: Int64] = [:]
    switch files.type {
    case .binary:
      let reader = try BinaryStoreReader(path: files.path, name: files.givenPath)
      (metadata, highest) = (reader.metadata, reader.highestKey)
      for name in metadata.versionHashes.keys { rows[name] = 0 }
      while let object = try reader.next() { rows[object.entity, default: 0] += 1 }
    default:
      let reader = try XMLStoreReader(path: files.path, name: files.givenPath)
      (metadata, highest) = (try StoreMetadata(reader, path: files.givenPath), reader.nextObjectID)
      // A file spells types in upper case.
      var names: [String: String] = [:]
      for name in metadata.versionHashes.keys { names[name.uppercased()] = name }
      while let object = try reader.next() { rows[names[object.type] ?? object.type, default: 0] += 1 }
      for name in names.values where rows[name] == nil { rows[name] = 0 }
    }
    path = files.givenPath
    type = files.type
    fileBytes = try files.stamp().store.size
    uuid = metadata.uuid
    frameworkVersion = metadata.frameworkVersion
    versionIdentifiers = metadata.versionIdentifiers
    metadataKeys = metadata.atomicValues.keys.sorted().map(\.string)
    applicationKeys = metadata.applicationValues.keys.sorted().map(\.string)
    entities = rows.keys.sorted(by: ManagedObjectModel.precedes).enumerated().map { place, name in
      Entity(
        number: Int64(place + 1), name: name, superentityNumber: nil, rows: rows[name], primaryKeyCounter: highest)
    }
    journalMode = "none"
  }
}
