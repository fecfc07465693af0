import ArgumentParser
import GodwitModel

/// How exported dates are written.
enum DateForm: String, CaseIterable, ExpressibleByArgument {
  /// ISO 8601 in UTC, with six digits of a second.
  case iso
  /// Seconds since 1970 in UTC.
  case unix
  /// Seconds since 2001 in UTC, as Core Data stores them.
  case coredata

  /// - Parameter seconds: Since 2001.
  /// - Returns: nil for a form with texts, and for a date without a finite number.
  func number(_ seconds: Double) -> Double? {
    switch self {
    case .iso: nil
    case .unix: seconds.isFinite ? seconds + 978_307_200 : nil
    case .coredata: seconds.isFinite ? seconds : nil
    }
  }
}

/// How JSON lines and CSV have related objects.
enum LinkForm: String, CaseIterable, ExpressibleByArgument {
  /// Object URIs.
  case uris
  /// The keys at the end of the URIs. Objects of different entities may share a key.
  case keys
  /// The number of objects of a to-many; a to-one as its URI.
  case count
}

/// How JSON lines have transformable values.
enum TransformableForm: String, CaseIterable, ExpressibleByArgument {
  /// A string in each row, as CSV has it: the JSON of an archive, or base64. Readers that give a column one type take it.
  case text
  /// The JSON itself: an object, a list, a number or a Boolean; a string for base64.
  case json
}

/// How JSON lines and CSV have binary values.
enum BinaryForm: String, CaseIterable, ExpressibleByArgument {
  /// Base64, whatever the bytes are.
  case base64
  /// JSON, property lists and archives decoded, each with its form; base64 for other bytes.
  case decoded
}

/// The forms of an export that a reader may need.
struct ExportStyle {
  var dates = DateForm.iso
  var links = LinkForm.uris
  var transformables = TransformableForm.text
  var binaries = BinaryForm.base64
  /// The text that CSV has for nil. Another value with this text is quoted.
  var null = ""

  /// A CSV field of a text that is not nil.
  func field(_ text: String) -> String {
    text.isEmpty || text.utf8.elementsEqual(null.utf8)
      ? "\"\(text.replacing(scalar: "\"", with: "\"\""))\"" : ObjectWriter.field(text)
  }
}
