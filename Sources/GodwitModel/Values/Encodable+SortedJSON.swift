package import Foundation

extension Encodable {
  /// The value as JSON with sorted keys: equal values give equal bytes.
  package func sortedJSON(_ form: JSONEncoder.OutputFormatting = []) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = form.union(.sortedKeys)
    return try encoder.encode(self)
  }
}
