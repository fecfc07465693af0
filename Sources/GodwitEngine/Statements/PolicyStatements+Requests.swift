import GodwitJob
import GodwitModel
import GodwitStore

/// How the relationships of many objects that a policy leaves to its mapping are set together.
struct PolicyRequests {
  /// How many assignments each object gets, one turn each.
  var relationships: Int
  /// The statements that assign them to the objects of `temp.godwit_asked`; `?1` is the mapping's place in the order of
  /// assignments.
  var statements: [ChunkStatement]
  /// The statements that count the to-ones among them that find several objects.
  var counts: [ChunkStatement] = []
  /// Whether the result equals that of setting them object by object.
  var isPossible: Bool
}

extension PolicyStatements {
  /// Relationships that call the policy are set object by object. So are ordered ones that follow an order of the
  /// source, because each object counts its own places.
  ///
  /// Relationships that are written with their objects need no statement.
  ///
  /// - Parameter hasManySources: Whether an object may have several source objects.
  func requests(_ index: MappingID, hasManySources: Bool) throws -> PolicyRequests {
    let mapping = mappings[index]
    var requests = PolicyRequests(relationships: mapping.relationships.count, statements: [], isPossible: true)
    for (part, source) in mapping.relationships.enumerated() {
      let isCounted = source.relationship.isOrdered && source.path.last?.relationship.isOrdered == true
      guard source.policyCall == nil, !isCounted, let (link, end) = assigned(part, of: index) else {
        return PolicyRequests(relationships: 0, statements: [], isPossible: false)
      }
      guard !step.inlineLinks.contains(link) else { continue }
      if !source.relationship.isToMany, let count = try step.losses.ambiguousToOne(asked: part, of: mapping) {
        requests.counts.append(count)
      }
      requests.statements +=
        try source.relationship.isToMany
        ? requestedTargets(link, end, part, of: mapping, hasManySources: hasManySources)
        : [requestedTarget(link, end, part, of: mapping)]
    }
    return requests
  }

  /// The statement that assigns one to-one relationship of a mapping to the objects of `temp.godwit_asked`.
  func request(_ assignment: InversePair.Assignment, of link: LinkID) throws -> ChunkStatement {
    try requestedTarget(link, assignment.end, assignment.part, of: mappings[assignment.mapping])
  }

  /// The statement that removes a link from the objects it was written with; nil if it is not a key in their rows.
  func clearing(_ link: LinkID) -> String? {
    guard let end = links[link].inlineEnd, let side = links[link].side(end),
      case .foreignKey(let table, let column, let entityColumn, _) = destinationSchema.storage(
        of: side.relationship.name, in: side.entityName)
    else { return nil }
    let columns = [column, entityColumn].compactMap { $0.map { "\(quoted($0)) = NULL" } }
    return
      "UPDATE main.\(quoted(table)) SET \(columns.joined(separator: ", ")) WHERE \(quoted(column)) IS NOT NULL"
  }

  private func assigned(_ part: Int, of index: MappingID) -> (link: LinkID, end: InversePair.End)? {
    for (number, link) in links.numbered where link.strategy == .resolved {
      if let found = link.assignments.first(where: { $0.mapping == index && $0.part == part }) {
        return (number, found.end)
      }
    }
    return nil
  }

  private func insertion(_ link: LinkID) -> String {
    "INSERT INTO main.\(StepProgram.linkTable(link)) (side, mapping, turn, subject, target, position, inverse_position)"
  }

  private func requestedTarget(
    _ link: LinkID, _ end: InversePair.End, _ part: Int, of mapping: ResolvedEntityMapping
  ) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let association = associations(builder)
    let source = mapping.relationships[part]
    let target = try step.relationships.singleTarget(of: source, in: mapping, association)
    let inverse = try step.relationships.inverseOrder(of: source, in: mapping, target: target, association)
    return ChunkStatement(
      sql: """
        \(insertion(link)) SELECT \(end.rawValue), ?1, a.turn + \(part + 1), a.destination, \(target), NULL, \(inverse) \
        FROM temp.godwit_asked AS a CROSS JOIN \(try association.table(mapping.index)) AS s ON s.Z_PK = a.source
        """, builder: builder)
  }

  /// Records the assignment, and the results of each lookup from all source objects.
  private func requestedTargets(
    _ link: LinkID, _ end: InversePair.End, _ part: Int, of mapping: ResolvedEntityMapping, hasManySources: Bool
  ) throws -> [ChunkStatement] {
    let source = mapping.relationships[part]
    let wanted = source.relationship.destinationEntityName
    let turn = "a.turn + \(part + 1)"
    var statements = [
      ChunkStatement(
        sql:
          "\(insertion(link)) SELECT \(end.rawValue), ?1, \(turn), a.destination, NULL, NULL, NULL FROM temp.godwit_asked AS a",
        builder: StatementBuilder())
    ]
    for lookup in source.lookups {
      let builder = StatementBuilder()
      let association = associations(builder)
      let chain = try step.chain(source.path, in: mapping, association)
      let key = chain.isToMany ? chain.key : chain.scalar(chain.key)
      let counterpart = try association.lookup(lookup, key: key, entity: wanted)
      let inverse = try step.relationships.inverseOrder(of: source, in: mapping, target: counterpart, association)
      let parts: (tables: [String], conditions: [String]) = chain.isToMany ? chain.parts : ([], [])
      let sources =
        hasManySources
        ? [
          "main.\(StepProgram.pairTable(mapping.index)) AS o ON o.destination = a.destination AND o.entity = a.entity"
        ] : []
      let row = "\(try association.table(mapping.index)) AS s ON s.Z_PK = \(hasManySources ? "o" : "a").source"
      let tables = ["temp.godwit_asked AS a"] + sources + [row] + parts.tables
      // For a mapping with a policy the target is the source key, from which the policy may have made several objects.
      let found = """
        SELECT \(turn) AS turn, a.destination AS subject, \(isExplicit(lookup) ? key : counterpart) AS target, \(inverse) AS inverse_position \
        FROM \(tables.joined(separator: " CROSS JOIN ")) WHERE \((["1"] + parts.conditions).joined(separator: " AND "))
        """
      var (from, target) = ("(\(found)) AS p", "p.target")
      if isExplicit(lookup) {
        from +=
          " CROSS JOIN main.\(StepProgram.pairTable(lookup)) AS q ON \(association.pairCondition(lookup, key: "p.target", entity: wanted))"
        target = "q.destination"
      }
      statements.append(
        ChunkStatement(
          sql: """
            \(insertion(link)) SELECT \(end.rawValue), ?1, p.turn, p.subject, \(target), \(lookup), p.inverse_position FROM \(from) \
            WHERE \(target) IS NOT NULL
            """, builder: builder))
    }
    return statements
  }
}
