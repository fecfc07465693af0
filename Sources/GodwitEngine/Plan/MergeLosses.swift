import GodwitJob
import GodwitModel
import GodwitStore

/// What is lost where `unique-by` makes one object of several: values and links of the others that differ from those of
/// the first object, which stay.
struct MergeLosses {
  private let planner: Planner
  private let program: StepProgram

  init(_ planner: Planner, _ program: StepProgram) { (self.planner, self.program) = (planner, program) }

  private var resolved: ResolvedMapping { program.resolved }

  /// A property of the destination whose values or links may differ.
  private struct Compared {
    var name: String
    var kind: LossReport.Kind
    /// The value that an object of the source gives for it; nil without one.
    var given: String
    /// The value that takes the place of nil.
    var ifNil: String?
    /// Whether nil in the first object takes the first value that is not nil.
    var isFilled = false
    /// The place of an object's link among those that later mappings set from their other end; NULL without one. The last
    /// of them stays, and that of the first object where there is none.
    var late: String?
    var keepsLast: Bool { late != nil }
  }

  /// The losses of the objects of a mapping.
  struct Part {
    var mapping: ResolvedEntityMapping
    var part: PropertyLosses.Part
    /// For each loss, a query of the objects concerned by key (`k`), with the value that is dropped (`v`).
    fileprivate var dropped: [String] = []
    fileprivate var merged = ""
    fileprivate var builder = StatementBuilder()

    /// The first objects of a loss, as rows of key, NULL and value.
    ///
    /// - Parameter loss: The place of the loss among those that are counted.
    func examples(of loss: Int, limit: Int) -> ChunkStatement {
      ChunkStatement(
        sql: "WITH g AS MATERIALIZED (\(merged)) SELECT k, NULL, v FROM (\(dropped[loss])) ORDER BY k LIMIT \(limit)",
        builder: builder)
    }
  }

  /// - Parameter isCounted: False for a source that is not made yet, or of which only a sample is read: there the losses
  ///   are named.
  func parts(isCounted: Bool) throws -> [Part] {
    try resolved.entityMappings.filter { $0.earlier == nil && program.isUnique($0.index) }.compactMap { mapping in
      let builder = StatementBuilder()
      builder.tolerateMisfits()
      let association = program.associations(builder)
      let compared = try values(of: mapping, builder) + links(of: mapping, association)
      guard !compared.isEmpty else { return nil }
      let keys = mapping.mapping.uniqueBy.joined(separator: ", ")
      let descriptors = mapping.mapping.uniqueOrder.map(\.description).joined(separator: ", ")
      let order = descriptors.isEmpty ? "" : " by \(descriptors)"
      let losses = compared.map { one in
        LossReport.Loss(
          step: planner.job.position.step, kind: one.kind, subject: "\(mapping.destination.name).\(one.name)",
          count: nil,
          reason: "mapping \(mapping.name) makes one object of those with the same \(keys)"
            + (one.keepsLast ? ", and a later mapping sets the link" : " and keeps the first\(order)"),
          cause: .merged)
      }
      guard isCounted else { return Part(mapping: mapping, part: .init(walk: nil, wanted: losses)) }
      let table = try program.sourceTable(mapping.source.name)
      let rows = try association.table(mapping.index)
      let dropped = compared.map { self.dropped($0, of: rows) }
      let merged = try program.associationStage.merged(mapping.index, association)
      let counts = dropped.map { "(SELECT COUNT(*) FROM (\($0)))" }.joined(separator: ", ")
      let sql = "WITH g AS MATERIALIZED (\(merged)) SELECT \(counts)"
      let walk = SourceWalk(table, key: "Z_PK", isCut: false, builder: builder, context: "planning, unique-by") {
        _ in sql
      }
      return Part(
        mapping: mapping, part: .init(walk: walk, wanted: losses), dropped: dropped, merged: merged, builder: builder)
    }
  }

