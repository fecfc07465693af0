import Foundation

extension Text {
  /// The 36 characters of a UUID, with capitals.
  init(_ uuid: UUID) {
    utf8 = []
    utf8.reserveCapacity(36)
    func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10 }
    withUnsafeBytes(of: uuid.uuid) { bytes in
      for (place, byte) in bytes.enumerated() {
        if place == 4 || place == 6 || place == 8 || place == 10 { utf8.append(UInt8(ascii: "-")) }
        utf8.append(digit(byte >> 4))
        utf8.append(digit(byte & 15))
      }
    }
  }
}
