import GodwitModel

/// The pages that the inner pages of a tree name, of a table or an index.
enum TreeReach {
  private static let depthLimit = 40

  /// Whether a tree has a page behind a number. Leaves are not read.
  static func leadsBehind(_ limit: UInt32, from root: UInt32, _ pages: PageFile) throws -> Bool {
    var seen = PageBits(pageCount: pages.pageCount)
    return try leadsBehind(limit, root, depth: 0, pages, &seen)
  }

  private static func leadsBehind(
    _ limit: UInt32, _ number: UInt32, depth: Int, _ pages: PageFile, _ seen: inout PageBits
  ) throws -> Bool {
    guard number <= pages.pageCount else { return false }
    if number > limit { return true }
    guard depth < depthLimit, number > 1, seen.insert(number), let bytes = try pages.page(number) else { return false }
    for child in children(bytes, pages.usableSize) ?? [] {
      if try leadsBehind(limit, child, depth: depth + 1, pages, &seen) { return true }
    }
    return false
  }

  /// The children of an inner page; nil for any other page.
  static func children(_ bytes: [UInt8], _ usableSize: Int) -> [UInt32]? {
    guard bytes[0] == 0x05 || bytes[0] == 0x02 else { return nil }
    let count = Int(bytes.number(at: 3, size: 2))
    guard 12 + 2 * count <= usableSize else { return nil }
    var children: [UInt32] = []
    children.reserveCapacity(count + 1)
    for index in 0..<count {
      let place = Int(bytes.number(at: 12 + 2 * index, size: 2))
      guard place >= 12 + 2 * count, place + 4 <= usableSize else { return nil }
      children.append(UInt32(bytes.number(at: place, size: 4)))
    }
    return children + [UInt32(bytes.number(at: 8, size: 4))]
  }
}
