import Foundation
import GodwitModel

/// Default values and limits, which Xcode keeps as text when an attribute's type is changed.
///
/// Xcode compiles a model even with such values, and none of them is part of the version hash. They are read as Xcode's
/// compiler was observed to read them. A value without an observation is left out. Either way a remark says so.
extension ModelContents {
  func readDefault(of element: MarkupElement, owner: String, into attribute: inout AttributeDescription) {
    let interval = element.attribute("defaultDateTimeInterval")
    let text = element.attribute("defaultValueString")
    if attribute.type == .date, let seconds = interval.flatMap({ Self.number($0.value) }) {
      // Xcode writes the date as text beside it.
      attribute.defaultValue = .date(seconds)
      return
    }
    if let interval, attribute.type == .date || text == nil {
      remark("the default value \(Self.quoted(interval)) is left out", attribute, owner, interval)
    }
    guard let text, !(attribute.type == .date && interval != nil) else { return }
    if let value = Self.value(text.value, type: attribute.type) {
      attribute.defaultValue = value
    } else if let value = Self.replacement(of: text.value, type: attribute.type) {
      attribute.defaultValue = value.value
      remark("the default value \(Self.quoted(text)) is read as \(value.words)", attribute, owner, text)
    } else {
      remark("the default value \(Self.quoted(text)) is left out", attribute, owner, text)
    }
  }

  func readLimits(of element: MarkupElement, owner: String, into attribute: inout AttributeDescription) {
    for (key, isMinimum) in [("minValueString", true), ("maxValueString", false)] {
      guard let text = element.attribute(key) else { continue }
      switch attribute.type {
      case .date where element.attribute(isMinimum ? "minDateTimeInterval" : "maxDateTimeInterval") != nil:
        // The same date as text.
        continue
      case .string:
        guard let length = Self.integer(text.value).flatMap({ Int(exactly: $0) }), length >= 0 else { break }
        if isMinimum { attribute.minimumLength = length } else { attribute.maximumLength = length }
        continue
      case let type where type.isInteger:
        guard let limit = Self.integer(text.value) else { break }
        if isMinimum { attribute.minimumValue = .integer(limit) } else { attribute.maximumValue = .integer(limit) }
        continue
      case let type where type.isNumeric:
        guard let limit = Self.value(text.value, type: type) else { break }
        if isMinimum { attribute.minimumValue = limit } else { attribute.maximumValue = limit }
        continue
      default: break
      }
      remark("the \(isMinimum ? "minimum" : "maximum") \(Self.quoted(text)) is left out", attribute, owner, text)
    }
    for (key, isMinimum) in [("minDateTimeInterval", true), ("maxDateTimeInterval", false)] {
      guard let text = element.attribute(key) else { continue }
      guard attribute.type == .date, let seconds = Self.number(text.value) else {
        remark("the \(isMinimum ? "earliest" : "latest") date \(Self.quoted(text)) is left out", attribute, owner, text)
        continue
      }
      if isMinimum { attribute.minimumValue = .date(seconds) } else { attribute.maximumValue = .date(seconds) }
    }
  }

  /// Records a regular expression that does not compile, unless no run validates values by it.
  func checkPattern(of attribute: AttributeDescription, _ owner: String, _ element: MarkupElement) {
    guard let pattern = attribute.regularExpression, !attribute.isTransient, !attribute.isDerived,
      (try? NSRegularExpression(pattern: pattern)) == nil
    else { return }
    let place = element.attribute("regularExpressionString")
    let name = "\(owner).\(attribute.name)"
    remarks.list.append(
      ModelRemark(
        "the regular expression of '\(name)' does not compile",
        location: location(place?.line ?? element.line, place?.column ?? element.column), brokenPattern: name))
  }

  /// Records how a value was read, unless no store holds it.
  private func remark(
    _ done: String, _ attribute: AttributeDescription, _ owner: String, _ place: MarkupElement.Attribute
  ) {
    guard !attribute.isTransient else { return }
    remarks.list.append(
      ModelRemark(
        "\(done): '\(owner).\(attribute.name)' has the type \(attribute.type.xcodeName)",
        location: location(place.line, place.column)))
  }

  private static func quoted(_ attribute: MarkupElement.Attribute) -> String { "'\(attribute.value.prefix(100))'" }

  // MARK: Values

  /// The value that a text gives; nil when it gives none of this type.
  private static func value(_ text: String, type: AttributeType) -> AttributeValue? {
    switch type {
    case .string: .string(Text(text))
    case .uri: .uri(Text(text))
    case .boolean:
      switch text {
      case "YES", "true", "1": .boolean(true)
      case "NO", "false", "0": .boolean(false)
      default: nil
      }
    case .integer16, .integer32, .integer64:
      integer(text).flatMap { type.integerRange?.contains($0) == true ? .integer($0) : nil }
    case .double, .float: number(text).map { .double($0) }
    case .decimal:
      isNumber(text) ? Decimal(string: text).flatMap { $0.isFinite ? .decimal($0) : nil } : nil
    case .date: number(text).map { .date($0) }
    case .uuid: UUID(uuidString: text).map { .uuid($0) }
    default: nil
    }
  }

  /// The value that stands for a text of another type; nil if the text has no value at all.
  private static func replacement(of text: String, type: AttributeType) -> (value: AttributeValue, words: String)? {
    switch type {
    case .integer16, .integer32, .integer64:
      // Apple's compiler made 0 of NO and of YES: it reads a number from a text without one.
      if !isNumber(text) { return (.integer(0), "0") }
      guard let whole = number(text).flatMap({ Int64(exactly: $0.rounded(.towardZero)) }),
        type.integerRange?.contains(whole) == true
      else { return nil }
      return (.integer(whole), "\(whole)")
    case .double, .float: return isNumber(text) ? nil : (.double(0), "0")
    case .boolean:
      if let number = number(text) { return (.boolean(number != 0), number != 0 ? "YES" : "NO") }
      switch text.lowercased() {
      case "yes", "true": return (.boolean(true), "YES")
      case "no", "false": return (.boolean(false), "NO")
      default: return nil
      }
    default: return nil
    }
  }

  /// A whole number, also when written with a fraction of zero.
  private static func integer(_ text: String) -> Int64? {
    Int64(text) ?? (isNumber(text) ? Double(text).flatMap { Int64(exactly: $0) } : nil)
  }

  private static func number(_ text: String) -> Double? {
    isNumber(text) ? Double(text).flatMap { $0.isFinite ? $0 : nil } : nil
  }

  /// Whether the text is a decimal number: Swift also reads hexadecimal, `inf` and `nan`, which Xcode never writes.
  private static func isNumber(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) } && Double(text) != nil
  }
}
