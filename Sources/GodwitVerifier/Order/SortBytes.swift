import Foundation
import GodwitModel

/// Values as bytes whose order is that of the values: nil before all, numbers by size, texts and UUIDs by their bytes.
enum SortBytes {
  static func of(_ value: AttributeValue) -> [UInt8] {
    switch value {
    case .null: [0]
    case .boolean(let truth): [1, truth ? 1 : 0]
    case .integer(let number): [1] + bytes(Double(number)) + bytes(rest(number))
    case .double(let number), .date(let number): [1] + bytes(number) + bytes(Int64(0))
    case .decimal(let number): number.isNaN ? [0] : [1] + bytes(number.nearestDouble) + bytes(Int64(0))
    case .string(let text), .uri(let text): [1] + ended(Array(text.utf8))
    case .data(let data): [1] + ended(data)
    case .uuid(let uuid): [1] + withUnsafeBytes(of: uuid.uuid, Array.init)
    }
  }

  /// The difference between an integer and its nearest floating point number.
  private static func rest(_ number: Int64) -> Int64 { Int64(Int128(number) - Int128(Double(number))) }

  private static func bytes(_ number: Double) -> [UInt8] {
    // Zero has two signs.
    let bits = (number == 0 ? 0 : number).bitPattern
    let ordered = bits >> 63 == 1 ? ~bits : bits | 1 << 63
    return withUnsafeBytes(of: ordered.bigEndian, Array.init)
  }

  private static func bytes(_ number: Int64) -> [UInt8] {
    withUnsafeBytes(of: (UInt64(bitPattern: number) ^ 1 << 63).bigEndian, Array.init)
  }

  /// Bytes that no longer list begins with.
  private static func ended(_ list: [UInt8]) -> [UInt8] { list.flatMap { $0 == 0 ? [0, 255] : [$0] } + [0, 0] }
}
