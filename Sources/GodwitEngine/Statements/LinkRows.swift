import GodwitModel
import GodwitStore

/// The links of a to-many relationship as rows `s`, with the rows at both of their ends joined in once, as in a
/// statement written by hand. Values that read the ends by sub-selects would look for them again, each for itself.
struct LinkRows {
  /// The view of the links, which does not look for their ends.
  let table: String
  private(set) var joins: [String] = []
  /// The row at each end, by the to-one that leads to it.
  private(set) var ends: [String: String] = [:]

  /// The table of links, each once, between objects that have their tables to themselves.
  struct PlainJoin {
    struct End { var column, objects: String }

    var table: String
    var ends: [End]
  }

  private(set) var plainJoin: PlainJoin?

  /// nil for an entity whose objects are not links.
  init?(of entity: String, in schema: StoreSchema) {
    guard let pair = schema.model.pairEntity(entity), let links = schema.pairLinks(of: pair) else { return nil }
    let database = StoreConnection.sourceSchema
    table = "\(database).\(quoted(links))"
    var plain: PlainJoin?
    var columns: [PairEntity.End: String] = [:]
    if case .join(let join, let subject, let object, _) = schema.storage(
      of: pair.relationshipName, in: pair.sourceEntityName), !join.isReflexive
    {
      plain = PlainJoin(table: join.name, ends: [])
      columns = [.source: subject, .element: object]
    }
    for end in PairEntity.End.allCases {
      let (entity, alias) = (pair.entityName(of: end), "godwit_\(end.rawValue)")
      guard case .foreignKey(_, let column, _, _) = schema.storage(of: end.toOne, in: pair.name),
        let rows = schema.table(of: entity)?.name
      else { return nil }
      let kind =
        end == .source ? schema.isObject(of: [entity], row: alias) : schema.isKind(of: entity, row: alias)
      joins.append(
        "CROSS JOIN \(database).\(quoted(rows)) AS \(alias) ON \(alias).Z_PK = s.\(quoted(column))\(kind.further)")
      ends[end.toOne] = alias
      if let column = columns[end], kind.further.isEmpty {
        plain?.ends.append(.init(column: column, objects: rows))
      } else {
        plain = nil
      }
    }
    plainJoin = plain
  }

  /// The links with their ends, for a `FROM`.
  var rows: String { (["\(table) AS s"] + joins).joined(separator: " ") }
}

extension CreationStatements {
  /// The links that a mapping makes objects of; nil for a mapping of other objects.
  ///
  /// - Parameter builder: Gets the rows of the ends, which expressions read from then on.
  func linkRows(of mapping: ResolvedEntityMapping, _ builder: StatementBuilder) -> LinkRows? {
    guard let links = LinkRows(of: mapping.source.name, in: sourceSchema) else { return nil }
    builder.joinedEnds.merge(links.ends) { $1 }
    return links
  }
}
