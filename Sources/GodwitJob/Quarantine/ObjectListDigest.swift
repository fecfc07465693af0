import GodwitModel

/// A digest of the names of many objects in order, without all of them in memory.
package struct ObjectListDigest {
  private var digest = ""
  private var batch = ""

  package init() {}

  package mutating func add(_ entity: String, _ key: Int64) {
    batch += "\(entity) \(key)\n"
    if batch.utf8.count > 1 << 16 { flush() }
  }

  private mutating func flush() {
    digest = Digest.hex(digest + batch)
    batch = ""
  }

  /// The digest. Call it once.
  package mutating func finish() -> String {
    flush()
    return digest
  }
}
