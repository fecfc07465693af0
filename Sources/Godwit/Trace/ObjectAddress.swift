import GodwitModel

/// An object's URI, taken apart.
struct ObjectAddress {
  /// nil for `Entity/p1`.
  var storeUUID: String?
  var entityName: String
  var key: Int64
  var text: String

  init(parsing text: String) throws {
    self.text = text
    let scheme = "x-coredata://"
    var parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    if text.hasPrefix(scheme) {
      parts.removeFirst(2)
      storeUUID = parts.isEmpty ? nil : parts.removeFirst()
    }
    guard parts.count == 2, parts[1].hasPrefix("p"), let key = Int64(parts[1].dropFirst()) else {
      throw GodwitError(
        .usage, "cannot trace '\(text)': expected an object's URI",
        remedy: "write x-coredata://STORE/Entity/p1 as `godwit export` prints it, or Entity/p1")
    }
    (entityName, self.key) = (parts[0], key)
  }
}
