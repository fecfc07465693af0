import GodwitModel
import GodwitStore

/// Objects of links: the rows at both ends are joined in once, as in a statement written by hand. Each value that reads
/// them by a sub-select would look for them again.
extension CreationStatements {
  /// The table of the links of a mapping and the joins of their ends; nil for a mapping of other objects.
  ///
  /// - Parameter builder: Gets the rows of the ends, which expressions read from then on.
  func linkRows(
    of mapping: ResolvedEntityMapping, _ builder: StatementBuilder
  ) throws -> (table: String, joins: [String])? {
    guard let pair = resolved.sourceModel.pairEntity(mapping.source.name), let links = sourceSchema.pairLinks(of: pair)
    else { return nil }
    let database = StoreConnection.sourceSchema
    var joins: [String] = []
    for end in PairEntity.End.allCases {
      guard case .foreignKey(_, let column, _, _) = sourceSchema.storage(of: end.toOne, in: pair.name) else { continue }
      let (entity, alias) = (pair.entityName(of: end), "godwit_\(end.rawValue)")
      let kind =
        end == .source
        ? sourceSchema.isObject(of: [entity], row: alias) : sourceSchema.isKind(of: entity, row: alias)
      joins.append(
        "CROSS JOIN \(database).\(quoted(try step.sourceTable(entity))) AS \(alias) ON \(alias).Z_PK = s.\(quoted(column))\(kind.further)"
      )
      builder.joinedEnds[end.toOne] = alias
    }
    return ("\(database).\(quoted(links))", joins)
  }
}
