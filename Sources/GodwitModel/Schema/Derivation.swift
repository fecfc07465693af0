/// How a derived attribute comes about: its derivation expression, read and checked against its model.
///
/// | written | in archives | means |
/// |---|---|---|
/// | `name`, `author.name` | the same | the attribute of the object, or along to-ones |
/// | `canonical:(name)` | the same | the same without case and diacritics; also `uppercase:`, `lowercase:` |
/// | `pages.@count` | `count:(pages)` | how many objects the to-many leads to |
/// | `pages.number.@sum`, `pages.@sum.number` | `sum:(pages.number)` | the sum of an attribute over a to-many; 0 over none |
/// | `now()` | `now()` | the time of the last change |
///
/// These are the forms that Core Data documents for SQLite stores.
package struct Derivation: Sendable, Hashable {
  /// The conversion of a text before it is stored.
  package enum Function: String, Sendable, Hashable, CaseIterable {
    case canonical, uppercase, lowercase

    /// The text as the function gives it.
    ///
    /// Without case and diacritics means: lower case, decomposed, without nonspacing marks. Core Data documents only
    /// the effect; its result for rare characters was not observed.
    package func callAsFunction(_ text: String) -> String {
      switch self {
      case .uppercase: return text.uppercased()
      case .lowercase: return text.lowercased()
      case .canonical: return StringComparison.canonical(Text(text)).string
      }
    }
  }

  package enum Kind: Sendable, Hashable {
    case now
    case value(attribute: AttributeDescription, function: Function?)
    case count
    case sum(attribute: AttributeDescription)
  }

  /// The relationships from the object: to-ones, and for a count or a sum a to-many at the end.
  package let path: [RelationshipDescription]
  package let kind: Kind
  /// The entity that the path leads to.
  package let reachedEntityName: String

  /// Reads the derivation of an attribute.
  ///
  /// - Parameters:
  ///   - attribute: A derived attribute.
  ///   - entity: An entity that has it.
  /// - Throws: `.configuration` (78) when no rule covers the expression, or it names a property that the model lacks.
  package init(of attribute: AttributeDescription, in entity: String, model: ManagedObjectModel) throws {
    let text = attribute.derivationExpression ?? ""
    func cannot(_ why: String) -> GodwitError {
      GodwitError(
        .configuration, "cannot compute the derived attribute '\(entity).\(attribute.name)' from '\(text)': \(why)",
        remedy: "derive it from a key path, canonical:, uppercase:, lowercase:, @count, @sum or now()")
    }
    let form = try Form(text, cannot: cannot)
    guard let segments = form.segments else {
      guard attribute.type == .date else { throw cannot("expected the type Date, found \(attribute.type.xcodeName)") }
      (path, kind, reachedEntityName) = ([], .now, entity)
      return
    }
    var path: [RelationshipDescription] = []
    var current = entity
    var last: AttributeDescription?
    for (index, segment) in segments.enumerated() {
      if let relationship = model.relationship(segment, of: current) {
        guard path.last?.isToMany != true else { throw cannot("only the last relationship can be a to-many") }
        guard !relationship.isTransient else { throw cannot("'\(current).\(segment)' is not stored") }
        path.append(relationship)
        current = relationship.destinationEntityName
        continue
      }
      guard let found = model.attribute(segment, of: current) else {
        throw cannot(
          "'\(current)' has no property '\(segment)'"
            + Spelling.suggestion(for: segment, among: model.propertyNames(of: current)))
      }
      guard index == segments.count - 1 else { throw cannot("attribute '\(segment)' has no properties") }
      guard !found.isTransient, found.type != .composite, !found.allowsExternalBinaryDataStorage else {
        throw cannot("'\(current).\(segment)' has no plain column")
      }
      last = found
    }
    let isToMany = path.last?.isToMany == true
    switch form.operation {
    case .count:
      guard isToMany, last == nil else { throw cannot("a count needs a to-many relationship") }
      guard attribute.type.isNumeric else {
        throw cannot("expected a number type, found \(attribute.type.xcodeName)")
      }
      kind = .count
    case .sum:
      guard isToMany, let last else { throw cannot("a sum needs an attribute of a to-many relationship") }
      guard last.type.isNumeric, attribute.type.isNumeric else { throw cannot("a sum needs numbers") }
      kind = .sum(attribute: last)
    case .value(let function):
      guard !isToMany, let last else { throw cannot("expected one attribute, of the object or along to-ones") }
      if function != nil {
        guard last.type == .string, attribute.type == .string else { throw cannot("the function needs a string") }
      } else {
        let fits = last.type == attribute.type || (last.type.isNumeric && attribute.type.isNumeric)
        guard fits else { throw cannot("\(last.type.xcodeName) is no \(attribute.type.xcodeName)") }
      }
      kind = .value(attribute: last, function: function)
    }
    self.path = path
    reachedEntityName = current
  }

  /// The expression taken apart, names not looked up.
  private struct Form {
    enum Operation {
      case count, sum
      case value(Function?)
    }

    /// nil for `now()`.
    var segments: [String]?
    var operation = Operation.value(nil)

    init(_ text: String, cannot: (String) -> GodwitError) throws {
      let trimmed = text.filter { $0 != " " && $0 != "\t" && $0 != "\n" }
      if ["now()", "now:()", "now"].contains(trimmed) { return }
      var path = Substring(trimmed)
      if let colon = trimmed.firstIndex(of: ":") {
        let name = trimmed[..<colon]
        let rest = trimmed[trimmed.index(after: colon)...]
        guard rest.hasPrefix("("), rest.hasSuffix(")"), rest.count >= 2 else {
          throw cannot("expected a function of one key path")
        }
        path = rest.dropFirst().dropLast()
        switch name {
        case "count": operation = .count
        case "sum": operation = .sum
        default:
          guard let function = Function(rawValue: String(name)) else { throw cannot("no rule covers '\(name):'") }
          operation = .value(function)
        }
      }
      var parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      if parts.first == "SELF" || parts.first == "self" { parts.removeFirst() }
      if let place = parts.firstIndex(where: { $0.hasPrefix("@") }) {
        guard case .value(nil) = operation else { throw cannot("no rule covers an operator inside a function") }
        switch parts[place] {
        case "@count" where place == parts.count - 1: operation = .count
        case "@sum": operation = .sum
        default: throw cannot("no rule covers '\(parts[place])' there")
        }
        parts.remove(at: place)
      }
      let isName = { (part: String) in
        !part.isEmpty
          && part.unicodeScalars.allSatisfy {
            $0 == "_" || $0.properties.isAlphabetic || $0.properties.numericType != nil
          }
      }
      guard !parts.isEmpty, parts.allSatisfy(isName) else { throw cannot("expected a key path of property names") }
      segments = parts
    }
  }
}
