import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

extension CreationStatements {
  /// The columns of an object's row that store its links, and the SQL of each one's value.
  func foreignKeys(
    of mapping: ResolvedEntityMapping, association: AssociationLowering, joins: inout [String]
  ) throws -> [(name: String, sql: String)] {
    var columns: [(name: String, sql: String)] = []
    for index in step.foreignKeyLinks(of: mapping.destination.name) {
      let link = step.currentLink(index)
      guard let side = link.foreignKeySide, link.strategy == .atCreation || link.strategy == .fromInverse,
        case .foreignKey(_, let column, let entityColumn, let orderColumn) = destinationSchema.storage(
          of: side.relationship.name, in: mapping.destination.name),
        let found = try foreignKey(link, in: mapping, association: association, joins: &joins)
      else { continue }
      let key = found.count == 1 ? found[0].sql : "COALESCE(\(found.map(\.sql).joined(separator: ", ")))"
      columns.append((column, key))
      if let entityColumn {
        let cases = found.map { "WHEN \($0.sql) IS NOT NULL THEN \($0.entityNumber)" }
        columns.append((entityColumn, "(CASE \(cases.joined(separator: " ")) END)"))
      }
      if let orderColumn {
        let order = try sourceOrder(link, of: mapping, target: key, association)
        columns.append((orderColumn, "(CASE WHEN \(key) IS NOT NULL THEN \(order) END)"))
      }
    }
    return columns
  }

  /// The lookups that give a foreign key, in order of preference; nil when nothing sets it.
  private func foreignKey(
    _ link: InversePair, in mapping: ResolvedEntityMapping, association: AssociationLowering, joins: inout [String]
  ) throws -> [(sql: String, entityNumber: Int)]? {
    func number(_ index: MappingID) -> Int { destinationSchema.number(of: mappings[index].destination.name) ?? 0 }
    switch link.strategy {
    case .atCreation:
      guard let assignment = link.assignments.first(where: { $0.mapping == mapping.index && $0.end == link.carriedEnd })
      else { return nil }
      let source = mapping.relationships[assignment.part]
      guard !source.lookups.isEmpty else { return nil }
      let chain = try step.chain(source.path, in: mapping, association)
      return try source.lookups.map { index in
        if source.path.isEmpty, let own = association.ownLookup(index, alias: "s", in: mapping) {
          return (own, number(index))
        }
        if let end = association.endLookup(index, at: chain) { return (end, number(index)) }
        let sql =
          chain.isToMany
          ? chain.scalar("MIN(\(try association.lookup(index, key: chain.key)))")
          : try association.lookup(index, key: chain.scalar(chain.key), joins: &joins)
        return (sql, number(index))
      }
    case .fromInverse:
      let owners = link.assignments.filter { assignment in
        assignment.end == link.carriedEnd
          && mappings[assignment.mapping].relationships[assignment.part].lookups.contains(mapping.index)
      }
      guard !owners.isEmpty else { return nil }
      return try owners.sorted { $0.mapping > $1.mapping }.map { owner in
        let hop = mappings[owner.mapping].relationships[owner.part].path[0]
        guard let inverse = resolved.sourceModel.inverse(of: hop.relationship) else {
          throw GodwitError(.internalBug, "cannot find the inverse of '\(hop.relationship.name)'")
        }
        var chain = RelationshipJoinPath(
          row: .init(alias: "s", entityName: mapping.source.name), schema: sourceSchema,
          database: StoreConnection.sourceSchema, builder: association.builder)
        try chain.follow(inverse.name)
        if let end = association.endLookup(owner.mapping, at: chain) { return (end, number(owner.mapping)) }
        let sql = try association.lookup(owner.mapping, key: chain.scalar(chain.key), joins: &joins)
        return (sql, number(owner.mapping))
      }
    case .pairs, .resolved: return nil
    }
  }

  /// The sort key of an ordered owner's objects before their places are numbered: the source's order key if the source
  /// is ordered, otherwise the mapping's position.
  private func sourceOrder(
    _ link: InversePair, of mapping: ResolvedEntityMapping, target: String, _ association: AssociationLowering
  ) throws -> String {
    if link.strategy == .atCreation {
      let assignment = link.assignments.first { $0.mapping == mapping.index && $0.end == link.carriedEnd }
      guard let assignment else { return "\(mapping.index)" }
      return try step.relationships.inverseOrder(
        of: mapping.relationships[assignment.part], in: mapping, target: target, association)
    }
    let owner = link.assignments.first {
      $0.end == link.carriedEnd && mappings[$0.mapping].relationships[$0.part].lookups.contains(mapping.index)
    }
    let hop = owner.flatMap {
      resolved.sourceModel.inverse(of: mappings[$0.mapping].relationships[$0.part].path[0].relationship)?.name
    }
    if let hop, case .foreignKey(_, _, _, let order?) = sourceSchema.storage(of: hop, in: mapping.source.name) {
      return "s.\(quoted(order))"
    }
    return "\(mapping.index)"
  }
}
