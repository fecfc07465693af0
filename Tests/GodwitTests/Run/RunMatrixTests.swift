import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Every kind of run, legal and illegal: what becomes of it, what is in the destination, and which files are left.
///
/// `Tests/Fixtures/run-matrix.txt` has one line for each. `GODWIT_RECORD=1` writes it again.
struct RunMatrixTests {
  @Test func `every kind of run ends as recorded`() throws {
    let runs = MatrixRun.all
    let isRecording = ProcessInfo.processInfo.environment["GODWIT_RECORD"] != nil
    if isRecording {
      let lines = try runs.map { "\($0) | \(try $0.result())" }
      return try (lines.joined(separator: "\n") + "\n").write(
        toFile: Self.recordPath, atomically: true, encoding: .utf8)
    }
    let recorded = try String(contentsOfFile: Self.recordPath, encoding: .utf8).split(separator: "\n").map(String.init)
    #expect(
      recorded.map { $0.prefix(while: { $0 != "|" }).trimmingCharacters(in: .whitespaces) } == runs.map(\.description))
    let pairs = zip(runs, recorded).filter { !$0.1.isEmpty }
    for (run, line) in TestTier.sample(Array(pairs), each: 8) {
      let found = "\(run) | \(try run.result())"
      #expect(found == line)
    }
  }

  private static let recordPath = Checkout.url("Tests/Fixtures/run-matrix.txt").path
}

/// One kind of run.
private struct MatrixRun: CustomStringConvertible {
  enum Delivery: String, CaseIterable {
    case create, again, foreign, inPlace, inPlaceKeepingOld, append, appendToNothing, appendAgain
    case replace, replaceKeepingOld, replaceNothing, replaceForeign
  }

  enum Maker: String, CaseIterable {
    case oneStep, steps, statements, schemaOnly
  }

  enum Receipted: String, CaseIterable {
    case beside, none, file
  }

  var delivery: Delivery
  var maker: Maker
  var type: StoreType
  var isQuarantined = false
  var receipt = Receipted.beside
  var isSynced = true

  static var all: [MatrixRun] {
    var runs: [MatrixRun] = []
    for delivery in Delivery.allCases {
      for maker in Maker.allCases {
        for type in [StoreType.sqlite, .xml] {
          let run = MatrixRun(delivery: delivery, maker: maker, type: type)
          runs.append(run)
          func add(_ change: (inout MatrixRun) -> Void) {
            var other = run
            change(&other)
            runs.append(other)
          }
          add { $0.isQuarantined = true }
          add { $0.receipt = .none }
          add { $0.receipt = .file }
          add { $0.isSynced = false }
        }
      }
    }
    return runs
  }

  var description: String {
    [
      delivery.rawValue, maker.rawValue, "\(type)", isQuarantined ? "quarantine" : "fail",
      "receipt-\(receipt.rawValue)",
      isSynced ? "synced" : "unsynced",
    ].joined(separator: " ")
  }

  // MARK: The run

