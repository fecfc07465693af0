import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// What mappings with a policy add to a step: tables of explicit associations, and the reading of them.
///
/// | table | a row says |
/// |---|---|
/// | `godwit_pair_<mapping>` | this source object and this destination object are associated; indexed once a lookup comes from the destination |
///
/// All links are resolved in assignment order, since a policy may set any of them. Those that none has set so far are
/// written with their objects where `InversePair.directEnd` says so: see `PolicyRun.gather`.
extension StepProgram {
  func isPolicy(_ index: Int) -> Bool { policyIndexes.contains(index) }

  /// Whether the associations of a mapping are in a table: a policy made them explicitly.
  func isByHand(_ index: Int) -> Bool { isPolicy(index) && !plain.contains(index) }

  /// Mappings with a policy whose associations are computed until it makes others.
  var plainMappings: Set<Int> { policyIndexes.filter { !isStored($0) } }

  /// Writes down the associations that a mapping would compute for source keys from `?1` through `?2`.
  func pairsWritten(_ index: Int) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let association = associations(builder)
    let mapping = mappings[index]
    let root = sourceSchema.model.root(of: mapping.source.name)?.name ?? mapping.source.name
    return ChunkStatement(
      sql: """
        INSERT INTO main.\(Self.pairTable(index)) (turn, root, source, entity, destination) \
        SELECT 0, \(sourceSchema.number(of: root) ?? -1), s.Z_PK, \(destinationSchema.number(of: mapping.destination.name) ?? -1), \
        \(association.image(index, ofRow: "s")) FROM \(try association.table(index)) AS s \
        WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(association.takes(index, alias: "s").sql) ORDER BY s.Z_PK
        """, builder: builder)
  }

  static func pairTable(_ mapping: Int) -> String { "godwit_pair_\(mapping)" }
  static func pairIndex(_ mapping: Int) -> (name: String, columns: String) {
    let table = pairTable(mapping)
    return ("\(table)_destination", "\(table) (destination, entity, source, turn)")
  }

  var policyScratchStatements: [String] {
    guard resolved.hasPolicies else { return [] }
    var statements: [String] = []
    for index in resolved.policies.compactMap(\.index) {
      let table = Self.pairTable(index)
      statements.append(
        "CREATE TABLE \(table) (source INTEGER, turn INTEGER, root INTEGER, entity INTEGER, destination INTEGER, PRIMARY KEY (source, turn)) WITHOUT ROWID"
      )
    }
    return statements
  }

  /// Entities that can have objects when the step is done: those that mappings make, or with policies all.
  var madeEntityNames: [String] {
    let made = Set(mappings.map(\.destination.name))
    return resolved.destinationModel.entities.filter { entity in
      resolved.hasPolicies ? !entity.isAbstract : made.contains(entity.name)
    }.map(\.name)
  }

  /// What gives objects of a mapping with a policy their attributes: see `MappedRow`.
  func mappedRow(_ index: Int, layout: ObjectLayout) throws -> MappedRow {
    let mapping = mappings[index]
    let single = try mappedValues(mapping)
    let list = single.values.isEmpty ? "1" : single.values.joined(separator: ", ")
    let table = try associations(single.builder).table(index)
    let statement = ChunkStatement(
      sql: "SELECT \(list) FROM \(table) AS s WHERE s.Z_PK = ?1", builder: single.builder)
    return MappedRow(
      mapping, columns: single.columns, statement: statement, isPlain: isPlain(mapping, single.builder),
      watches: nilWatches(index), layout: layout)
  }

  /// Rows of a mapping with a policy: the source's own, `columns` in SQL, then with `isPrepared` what the mapping gives,
  /// then the keys of links that are written with the objects.
  func policyPage(
    _ index: Int, columns: String, isPrepared: Bool, limit: Int
  ) throws -> (statement: ChunkStatement, keyColumns: [String]) {
    let mapped = isPrepared ? try mappedValues(mappings[index]) : (columns: [], values: [], builder: StatementBuilder())
    let association = associations(mapped.builder)
    var joins: [String] = []
    let keys = try foreignKeys(of: mappings[index], association: association, joins: &joins)
    let list = ([columns] + mapped.values + keys.map(\.sql)).joined(separator: ", ")
    let from = (["\(try association.table(index)) AS s"] + joins).joined(separator: " ")
    let statement = ChunkStatement(
      sql:
        "SELECT \(list) FROM \(from) WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(association.takes(index, alias: "s").sql) ORDER BY s.Z_PK LIMIT \(limit)",
      builder: mapped.builder)
    return (statement, keys.map(\.name))
  }

  private func mappedValues(
    _ mapping: ResolvedEntityMapping
  ) throws -> (columns: [String], values: [String], builder: StatementBuilder) {
    let builder = StatementBuilder()
    var reasons: [String] = []
    var columns: [String] = []
    var values: [String] = []
    for (attribute, source) in mapping.attributes {
      guard let column = destinationSchema.column(of: attribute.name, in: mapping.destination.name) else { continue }
      columns.append(column)
      values.append(try value(of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons))
    }
    return (columns, values, builder)
  }

  /// Whether the values of a mapping may be computed before its policy asks: nothing is evaluated in Swift, where the
  /// policy may be asked, and no file is brought along.
  private func isPlain(_ mapping: ResolvedEntityMapping, _ builder: StatementBuilder) -> Bool {
    let source = resolved.sourceModel.attributes(of: mapping.source.name)
    return builder.functions.evaluations.isEmpty
      && !(source + mapping.attributes.map(\.attribute)).contains(where: \.allowsExternalBinaryDataStorage)
  }

  /// The source keys that a mapping takes, from `?1` through `?2`; at most so many.
  func takenKeys(_ index: Int, limit: Int = -1) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let association = associations(builder)
    let taken = association.takes(index, alias: "s")
    return ChunkStatement(
      sql:
        "SELECT s.Z_PK FROM \(try association.table(index)) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(taken.sql) ORDER BY s.Z_PK LIMIT \(limit)",
      builder: builder)
  }

  /// The destination key that a mapping without a policy gives source row `?1`.
  func computedDestination(_ index: Int) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let sql = try associations(builder).lookup(index, key: "?1")
    return ChunkStatement(sql: "SELECT \(sql)", builder: builder)
  }

  /// The keys that object `?1` at one end of a link leads to by the assignments so far, in order.
  func related(_ index: Int, from end: InversePair.End) -> String {
    let link = links[index]
    let place = end == .first ? "dx" : "xd"
    let other = link.isOwnInverse ? "CASE WHEN d = ?1 THEN x ELSE d END" : end == .first ? "x" : "d"
    let edges: String
    if link.isOwnInverse {
      edges = edgeQuery(index, subject: "(subject = ?1 OR target = ?1)", target: "(subject = ?1 OR target = ?1)")
    } else if end == .first {
      edges = edgeQuery(index, subject: "target IS NOT NULL AND subject = ?1", target: "target = ?1")
    } else {
      edges = edgeQuery(index, subject: "target = ?1", target: "target IS NOT NULL AND subject = ?1")
    }
    return
      "SELECT \(other) AS other, MIN(\(place)) FROM (\(edges)) AS e WHERE \(survives(index)) GROUP BY 1 ORDER BY 2, 1"
  }
}

