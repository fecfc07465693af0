import GodwitModel
import GodwitStore

/// A part of a table that could not be read.
struct LostPart {
  enum Reason: String {
    /// The page is not in the file, or the disk cannot read it.
    case missing
    /// The page is not one of a table.
    case damaged
    /// The page holds other rows than those that belong there.
    case misplaced
    /// Some rows of the page do not decode whole.
    case rows
  }

  /// The page; 0 if its number is unknown.
  let page: UInt32
  let keys: ClosedRange<Int64>
  let reason: Reason
}

/// Walks the tree of a table from its root, and notes where the way ends.
///
/// Each page must hold only keys that its parent allows, and comes once. A page that breaks a rule is left to
/// `OrphanSearch`, which may find that it belongs elsewhere.
struct TableWalk {
  /// The page behind the deepest tree that SQLite makes.
  private static let depthLimit = 40

  let pages: PageFile
  /// The map that says which page is the parent of another; nil if it is not asked.
  var map: PointerMap?
  /// Takes a leaf; false if it holds rows of another table.
  var leaf: (_ leaf: TableLeaf, _ bytes: [UInt8], _ page: UInt32, _ keys: ClosedRange<Int64>) throws -> Bool
  var lost: (LostPart) throws -> Void

  /// - Parameter reached: The pages of trees that were walked; those of this tree are added.
  func walk(from root: UInt32, reached: inout PageBits) throws {
    try walk(root, .min ... .max, depth: 0, &reached)
  }

  private func walk(_ number: UInt32, _ keys: ClosedRange<Int64>, depth: Int, _ reached: inout PageBits) throws {
    guard depth < Self.depthLimit, number > 0, !reached.contains(number), let bytes = try pages.page(number) else {
      return try lost(LostPart(page: number, keys: keys, reason: .missing))
    }
    let start = number == 1 ? 100 : 0
    if let leaf = TableLeaf(bytes, at: start, usableSize: pages.usableSize) {
      // SQLite removes a leaf without rows, unless it is the root.
      guard leaf.isSound, depth == 0 || !leaf.cells.isEmpty else {
        if try leaf.isSound || !self.leaf(leaf, bytes, number, keys) {
          try lost(LostPart(page: number, keys: keys, reason: .damaged))
        } else {
          reached.insert(number)
        }
        return
      }
      guard leaf.cells.allSatisfy({ keys.contains($0.key) }), try self.leaf(leaf, bytes, number, keys) else {
        return try lost(LostPart(page: number, keys: keys, reason: .misplaced))
      }
      reached.insert(number)
      return
    }
    guard let interior = TableInterior(bytes, at: start, usableSize: pages.usableSize) else {
      return try lost(LostPart(page: number, keys: keys, reason: .damaged))
    }
    guard interior.cells.allSatisfy({ keys.contains($0.key) }), try !isElsewhere(interior, number) else {
      return try lost(LostPart(page: number, keys: keys, reason: .misplaced))
    }
    reached.insert(number)
    var first = keys.lowerBound
    for cell in interior.cells {
      try walk(cell.child, first...max(first, cell.key), depth: depth + 1, &reached)
      guard cell.key < keys.upperBound else { return }
      first = cell.key + 1
    }
    try walk(interior.rightChild, first...keys.upperBound, depth: depth + 1, &reached)
  }

  /// Whether the map names one other page as the parent of all children: the page is a copy of that one.
  private func isElsewhere(_ interior: TableInterior, _ number: UInt32) throws -> Bool {
    guard let map, !interior.cells.isEmpty else { return false }
    var parent: UInt32?
    for child in interior.cells.map(\.child) + [interior.rightChild] {
      guard let entry = try map.entry(of: child), entry.use == .tree, entry.parent != number,
        parent == nil || parent == entry.parent
      else { return false }
      parent = entry.parent
    }
    return true
  }
}
