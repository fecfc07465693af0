import Foundation
import GodwitModel

/// Makes the values of one attribute: of its type, within its limits, unique where a constraint wants it.
struct SynthesisValues: Sendable {
  let attribute: AttributeDescription
  private let noise: SynthesisNoise
  private let isUnique: Bool
  private let isNasty: Bool
  /// The objects of the table.
  private let total: Int
  private let isAlwaysNull: Bool
  private let pattern: RegularExpressionSample?
  private let usesDefault: Bool

  /// - Parameter path: `Entity.attribute`, for messages.
  /// - Throws: `.usage` naming the attribute when a required one cannot be satisfied.
  init(
    _ attribute: AttributeDescription, path: String, noise: SynthesisNoise, isUnique: Bool, isNasty: Bool, total: Int
  ) throws {
    self.attribute = attribute
    self.noise = noise
    self.isUnique = isUnique
    self.isNasty = isNasty
    self.total = total
    pattern = attribute.regularExpression.map { RegularExpressionSample($0) }
    let problem = Self.problem(attribute, pattern, noise, isUnique: isUnique, total: total)
    // Core Data computes derived values itself.
    isAlwaysNull = attribute.isOptional && (problem != nil || attribute.isDerived)
    usesDefault = !isUnique && !attribute.defaultValue.isNull && Self.fits(attribute.defaultValue, attribute)
    if let problem, !attribute.isOptional {
      throw GodwitError(
        .usage, "cannot make values for attribute '\(path)': \(problem)",
        remedy: "make the attribute optional, or relax its limits")
    }
  }

  /// The value of the object at a position of its table.
  func value(_ position: Int) -> AttributeValue {
    let bits = noise[position]
    if isAlwaysNull { return .null }
    if attribute.isOptional, !isUnique || isNasty, bits % (isNasty ? 3 : 10) == 0 { return .null }
    if usesDefault, (bits >> 8) % 8 == 0 { return attribute.defaultValue }
    return made(position, SynthesisNoise.next(bits))
  }

  // MARK: Rules that can be satisfied

  private static func problem(
    _ attribute: AttributeDescription, _ pattern: RegularExpressionSample?, _ noise: SynthesisNoise, isUnique: Bool,
    total: Int
  ) -> String? {
    switch attribute.type {
    case .integer16, .integer32, .integer64:
      let range = integers(attribute)
      guard range.lowerBound <= range.upperBound else { return "expected a minimum below the maximum, found none" }
      let (width, overflow) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
      if isUnique, !overflow, width < Int64(total) - 1 {
        return "expected room for \(total) unique values, found \(width + 1)"
      }
    case .boolean:
      if isUnique, total > 2 { return "expected room for \(total) unique values, found 2" }
    case .double, .float, .decimal, .date:
      let (low, high) = reals(attribute)
      guard low <= high else { return "expected a minimum below the maximum, found none" }
      let capacity = attribute.type == .float ? 16_777_216.0 : 9_007_199_254_740_992
      if isUnique, min(high - low + 1, capacity) < Double(total) {
        return "expected room for \(total) unique values, found too few"
      }
    case .string:
      let lengths = Self.lengths(attribute)
      guard lengths.lowerBound <= lengths.upperBound else {
        return "expected a length that its limits allow, found none"
      }
      if let pattern {
        if isUnique { return "expected no regular expression beside a uniqueness constraint, found one" }
        if pattern.text(noise[0], lengths: lengths.lowerBound...lengths.upperBound) == nil {
          return "expected a simple regular expression, found one that cannot be satisfied simply"
        }
      }
      if isUnique, lengths.upperBound < 13, pow(36, Double(max(0, lengths.upperBound))) < Double(total) {
        return "expected room for \(total) unique values, found too few"
      }
    default: break
    }
    return nil
  }

  /// Whether the model's own default keeps the model's own limits.
  private static func fits(_ value: AttributeValue, _ attribute: AttributeDescription) -> Bool {
    switch value {
    case .integer(let number):
      attribute.type.isInteger ? contains(integers(attribute), number) : attribute.type.isNumeric
    case .double(let number), .date(let number):
      number.isFinite && reals(attribute).lowerBound <= number && number <= reals(attribute).upperBound
    case .decimal(let number): fits(.double(Double(number.description) ?? .nan), attribute)
    case .string(let text):
      attribute.type == .string && attribute.regularExpression == nil
        && contains(lengths(attribute), text.string.utf16.count)
    case .null: false
    default: true
    }
  }

  private static func contains<T: Comparable>(_ range: (lowerBound: T, upperBound: T), _ value: T) -> Bool {
    range.lowerBound <= value && value <= range.upperBound
  }

  // MARK: Limits

