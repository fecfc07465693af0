import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A small job of one kind, made again and again with the same source.
final class FaultJob {
  enum Kind: String, CaseIterable, Sendable {
    /// Every stage, links of every kind, a spill file, files of binary data.
    case everyStage
    /// Two steps, the first of every stage.
    case severalSteps
    /// Every stage, in the place of the source.
    case inPlace
    /// An XML store as destination.
    case xml
    /// Two steps that begin again after a kill.
    case restart
    /// A small store of many: one step of plain copies, in several chunks, with a receipt, that begins again after a kill.
    case smallStore
    /// The same in a batch of one store, which syncs its file system.
    case sharedSync
    /// Every stage, from two stores that are merged, with files of one name.
    case merged
    /// Two rows that are rejected, in rounds of their own, one with a file of binary data.
    case quarantine

    /// Whether nothing of an unfinished run is durable.
    var beginsAgain: Bool { [.restart, .smallStore, .sharedSync].contains(self) }
  }

  let kind: Kind
  let folder: TemporaryFolder
  /// The stores that share its syncs; nil for a group of its own.
  var group: SyncGroup?
  var chunkRows: Int?
  var memory = ByteCount.mebibytes(64)
  var chunkPredicates: [String: [FilterPredicate]] = [:]

  private var isSmall: Bool { [.smallStore, .sharedSync].contains(kind) }
  private var sourceName: String { "people.sqlite" }
  var sourcePath: String { folder.file(kind == .inPlace ? "out/people.sqlite" : sourceName) }
  /// The second store that is merged.
  var otherPath: String { folder.file("others.sqlite") }
  var destinationPath: String {
    switch kind {
    case .xml: folder.file("out/people.xml")
    default: folder.file("out/people.sqlite")
    }
  }

  /// The files in the destination's folder at the end.
  var leftNames: [String] {
    switch kind {
    case .everyStage, .severalSteps, .restart, .merged: [".people_SUPPORT", "people.sqlite"]
    case .smallStore, .sharedSync: [".people_SUPPORT", "people.sqlite", "people.sqlite.receipt.json"]
    case .inPlace: [".people_SUPPORT", ".people~_SUPPORT", "people.sqlite", "people~.sqlite"]
    case .xml: ["people.xml"]
    case .quarantine:
      [
        ".people.sqlite.quarantine_SUPPORT", ".people_SUPPORT", "people.sqlite", "people.sqlite.quarantine.sqlite",
      ]
    }
  }