/// How a lookup finds what policies made: filled in where SQL of a step with policies is built.
struct PolicyLookUps {
  /// Mappings with explicit associations, and those whose associations are computed all the same.
  var mappings, plain: Set<Int>
  /// `Z_ENT` of an entity and its subentities in the destination.
  var destinationNumbers: (String) -> [Int]
  /// Whether an entity of the destination is another or descends from it.
  var isKind: (String, String) -> Bool
}

extension AssociationLowering {
  func isPolicy(_ index: Int) -> Bool { policies?.mappings.contains(index) == true }

  /// What joins pairs `q` of a mapping with a policy to the source key `key`, and keeps objects of an entity.
  ///
  /// - Parameter isSeveral: Whether the key is a sub-select of many.
  func pairCondition(_ index: Int, key: String, isSeveral: Bool = false, entity: String?) -> String {
    let root = schema.model.root(of: mappings[index].source.name)?.name ?? mappings[index].source.name
    var sql = "q.source \(isSeveral ? "IN" : "=") \(key) AND q.root = \(schema.number(of: root) ?? -1)"
    if let entity, let numbers = policies?.destinationNumbers(entity) {
      sql += " AND q.entity IN (\(numbers.map(String.init).joined(separator: ", ")))"
    }
    return sql
  }

  /// How many objects a policy associated with a source key, or with several.
  func policyCount(_ index: Int, key: String, isSeveral: Bool, entity: String?) -> String {
    "(SELECT COUNT(DISTINCT q.destination) FROM main.\(StepProgram.pairTable(index)) AS q WHERE \(pairCondition(index, key: key, isSeveral: isSeveral, entity: entity)))"
  }

  /// The lowest of the keys of the objects that a policy associated with a source key.
  func policyLookup(_ index: Int, key: String, entity: String?) -> String {
    "(SELECT MIN(q.destination) FROM main.\(StepProgram.pairTable(index)) AS q WHERE \(pairCondition(index, key: key, entity: entity)))"
  }
}
