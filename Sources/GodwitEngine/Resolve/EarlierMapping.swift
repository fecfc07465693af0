import GodwitJob
import GodwitModel
import GodwitStore

/// An entity mapping of an earlier job into the same destination, whose objects this job's relationships may lead to.
package struct EarlierMapping: Sendable {
  enum Access: Sendable {
    /// destination key = source key + offset.
    case offset(Int64)
    /// Its associations cannot be looked up, for example because its pairs were dropped with its store.
    case lost(String)
    /// The source of that job was another one, or had other content.
    case otherSource(isSameStore: Bool)
  }

  var name: String
  var sourceEntity: String
  var destinationEntity: String
  var filter: FilterPredicate?
  var access: Access
  /// The destination's table, and its schema.
  var table: String
  var schema: StoreSchema

  var isUsable: Bool { if case .offset = access { true } else { false } }

  /// The mapping as one of this job's own that makes nothing.
  var entityMapping: EntityMapping {
    var mapping = EntityMapping(
      name: name, kind: .transform, source: sourceEntity, destination: destinationEntity)
    mapping.filter = filter
    return mapping
  }

  /// The condition that the object of the source row `alias` is still in the store under construction.
  func isThere(offset: String, alias: String, builder: StatementBuilder) -> String {
    let object = builder.alias("e")
    let isObject = schema.isObject(of: [destinationEntity], row: object).further
    return
      "EXISTS (SELECT 1 FROM main.\(quoted(table)) AS \(object) WHERE \(object).Z_PK = \(alias).Z_PK + \(offset)\(isObject))"
  }
}

extension ExistingDestination {
  /// The mappings of earlier jobs, oldest first, as a job on this source sees them.
  ///
  /// - Parameter digest: The digest of the source's content.
  func earlierMappings(sourceUUID: String, digest: String) throws -> [EarlierMapping] {
    try records.flatMap { record in
      try record.mappings.compactMap { mapping -> EarlierMapping? in
        guard let table = schema.table(of: mapping.destination) else { return nil }
        var filter: FilterPredicate?
        if let text = mapping.filter, !PairEntity.isName(mapping.source) {
          let source = SourceText(text)
          do throws(ExpressionError) {
            filter = try FilterPredicate(parsing: source)
          } catch { throw GodwitError(error, in: source, what: "filter of the earlier mapping '\(mapping.name)'") }
        }
        let access: EarlierMapping.Access
        switch mapping.keys {
        case _ where PairEntity.isName(mapping.source):
          access = .lost("it has an object for each link of '\(mapping.source)'")
        case _ where digest != record.source:
          access = .otherSource(isSameStore: record.sourceUUID == sourceUUID)
        case _ where !mapping.uniqueBy.isEmpty:
          access = .lost("it has unique-by, and a finished store does not record which source led to which object")
        case .dense: access = .lost("it renumbered its objects, and a finished store does not record the pairs of keys")
        case .offset where filter?.operands.contains(where: \.callsNow) ?? false:
          access = .lost("its filter depends on the time of its run")
        case .offset(let offset): access = .offset(offset)
        }
        return EarlierMapping(
          name: mapping.name, sourceEntity: mapping.source, destinationEntity: mapping.destination, filter: filter,
          access: access, table: table.name, schema: schema)
      }
    }
  }
}
