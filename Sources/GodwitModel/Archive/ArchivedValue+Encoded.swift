import Foundation

/// Property lists as values.
extension ArchivedValue {
  /// - Returns: nil for a reference, which only an archive has, and for a value that is nested too deep.
  package init?(propertyList: PropertyListValue, depth: Int) {
    guard depth < Self.depthMaximum else { return nil }
    switch propertyList {
    case .string(let text): self = .string(text)
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .boolean(let truth): self = .boolean(truth)
    case .date(let seconds): self = .date(seconds)
    case .data(let bytes): self = .data(bytes)
    case .uid: return nil
    case .array(let members):
      var all: [ArchivedValue] = []
      for member in members {
        guard let one = ArchivedValue(propertyList: member, depth: depth + 1) else { return nil }
        all.append(one)
      }
      self = .array(all)
    case .dictionary(let entries):
      var all: [Text: ArchivedValue] = [:]
      for (key, member) in entries {
        guard let one = ArchivedValue(propertyList: member, depth: depth + 1) else { return nil }
        all[key] = one
      }
      self = .dictionary(all)
    }
  }
}
