import Foundation
import GodwitModel

/// The form of values in an XML store.
///
/// | attribute | `type` | text |
/// |---|---|---|
/// | Integer 16, 32, 64 | `int16`, `int32`, `int64` | decimal |
/// | Boolean | `bool` | 0 or 1 |
/// | Decimal, Double, Float | `decimal`, `double`, `float` | decimal, perhaps with an exponent |
/// | Date | `date` | seconds since 2001 with 20 decimals |
/// | String, URI, UUID | `string`, `uri`, `uuid` | the text, with the escapes of `AttributeText` |
/// | Binary, Transformable | `binary`, `transformable` | base64 |
///
/// `int16`, `int32`, `bool`, `date`, `string` and `binary` were seen in real stores; the others follow their pattern.
/// Nil is an attribute left out.
extension AttributeValue {
  /// - Parameter text: Valid UTF-8, without escapes.
  /// - Returns: nil when the text does not fit the attribute's type.
  init?(xmlText text: [UInt8], as attribute: AttributeDescription) {
    var word: String { String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) }
    switch attribute.type {
    case .string: self = .string(Text(utf8: text))
    case .uri: self = .uri(Text(utf8: text))
    case .binary, .transformable:
      guard let bytes = Base64.bytes(of: text) else { return nil }
      self = .data(bytes)
    case .uuid:
      guard let uuid = UUID(uuidString: word) else { return nil }
      self = .uuid(uuid)
    case .boolean:
      guard word == "0" || word == "1" else { return nil }
      self = .boolean(word == "1")
    case .integer16, .integer32, .integer64:
      guard let number = Int64(word), attribute.type.integerRange?.contains(number) == true else { return nil }
      self = .integer(number)
    case .decimal:
      // Foundation's reader takes any beginning of a text that is a number.
      guard word == "NaN" || Self.number(word) != nil, let number = Decimal(string: word) ?? Self.notANumber(word)
      else {
        return nil
      }
      self = .decimal(number)
    case .double, .date, .float:
      guard let number = Self.number(word) else { return nil }
      if attribute.type == .date {
        self = .date(number)
      } else {
        self = .double(attribute.type == .float ? Self.float(word, number) : number)
      }
    default: return nil
    }
  }

  /// The number that a decimal text names. C's reader would take hexadecimal ones too, and infinity for one that is too
  /// large. A store may hold infinity, and says so.
  private static func number(_ word: String) -> Double? {
    guard !word.contains(where: { "xX".contains($0) }), let number = Double(word), !number.isNaN,
      number.isFinite || word.hasSuffix("inf")
    else { return nil }
    return number
  }

  private static func notANumber(_ word: String) -> Decimal? { word == "NaN" ? .nan : nil }

  /// A float's shortest text has at most nine digits and names another double; 17 digits are a double's own.
  private static func float(_ word: String, _ number: Double) -> Double {
    let digits = word.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber).drop { $0 == "0" }
    guard digits.count < 17, let float = Float(word), float.isFinite else { return number }
    return Double(float)
  }

  /// The text of the element; nil for nil.
  ///
  /// - Throws: `XMLText.Unwritable` when the text is not UTF-8.
  func xmlText(as attribute: AttributeDescription) throws(XMLText.Unwritable) -> [UInt8]? {
    switch self {
    case .null: return nil
    case .boolean(let truth): return Array((truth ? "1" : "0").utf8)
    case .integer(let number): return Array(String(number).utf8)
    case .decimal(let number): return Array((number.isNaN ? "NaN" : number.description).utf8)
    case .double(let number): return Array(Self.text(of: number, as: attribute.type).utf8)
    case .date(let seconds):
      let text = String(format: "%.20f", seconds)
      // Twenty decimals are not enough for a number next to zero.
      return Array((Double(text) == seconds ? text : seconds.description).utf8)
    case .string(let text), .uri(let text):
      guard let text = AttributeText.encoded(text.utf8) else { throw .notUTF8 }
      return text
    case .data(let bytes): return Array(Base64.text(of: bytes).utf8)
    case .uuid(let uuid): return Array(uuid.uuidString.utf8)
    }
  }

  /// A double in a Float has all of its 17 digits, zeros at the end too: with fewer it is read as a float.
  private static func text(of number: Double, as type: AttributeType) -> String {
    guard type == .float, number.isFinite else { return number.description }
    let float = Float(number)
    return Double(float) == number ? float.description : String(format: "%#.17g", number)
  }
}
