import Foundation
import GodwitModel
import GodwitStore

/// Writes a large value as text, a piece at a time.
struct LargeText {
  /// The text before and after base64.
  typealias Frame = (before: String, after: String)

  let bytes: StoredBytes
  let isText: Bool

  /// - Parameters:
  ///   - data: Around the base64 of bytes.
  ///   - invalid: Around the base64 of a text that is not UTF-8.
  func write(
    as format: ExportFormat, data: Frame, invalid: Frame, to add: (String) throws -> Void
  ) throws {
    guard isText else { return try writeBase64(in: data, to: add) }
    var needsQuotes = format != .csv
    var last: UInt8?
    let isValid = try bytes.forEachText { piece in
      let beginsWithSpace = last == nil && piece.utf8.first == UInt8(ascii: " ")
      needsQuotes = needsQuotes || beginsWithSpace || ObjectWriter.needsQuotes(piece)
      last = piece.utf8.last ?? last
    }
    guard isValid else { return try writeBase64(in: invalid, to: add) }
    let quote = needsQuotes || last == UInt8(ascii: " ") ? "\"" : ""
    try add(quote)
    _ = try bytes.forEachText { piece in
      try add(format == .csv ? piece.replacing(scalar: "\"", with: "\"\"") : JSONString.escaped(piece))
    }
    try add(quote)
  }

  private func writeBase64(in frame: Frame, to add: (String) throws -> Void) throws {
    try add(frame.before)
    try bytes.forEachPiece { try add(Data($0).base64EncodedString()) }
    try add(frame.after)
  }
}
