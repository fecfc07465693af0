package import Foundation
package import GodwitModel

/// A user's expectations of a store: how many objects an entity has, and predicates that all, some or none of them
/// fulfil.
///
/// An entity includes the objects of its subentities, as in a fetch request.
package struct StoreExpectations: Sendable, Hashable {
  /// How many objects have to fulfil a predicate.
  package enum Quantifier: String, Sendable, Hashable, CaseIterable {
    case all, some, none
  }

  /// A predicate on the objects of an entity.
  package struct Condition: Sendable, Hashable {
    package var quantifier: Quantifier
    /// `SELF` is the object. A comparison with nil that is unknown counts as not fulfilled.
    package var predicate: FilterPredicate

    package init(_ quantifier: Quantifier, _ predicate: FilterPredicate) {
      self.quantifier = quantifier
      self.predicate = predicate
    }
  }

  /// The expectations of one entity.
  package struct Entity: Sendable, Hashable {
    package var name: String
    /// The place of the name in its file.
    package var location: GodwitError.Location?
    /// How many objects there may be; nil for any number.
    package var count: ClosedRange<Int64>?
    package var conditions: [Condition]

    package init(
      name: String, location: GodwitError.Location? = nil, count: ClosedRange<Int64>? = nil,
      conditions: [Condition] = []
    ) {
      self.name = name
      self.location = location
      self.count = count
      self.conditions = conditions
    }
  }

  package var entities: [Entity]

  package init(_ entities: [Entity] = []) { self.entities = entities }

  /// Reads every object of the entities once.
  ///
  /// - Parameters:
  ///   - path: A store of the model.
  ///   - now: The value of `now()`.
  /// - Returns: One line for each expectation that does not hold, with the key of the first object concerned.
  /// - Throws: `.configuration` (78) for an entity that the model lacks or a predicate that does not fit it, with its
  ///   place; `.dataWrong` (65) and `.missingInput` (66) for a store that cannot be read.
  package func failures(
    inStoreAt path: String, model: ManagedObjectModel, now: Date = Date()
  ) throws -> [String] {
    try check(against: model)
    let connection = try StoreConnection.openStore(readingAt: path, cache: .mebibytes(8), model: model)
    let schema = try StoreSchema(model: model, probing: connection)
    let objects = ObjectContext(connection: connection, schema: schema, database: StoreConnection.sourceSchema)
    objects.support = SupportFolder(ofStoreAt: path)
    let seconds = now.timeIntervalSinceReferenceDate
    let evaluator = ExpressionEvaluator(
      now: seconds, role: .filter,
      host: SourceHost(context: objects, now: seconds, fetches: FetchedObjects()))
    return try entities.flatMap { try failures(of: $0, in: objects, connection, evaluator) }
  }

  private func check(against model: ManagedObjectModel) throws {
    for entity in entities {
      guard model.entity(entity.name) != nil else {
        throw GodwitError(
          .configuration,
          "the expectations name the unknown entity '\(entity.name)'"
            + Spelling.suggestion(for: entity.name, among: model.entityNames), location: entity.location,
          remedy: "use an entity of the model '\(model.name)'")
      }
      for condition in entity.conditions {
        do throws(ExpressionError) {
          try ExpressionChecker(model: model, entityName: entity.name, role: .filter).check(condition.predicate)
        } catch {
          throw GodwitError(
            error, in: condition.predicate.source, what: "'\(condition.quantifier.rawValue)' of '\(entity.name)'")
        }
      }
    }
  }

  /// How many objects fulfil a condition, and the first that does and that does not.
  private struct Tally {
    var fulfilled: Int64 = 0
    var firstFulfilled: Int64?
    var firstOther: Int64?
  }

  private func failures(
    of entity: Entity, in objects: ObjectContext, _ connection: StoreConnection, _ evaluator: ExpressionEvaluator
  ) throws -> [String] {
    let conditions = entity.conditions.map { evaluator.compile($0.predicate) }
    var tallies = conditions.map { _ in Tally() }
    var count: Int64 = 0
    if let table = objects.schema.table(of: entity.name) {
      let condition = objects.schema.isKind(of: entity.name).clause
      try connection.query(
        "SELECT Z_PK FROM \(StoreConnection.sourceSchema).\(StoreSchema.identifier(table.name))\(condition) ORDER BY Z_PK"
      ) { row in
        count += 1
        let key = row.int64(0)
        guard !conditions.isEmpty, let object = try objects.object(entityName: entity.name, key: key) else {
          return true
        }
        for (index, condition) in conditions.enumerated() {
          if try condition.matches(object) == true {
            tallies[index].fulfilled += 1
            tallies[index].firstFulfilled = tallies[index].firstFulfilled ?? key
          } else {
            tallies[index].firstOther = tallies[index].firstOther ?? key
          }
        }
        return true
      }
    }
    var failures: [String] = []
    if let expected = entity.count, !expected.contains(count) {
      failures.append("\(entity.name): expected \(Self.text(of: expected)) objects, found \(count)")
    }
    for (condition, tally) in zip(entity.conditions, tallies) {
      let text = "\(entity.name): \(condition.quantifier.rawValue) \(condition.predicate.source.text)"
      switch condition.quantifier {
      case .all where tally.fulfilled < count:
        let first = tally.firstOther.map { ", first p\($0)" } ?? ""
        failures.append(
          "\(text): \(count - tally.fulfilled) of \(count.counted("object does", "objects do")) not fulfil it\(first)")
      case .some where tally.fulfilled == 0: failures.append("\(text): none of \(count) objects fulfils it")
      case .none where tally.fulfilled > 0:
        let first = tally.firstFulfilled.map { ", first p\($0)" } ?? ""
        failures.append(
          "\(text): \(tally.fulfilled) of \(count.counted("object fulfils", "objects fulfil")) it\(first)")
      default: break
      }
    }
    return failures
  }

  private static func text(of range: ClosedRange<Int64>) -> String {
    if range.lowerBound == range.upperBound { return "\(range.lowerBound)" }
    if range.upperBound == .max { return "at least \(range.lowerBound)" }
    return range.lowerBound <= 0 ? "at most \(range.upperBound)" : "\(range.lowerBound) to \(range.upperBound)"
  }
}
