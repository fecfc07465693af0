/// The place of an element in one list of a step's program. A place of another list is another type.
@frozen
package struct ProgramNumber<Element>: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
  @usableFromInline package let number: Int

  @inlinable
  package init(_ number: Int) { self.number = number }

  package init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int.self) }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }

  @inlinable
  package static func == (a: Self, b: Self) -> Bool { a.number == b.number }

  @inlinable
  package static func < (a: Self, b: Self) -> Bool { a.number < b.number }

  @inlinable
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }

  package var description: String { String(number) }
}

/// The links of a step: pairs of inverse relationships that its mappings fill.
package enum NumberedLink {}
/// The rules for the order of a step's links.
package enum NumberedOrder {}
/// The rules for the derived attributes of a step.
package enum NumberedDerivation {}

package typealias LinkID = ProgramNumber<NumberedLink>
package typealias OrderID = ProgramNumber<NumberedOrder>
package typealias DerivationID = ProgramNumber<NumberedDerivation>

/// An element of a list that has numbers of its own.
package protocol NumberedInProgram {
  associatedtype Kind
}

extension Array where Element: NumberedInProgram {
  package subscript(id: ProgramNumber<Element.Kind>) -> Element {
    get { self[id.number] }
    set { self[id.number] = newValue }
  }

  /// The numbers of all elements, in order.
  package var ids: [ProgramNumber<Element.Kind>] { indices.map { ProgramNumber($0) } }
  /// The elements with their numbers, in order.
  package var numbered: Zip2Sequence<[ProgramNumber<Element.Kind>], Self> { zip(ids, self) }
  package func has(_ id: ProgramNumber<Element.Kind>) -> Bool { indices.contains(id.number) }
}
