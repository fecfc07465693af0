/// The place of an element in a list, from 0. A place in a list of another kind is another type.
///
/// The number is coded and printed as a plain integer. Other modules may inline its uses, because a lookup in an array of
/// mappings takes 12 times as long otherwise.
@frozen @usableFromInline
package struct ListNumber<Kind>: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
  @usableFromInline package let number: Int

  @inlinable
  package init(_ number: Int) { self.number = number }

  @usableFromInline
  package init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int.self) }

  @usableFromInline
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

  @usableFromInline
  package var description: String { String(number) }
}

extension ListNumber: CodingKeyRepresentable {
  @usableFromInline
  package var codingKey: any CodingKey { number.codingKey }

  @usableFromInline
  package init?<T: CodingKey>(codingKey: T) {
    guard let number = Int(codingKey: codingKey) else { return nil }
    self.init(number)
  }
}

/// The mappings of a step that make objects, in mapping order.
@usableFromInline
package enum NumberedMapping {}

@usableFromInline
package typealias MappingID = ListNumber<NumberedMapping>

/// An element of a list whose places have a type of their own.
@usableFromInline
package protocol Numbered {
  /// Says which list it is. Lists that run in parallel, with one element for each mapping, have one kind.
  associatedtype NumberKind
}

extension Array where Element: Numbered {
  @inlinable
  package subscript(id: ListNumber<Element.NumberKind>) -> Element {
    get { self[id.number] }
    set { self[id.number] = newValue }
  }

  /// The numbers of all elements, in order.
  package var ids: [ListNumber<Element.NumberKind>] { indices.map { ListNumber($0) } }
  /// The elements with their numbers, in order.
  package var numbered: Zip2Sequence<[ListNumber<Element.NumberKind>], Self> { zip(ids, self) }
  package func has(_ id: ListNumber<Element.NumberKind>) -> Bool { indices.contains(id.number) }
}
