package import GodwitModel

/// Compares how two steps and the direct one make an attribute.
extension StepFusion {
  /// Where a value comes from.
  private enum Origin {
    /// An attribute of the first model, with what nil becomes.
    case source(String, nilBecomes: AttributeValue)
    case constant(AttributeValue)
  }

  func attributeDifference(_ chain: Chain) -> String? {
    for attribute in last.attributes(of: chain.last) where !attribute.isTransient && !attribute.isDerived {
      if let difference = originDifference(attribute, chain) { return difference }
    }
    for attribute in between.attributes(of: chain.between) where !attribute.isTransient && !attribute.isDerived {
      if let difference = passageDifference(attribute, chain) { return difference }
    }
    return nil
  }

  // MARK: Where values come from

  private func originDifference(_ attribute: AttributeDescription, _ chain: Chain) -> String? {
    let path = "'\(chain.last).\(attribute.name)'"
    let through: Origin
    if let (name, usesDefault) = chain.late.sourceAttribute(of: attribute.name) {
      guard let passed = between.attribute(name, of: chain.between), !passed.isDerived else {
        return "\(path) keeps what is derived in '\(between.name)'"
      }
      let rest = usesDefault ? attribute.defaultValue : .null
      if let (source, usesItsDefault) = chain.early.sourceAttribute(of: name) {
        through = .source(source, nilBecomes: usesItsDefault ? passed.defaultValue : rest)
      } else {
        through = .constant(passed.defaultValue.isNull ? rest : passed.defaultValue)
      }
    } else {
      through = .constant(attribute.defaultValue)
    }
    let direct =
      chain.direct.sourceAttribute(of: attribute.name).map { name, usesDefault in
        Origin.source(name, nilBecomes: usesDefault ? attribute.defaultValue : .null)
      } ?? .constant(attribute.defaultValue)
    switch (through, direct) {
    case (.source(let one, let value), .source(let other, let directly)):
      if one != other { return "\(path) was '\(other)' directly, and '\(one)' through '\(between.name)'" }
      // One of the steps must leave the type as it is: then the other does what the direct one does.
      let types = (
        first.attribute(one, of: chain.first)?.type, last.attribute(attribute.name, of: chain.last)?.type,
        chain.late.sourceAttribute(of: attribute.name).flatMap { between.attribute($0.name, of: chain.between)?.type }
      )
      guard types.2 == types.0 || types.2 == types.1 else {
        return "the type of \(path) differs before, in and after '\(between.name)'"
      }
      if !Self.isSame(value, directly) { return "nil becomes another value of \(path) in '\(between.name)'" }
    case (.constant(let value), .constant(let directly)):
      if !Self.isSame(value, directly) { return "\(path) has another default in '\(between.name)'" }
    case (.constant, .source): return "\(path) is dropped before '\(between.name)' and new after it"
    case (.source, .constant): return "\(path) has no values directly, and some through '\(between.name)'"
    }
    return nil
  }

  /// Whether a store holds the same bytes for both.
  private static func isSame(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
    switch (a, b) {
    case (.double(let a), .double(let b)), (.date(let a), .date(let b)): a.bitPattern == b.bitPattern
    default: a == b
    }
  }

  // MARK: Values that pass through

  private func passageDifference(_ passed: AttributeDescription, _ chain: Chain) -> String? {
    let path = "'\(chain.between).\(passed.name)'"
    let origin = chain.early.sourceAttribute(of: passed.name)
    let next = chain.late.attributeMappings.first { chain.late.sourceAttribute(of: $0.name)?.name == passed.name }
      .flatMap { last.attribute($0.name, of: chain.last) }
    guard let next else {
      if origin != nil { return "the values of \(path) pass through '\(between.name)' and are gone in '\(last.name)'" }
      return passed.hasLimits ? "the rules of \(path) in '\(between.name)' are gone in '\(last.name)'" : nil
    }
    let isExternal = passed.allowsExternalBinaryDataStorage
    let before = origin.flatMap { first.attribute($0.name, of: chain.first) }?.allowsExternalBinaryDataStorage
    // Back and forth, a value would be in the store and in a file by turns.
    guard isExternal == next.allowsExternalBinaryDataStorage || isExternal == before,
      before == nil ? passed.defaultValue.isNull || isExternal == next.allowsExternalBinaryDataStorage : true
    else { return "the external storage of \(path) differs in '\(between.name)'" }
    if let origin, !origin.usesDefault, !passed.isOptional, next.isOptional {
      return "\(path) is required in '\(between.name)' and optional in '\(last.name)'"
    }
    return next.isAtLeastAsStrict(as: passed)
      ? nil : "the rules of \(path) are stricter in '\(between.name)' than in '\(last.name)'"
  }
}

extension AttributeDescription {
  fileprivate var hasLimits: Bool {
    minimumValue != nil || maximumValue != nil || minimumLength != nil || maximumLength != nil
      || regularExpression != nil
  }

  /// Whether every value that keeps the limits keeps those of another attribute of its type.
  package func isAtLeastAsStrict(as other: AttributeDescription) -> Bool {
    func holds<T>(_ own: T?, _ theirs: T?, _ isWithin: (T, T) -> Bool) -> Bool {
      theirs.map { theirs in own.map { isWithin($0, theirs) } ?? false } ?? true
    }
    func order(_ a: AttributeValue, _ b: AttributeValue) -> (isLess: Bool, isEqual: Bool) {
      switch (a, b) {
      case (.integer(let a), .integer(let b)): (a < b, a == b)
      case (.double(let a), .double(let b)), (.date(let a), .date(let b)): (a < b, a == b)
      default: (false, a == b)
      }
    }
    return holds(minimumValue, other.minimumValue) { order($1, $0).isLess || order($1, $0).isEqual }
      && holds(maximumValue, other.maximumValue) { order($0, $1).isLess || order($0, $1).isEqual }
      && holds(minimumLength, other.minimumLength, >=) && holds(maximumLength, other.maximumLength, <=)
      && holds(regularExpression, other.regularExpression, ==)
  }
}