  /// The result, in one line.
  func result() throws -> String {
    let folder = try TemporaryFolder("godwit-matrix")
    try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: true)
    let source = folder.file(isInPlace ? "out/people.sqlite" : "people.sqlite")
    try Self.makeSource(at: source)
    let job = try job(source, in: folder)
    try prepare(job, source, in: folder)
    var parts: [String] = []
    do {
      let summary = try MigrationManager(job).run()
      parts.append("\(summary.outcome), \(summary.objects) objects, \(summary.quarantinedObjects) aside")
      parts += summary.codedNotes.map { "note \($0.code.rawValue)" }.sorted()
    } catch let error as GodwitError {
      parts += ["error \(error.code.rawValue)", error.message, error.remedy ?? "", error.safe ?? ""]
    }
    let status = try? MigrationManager(job).status()
    parts.append("status \(status.map { "\($0.state)" } ?? "error")")
    parts.append("left \(try Self.names(in: folder.file("out")).joined(separator: " "))")
    parts.append("content \(try content(job.destinationPath))")
    return parts.joined(separator: "; ").replacing(folder.path, with: "").replacing("\n", with: " ")
  }

  private var isInPlace: Bool { [.inPlace, .inPlaceKeepingOld].contains(delivery) }

  private func job(_ source: String, in folder: TemporaryFolder) throws -> MigrationJob {
    let first: MigrationStep
    var later: [MigrationStep] = []
    switch maker {
    case .oneStep, .steps:
      let mappings = [
        try EntityMapping.make("Firm", "Firm", kind: .copy),
        try EntityMapping.make("Person", "Person", kind: .copy, attributes: ["age": "$source.age + 1"]),
      ]
      let mapping = MappingModel(entityMappings: mappings)
      first = MigrationStep(
        sourceModel: try Self.model("1"), destinationModel: try Self.model("2", isSecond: true),
        mappingModels: [mapping])
      if maker == .steps {
        later.append(try Self.inferred(Self.model("2", isSecond: true), Self.model("3", rank: true)))
      }
    case .statements: first = try Self.inferred(Self.model("1"), Self.model("4", rank: true))
    case .schemaOnly: first = try Self.inferred(Self.model("1"), Self.model("5", note: true))
    }
    let name = type == .xml && !isInPlace ? "people.xml" : "people.sqlite"
    var job = MigrationJob(
      name: "matrix", sourcePath: source, destinationPath: folder.file("out/\(name)"), first: first, later: later,
      chunkRows: 4)
    job.destinationType = type
    job.durability = isSynced ? .resumable : .restart
    if isQuarantined { job.quarantine = Quarantine(maximumRows: 3) }
    switch receipt {
    case .beside: job.receipt = .besideDestination
    case .none: job.receipt = nil
    case .file: job.receipt = .file(URL(filePath: folder.file("out/proof.json")))
    }
    switch delivery {
    case .create, .again, .foreign: break
    case .inPlace: job.existingDestination = .inPlace(keepsOld: false)
    case .inPlaceKeepingOld: job.existingDestination = .inPlace(keepsOld: true)
    case .append, .appendToNothing, .appendAgain: job.existingDestination = .append
    case .replace, .replaceNothing, .replaceForeign: job.existingDestination = .replace(keepsOld: false)
    case .replaceKeepingOld: job.existingDestination = .replace(keepsOld: true)
    }
    return job
  }

  /// Prepares the destination before the run.
  private func prepare(_ job: MigrationJob, _ source: String, in folder: TemporaryFolder) throws {
    func breakRow() throws {
      guard isQuarantined else { return }
      try Self.change(source, "UPDATE ZPERSON SET ZAGE = 32767, ZNAME = NULL WHERE Z_PK = 3")
    }
    switch delivery {
    case .create, .inPlace, .inPlaceKeepingOld, .appendToNothing, .replaceNothing: break
    case .again, .appendAgain:
      try breakRow()
      _ = try? MigrationManager(job).run()
      return
    case .foreign, .replaceForeign: try Self.makeSource(at: job.destinationPath)
    case .append:
      // Another source of the same job.
      var other = job
      other.sourcePath = folder.file("others.sqlite")
      try Self.makeSource(at: other.sourcePath)
      _ = try? MigrationManager(other).run()
      try Self.change(source, "UPDATE ZPERSON SET ZNAME = 'changed' WHERE Z_PK = 2")
    case .replace, .replaceKeepingOld:
      _ = try? MigrationManager(job).run()
      try Self.change(source, "UPDATE ZPERSON SET ZNAME = 'changed' WHERE Z_PK = 2")
    }
    try breakRow()
  }

  // MARK: The stores

  private static func inferred(_ from: ManagedObjectModel, _ to: ManagedObjectModel) throws -> MigrationStep {
    MigrationStep(
      sourceModel: from, destinationModel: to, mappingModels: [try MappingModel(inferredFrom: from, to: to)],
      origin: MigrationStep.inferredOrigin)
  }

  private static func model(
    _ name: String, isSecond: Bool = false, rank: Bool = false, note: Bool = false
  ) throws -> ManagedObjectModel {
    var person = EntityDescription.make(
      "Person", ["name": .string, "age": .integer16], [.toOne("firm", "Firm", inverse: "staff")])
    var photo = AttributeDescription(name: "photo", type: .binary)
    photo.allowsExternalBinaryDataStorage = true
    person.attributes.append(photo)
    if rank || isSecond {
      var rank = AttributeDescription(name: "rank", type: .integer16)
      (rank.isOptional, rank.defaultValue) = (false, .integer(isSecond ? 2 : 3))
      person.attributes.append(rank)
    }
    if rank, let index = person.attributes.firstIndex(where: { $0.name == "name" }) {
      person.attributes[index].isOptional = false
      person.attributes[index].defaultValue = .string("nobody")
    }
    if note { person.attributes.append(AttributeDescription(name: "note", type: .string)) }
    return try ManagedObjectModel(
      name: name,
      entities: [.make("Firm", ["title": .string], [.toMany("staff", "Person", inverse: "firm")]), person])
  }

  private static func makeSource(at path: String) throws {
    let store = try StoreBuilder(path: path, model: try model("1"))
    try store.insert("Firm", key: 1, attributes: ["title": .init("firm")], relationships: [:])
    for key in Int64(1)...9 {
      try store.insert(
        "Person", key: key, attributes: ["name": .init("p\(key)"), "age": .integer(key)],
        relationships: key % 2 == 0 ? ["firm": [1]] : [:])
    }
    try store.finish()
    let support = SupportFolder(ofStoreAt: path)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let name = "00000000-0000-0000-1000-100000000001"
    try Data(repeating: 7, count: 5000).write(to: URL(filePath: support.path(of: name)))
    let connection = try StoreConnection(path: path)
    try connection.execute(
      "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = 1", [.blob(StoredBinary.external(name: name).bytes)])
    try connection.close()
  }

  private static func change(_ path: String, _ sql: String) throws {
    let connection = try StoreConnection(path: path)
    try connection.execute(sql)
    try connection.close()
  }

  // MARK: The result

  /// The files of a folder. Digests in the names of receipts depend on the folder.
  private static func names(in folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder)
      .filter { !$0.hasSuffix("_SUPPORT") && !$0.hasSuffix("_EXTERNAL_DATA") }
      .map { $0.replacing(/\.[0-9a-f]{12}\./, with: ".DIGEST.").replacing("_SUPPORT/_EXTERNAL_DATA", with: "") }
      .sorted()
  }

  /// A mark of the rows of a store; of an XML store, of its objects.
  private func content(_ path: String) throws -> String {
    guard FileManager.default.fileExists(atPath: path) else { return "nothing" }
    if !path.hasSuffix(".sqlite") || type == .xml, let text = try? String(contentsOfFile: path, encoding: .utf8) {
      let objects = text.components(separatedBy: "</databaseInfo>").last ?? ""
      return String(Digest.hex(objects).prefix(12))
    }
    let lines = try StoreDump(path).lines.filter {
      !$0.hasPrefix("uuid") && !$0.hasPrefix("metadata") && !$0.contains("bplist") && !$0.hasPrefix("  1 | '")
    }
    return String(Digest.hex(lines.joined(separator: "\n")).prefix(12))
  }
}