  private static func integers(_ attribute: AttributeDescription) -> (lowerBound: Int64, upperBound: Int64) {
    let range = attribute.type.integerRange ?? 0...0
    func limit(_ value: AttributeValue?) -> Int64? {
      switch value {
      case .integer(let number): number
      case .double(let number): Int64(exactly: number.rounded())
      case .decimal(let number): Int64(exactly: (Double(number.description) ?? .nan).rounded())
      default: nil
      }
    }
    return (
      max(range.lowerBound, limit(attribute.minimumValue) ?? .min),
      min(range.upperBound, limit(attribute.maximumValue) ?? .max)
    )
  }

  private static func reals(_ attribute: AttributeDescription) -> (lowerBound: Double, upperBound: Double) {
    func limit(_ value: AttributeValue?) -> Double? {
      switch value {
      case .integer(let number): Double(number)
      case .double(let number), .date(let number): number
      case .decimal(let number): Double(number.description)
      default: nil
      }
    }
    let widest = attribute.type == .float ? Double(Float.greatestFiniteMagnitude) : Double.greatestFiniteMagnitude
    return (limit(attribute.minimumValue) ?? -widest, limit(attribute.maximumValue) ?? widest)
  }

  private static func lengths(_ attribute: AttributeDescription) -> (lowerBound: Int, upperBound: Int) {
    (max(0, attribute.minimumLength ?? 0), attribute.maximumLength ?? Int.max)
  }

  // MARK: Values

  private func made(_ position: Int, _ bits: UInt64) -> AttributeValue {
    switch attribute.type {
    case .integer16, .integer32, .integer64: integer(position, bits)
    case .boolean: .boolean(isUnique ? position % 2 == 1 : bits & 1 == 1)
    case .double, .float, .date: real(position, bits)
    case .decimal: decimal(position, bits)
    case .string: .string(Text(string(position, bits)))
    case .uri:
      .uri(Text("https://example.org/" + (isNasty && bits % 4 == 0 ? "%F0%9F%A6%86/?q=" : "") + name(position)))
    case .uuid: .uuid(Self.uuid(bits, position))
    case .binary: .data(data(position, bits))
    case .transformable: .data(Self.archive(of: isNasty ? nastyText(bits) : word(bits), position))
    default: .null
    }
  }

  private func integer(_ position: Int, _ bits: UInt64) -> AttributeValue {
    let (low, high) = Self.integers(attribute)
    if isUnique {
      let start = low < 1 && high > Int64(total) ? 1 : low
      return .integer(start &+ Int64(position))
    }
    let more = SynthesisNoise.next(bits)
    if isNasty {
      let extremes = [low, high, 0, -1, 1, 32_767, -32_768, 2_147_483_648, 9_007_199_254_740_993]
      let choice = extremes[bits.reduced(below: extremes.count)]
      if bits >> 32 & 1 == 0, low <= choice, choice <= high { return .integer(choice) }
      let width = UInt64(bitPattern: high &- low)
      return .integer(low &+ Int64(bitPattern: width == .max ? more : more % (width + 1)))
    }
    let start = low <= 0 && high >= 0 ? 0 : low
    let (room, overflow) = high.subtractingReportingOverflow(start)
    let width = overflow ? 1000 : min(1000, room)
    return .integer(start + Int64(more % UInt64(width + 1)))
  }

  private func real(_ position: Int, _ bits: UInt64) -> AttributeValue {
    let (low, high) = Self.reals(attribute)
    let more = SynthesisNoise.next(bits)
    var number: Double
    if isUnique {
      number = (low <= 0 && high >= Double(total) ? 0 : low) + Double(position)
    } else if attribute.type == .date {
      // Whole seconds are stored as integers.
      let isWhole = bits % 3 == 0
      let nasty = [0, -63_114_076_800, 63_113_904_000, -978_307_200, -0.5, 1_000_000_000.000_001, 0.1]
      number =
        isNasty && bits >> 16 & 3 == 0
        ? nasty[more.reduced(below: nasty.count)]
        : Double(more % 800_000_000) + (isWhole ? 0 : Double(more >> 40 & 1023) / 1024)
    } else {
      let nasty: [Double] =
        attribute.type == .float
        ? [
          Double(Float.greatestFiniteMagnitude), -Double(Float.greatestFiniteMagnitude), 1.401298464324817e-45, -1, 0.5,
        ]
        : [.greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1, 9_007_199_254_740_992, -1]
      number =
        isNasty && bits & 1 == 0
        ? nasty[more.reduced(below: nasty.count)] : Double(Int64(more % 128_000) - 64_000) / 64
    }
    number = min(max(number, low), high)
    if attribute.type == .float, !isUnique {
      let single = Double(Float(number))
      if low <= single, single <= high { number = single }
    }
    return attribute.type == .date ? .date(number) : .double(number)
  }

