import GodwitModel

extension StoreSummary {
  /// Reads an XML store front to back, counting objects by the types that the file names.
  init(readingXMLStore files: StoreFiles) throws {
    let reader = try XMLStoreReader(path: files.path, name: files.givenPath)
    let metadata = try StoreMetadata(reader, path: files.givenPath)
    var rows: [String: Int64] = [:]
    // Entities of the metadata are listed without an object too. A file spells types in upper case.
    var names: [String: String] = [:]
    for name in metadata.versionHashes.keys { names[name.uppercased()] = name }
    while let object = try reader.next() { rows[names[object.type] ?? object.type, default: 0] += 1 }
    for name in names.values where rows[name] == nil { rows[name] = 0 }
    self.init(
      xmlPath: files.givenPath, fileBytes: try files.stamp().store.size, metadata: metadata,
      entities: rows.keys.sorted(by: ManagedObjectModel.precedes).enumerated().map { place, name in
        Entity(
          number: Int64(place + 1), name: name, superentityNumber: nil, rows: rows[name],
          primaryKeyCounter: reader.nextObjectID)
      })
  }

  private init(xmlPath: String, fileBytes: Int64, metadata: StoreMetadata, entities: [Entity]) {
    path = xmlPath
    type = .xml
    self.fileBytes = fileBytes
    hasHotJournal = false
    uuid = metadata.uuid
    frameworkVersion = metadata.frameworkVersion
    versionIdentifiers = metadata.versionIdentifiers
    metadataKeys = metadata.xmlValues.keys.sorted()
    applicationKeys = metadata.applicationValues.keys.sorted()
    self.entities = entities
    strayRows = []
    pageSizeBytes = 0
    journalMode = "none"
    autoVacuum = 0
    hasModelCache = false
    historyTables = []
    cloudKitTables = []
    triggers = []
    externalFiles = 0
    externalBytes = 0
  }
}
