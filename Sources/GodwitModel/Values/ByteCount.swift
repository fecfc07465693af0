/// A number of bytes, so that the unit is a type.
public struct ByteCount: Sendable, Hashable, Comparable {
  /// The number of bytes.
  package var bytes: Int64
  /// A number of bytes.
  package init(bytes: Int64) { self.bytes = bytes }
  /// A number of KiB: 1024 bytes each.
  package static func kibibytes(_ n: Int64) -> Self { Self(bytes: n << 10) }
  /// A number of MiB: 1024 KiB each.
  public static func mebibytes(_ n: Int64) -> Self { Self(bytes: n << 20) }
  /// A number of GiB: 1024 MiB each.
  package static func gibibytes(_ n: Int64) -> Self { Self(bytes: n << 30) }
  /// Whether the first is fewer bytes.
  public static func < (a: Self, b: Self) -> Bool { a.bytes < b.bytes }

  /// Reads `64 MiB`, `1 GiB`, `512 KiB`, `100 MB`, `4096` (bytes); nil if the text is not a size, or is too large.
  package init?(_ text: String) {
    let units: [String: Int64] = [
      "": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
      "kb": 1000, "mb": 1_000_000, "gb": 1_000_000_000, "tb": 1_000_000_000_000,
      "k": 1 << 10, "m": 1 << 20, "g": 1 << 30,
    ]
    let trimmed = text.split(separator: " ").joined(separator: " ")
    let digits = trimmed.prefix { $0.isASCII && $0.isNumber }
    let unit = trimmed.dropFirst(digits.count).drop { $0 == " " }.lowercased()
    guard let number = Int64(digits), let factor = units[unit] else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: factor)
    guard !overflow else { return nil }
    bytes = product
  }
}

extension ByteCount: CustomStringConvertible {
  /// Binary units, rounded to the nearest: `58 MiB`.
  public var description: String {
    let names = ["B", "KiB", "MiB", "GiB", "TiB"]
    var value = Double(bytes)
    var unit = 0
    while value.magnitude >= 1024, unit < names.count - 1 {
      value /= 1024
      unit += 1
    }
    let rounded =
      unit >= 3 && value < 100 ? (value * 10).rounded() / 10 : value.rounded()
    let text = rounded == rounded.rounded() ? String(Int64(rounded)) : String(rounded)
    return "\(text) \(names[unit])"
  }
}
