import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// The objects that a job has in quarantine, as the store of the quarantine names them.
package final class QuarantinedObjects {
  /// One of them.
  package struct Held {
    var entity: String
    var key: Int64
    /// Which search found it, from 0. nil for an object without a reason.
    var round: Int?
  }

  let path: String
  let connection: StoreConnection
  let schema: StoreSchema
  /// Why the run could not carry one of them.
  package struct Reason: Sendable {
    package var mapping: String
    /// The destination property that was rejected; nil if it is not known.
    package var property: String?
    package var message: String
  }

  /// The objects in the order of entity and key.
  package private(set) var objects: [Held] = []
  /// Reasons that name no object of the store, as `Entity pN`.
  private(set) var reasonsWithoutObject: [String] = []

  /// - Parameter digest: Gives the digest under which the quarantine would name the job.
  /// - Returns: nil when no quarantine of the job is beside its destination.
  package init?(of job: MigrationJob, digest: () throws -> String) throws {
    path = job.quarantinePath
    guard let named = try QuarantineModel.jobDigest(ofStoreAt: path), try digest() == named else { return nil }
    connection = try .openStore(readingAt: path)
    schema = try StoreSchema(model: try QuarantineModel.model(for: job.sourceModel), probing: connection)
    try read(job.sourceModel)
  }

  private func read(_ model: ManagedObjectModel) throws {
    guard let table = schema.table(of: QuarantineModel.reasonEntity) else { return }
    var rounds: [String: [Int64: Int]] = [:]
    try connection.query(
      "SELECT \(column(.entity)), \(column(.key)), MIN(\(column(.round))) FROM source.\(quoted(table.name)) GROUP BY 1, 2"
    ) { row in
      rounds[row.string(0) ?? "", default: [:]][row.int64(1)] = row.int(2)
      return true
    }
    for entity in model.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name) else { continue }
      try connection.query(
        "SELECT Z_PK FROM source.\(quoted(table.name))\(schema.isObject(of: [entity.name]).clause) ORDER BY Z_PK"
      ) { row in
        let key = row.int64(0)
        objects.append(Held(entity: entity.name, key: key, round: rounds[entity.name]?.removeValue(forKey: key)))
        return true
      }
    }
    for (entity, keys) in rounds.sorted(by: { $0.key < $1.key }) {
      reasonsWithoutObject += keys.keys.sorted().map { "\(entity) p\($0)" }
    }
  }

  /// The column of a reason as SQL.
  private func column(_ attribute: QuarantineModel.Attribute) -> String {
    schema.column(of: attribute.rawValue, in: QuarantineModel.reasonEntity).map(quoted) ?? "NULL"
  }

  /// The reasons for an object, as the run wrote them; empty for an object that is not in quarantine.
  package func reasons(of entity: String, key: Int64) throws -> [Reason] {
    guard objects.contains(where: { $0.entity == entity && $0.key == key }) else { return [] }
    guard let table = schema.table(of: QuarantineModel.reasonEntity) else { return [] }
    let columns = [column(.mapping), column(.property), column(.message)].joined(separator: ", ")
    var found: [Reason] = []
    try connection.query(
      "SELECT \(columns) FROM source.\(quoted(table.name)) WHERE \(column(.entity)) = ?1 AND \(column(.key)) = ?2 ORDER BY Z_PK",
      [.text(entity), .integer(key)]
    ) { row in
      found.append(Reason(mapping: row.string(0) ?? "", property: row.string(1), message: row.string(2) ?? ""))
      return true
    }
    return found
  }

  var rounds: [Int] { Set(objects.map { $0.round ?? 0 }).sorted() }

  func objects(ofRound round: Int) -> [Held] { objects.filter { ($0.round ?? 0) == round } }
}
