package import GodwitModel

/// The objects that `export` writes.
package struct ObjectSelection {
  /// Entities of one inheritance tree, whose objects are written in the order of their keys.
  let groups: [[String]]
  /// The predicate that the objects have to fulfil; nil for all objects.
  let condition: FilterPredicate?

  /// All entities, each once.
  var entities: [String] { groups.flatMap(\.self) }

  private init(groups: [[String]], condition: FilterPredicate?) { (self.groups, self.condition) = (groups, condition) }

  /// The same of one entity alone.
  func only(_ entity: String) -> ObjectSelection { ObjectSelection(groups: [[entity]], condition: condition) }

  /// Every entity that can have objects.
  ///
  /// - Throws: `.configuration` (78) with a position for a predicate that does not fit every entity.
  package init(allOf model: ManagedObjectModel, where text: String?) throws {
    groups = model.entities.filter { !$0.isAbstract }.map { [$0.name] }
    condition = try Self.condition(text, for: groups.flatMap(\.self), model: model)
  }

  /// - Parameter subentities: Whether an entity stands for its subentities too.
  /// - Throws: `.usage` (64) for an unknown entity; `.configuration` (78) with a position for a wrong predicate.
  package init(_ names: [String], subentities: Bool, of model: ManagedObjectModel, where text: String?) throws {
    var seen: Set<String> = []
    var groups: [[String]] = []
    for name in names {
      guard model.entity(name) != nil else {
        throw GodwitError(
          .usage,
          "cannot export entity '\(name)': model '\(model.name)' has no such entity"
            + Spelling.suggestion(forPartOf: name, among: model.entityNames),
          remedy: "list the entities with `godwit inspect`")
      }
      let family = subentities ? model.family(of: name).map(\.name) : [name]
      groups.append(family.filter { seen.insert($0).inserted })
    }
    self.groups = groups.filter { !$0.isEmpty }
    condition = try Self.condition(text, for: names, model: model)
  }

  private static func condition(
    _ text: String?, for names: [String], model: ManagedObjectModel
  ) throws -> FilterPredicate? {
    guard let text else { return nil }
    let source = SourceText(text, location: .init(file: "--where", line: 1, column: 1))
    let predicate: FilterPredicate
    do throws(ExpressionError) {
      predicate = try FilterPredicate(parsing: source)
    } catch { throw GodwitError(error, in: source, what: "cannot read the predicate") }
    for name in names {
      do throws(ExpressionError) {
        try ExpressionChecker(model: model, entityName: name, role: .filter).check(predicate)
      } catch { throw GodwitError(error, in: source, what: "the predicate does not fit entity '\(name)'") }
    }
    return predicate
  }
}
