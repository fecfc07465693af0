import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Small stores of one version, to be changed behind Core Data's back and merged.
final class PartWorld {
  let folder: TemporaryFolder
  let model, destination: ManagedObjectModel
  var destinationPath: String { folder.file("out/all.sqlite") }

  init() throws {
    folder = try TemporaryFolder()
    var photo = AttributeDescription(name: "photo", type: .binary)
    photo.allowsExternalBinaryDataStorage = true
    var person = EntityDescription.make(
      "Person", ["name": .string],
      [.toOne("team", "Team", inverse: "people"), .toMany("tags", "Tag", inverse: "people")])
    person.attributes.append(photo)
    let others: [EntityDescription] = [
      .make("Team", ["name": .string], [.toMany("people", "Person", inverse: "team")]),
      .make("Tag", ["name": .string], [.toMany("people", "Person", inverse: "tags")]),
    ]
    model = try ManagedObjectModel(name: "1", entities: [person] + others)
    person.attributes.append(AttributeDescription(name: "more", type: .string))
    destination = try ManagedObjectModel(name: "2", entities: [person] + others)
  }

  /// Two people of one team with one tag, whose names begin with that of the store.
  func build(_ name: String, firstKey: Int64 = 1, uuid: UUID = UUID()) throws {
    let store = try StoreBuilder(
      path: folder.file(name), model: model, metadata: StoreMetadata(model: model, uuid: uuid))
    try store.insert("Team", key: firstKey, attributes: ["name": .init("\(name) team")])
    try store.insert("Tag", key: firstKey, attributes: ["name": .init("\(name) tag")])
    for place in Int64(0)...1 {
      try store.insert(
        "Person", key: firstKey + place, attributes: ["name": .init("\(name) \(place)")],
        relationships: ["team": [firstKey], "tags": [firstKey]])
    }
    try store.finish()
  }

  func alter(_ name: String, _ statements: String...) throws {
    let connection = try StoreConnection(path: folder.file(name))
    for sql in statements { try connection.execute(sql) }
    try connection.close()
  }

  /// Gives a person a photo in a file.
  func addPhoto(_ name: String, key: Int64, file: String, bytes: String?) throws {
    let support = SupportFolder(ofStoreAt: folder.file(name))
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    if let bytes { try Data(bytes.utf8).write(to: URL(filePath: support.path(of: file))) }
    let connection = try StoreConnection(path: folder.file(name))
    try connection.execute(
      "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = ?2",
      [.blob(StoredBinary.external(name: file).bytes), .integer(key)])
    try connection.close()
  }

  func job(_ names: String...) throws -> MigrationJob {
    var job = MigrationJob(
      name: "parts", sourcePath: "", destinationPath: destinationPath, sourceModel: model,
      destinationModel: destination, mappingModels: [try MappingModel(inferredFrom: model, to: destination)])
    job.merged = try MergedSources(names.map { folder.file($0) })
    return job.readingMerged(in: job.workPath)
  }

  /// Runs a job, and proves what it made.
  @discardableResult
  func run(_ job: MigrationJob, sourceLocation: SourceLocation = #_sourceLocation) throws -> MigrationSummary {
    let summary = try MigrationManager(job).run()
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)", sourceLocation: sourceLocation)
    return summary
  }

  func rows(_ sql: String) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: destinationPath)
    return try connection.rows(sql).map { $0.map(\.plain).joined(separator: "|") }
  }

  /// The people of the destination, each with the name of its team and its tag.
  func people() throws -> [String] {
    guard
      case .join(let join, let person, let tag, _) = StoreSchema(model: destination).storage(of: "tags", in: "Person")
    else { return [] }
    return try rows(
      """
      SELECT p.ZNAME, t.ZNAME, (SELECT g.ZNAME FROM source.\(join.name) AS j JOIN source.ZTAG AS g ON g.Z_PK = j.\(tag) \
      WHERE j.\(person) = p.Z_PK) FROM source.ZPERSON AS p LEFT JOIN source.ZTEAM AS t ON t.Z_PK = p.ZTEAM ORDER BY 1
      """)
  }

  /// The bytes of a person's photo in the destination; nil for a file that is missing.
  func photo(_ name: String) throws -> String? {
    let reader = try ObjectReader(path: destinationPath, model: destination)
    let key = try #require(
      try rows("SELECT Z_PK FROM source.ZPERSON WHERE ZNAME = '\(name)'").first.flatMap { Int64($0) })
    let object = try reader.object(.init(entity: "Person", key: key))
    let photo = object?.properties.first { $0.name == "photo" }?.value
    guard case .attribute(.data(let bytes), _)? = photo else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
