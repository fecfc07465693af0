import GodwitJob
import GodwitModel

/// The state of policies from chunk to chunk. It lies in the ledger and commits with each of their chunks.
struct PolicyState: Codable, Equatable {
  /// Destination root entity name to the key that the next new object takes.
  var nextKeys: [String: Int64]
  /// Counts associations and assignments, which orders them.
  var sequence: Int64 = 0
  /// Mappings with associations of other source objects than the one that their policy was called for.
  var foreign: Set<MappingID>?
  /// Mappings of which an object may have several source objects, or be none that its policy made.
  var manySources: Set<MappingID>?
  /// Policy to the dense keys it has given.
  var dense: [Int: Int64] = [:]
  /// `nextKeys` before the `begin` of each policy. When `begin` runs again, its objects get the same keys.
  var keysAtBegin: [Int: [String: Int64]] = [:]
  /// Links that are written with their objects; nil before a policy's first chunk.
  var inlineLinks: Set<LinkID>?
  /// Mappings whose associations are computed; nil before a policy's first chunk.
  var computedAssociations: Set<MappingID>?
  /// The last source object that such a mapping has made its object of.
  var computedThrough: [MappingID: Int64] = [:]
  /// The last object whose relationships were left to its mapping, by mapping with such links.
  var leftToMapping: [MappingID: Place] = [:]
  /// A binary property list.
  var userInfo: [UInt8]

  /// An association's place among those of its mapping.
  struct Place: Codable, Equatable {
    var source, sequence: Int64

    private enum CodingKeys: String, CodingKey {
      case source
      case sequence = "turn"
    }
  }

  /// The keys of the ledger's entry, which another version of the program may have written.
  private enum CodingKeys: String, CodingKey {
    case nextKeys, foreign, dense, keysAtBegin, userInfo
    case sequence = "turn"
    case manySources = "several"
    case inlineLinks = "direct"
    case computedAssociations = "plain"
    case computedThrough = "plainThrough"
    case leftToMapping = "left"
  }

  func hasManySources(_ mapping: MappingID) -> Bool { manySources?.contains(mapping) == true }
  func hasForeignSources(_ mapping: MappingID) -> Bool { foreign?.contains(mapping) == true }
}
