/// SHA-256 as 64 hex digits, for noticing that something changed.
package enum Digest {
  package static func hex(_ text: String) -> String { SHA256.hash(data: Array(text.utf8)).hex }
}