  /// Makes the source.
  init(_ kind: Kind, people: Int64 = 20, chunkRows: Int? = 1000) throws {
    self.kind = kind
    self.chunkRows = chunkRows
    folder = try TemporaryFolder("godwit-fault")
    try FileManager.default.createDirectory(
      atPath: (sourcePath as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try build(sourcePath, people: people)
    if kind == .merged { try build(otherPath, people: people / 2) }
    if kind == .quarantine { try breakRows() }
  }

  private func build(_ path: String, people: Int64) throws {
    let store = try StoreBuilder(path: path, model: Self.source)
    for key in Int64(1)...5 {
      try store.insert("Address", key: key, attributes: ["street": .init("s\(key)")], relationships: [:])
    }
    for key in 1...people {
      var links: [String: [Int64]] = ["address": [key % 5 + 1]]
      if key > 1 { links["friends"] = [key / 2, key - 1] }
      if key % 4 == 0 { links["spouse"] = [key - 1] }
      try store.insert(
        "Person", key: key,
        attributes: ["name": .init("p\(key)"), "company": .init("c\(key % 3)"), "age": .integer(key % 90)],
        relationships: links)
    }
    try store.finish()
    try addFiles(to: path)
  }

  /// One for which a value cannot be computed, and one whose value is invalid then.
  private func breakRows() throws {
    let connection = try StoreConnection(path: sourcePath)
    try connection.execute("UPDATE ZPERSON SET ZAGE = 32767 WHERE Z_PK = 1")
    try connection.execute("UPDATE ZPERSON SET ZAGE = NULL WHERE Z_PK = 7")
    try connection.close()
  }

  /// The same job on a copy of the source.
  ///
  /// - Parameter place: Where its folder is made; nil for the place of temporary files.
  init(again other: FaultJob, in place: String? = nil) throws {
    kind = other.kind
    chunkRows = other.chunkRows
    memory = other.memory
    chunkPredicates = other.chunkPredicates
    folder = try TemporaryFolder("godwit-fault", in: place)
    let manager = FileManager.default
    let to = (sourcePath as NSString).deletingLastPathComponent
    let from = (other.sourcePath as NSString).deletingLastPathComponent
    try manager.createDirectory(atPath: to, withIntermediateDirectories: true)
    let names = ["people.sqlite", ".people_SUPPORT", "others.sqlite", ".others_SUPPORT"]
    for name in names where manager.fileExists(atPath: from + "/" + name) {
      try manager.copyItem(atPath: from + "/" + name, toPath: to + "/" + name)
    }
  }

  private func addFiles(to path: String) throws {
    let support = SupportFolder(ofStoreAt: path)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let connection = try StoreConnection(path: path)
    for key in [1, 2] {
      let name = "00000000-0000-0000-1000-\(100_000_000_000 + key)"
      // The first file of the second store has other bytes.
      let byte = UInt8(path == otherPath && key == 1 ? 9 : key)
      try Data(repeating: byte, count: 5000 * key).write(to: URL(filePath: support.path(of: name)))
      try connection.execute(
        "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = ?2",
        [.blob(StoredBinary.external(name: name).bytes), .int(key)])
    }
    try connection.close()
  }

  // MARK: The job

  var job: MigrationJob {
    get throws {
      var first = MigrationStep(
        sourceModel: try Self.source, destinationModel: try Self.destination,
        mappingModels: [MappingModel(entityMappings: try Self.mappings)])
      if isSmall {
        first = MigrationStep(
          sourceModel: try Self.source, destinationModel: try Self.renamed,
          mappingModels: [try MappingModel(inferredFrom: Self.source, to: Self.renamed)],
          origin: MigrationStep.inferredOrigin)
      }
      var later: [MigrationStep] = []
      if [.severalSteps, .restart].contains(kind) {
        later.append(
          MigrationStep(
            sourceModel: try Self.destination, destinationModel: try Self.third,
            mappingModels: [try MappingModel(inferredFrom: Self.destination, to: Self.third)],
            origin: MigrationStep.inferredOrigin))
      }
      var job = MigrationJob(
        name: "fault", sourcePath: sourcePath, destinationPath: destinationPath,
        first: first, later: later, chunkRows: isSmall ? 6 : chunkRows,
        chunkPredicates: chunkPredicates, memory: memory)
      if kind.beginsAgain { job.durability = .restart }
      if isSmall { job.receipt = .besideDestination }
      if kind == .sharedSync { job.hooks.sync = (group ?? SyncGroup(limit: 1)).begin() }
      if kind == .inPlace { job.existingDestination = .inPlace(keepsOld: true) }
      if kind == .xml { job.destinationType = .xml }
      if kind == .merged {
        job.merged = try MergedSources([sourcePath, otherPath])
        job = job.readingMerged(in: job.workPath)
      }
      if kind == .quarantine { job.quarantine = Quarantine(maximumRows: 2) }
      return job
    }
  }

  @discardableResult
  func run(maximumSeconds: Double? = nil) throws -> MigrationSummary {
    try MigrationManager(job).run(maximumSeconds: maximumSeconds)
  }

  private static let photo: AttributeDescription = {
    var attribute = AttributeDescription(name: "photo", type: .binary)
    attribute.allowsExternalBinaryDataStorage = true
    return attribute
  }()

  private static func people(_ company: [RelationshipDescription] = []) -> [RelationshipDescription] {
    company + [
      .toOne("address", "Address", inverse: "people"), .toMany("friends", "Person", inverse: "friendOf"),
      .toMany("friendOf", "Person", inverse: "friends"), .toOne("spouse", "Person", inverse: "spouseOf"),
      .toOne("spouseOf", "Person", inverse: "spouse"),
    ]
  }

  private static func first(_ name: String, ageName: String) throws -> ManagedObjectModel {
    var age = AttributeDescription(name: ageName, type: .integer16)
    age.renamingIdentifier = "age"
    var person = EntityDescription.make("Person", ["name": .string, "company": .string], people())
    person.attributes += [age, photo]
    return try ManagedObjectModel(
      name: name,
      entities: [
        .make("Address", ["street": .string], [.toMany("people", "Person", inverse: "address")]), person,
      ])
  }

  // Made once: what is computed of a model is kept with it.
  private static let sourceModel = Result { try first("1", ageName: "age") }
  private static let renamedModel = Result { try first("1 renamed", ageName: "years") }
  private static let destinationModel = Result { try ManagedObjectModel(name: "2", entities: later("age")) }
  private static let thirdModel = Result { try ManagedObjectModel(name: "3", entities: later("years")) }

  static var source: ManagedObjectModel { get throws { try sourceModel.get() } }
  private static var renamed: ManagedObjectModel { get throws { try renamedModel.get() } }

  private static func later(_ ageName: String) -> [EntityDescription] {
    var residents = AttributeDescription(name: "residents", type: .integer64)
    residents.derivationExpression = "people.@count"
    var address = EntityDescription.make(
      "Address", ["street": .string], [.toMany("people", "Person", inverse: "address", ordered: true)])
    address.attributes.append(residents)
    var person = EntityDescription.make(
      "Person", ["name": .string], people([.toOne("company", "Company", inverse: "staff")]))
    var age = AttributeDescription(name: ageName, type: .integer16)
    age.isOptional = false
    age.defaultValue = .integer(0)
    age.renamingIdentifier = "age"
    person.attributes += [age, photo]
    return [address, .make("Company", ["name": .string], [.toMany("staff", "Person", inverse: "company")]), person]
  }

  static var destination: ManagedObjectModel {
    get throws { try destinationModel.get() }
  }

  static var third: ManagedObjectModel {
    get throws { try thirdModel.get() }
  }

  private static var mappings: [EntityMapping] {
    get throws {
      [
        try .make("Address", "Address", kind: .copy),
        try .make(
          "Person", "Person", kind: .copy, attributes: ["age": "$source.age + 1"],
          relationships: ["company": .mapping("Companies", keyPath: [])]),
        try .make("Person", "Company", name: "Companies", uniqueBy: ["name"], attributes: ["name": "$source.company"]),
      ]
    }
  }

  // MARK: The result

  /// The destination's content, its external files and its receipt included.
  func content() throws -> [String] {
    if kind == .xml {
      return try String(contentsOfFile: destinationPath, encoding: .utf8).split(separator: "\n").map(String.init)
    }
    var lines = isSmall ? try receiptLines() : []
    for path in [destinationPath] + (kind == .quarantine ? [destinationPath + Quarantine.suffix] : []) {
      lines += try StoreDump(path).lines
      let support = SupportFolder(ofStoreAt: path)
      var files: [String] = []
      try support.forEachFile { name, _ in
        let bytes = try Data(contentsOf: URL(filePath: support.path(of: name)))
        files.append("file \(name) \(Digest.hex(bytes.base64EncodedString()))")
      }
      lines += files.sorted()
    }
    return lines
  }

  /// The lines of the receipt, without times and paths.
  private func receiptLines() throws -> [String] {
    let receipt = try Receipt.read(destinationPath + Receipt.suffix)
    let made = receipt.steps.flatMap(\.mappings).map { "\($0.name) made \($0.made) of \($0.objectsIn)" }
    let sums =
      receipt.entities.map { "\($0.name) \($0.objects) \($0.checksum)" }
      + receipt.relationships.map { "\($0.entity).\($0.name) \($0.links) \($0.checksum)" }
    return ["receipt of \(receipt.job.digest ?? ""), \(receipt.steps.count) step"] + made + sums
  }

  func namesLeft() throws -> [String] {
    try FileManager.default.contentsOfDirectory(
      atPath: (destinationPath as NSString).deletingLastPathComponent
    ).sorted()
  }

  /// The bytes of the source and its files; in place, of what was the source.
  func sourceBytes() throws -> [String: Data] {
    let path = kind == .inPlace ? MigrationJob.oldPath(of: sourcePath) : sourcePath
    let store = FileManager.default.fileExists(atPath: path) ? path : sourcePath
    var bytes: [String: Data] = [:]
    for (place, store) in ([store] + (kind == .merged ? [otherPath] : [])).enumerated() {
      bytes["store \(place)"] = try Data(contentsOf: URL(filePath: store))
      let support = SupportFolder(ofStoreAt: store)
      try support.forEachFile { name, _ in
        bytes["\(place) \(name)"] = try Data(contentsOf: URL(filePath: support.path(of: name)))
      }
    }
    return bytes
  }
}
