package import GodwitJob
import GodwitModel
package import GodwitStore

/// The triggers with which Core Data will keep the derived attributes of the finished store.
///
/// Made last, since they call functions that exist inside Core Data alone. Where no store showed how Core Data spells
/// them for a model, the source's own are taken, if the destination has everything they name under the same names.
package struct DerivedTriggers {
  /// The statements, in Core Data's order.
  package let statements: [String]
  /// Derived attributes whose triggers are not known: their values are computed, and stay as they are until the
  /// application, or a later migration by Core Data, computes them again.
  let unknown: [StoreSchema.DerivedAttribute]

  /// Notes for the plan.
  package var notes: [MigrationNote] {
    unknown.map {
      MigrationNote(
        .triggersLeftOut,
        "derived attribute \($0.entityName).\($0.attributeName) is computed; its triggers are not made, because their text in Core Data is not known"
      )
    }
  }

  package init(source: StoreSchema, destination: StoreSchema, connection: StoreConnection) throws {
    let present = try Self.triggers(of: connection)
    var statements: [String] = []
    var unknown: [StoreSchema.DerivedAttribute] = []
    for derived in destination.derivedAttributes {
      if let known = destination.triggers(of: derived) {
        statements += known.map(\.sql)
      } else if let kept = Self.kept(derived, among: present, source: source, destination: destination) {
        statements += kept
      } else {
        unknown.append(derived)
      }
    }
    self.statements = statements
    self.unknown = unknown
  }

  private static func triggers(of connection: StoreConnection) throws -> [(name: String, sql: String)] {
    var triggers: [(name: String, sql: String)] = []
    try connection.query(
      "SELECT name, sql FROM source.sqlite_master WHERE type = 'trigger' AND name GLOB 'Z_DA_*' ORDER BY rowid"
    ) { row in
      if let name = row.string(0), let sql = row.string(1) { triggers.append((name, sql)) }
      return true
    }
    return triggers
  }

  /// The source's triggers of an attribute that both models derive in the same way. nil if there are none, or if one
  /// names something that the destination lacks or numbers differently.
  private static func kept(
    _ derived: StoreSchema.DerivedAttribute, among present: [(name: String, sql: String)], source: StoreSchema,
    destination: StoreSchema
  ) -> [String]? {
    let (entity, attribute) = (derived.entityName, derived.attributeName)
    guard let was = source.model.attribute(attribute, of: entity), was.isDerived,
      let now = destination.model.attribute(attribute, of: entity),
      was.derivationExpression == now.derivationExpression,
      source.column(of: attribute, in: entity) == destination.column(of: attribute, in: entity)
    else { return nil }
    let own = present.filter { $0.name.contains("_\(entity)_\(attribute)_") }
    guard !own.isEmpty else { return nil }
    let isNumberedAlike = source.entityNumbers == destination.entityNumbers
    let known = names(of: source).intersection(names(of: destination)).union(own.map(\.name))
    for (name, sql) in own {
      guard sql.hasPrefix("CREATE TRIGGER \(StoreSchema.identifier(name)) ") else { return nil }
      let words = sql.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_")) }.map(String.init)
      for word in words {
        if word.hasPrefix("Z"), word == word.uppercased(), !known.contains(word) { return nil }
        if word.allSatisfy(\.isNumber), !["0", "1"].contains(word), !isNumberedAlike { return nil }
      }
    }
    return own.map(\.sql)
  }

  /// Every name of a table or column.
  private static func names(of schema: StoreSchema) -> Set<String> {
    var names: Set<String> = []
    for table in schema.tables { names.formUnion([table.name] + table.columns.map(\.name)) }
    for join in schema.joinTables {
      names.formUnion([join.name, join.ownerColumn, join.destinationColumn])
      names.formUnion([join.ownerOrderColumn, join.destinationOrderColumn].compactMap { $0 })
    }
    return names
  }
}
