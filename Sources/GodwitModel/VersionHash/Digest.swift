import Crypto
import Foundation

/// SHA-256 as 64 hex digits, for noticing that something changed.
package enum Digest {
  package static func hex(_ text: String) -> String {
    SHA256.hash(data: Data(text.utf8)).map { byte in
      let hex = String(byte, radix: 16)
      return hex.count == 1 ? "0" + hex : hex
    }.joined()
  }
}
