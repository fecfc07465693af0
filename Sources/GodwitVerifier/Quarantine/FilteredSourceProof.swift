import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// A copy of the source without the objects in quarantine, so that the destination can be compared with the rest.
///
/// The copy is in a temporary folder. A run removes rejected objects with code of its own, which is not used here.
package final class FilteredSourceProof {
  private let folder: ScratchFolder
  private let schema: StoreSchema
  package var path: String { folder.path + "/source.sqlite" }

  package init(_ job: MigrationJob, _ source: StoreConnection) throws {
    folder = try ScratchFolder()
    schema = try StoreSchema(model: job.sourceModel, probing: source)
    let foreign = try source.foreignIndexes(in: "source")
    try source.standingIn(for: "source") {
      try source.undefended { try source.execute("VACUUM source INTO ?1", [.text(path)]) }
    }
    // Their entries, or their order, only the application knows.
    let copy = try StoreConnection(path: path)
    for name in Set(foreign.map(\.name)) {
      let sql = try copy.value("SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?1", [.text(name)])
      if case .text? = sql { try copy.execute("DROP INDEX \(quoted(name))") }
    }
    try copy.close()
  }

  /// Removes objects, and every link to them.
  package func remove(_ objects: [QuarantinedObjects.Held]) throws {
    let connection = try StoreConnection(path: path)
    try connection.undefended {
      try connection.execute("PRAGMA journal_mode = OFF")
      try connection.execute("PRAGMA synchronous = OFF")
      try connection.execute("CREATE TEMP TABLE held (entity INTEGER, key INTEGER, PRIMARY KEY (entity, key))")
      let insert = try connection.prepare("INSERT OR IGNORE INTO temp.held VALUES (?1, ?2)")
      for object in objects {
        guard let number = schema.number(of: object.entity) else { continue }
        try insert.run([.int(number), .integer(object.key)])
      }
      insert.finalize()
      try connection.transaction { try remove(from: connection) }
    }
    try connection.close()
  }

  private func remove(from connection: StoreConnection) throws {
    // The copy has no other writer, and the functions that triggers call exist only in Core Data.
    for name in try connection.strings("SELECT name FROM sqlite_master WHERE type = 'trigger'") {
      try connection.execute("DROP TRIGGER \(quoted(name))")
    }
    for entity in schema.model.entities {
      for relationship in schema.model.relationships(of: entity.name) where !relationship.isTransient {
        switch schema.storage(of: relationship.name, in: entity.name) {
        case .foreignKey(let table, let column, let kind, let place),
          .inverse(let table, let column, let kind, let place):
          // A to-many is stored in the rows that it leads to.
          let isOwn =
            if case .foreignKey = schema.storage(of: relationship.name, in: entity.name) { true } else { false }
          let target = isOwn ? relationship.destinationEntityName : entity.name
          let cleared = [column, kind, place].compactMap(\.self).map { "\(quoted($0)) = NULL" }.joined(separator: ", ")
          try connection.execute(
            "UPDATE \(quoted(table)) SET \(cleared) WHERE \(quoted(column)) IN (\(held(target)))")
        case .join(let join, let subject, let object, _):
          try connection.execute(
            "DELETE FROM \(quoted(join.name)) WHERE \(quoted(subject)) IN (\(held(entity.name))) OR \(quoted(object)) IN (\(held(relationship.destinationEntityName)))"
          )
        case .none: continue
        }
      }
    }
    for entity in schema.model.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name), let number = schema.number(of: entity.name) else { continue }
      try connection.execute(
        "DELETE FROM \(quoted(table.name)) WHERE Z_PK IN (SELECT key FROM temp.held WHERE entity = \(number))")
    }
  }

  /// The keys of objects of an entity or its subentities.
  private func held(_ entity: String) -> String {
    let numbers = schema.model.family(of: entity).compactMap { schema.number(of: $0.name) }
    return "SELECT key FROM temp.held WHERE entity IN (\(numbers.map(String.init).joined(separator: ", ")))"
  }
}
