import GodwitModel
import Synchronization

/// A cache of schemas, because a run over many stores needs the same few again and again, for models that it read once.
enum SchemaCache {
  enum Subject: Hashable {
    /// The schema that Core Data would make.
    case new(JoinNames)
    /// The schema of an existing store, by the text of its definitions and its entity numbers, which determine it.
    case existing(String)
  }

  private struct Key: Hashable {
    /// The identity of the data that all copies of a model share. The cached schema keeps it alive.
    var model: ObjectIdentifier
    var subject: Subject
  }

  static let limitSchemas = 64
  static let limitBytes = 1 << 20

  private static let known = Mutex<[Key: StoreSchema]>([:])

  static func schema(
    _ model: ManagedObjectModel, _ subject: Subject, make: () throws -> StoreSchema
  ) rethrows -> StoreSchema {
    let key = Key(model: ObjectIdentifier(model.texts), subject: subject)
    if var schema = known.withLock({ $0[key] }) {
      // Copies may differ in facts that the schema does not depend on.
      schema.model = model
      return schema
    }
    let made = try make()
    // A damaged store may have definitions too long to keep in memory.
    if case .existing(let text) = subject, text.utf8.count > limitBytes { return made }
    known.withLock { schemas in
      if schemas.count >= limitSchemas { schemas.removeAll() }
      schemas[key] = made
    }
    return made
  }
}
