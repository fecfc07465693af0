/// The number of a mapping: its place, from 0, among the mappings of a step that make objects, in mapping order.
///
/// The number is coded and printed as a plain integer. Other modules may inline its uses, because a lookup in an array of
/// mappings takes 12 times as long otherwise.
@usableFromInline
package struct MappingID: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
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
  package static func == (a: MappingID, b: MappingID) -> Bool { a.number == b.number }

  @inlinable
  package static func < (a: MappingID, b: MappingID) -> Bool { a.number < b.number }

  @inlinable
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }

  @usableFromInline
  package var description: String { String(number) }
}

extension MappingID: CodingKeyRepresentable {
  @usableFromInline
  package var codingKey: any CodingKey { number.codingKey }

  @usableFromInline
  package init?<T: CodingKey>(codingKey: T) {
    guard let number = Int(codingKey: codingKey) else { return nil }
    self.init(number)
  }
}

/// An element of an array that has one element for each mapping of a step, in mapping order.
@usableFromInline
package protocol NumberedByMapping {}

extension Array where Element: NumberedByMapping {
  @inlinable
  package subscript(mapping: MappingID) -> Element {
    get { self[mapping.number] }
    set { self[mapping.number] = newValue }
  }

  /// The numbers of the mappings, in mapping order.
  package var mappingIDs: [MappingID] { indices.map { MappingID($0) } }
}
