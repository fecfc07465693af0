package import GodwitJob
import GodwitModel
import GodwitStore

/// The possible effects of a step on a store of its earlier version, found without a store.
package struct StepForecast {
  /// A default that objects take, and that breaks a rule of its own attribute.
  package struct BrokenDefault: Sendable, Hashable {
    /// The entity and the attribute of the later version.
    package let entity, attribute: String
    /// The broken rule, for example `is longer than 2`.
    package let fault: String
    /// Whether only objects take it whose value is nil. Otherwise every object does.
    package let isForNil: Bool
  }

  /// Every loss that a store may suffer, without counts. A name may come twice.
  package let losses: [LossReport.Loss]
  /// In the order of the mappings.
  package let brokenDefaults: [BrokenDefault]

  /// - Throws: The error that a plan and a run of the step throw for every store.
  package init(_ step: MigrationStep) throws {
    var job = MigrationJob(name: "forecast", sourcePath: "", destinationPath: "", first: step)
    // Another rule tells what is not known of the layout of a finished store.
    job.position = StepPosition(count: 2)
    let connection = try StoreConnection(path: nil)
    defer { try? connection.close() }
    try connection.attachEmptySource(StoreSchema(model: step.sourceModel))
    let planner = try AttachedSource(connection, job: job, files: nil).planner(job)
    losses = try planner.possibleLosses()
    brokenDefaults = try planner.brokenDefaults()
  }
}

extension Planner {
  /// A default that objects take.
  private struct TakenDefault {
    var entity: String
    var attribute: AttributeDescription
    var isForNil: Bool
  }

  fileprivate func brokenDefaults() throws -> [StepForecast.BrokenDefault] {
    let taken = resolved.entityMappings.flatMap { mapping in
      mapping.attributes.compactMap { attribute, source -> TakenDefault? in
        guard !attribute.isTransient, !attribute.isDerived, !attribute.defaultValue.isNull else { return nil }
        switch source {
        case .modelDefault: return .init(entity: mapping.destination.name, attribute: attribute, isForNil: false)
        case .defaultForNil: return .init(entity: mapping.destination.name, attribute: attribute, isForNil: true)
        case .copy, .expression: return nil
        }
      }
    }
    guard !taken.isEmpty else { return [] }
    let program = try StepProgram(
      resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema, facts: count(now: 0))
    return try taken.compactMap { taken in
      try fault(ofDefault: taken.attribute, in: taken.entity, program).map {
        .init(entity: taken.entity, attribute: taken.attribute.name, fault: $0, isForNil: taken.isForNil)
      }
    }
  }

  /// The first rule of an attribute that its default breaks, as the statements of the stage of validation find it.
  private func fault(
    ofDefault attribute: AttributeDescription, in entity: String, _ program: StepProgram
  ) throws -> String? {
    let value = try SQLValue(encoding: attribute.defaultValue, as: attribute)
    var patterns: [ValidationPattern] = []
    let rules = program.validation.rules(
      of: attribute, in: entity, resolved.destinationModel, column: "?1", patterns: &patterns)
    guard !rules.isEmpty else { return nil }
    let cases = rules.enumerated().map { "WHEN \($1.condition) THEN \($0)" }.joined(separator: " ")
    let statement = ChunkStatement(sql: "SELECT CASE \(cases) END", builder: StatementBuilder())
    // A regular expression that does not compile has a finding of its own.
    let compiled = patterns.compactMap { try? $0.compiled() }
    guard compiled.count == patterns.count else { return nil }
    let inputs = StatementInputs(patterns: compiled)
    let found = try functions.running(statement, context: "forecast", with: inputs) {
      try connection.integer(statement.sql, [value])
    }
    return found.map { rules[Int($0)].message.replacing("attribute '\(attribute.name)' ", with: "") }
  }
}
