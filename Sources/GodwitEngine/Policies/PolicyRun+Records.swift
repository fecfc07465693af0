import GodwitJob
import GodwitModel
import GodwitStore

/// What the chunks of policies keep while they run.
extension PolicyRun {
  struct Identity: Hashable {
    var entity: String
    var key: Int64

    init(_ object: ManagedObject) { (entity, key) = (object.entityName, object.key) }
  }

  /// An association by entity numbers: that of the source's root, and that of the destination object's own entity.
  struct Pair {
    var turn, root, source, entity, destination: Int64
  }

  struct OwnPair: Hashable {
    var mapping: Int
    var entity, destination: Int64
  }

  /// The object that is to have its relationships, its first source object, and the turn before its assignments'.
  struct Asked {
    var turn, source, entity, destination: Int64

    init(_ pair: Pair, turn: Int64? = nil) {
      (self.turn, source, entity, destination) = (turn ?? pair.turn, pair.source, pair.entity, pair.destination)
    }
  }

  /// What writes objects of an entity.
  final class Writing {
    let key: WritingKey
    let entityName: String
    /// New objects.
    var count: Int64 = 0
    /// By column, `Z_PK`, `Z_ENT` and `Z_OPT` apart, and where a row has them.
    let attributes: [AttributeDescription]
    let places: [Int]
    let isExternal: Bool
    /// Leaves a row that is there.
    let insert: SQLStatement
    let update: SQLStatement

    init(
      key: WritingKey, entityName: String, attributes: [AttributeDescription], places: [Int], insert: SQLStatement,
      update: SQLStatement
    ) {
      (self.key, self.entityName, self.attributes, self.places) = (key, entityName, attributes, places)
      (self.insert, self.update) = (insert, update)
      isExternal = attributes.contains(where: \.allowsExternalBinaryDataStorage)
    }
  }
}
