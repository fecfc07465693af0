import Foundation
import Godwit
import GodwitModel
import GodwitStore
import GodwitVerifier

/// The proof of a migrated store of the workload `people`, beside the run that made it. `sql` is a proof by hand: the
/// rows that the source gives and those of the store, each set without the other, and SQLite's full check of both.
enum Proof: Workload {
  static let name = "proof"
  static let ways: [Way] = [.sql, .godwit, .verify, .receipt]
  static let checks: [String] = []

  static func source() throws -> ManagedObjectModel { try People.source() }
  static func destination() throws -> ManagedObjectModel { try People.destination() }
  static func mappings() throws -> [EntityMapping] { try People.mappings() }
  static func fill(_ connection: StoreConnection, rows: Int64) throws { try People.fill(connection, rows: rows) }
  static func insert(_ connection: StoreConnection) throws {}

  /// The store that is proved.
  private static func made(_ source: String) -> String { source + ".made" }

  static func prepare(_ file: String) throws {
    for suffix in ["", ".receipt.json"] { try? FileManager.default.removeItem(atPath: made(file) + suffix) }
    var job = try job(from: file, to: made(file), memory: .mebibytes(64))
    job.receipt = .besideDestination
    try MigrationManager(job).run()
  }

  static func run(_ way: Way, from source: String, to output: String, memory: ByteCount) throws {
    switch way {
    case .sql: try proveByHand(source)
    case .verify: try expect(Verifier(job: job(from: source, to: made(source), memory: memory)).run())
    case .receipt: try expect(ReceiptCheck(receipt: URL(filePath: made(source) + ".receipt.json")).run())
    default: try MigrationManager(job(from: source, to: output, memory: memory)).run()
    }
  }

  private static func expect(_ report: VerificationReport) throws {
    guard report.isClean else {
      print(report)
      exit(1)
    }
  }

  private static let rows = [
    (
      "SELECT Z_PK, CASE WHEN ZAGE >= 18 THEN 3 ELSE 4 END, 1, ZAGE + 1, ZADDRESS, ZBORN, (ZFAHRENHEIT - 32.0) / 1.8, ZNAME FROM source.ZPERSON",
      "SELECT Z_PK, Z_ENT, Z_OPT, ZAGE, ZADDRESS, ZBORN, ZCELSIUS, ZNAME FROM main.ZPERSON"
    ),
    ("SELECT Z_PK, 1, 1, ZSTREET FROM source.ZADDRESS", "SELECT Z_PK, Z_ENT, Z_OPT, ZSTREET FROM main.ZADDRESS"),
  ]

  private static func proveByHand(_ source: String) throws {
    let connection = try StoreConnection(path: made(source), cache: .mebibytes(16))
    try connection.execute("ATTACH DATABASE ?1 AS source", [.text(source)])
    try connection.execute("PRAGMA source.cache_size = -8192")
    try connection.execute("PRAGMA temp_store = FILE")
    for (expected, found) in rows {
      for query in ["\(expected) EXCEPT \(found)", "\(found) EXCEPT \(expected)"] {
        guard try connection.integer("SELECT COUNT(*) FROM (\(query))") == 0 else {
          print("rows differ: \(query)")
          exit(1)
        }
      }
    }
    for check in People.checks where try connection.integer(check) != 0 { exit(1) }
    for database in ["main", "source"] {
      guard try connection.value("PRAGMA \(database).integrity_check") == .text(Array("ok".utf8)) else { exit(1) }
    }
    try connection.close()
  }
}
