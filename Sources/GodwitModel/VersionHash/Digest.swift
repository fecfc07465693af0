package import Foundation

/// SHA-256 as 64 hex digits, for noticing that something changed.
package enum Digest {
  /// The first half of the sum of a text as an identifier: the same text gives the same one.
  package static func uuid(of text: String) -> UUID {
    let bytes = Array(SHA256.hash(data: Array(text.utf8)).prefix(16))
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  package static func hex(_ text: String) -> String { SHA256.hash(data: Array(text.utf8)).hex }
}
