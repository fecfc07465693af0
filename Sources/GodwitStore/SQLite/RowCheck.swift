package import GodwitModel

/// The rules for the values of one row, so that one call of `godwit_row` can test them all.
///
/// A test spelt out in SQL costs more than the copy of the value it guards: `typeof` alone makes a string a value.
package struct RowCheck: Sendable, Hashable {
  /// Storage classes.
  package struct Kinds: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8
    package static let null = Kinds(rawValue: 1)
    package static let integer = Kinds(rawValue: 2)
    package static let real = Kinds(rawValue: 4)
    package static let text = Kinds(rawValue: 8)
    package static let blob = Kinds(rawValue: 16)

    static let all: Kinds = [.null, .integer, .real, .text, .blob]

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ storageClass: AttributeType.StorageClass) {
      self =
        switch storageClass {
        case .integer: .integer
        case .real: .real
        case .text: .text
        case .blob: .blob
        }
    }
  }

  /// The rules for one value.
  package struct Field: Sendable, Hashable {
    package var kinds: Kinds
    /// The range of an integer, and of a real with an integral value.
    package var range: ClosedRange<Int64> = .min ... .max
    /// Whether a real must be a whole number, which the column's affinity then stores as an integer.
    package var isWhole = false
    /// Whether a real of −2⁶³ passes, which the affinity leaves a real: its column gets the integer.
    package var takesLowest = false
    /// Of a blob.
    package var byteCount: Int?
    /// Whether the text `NaN` passes, Core Data's decimal that is not a number.
    package var takesNaN = false
    /// Whether the argument is the result of `typeof`, so that SQLite need not fetch a large value.
    package var isTypeName = false
    /// The place of its row's key among the keys behind the values; nil for a value of the statement's own row.
    package var keyPlace: Int?
    /// The number of the place to report.
    package var site: Int

    /// Whether every value passes.
    package var isVoid: Bool { kinds == .all && range == .min ... .max && byteCount == nil }

    /// A column as a store may hold it.
    package init(reading type: AttributeType, site: Int) {
      kinds = type.facts.storageClasses.reduce(into: .null) { $0.insert(Kinds($1)) }
      byteCount = type.facts.byteCount
      takesNaN = type == .decimal
      self.site = site
    }

    /// A computed value on its way into a column of the type; nil where it is not stored as it comes.
    package init?(storing type: AttributeType, site: Int) {
      self.init(reading: type, site: site)
      takesNaN = false
      switch type {
      case .integer16, .integer32, .integer64:
        kinds.insert(.real)
        isWhole = true
        if let limits = type.integerRange { range = limits }
      case .boolean: return nil
      default: break
      }
    }
  }

  package var fields: [Field]
  /// How many keys of joined rows follow the values.
  package var keyCount: Int

  package init(fields: [Field], keyCount: Int = 0) { (self.fields, self.keyCount) = (fields, keyCount) }
}

extension RowCheck.Field {
  /// Whether a value that fulfils these rules fulfils those of another field.
  package func implies(_ other: Self) -> Bool {
    kinds.isSubset(of: other.kinds) && other.range.lowerBound <= range.lowerBound
      && range.upperBound <= other.range.upperBound && (other.byteCount == nil || byteCount == other.byteCount)
      && (!kinds.contains(.real) || !other.isWhole || isWhole && (other.takesLowest || !takesLowest))
      && (!takesNaN || other.takesNaN || other.kinds.contains(.text)) && isTypeName == other.isTypeName
  }
}