  /// The objects that are not the first of their group (`g`), and have another value than the one that stays.
  private func dropped(_ one: Compared, of rows: String) -> String {
    let given = "(SELECT s.Z_PK AS k, \(one.given) AS v\(one.late.map { ", \($0) AS late" } ?? "") FROM \(rows) AS s)"
    if one.keepsLast {
      return """
        SELECT k, v FROM (SELECT g.k AS k, m.v AS v, FIRST_VALUE(m.v) OVER (PARTITION BY g.f \
        ORDER BY m.late IS NULL, m.late DESC, g.k <> g.f) AS kept FROM g CROSS JOIN \(given) AS m ON m.k = g.k) \
        WHERE v IS NOT NULL AND v IS NOT kept
        """
    }
    func or(_ value: String) -> String { one.ifNil.map { "COALESCE(\(value), \($0))" } ?? value }
    if one.isFilled {
      return """
        SELECT k, v FROM (SELECT g.k AS k, g.f, m.v AS v, FIRST_VALUE(m.v) OVER (PARTITION BY g.f \
        ORDER BY m.v IS NULL, g.t) AS kept FROM g CROSS JOIN \(given) AS m ON m.k = g.k) \
        WHERE v IS NOT NULL AND v IS NOT \(or("kept"))
        """
    }
    return """
      SELECT g.k AS k, m.v AS v FROM g CROSS JOIN \(given) AS m ON m.k = g.k CROSS JOIN \(given) AS f ON f.k = g.f \
      WHERE g.k <> g.f AND m.v IS NOT NULL AND m.v IS NOT \(or("f.v"))
      """
  }

  // MARK: Nil

  /// A walk that counts objects with nil in an attribute of `unique-by`, and what is said of them.
  struct NilPart {
    var walk: SourceWalk
    fileprivate var mapping: ResolvedEntityMapping

    func note(_ count: SourceWalk.Count) -> MigrationNote? {
      let merges = mapping.mapping.mergesNil
      guard count.sum > (merges ? 1 : 0) else { return nil }
      let subject =
        "\(count.isEstimate ? "about " : "")\(count.sum.counted("object")) of \(mapping.source.name) "
        + "\(count.sum == 1 ? "has" : "have") nil in \(mapping.mapping.uniqueBy.joined(separator: " or ")), and "
      return MigrationNote(
        .nilKeys,
        subject
          + (merges
            ? "nil is a value like others (nil-keys: merge, mapping \(mapping.name))"
            : "no two of them become one (mapping \(mapping.name))"))
    }
  }

  func nilParts() throws -> [NilPart] {
    try resolved.entityMappings.filter { $0.earlier == nil && program.isUnique($0.index) }.map { mapping in
      let builder = StatementBuilder()
      builder.tolerateMisfits()
      let association = program.associations(builder)
      let isNil = try program.associationStage.keyValues(of: mapping, builder).map { "(\($0)) IS NULL" }
      let table = try program.sourceTable(mapping.source.name)
      let terms = [association.matches(mapping.index, alias: "s").sql, "(\(isNil.joined(separator: " OR ")))"]
      let walk = SourceWalk(table, key: "s.Z_PK", builder: builder, context: "planning, unique-by") {
        "SELECT COUNT(*) FROM source.\(quoted(table)) AS s NOT INDEXED\(whereClause((terms as [String?]) + [$0]))"
      }
      return NilPart(walk: walk, mapping: mapping)
    }
  }

  // MARK: Values

  private func values(of mapping: ResolvedEntityMapping, _ builder: StatementBuilder) throws -> [Compared] {
    try mapping.attributes.compactMap { attribute, source in
      guard !mapping.mapping.uniqueBy.contains(attribute.name),
        program.destinationSchema.column(of: attribute.name, in: mapping.destination.name) != nil,
        let given = try given(attribute, source.withoutDefault, mapping, builder)
      else { return nil }
      var ifNil: String?
      if case .defaultForNil = source {
        ifNil = builder.bind(try SQLValue(encoding: attribute.defaultValue, as: attribute))
      }
      return Compared(
        name: attribute.name, kind: .values, given: given, ifNil: ifNil,
        isFilled: mapping.fills(attribute, from: source))
    }
  }

