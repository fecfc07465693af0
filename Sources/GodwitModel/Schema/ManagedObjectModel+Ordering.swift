extension ManagedObjectModel {
  /// The to-ones of an entity whose inverse is an ordered to-many: along each, an object has a place, `$index`.
  func indexable(of entity: String) -> [RelationshipDescription] {
    relationships(of: entity).filter { relationship in
      guard !relationship.isToMany, isStored(relationship), let inverse = inverse(of: relationship) else {
        return false
      }
      return inverse.isToMany && inverse.isOrdered
    }
  }

  /// The to-one that `$index` or `$index.name` means; nil if it means none, or several.
  package func indexable(_ name: String?, of entity: String) -> RelationshipDescription? {
    let known = indexable(of: entity)
    guard let name else { return known.count == 1 ? known[0] : nil }
    return known.first { $0.name == name }
  }
}
