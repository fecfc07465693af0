/// A set of Unicode scalars, which an expression makes with a class method of `NSCharacterSet`.
struct CharacterClass: Sendable {
  let contains: @Sendable (Unicode.Scalar) -> Bool

  static let className = "NSCharacterSet"
  static let listing = "characterSetWithCharactersInString:"
  static let inversion = "invertedSet"

  /// The named sets by their selectors, as Core Foundation defines them.
  private static let named: [String: @Sendable (Unicode.Scalar) -> Bool] = [
    "whitespaceCharacterSet": isSpace, "newlineCharacterSet": isLineEnd,
    "whitespaceAndNewlineCharacterSet": { isSpace($0) || isLineEnd($0) },
    "decimalDigitCharacterSet": { $0.properties.generalCategory == .decimalNumber },
    "letterCharacterSet": { isLetter($0) }, "alphanumericCharacterSet": { isLetter($0) || isNumber($0) },
    "lowercaseLetterCharacterSet": { $0.properties.generalCategory == .lowercaseLetter },
    "uppercaseLetterCharacterSet": { [.uppercaseLetter, .titlecaseLetter].contains($0.properties.generalCategory) },
    "punctuationCharacterSet": isPunctuation, "symbolCharacterSet": isSymbol,
    "controlCharacterSet": { [.control, .format].contains($0.properties.generalCategory) },
  ]

  static let selectors = named.keys.sorted() + [listing]

  /// The set that an expression makes; nil when it makes none.
  init?(_ expression: ValueExpression) {
    guard case .call(let receiver, let selector, let arguments) = expression.node else { return nil }
    if selector == Self.inversion, arguments.isEmpty, let set = CharacterClass(receiver) {
      contains = { !set.contains($0) }
    } else if receiver.className == Self.className {
      if let set = Self.named[selector], arguments.isEmpty {
        contains = set
      } else if selector == Self.listing, arguments.count == 1, case .constant(.string(let text)) = arguments[0].node {
        let listed = Set(text.string.unicodeScalars)
        contains = { listed.contains($0) }
      } else {
        return nil
      }
    } else {
      return nil
    }
  }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x20, 0xA0, 0x1680, 0x2000...0x200B, 0x202F, 0x205F, 0x3000: true
    default: false
    }
  }

  private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
    default: false
    }
  }

  private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark, .enclosingMark:
      true
    default: false
    }
  }

  private static func isNumber(_ scalar: Unicode.Scalar) -> Bool {
    [.decimalNumber, .letterNumber, .otherNumber].contains(scalar.properties.generalCategory)
  }

  private static func isPunctuation(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
      .finalPunctuation, .otherPunctuation:
      true
    default: false
    }
  }

  private static func isSymbol(_ scalar: Unicode.Scalar) -> Bool {
    [.mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol].contains(scalar.properties.generalCategory)
  }
}

extension ValueExpression {
  /// The class that `CAST("NSUUID", "Class")` names, also after `alloc`; nil for any other expression.
  package var className: String? {
    switch node {
    case .cast(let name, type: "Class"):
      if case .constant(.string(let text)) = name.node { text.string } else { nil }
    case .function(let name, let arguments) where name == "castObject:toType:" && arguments.count == 2:
      if case .constant(.string(let text)) = arguments[0].node, arguments[1].node == .constant(.string("Class")) {
        text.string
      } else {
        nil
      }
    case .call(let receiver, "alloc", let arguments) where arguments.isEmpty: receiver.className
    default: nil
    }
  }
}
