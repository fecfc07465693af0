package import GodwitModel

/// The object of a cursor's current row, for expressions. A value is read when an expression needs it.
///
/// One for a whole walk; not to be kept beyond the row.
package final class CursorObject: EvaluatedObject {
  private let context: ObjectContext
  package let layout: ObjectLayout
  package let cursor: RowCursor

  /// - Parameters:
  ///   - layout: The layout of the entity, the same for every row read.
  ///   - cursor: Its columns are those of the entity's table, as `ObjectTable.selected` has them.
  package init(context: ObjectContext, layout: ObjectLayout, cursor: RowCursor) {
    (self.context, self.layout, self.cursor) = (context, layout, cursor)
  }

  package var entityName: String { layout.entityName }
  package var key: Int64 { cursor.key ?? 0 }

  package func value(_ property: String) throws -> EvaluatedValue {
    if let attribute = layout.attributes[property] {
      guard let place = attribute.place else { return .value(.null) }
      return .value(
        try context.value(cursor.row.value(place), of: attribute, entityName: entityName, key: key))
    }
    guard let relationship = layout.relationships[property] else {
      return try .object(context.composite(property, of: self))
    }
    return try context.value(of: relationship, from: key) { place in
      if case .integer(let key) = cursor.row.value(place) { key } else { nil }
    }
  }
}

extension ObjectContext {
  /// The objects that a relationship of an object leads to.
  ///
  /// - Parameter reference: The key that a place of the object's row holds; nil when it holds none.
  func value(
    of relationship: ObjectLayout.Relationship, from key: Int64, reference: (Int) -> Int64?
  ) throws -> EvaluatedValue {
    let description = relationship.description
    let destination = description.destinationEntityName
    switch relationship.storage {
    case .key(let place):
      guard let other = reference(place) else { return .object(nil) }
      return .object(try object(entityName: destination, key: other))
    case .query(let sql):
      let keys = try keys(sql, key)
      return .objects(
        try keys.compactMap { try object(entityName: destination, key: $0) }, ordered: description.isOrdered)
    case .none: return description.isToMany ? .objects([], ordered: false) : .object(nil)
    }
  }
}
