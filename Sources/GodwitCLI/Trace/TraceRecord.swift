import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// Marks in a document in the place of large values.
final class LargeMarks {
  private let name = UUID().uuidString
  private(set) var values: [ObjectTrace.LargeValue] = []

  /// The beginning of a mark; the value's number and a quote follow.
  var beginning: String { "\"\(name) " }

  func mark(_ value: ObjectTrace.LargeValue) -> AttributeValue {
    values.append(value)
    return AttributeValue("\(name) \(values.count - 1)")
  }
}

/// A trace as JSON.
struct TraceRecord: Encodable {
  struct Object: Encodable {
    let uri, entity: String
    let attributes: [String: TracedValue]
    let relationships: [String: [String]]

    init(_ object: ObjectTrace.Object, _ marks: LargeMarks) {
      (uri, entity, relationships) = (object.uri, object.entityName, object.relationships)
      attributes = object.attributes.merging(object.largeValues.mapValues(marks.mark)) { known, _ in known }
        .mapValues(TracedValue.init)
    }
  }

  struct Association: Encodable {
    let step: Int
    let sourceModel, destinationModel, mapping: String
    /// Left out where the plan of today has no chunk for the object.
    let pass, chunk, chunks: Int?
    let range: String?
    let source: Object
    let merged: [String]
    let destinationURI: String
    let destination: Object?
    let origins: [String: String]

    init(_ found: ObjectTrace.Association, _ marks: LargeMarks) {
      (step, mapping) = (found.step, found.mapping)
      (sourceModel, destinationModel) = (found.sourceModel, found.destinationModel)
      let isKnown = found.chunk > 0
      (pass, chunk, chunks) = isKnown ? (found.pass, found.chunk, found.chunks) : (nil, nil, nil)
      range = isKnown ? found.range : nil
      source = Object(found.source, marks)
      (merged, destinationURI, origins) = (found.merged, found.destinationURI, found.origins)
      destination = found.destination.map { Object($0, marks) }
    }
  }

  struct Gap: Encodable {
    let step: Int
    let uri, message: String
    let reason: ObjectTrace.Gap.Reason
    let mapping: String?
  }

  let side: ObjectTrace.Side
  let object: Object
  let associations: [Association]
  let gaps: [Gap]
  let remarks: [String]

  init(_ trace: ObjectTrace, _ marks: LargeMarks) {
    side = trace.side
    object = Object(trace.object, marks)
    associations = trace.associations.map { Association($0, marks) }
    gaps = trace.gaps.map {
      Gap(step: $0.step, uri: $0.uri, message: $0.message, reason: $0.reason, mapping: $0.mapping)
    }
    remarks = trace.remarks
  }
}

/// The value of an attribute in the forms of `export`.
struct TracedValue: Encodable {
  let value: AttributeValue

  /// A String that is not UTF-8.
  private struct Bytes: Encodable {
    let base64: String

    private enum CodingKeys: String, CodingKey { case base64 = "@base64" }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case .null: try container.encodeNil()
    case .boolean(let truth): try container.encode(truth)
    case .integer(let number): try container.encode(number)
    case .double(let number): try container.encode(number)
    case .string(let text), .uri(let text):
      if let string = String(validating: text.utf8, as: UTF8.self) {
        try container.encode(string)
      } else {
        try container.encode(Bytes(base64: Data(text.utf8).base64EncodedString()))
      }
    case .decimal, .date, .data, .uuid: try container.encode(ObjectWriter.plain(value))
    }
  }

  /// On one line, cut after 60 characters.
  var text: String { Self.cut(whole) }

  /// The same of a value that was left in its store.
  static func text(of large: ObjectTrace.LargeValue, _ bytes: StoredBytes) throws -> String {
    guard large.content.isText else { return "\(large.content.byteCount) bytes" }
    var beginning = ""
    let isText = try bytes.forEachText { if beginning.isEmpty { beginning = String($0.prefix(100)) } }
    return isText ? cut(JSONString.quoted(beginning)) : "\(large.content.byteCount) bytes, not UTF-8"
  }

  private static func cut(_ text: String) -> String {
    text.onOneLine.count > 60 ? text.onOneLine.prefix(59) + "…" : text.onOneLine
  }

  private var whole: String {
    switch value {
    case .null: "nil"
    case .string(let text), .uri(let text):
      String(validating: text.utf8, as: UTF8.self).map(JSONString.quoted) ?? "\(text.utf8.count) bytes, not UTF-8"
    case .data(let bytes): "\(bytes.count) bytes"
    case .boolean, .integer, .double, .decimal, .date, .uuid: ObjectWriter.plain(value)
    }
  }
}
