package import GodwitJob
import GodwitModel
import GodwitStore

/// The losses that show only when objects are made. Their counts commit with the chunk.
///
/// A run takes 3.7 s with them, and 4.6 s when they are counted before it.
extension Executor {
  /// Values of a chunk's objects that expressions turned to nil.
  ///
  /// The rows are read again only when something may be nil in them.
  ///
  /// - Parameter statement: The one that has just made them.
  func countNils(
    _ chunk: Chunk, _ mapping: MappingID, of statement: ChunkStatement, predicate: FilterPredicate?
  ) throws -> [NilCount] {
    let watches = program.losses.nilWatches(mapping).filter { watch in
      functions.findings.hasFittedNil
        || !statement.builder.fitted.contains(.init(mapping: mapping, attribute: watch.attribute))
    }
    guard let statement = try program.losses.nils(mapping, watches, predicate: predicate) else { return [] }
    let counts = try functions.running(statement, context: context(chunk)) {
      try connection.rows(
        statement.sql, statement.builder.arguments(from: chunk.range.first, through: chunk.range.last)
      ).first ?? []
    }
    return zip(watches, counts).compactMap { watch, value in
      guard case .integer(let count) = value, count > 0 else { return nil }
      return NilCount(mapping: mapping, attribute: watch.attribute, count: count)
    }
  }

  /// The losses that the plan has counted, and those found while objects were made.
  ///
  /// - Parameter plan: With the losses that were counted.
  package func losses(_ summary: MigrationSummary, plan: MigrationPlan) throws -> LossReport {
    var found = plan.losses
    let step = job.position.step
    var made = try ledger.nils().map { nils -> LossReport.Loss in
      let mapping = program.mappings[nils.mapping]
      return .init(
        step: step, kind: .nils, subject: "\(mapping.destination.name).\(nils.attribute)", count: nils.count,
        reason: "mapping \(mapping.name)", cause: .expression)
    }
    if summary.ambiguousToOne > 0 { made.append(.several(step: step, summary.ambiguousToOne)) }
    // A job that a loss stops has counted all of them before it runs.
    if job.failsOnLoss {
      made.removeAll { loss in
        found.losses.contains {
          $0.step == step.count && $0.kind == loss.kind && $0.subject == loss.subject && $0.reason == loss.reason
        }
      }
    }
    found.losses += made
    found.losses = job.marking(try withMet(found.losses))
    return found
  }
}

extension Ledger {
  static let nilTable =
    "godwit_nil (chunk INTEGER, mapping INTEGER, attribute TEXT, count INTEGER, PRIMARY KEY (chunk, mapping, attribute)) WITHOUT ROWID"

  /// Call inside the transaction that wrote the chunk's rows.
  func addNils(_ counts: [NilCount], of chunk: Chunk) throws {
    for one in counts {
      try connection.execute(
        "INSERT INTO godwit_nil (chunk, mapping, attribute, count) VALUES (?1, ?2, ?3, ?4)",
        [.int(chunk.id), .int(one.mapping.number), .text(one.attribute), .integer(one.count)])
    }
  }

  /// The counts of all committed chunks, by mapping and attribute.
  func nils() throws -> [NilCount] {
    var found: [NilCount] = []
    try connection.query(
      "SELECT mapping, attribute, SUM(count) FROM godwit_nil GROUP BY mapping, attribute ORDER BY mapping, attribute"
    ) { row in
      found.append(NilCount(mapping: MappingID(row.int(0)), attribute: row.string(1) ?? "", count: row.int64(2)))
      return true
    }
    return found
  }
}
