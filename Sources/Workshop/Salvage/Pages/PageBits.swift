/// A set of page numbers: one bit for each page of the file.
struct PageBits {
  private var words: [UInt64]

  init(pageCount: UInt32) { words = [UInt64](repeating: 0, count: Int(pageCount) / 64 + 1) }

  func contains(_ page: UInt32) -> Bool {
    let word = Int(page / 64)
    return word < words.count && words[word] >> (page % 64) & 1 == 1
  }

  /// - Returns: Whether the page was not in the set.
  @discardableResult mutating func insert(_ page: UInt32) -> Bool {
    let word = Int(page / 64)
    guard word < words.count else { return false }
    let bit = UInt64(1) << (page % 64)
    defer { words[word] |= bit }
    return words[word] & bit == 0
  }

  mutating func remove(_ page: UInt32) {
    let word = Int(page / 64)
    if word < words.count { words[word] &= ~(UInt64(1) << (page % 64)) }
  }
}
