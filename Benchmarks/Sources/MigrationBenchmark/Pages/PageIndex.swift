import Foundation

/// An index under construction: its entries are collected while rows are made, then sorted and written.
final class PageIndex: @unchecked Sendable {
  /// A number that stands for NULL.
  static let null = Int64.min

  /// The values of an index with one or two columns, and the key of the row.
  struct Entry {
    var first: Int64
    var second: Int64
    var key: Int64
  }

  let root: UInt32
  /// The places of its columns in the table.
  let places: [Int32]
  var entries: [Entry] = []

  init(root: UInt32, places: [Int32]) { (self.root, self.places) = (root, places) }

  /// Sorts the entries and writes the tree.
  func write(to file: PageFile) {
    entries.sort {
      $0.first != $1.first ? $0.first < $1.first : $0.second != $1.second ? $0.second < $1.second : $0.key < $1.key
    }
    let writer = TreeWriter(file, .index, root: root)
    let encoder = RowEncoder()
    defer { encoder.deallocate() }
    for entry in entries { writer.append(encoder.entry(entry, columns: places.count), key: 0) }
    writer.finish()
    entries = []
  }
}
