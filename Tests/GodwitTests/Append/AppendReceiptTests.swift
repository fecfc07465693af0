import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Receipts of jobs that append to one store.
struct AppendReceiptTests {
  @discardableResult private static func append(
    _ name: String, to world: AppendWorld, _ receipt: MigrationJob.ReceiptPlace?
  ) throws -> MigrationSummary {
    var job = MigrationJob(
      name: name, sourcePath: world.folder.file(name), destinationPath: world.destinationPath,
      sourceModel: world.source, destinationModel: world.destination,
      mappingModels: [MappingModel(entityMappings: try AppendWorld.all())])
    job.existingDestination = .append
    job.receipt = receipt
    return try MigrationManager(job).run()
  }

  @Test func `each job that appends has its own receipt, and the first one's holds after the second`() throws {
    let world = try AppendWorld()
    for name in ["a.sqlite", "b.sqlite"] { try world.build(name) }
    for name in ["a.sqlite", "b.sqlite"] {
      try Self.append(name, to: world, .besideDestination)
    }
    let folder = world.folder.file("out")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".receipt.json") }
    #expect(names.count == 2, "\(names)")
    for name in names {
      let report = try ReceiptCheck(receipt: URL(filePath: folder + "/" + name)).run()
      #expect(report.isClean, "\(report)")
      let receipt = try Receipt.read(folder + "/" + name)
      let later = report.checks.contains { $0.name == "later jobs that wrote to the store" }
      #expect(later == (receipt.job.name == "a.sqlite"), "\(report)")
    }
  }

  @Test func `a receipt that a job left in the shared work folder goes to its place when another job runs`() throws {
    let world = try AppendWorld()
    for name in ["a.sqlite", "b.sqlite"] { try world.build(name) }
    let (first, second) = (world.folder.file("1.json"), world.folder.file("2.json"))
    try Self.append("a.sqlite", to: world, .file(URL(filePath: first)))
    try Self.append("b.sqlite", to: world, .file(URL(filePath: second)))
    let (one, two) = (try Data(contentsOf: URL(filePath: first)), try Data(contentsOf: URL(filePath: second)))
    for place in [MigrationJob.ReceiptPlace.file(URL(filePath: first)), nil] {
      // The second run died between the exchange and its receipt.
      try FileManager.default.removeItem(atPath: second)
      do {
        let folder = try WorkFolder(forDestination: world.destinationPath)
        try two.write(to: URL(filePath: folder.receiptPath))
        var journal = WorkJournal(owner: .init(job: "b.sqlite", appends: true))
        (journal.phase, journal.receipt) = (.placing, .init(path: second))
        try journal.write(in: folder.path)
      }
      #expect(try Self.append("a.sqlite", to: world, place).outcome == .alreadyFinished)
      #expect(try Data(contentsOf: URL(filePath: first)) == one)
      #expect(try Data(contentsOf: URL(filePath: second)) == two)
      #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: world.destinationPath)))
    }
  }

  @Test func `objects that the application added before a later job are not taken for that job's`() throws {
    let world = try AppendWorld()
    for name in ["a.sqlite", "b.sqlite"] { try world.build(name) }
    for name in ["a.sqlite", "b.sqlite"] {
      let receipt = MigrationJob.ReceiptPlace.file(URL(filePath: world.folder.file("first.json")))
      try Self.append(name, to: world, name == "a.sqlite" ? receipt : nil)
      guard name == "a.sqlite" else { continue }
      let connection = try StoreConnection(path: world.destinationPath)
      let schema = StoreSchema(model: world.destination)
      let table = try #require(schema.tables.first)
      let number = try #require(schema.number(of: table.rootEntityName))
      let last = try #require(try connection.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = \(number)"))
      try connection.execute("INSERT INTO \(table.name) (Z_PK, Z_ENT, Z_OPT) VALUES (\(last + 1), \(number), 1)")
      try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = \(last + 1) WHERE Z_ENT = \(number)")
      try connection.close()
    }
    let report = try ReceiptCheck(
      receipt: URL(filePath: world.folder.file("first.json")), destination: URL(filePath: world.destinationPath)
    ).run()
    #expect(report.findings.map(\.kind) == [.extraObject], "\(report)")
  }
}
