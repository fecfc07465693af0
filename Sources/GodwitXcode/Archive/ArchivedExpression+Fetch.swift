import GodwitModel

extension ArchivedExpression {
  /// The filter of a source expression; nil when it takes all objects of the entity.
  ///
  /// Known is the fetch that Xcode's compiler writes: `FETCH(FUNCTION($manager,
  /// "fetchRequestForSourceEntityNamed:predicateString:", "<entity>", "<predicate>"), $manager.sourceContext, NO)`.
  ///
  /// - Throws: code `.configuration` for any other.
  mutating func fetch(_ object: KeyedArchive.Object, source: String?) throws -> FilterPredicate? {
    guard object.className == "NSFetchRequestExpression", try !flag("NSCountOnlyFlag", of: object),
      let request = try self.object("NSFRExpression", of: object)
    else { throw otherFetch() }
    let call: ValueExpression
    do { call = try expression(request) } catch let error as UnknownExpression {
      throw unsupported("\(error.text) in a source expression")
    }
    guard case .call(let operand, let selector, let arguments) = call.node, operand.node == .variable("manager"),
      selector == "fetchRequestForSourceEntityNamed:predicateString:", arguments.count == 2,
      case .constant(.string(let entity)) = arguments[0].node, case .constant(.string(let text)) = arguments[1].node
    else { throw otherFetch() }
    guard entity.string == source else {
      throw unsupported("a source expression fetches '\(entity)', and the source entity is '\(source ?? "none")'")
    }
    let filter = try Self.parsed(predicate: text.string, file: file, location: location)
    if case .constant(true) = filter.node { return nil }
    return filter
  }

  private func otherFetch() -> GodwitError {
    unsupported("a source expression is not the fetch of one entity by a predicate")
  }
}