  private func decimal(_ position: Int, _ bits: UInt64) -> AttributeValue {
    let (low, high) = Self.reals(attribute)
    if isUnique {
      let start = low <= 0 && high >= Double(total) ? 0 : low
      return .decimal(Decimal(string: (start + Double(position)).description) ?? 0)
    }
    let more = SynthesisNoise.next(bits)
    let nasty = ["10.11", "0.1", "999999999999999", "-999999999999999", "0.000001", "1e30", "-0.01"]
    let text =
      isNasty && bits & 1 == 0
      ? nasty[more.reduced(below: nasty.count)] : "\(Int64(more % 20_000_000) - 10_000_000)e-2"
    let number = Decimal(string: text) ?? 0
    let double = Double(number.description) ?? 0
    if double < low { return .decimal(Decimal(string: low.description) ?? 0) }
    if double > high { return .decimal(Decimal(string: high.description) ?? 0) }
    return .decimal(number)
  }

  /// The position in 36 digits; two positions never give the same text.
  private func name(_ position: Int) -> String { String(position, radix: 36) }

  private static let words = [
    "Anna", "Bob", "Åsa", "李雷", "Zoë", "Aurora Boulevard 5", "blue", "green", "north", "south", "draft", "Café",
    "O'Brien", "final", "naïve", "Über", "lorem ipsum dolor sit amet", "x",
  ]

  private func word(_ bits: UInt64) -> String { Self.words[bits.reduced(below: Self.words.count)] }

  private static let nastyTexts = [
    "", "\u{C5}ngstr\u{F6}m", "A\u{30A}ngstro\u{308}m", "👩‍👧‍👦", "🦆🏳️‍🌈", "שלום", "مرحبا بالعالم", "a\u{202E}b\u{202C}",
    "\u{FEFF}bom",
    "line\nbreak\r\n", "tab\tquote\"comma,semi;", "'; DROP TABLE ZFOO; --", "\u{2028}\u{2029}", "İıSsßẞ", "\u{10FFFF}",
    "NULL", "0", " lead and trail ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "e\u{301}\u{302}\u{303}\u{304}", "%_\\", "Z\u{200B}\u{200D}", "ﬀ",
    "한국어", "\u{1}\u{7F}",
  ]

  private func nastyText(_ bits: UInt64) -> String {
    let text = Self.nastyTexts[bits.reduced(below: Self.nastyTexts.count)]
    return bits >> 40 & 127 == 0 ? String(repeating: text + "☃", count: 2000) : text
  }

  private func string(_ position: Int, _ bits: UInt64) -> String {
    let (low, high) = Self.lengths(attribute)
    let more = SynthesisNoise.next(bits)
    if let pattern {
      // A pattern that could be satisfied once can be satisfied again with the same value.
      let lengths = low...max(low, high)
      return pattern.text(more, lengths: lengths) ?? pattern.text(noise[0], lengths: lengths) ?? ""
    }
    if isUnique {
      let digits = name(position)
      let lead = isNasty ? nastyText(more) : word(more)
      // A separator that no digit is, so that a lead never makes two texts equal.
      let text = lead + "·" + digits
      if text.utf16.count >= low, text.utf16.count <= high { return text }
      return String(repeating: "0", count: max(0, min(high, max(low, 13)) - digits.utf16.count)) + digits
    }
    let text = isNasty ? nastyText(more) : bits % 3 == 0 ? word(bits >> 8) + " " + word(more) : word(more)
    let length = text.utf16.count
    if length >= low, length <= high { return text }
    if length < low { return text + String(repeating: "~", count: low - length) }
    var cut = ""
    for scalar in text.unicodeScalars {
      guard cut.utf16.count + UTF16.width(scalar) <= high else { break }
      cut.unicodeScalars.append(scalar)
    }
    return cut.utf16.count < low ? cut + String(repeating: "~", count: low - cut.utf16.count) : cut
  }

  /// A UUID in the form of version 4, with the position in its last bytes.
  static func uuid(_ bits: UInt64, _ position: Int) -> UUID {
    let low = UInt64(bitPattern: Int64(position)) & 0xFFFF_FFFF_FFFF | (SynthesisNoise.next(bits) & 0x3FFF) << 48
    var bytes: [UInt8] = []
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: low >> shift)) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  private func data(_ position: Int, _ bits: UInt64) -> [UInt8] {
    var count = bits.reduced(below: 49)
    // A few large ones whatever the number of rows, so that a store does not become gigabytes.
    if isNasty, position % max(97, total / 16) == 5 { count = SynthesisNoise.next(bits).reduced(below: (1 << 20) + 1) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    if isUnique {
      for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: position >> shift)) }
    }
    let missing = max(0, count - bytes.count)
    var state = bits
    var noise: [UInt64] = []
    for _ in 0..<(missing + 7) / 8 {
      state = SynthesisNoise.next(state)
      noise.append(state.littleEndian)
    }
    noise.withUnsafeBytes { bytes += $0.prefix(missing) }
    return bytes
  }

  /// A keyed archive of a string, as a value transformer would store one.
  private static func archive(of text: String, _ position: Int) -> [UInt8] {
    KeyedArchive.list([.string("$null"), .string("\(text) \(position)")], top: ["root": .uid(1)]).binaryPropertyList
  }
}
