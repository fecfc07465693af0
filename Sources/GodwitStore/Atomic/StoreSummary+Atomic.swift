import GodwitModel

extension StoreSummary {
  /// Reads an atomic store front to back, counting objects by the entities that the file names.
  init(readingAtomicStore files: StoreFiles) throws {
    switch files.type {
    case .binary: try self.init(readingBinaryStore: files)
    default: try self.init(readingXMLStore: files)
    }
  }

  private init(readingBinaryStore files: StoreFiles) throws {
    let reader = try BinaryStoreReader(path: files.path, name: files.givenPath)
    var rows: [String: Int64] = [:]
    for name in reader.metadata.versionHashes.keys { rows[name] = 0 }
    while let object = try reader.next() { rows[object.entity, default: 0] += 1 }
    try self.init(files, metadata: reader.metadata, rows: rows, highest: reader.highestKey)
  }

  private init(readingXMLStore files: StoreFiles) throws {
    let reader = try XMLStoreReader(path: files.path, name: files.givenPath)
    let metadata = try StoreMetadata(reader, path: files.givenPath)
    var rows: [String: Int64] = [:]
    // Entities of the metadata are listed without an object too. A file spells types in upper case.
    var names: [String: String] = [:]
    for name in metadata.versionHashes.keys { names[name.uppercased()] = name }
    while let object = try reader.next() { rows[names[object.type] ?? object.type, default: 0] += 1 }
    for name in names.values where rows[name] == nil { rows[name] = 0 }
    try self.init(files, metadata: metadata, rows: rows, highest: reader.nextObjectID)
  }

  private init(_ files: StoreFiles, metadata: StoreMetadata, rows: [String: Int64], highest: Int64) throws {
    path = files.givenPath
    type = files.type
    fileBytes = try files.stamp().store.size
    uuid = metadata.uuid
    frameworkVersion = metadata.frameworkVersion
    versionIdentifiers = metadata.versionIdentifiers
    metadataKeys = metadata.atomicValues.keys.sorted()
    applicationKeys = metadata.applicationValues.keys.sorted()
    entities = rows.keys.sorted(by: ManagedObjectModel.precedes).enumerated().map { place, name in
      Entity(
        number: Int64(place + 1), name: name, superentityNumber: nil, rows: rows[name], primaryKeyCounter: highest)
    }
    journalMode = "none"
  }
}