  /// nil for a value that does not come from the object.
  private func given(
    _ attribute: AttributeDescription, _ source: ResolvedEntityMapping.AttributeSource,
    _ mapping: ResolvedEntityMapping, _ builder: StatementBuilder
  ) throws -> String? {
    var reasons: [String] = []
    switch source {
    case .modelDefault, .defaultForNil: return nil
    case .expression(let parsed):
      guard parsed.contains(where: { Self.isOfObject($0.node) }) else { return nil }
    case .copy(let name):
      let from = resolved.sourceModel.attribute(name, of: mapping.source.name)
      guard from?.allowsExternalBinaryDataStorage == true || attribute.allowsExternalBinaryDataStorage else { break }
      // The bytes count, not where they lie.
      return ExpressionLowering.value(
        ValueExpression(.keyPath(base: nil, segments: [name])), schema: program.sourceSchema,
        row: .init(alias: "s", entityName: mapping.source.name), builder: builder
      ).sql
    }
    return try program.creation.storedValue(
      of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons)
  }

  private static func isOfObject(_ node: ValueExpression.Node) -> Bool {
    switch node {
    case .keyPath: true
    // The place of the object, which has no path where its owner need not be named.
    case .variable(let name): name == "index"
    default: false
    }
  }

  // MARK: Links

  /// The to-one relationships of the objects, set by the mapping, or by those that make the objects at the other end.
  private func links(
    of mapping: ResolvedEntityMapping, _ association: AssociationLowering
  ) throws -> [Compared] {
    var found: [Compared] = []
    for link in program.links {
      for (side, end) in [(Optional(link.first), InversePair.End.first), (link.second, .second)] {
        guard let side, !side.relationship.isToMany,
          resolved.destinationModel.isKind(mapping.destination.name, of: side.entityName)
        else { continue }
        let own = link.assignments.first { $0.mapping == mapping.index && $0.end == end }
        let owners = link.assignments.filter { $0.end != end || link.isOwnInverse }.filter {
          $0.mapping != mapping.index || own == nil
        }.filter { mappings($0).lookups.contains(mapping.index) }
        let path: [ResolvedEntityMapping.SourceRelationship]
        let lookups: [MappingID]
        if let own {
          (path, lookups) = (mapping.relationships[own.part].path, mapping.relationships[own.part].lookups)
        } else if let hop = owners.first.flatMap({ mappings($0).path.first }),
          // Mappings of an entity and of its subentities follow the same relationship.
          owners.allSatisfy({ mappings($0).path.map(\.relationship) == [hop.relationship] }),
          let inverse = resolved.sourceModel.inverse(of: hop.relationship), !inverse.isToMany
        {
          path = [.init(entityName: hop.relationship.destinationEntityName, relationship: inverse)]
          lookups = owners.map(\.mapping)
        } else {
          continue
        }
        // A link that the mapping itself sets last is that of the first object, also where that has none.
        let later = Set(owners.map(\.mapping).filter { own == nil || $0 > mapping.index })
        guard !lookups.isEmpty, !later.union(lookups).contains(where: program.isPolicy) else { continue }
        let chain = try program.chain(path, in: mapping, association)
        func key(_ index: MappingID) throws -> String {
          chain.isToMany
            ? chain.scalar("MIN(\(try association.lookup(index, key: chain.key)))")
            : try association.lookup(index, key: chain.scalar(chain.key))
        }
        // Sorted as the objects come: by mapping, then key.
        func place(_ index: MappingID, _ key: String) -> String {
          "printf('%06d:', \(index)) || substr('\(Self.zeros)' || \(key), -20)"
        }
        let keys = try lookups.map(key)
        let sorted = zip(lookups, keys).map(place)
        let given = keys.count == 1 ? keys[0] : "COALESCE(\(sorted.joined(separator: ", ")))"
        let places = try later.sorted().reversed().map { place($0, try key($0)) } + ["NULL"]
        found.append(
          Compared(
            name: side.relationship.name, kind: .links, given: given,
            late: later.isEmpty ? nil : "COALESCE(\(places.joined(separator: ", ")))"))
      }
    }
    return found
  }

  private static let zeros = String(repeating: "0", count: 20)

  private func mappings(_ assignment: InversePair.Assignment) -> ResolvedEntityMapping.RelationshipSource {
    resolved.entityMappings[assignment.mapping].relationships[assignment.part]
  }
}
