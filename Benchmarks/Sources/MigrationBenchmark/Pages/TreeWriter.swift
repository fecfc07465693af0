import Foundation

/// Fills a b-tree of a SQLite database with cells that come in the order of the tree: leaf pages one after the other,
/// interior pages on top of them at the end. It searches, splits and reads no page.
///
/// Source: "Database File Format" of SQLite, section 1.6. Cells must fit in a page without overflow.
final class TreeWriter {
  enum Kind: UInt8 {
    case table = 0x0D
    case index = 0x0A

    var interior: UInt8 { self == .table ? 0x05 : 0x02 }
  }

  /// A finished page: for a table its highest key, for an index the cell that follows it.
  private struct Finished {
    var page: UInt32
    var divider: [UInt8]
    var key: Int64
  }

  private let file: PageFile
  private let kind: Kind
  private let root: UInt32
  private let run: UnsafeMutableRawBufferPointer
  /// The numbers of the pages in `run`, and how many of them are full.
  private var pages: Range<UInt32> = 0..<0
  private var full = 0
  private var cells = 0
  /// Where the content of the page begins.
  private var content = PageFile.pageSize
  private var last: Int64 = 0
  /// In an index, the cell between a full leaf and the next one, until a cell follows.
  private var between: [UInt8] = []
  private var finished: [Finished] = []

  init(_ file: PageFile, _ kind: Kind, root: UInt32) {
    (self.file, self.kind, self.root) = (file, kind, root)
    run = .allocate(byteCount: PageFile.pageSize * PageFile.runLength, alignment: 16)
  }

  deinit { run.deallocate() }

  private var page: UnsafeMutableRawPointer { run.baseAddress! + full * PageFile.pageSize }

  /// Adds a cell.
  ///
  /// - Parameter key: The row's key; of an index it is not read.
  @inline(__always) func append(_ cell: UnsafeRawBufferPointer, key: Int64) {
    if pages.isEmpty { begin() }
    if content - cell.count < 8 + 2 * (cells + 1) || !between.isEmpty {
      if kind == .index, between.isEmpty {
        // It stands in the page above the two leaves.
        between = Array(cell)
        return
      }
      end(between)
      between = []
    }
    content -= cell.count
    (page + content).copyMemory(from: cell.baseAddress!, byteCount: cell.count)
    page.storeBytes(of: UInt16(content).bigEndian, toByteOffset: 8 + 2 * cells, as: UInt16.self)
    cells += 1
    last = key
  }

  private func begin() {
    pages = file.take(PageFile.runLength)
    full = 0
    startPage()
  }

  private func startPage() {
    page.initializeMemory(as: UInt8.self, repeating: 0, count: PageFile.pageSize)
    (cells, content) = (0, PageFile.pageSize)
  }

  private static func writeHead(_ page: UnsafeMutableRawPointer, _ kind: UInt8, cells: Int, content: Int) {
    page.storeBytes(of: kind, as: UInt8.self)
    page.storeBytes(of: UInt16(cells).bigEndian, toByteOffset: 3, as: UInt16.self)
    page.storeBytes(of: UInt16(content).bigEndian, toByteOffset: 5, as: UInt16.self)
  }

  /// Ends a leaf.
  private func end(_ divider: [UInt8]) {
    Self.writeHead(page, kind.rawValue, cells: cells, content: content)
    finished.append(Finished(page: pages.lowerBound + UInt32(full), divider: divider, key: last))
    full += 1
    if full == pages.count {
      writeRun()
      pages = 0..<0
      begin()
    } else {
      startPage()
    }
  }

  /// Takes the last cell of a full leaf of an index away.
  private func removeLastCell() -> [UInt8] {
    // Its length is one byte, since keys are short.
    let length = Int(page.load(fromByteOffset: content, as: UInt8.self)) + 1
    defer {
      content += length
      cells -= 1
    }
    return Array(UnsafeRawBufferPointer(start: page + content, count: length))
  }

  private func writeRun() {
    file.write(UnsafeRawBufferPointer(rebasing: run[..<(full * PageFile.pageSize)]), at: pages.lowerBound)
  }

  /// Ends the tree: the last leaf, the interior pages, the root.
  func finish() {
    guard !pages.isEmpty else { return }
    if !between.isEmpty {
      let (cell, lastCell) = (between, removeLastCell())
      end(lastCell)
      between = []
      cell.withUnsafeBytes { append($0, key: 0) }
    }
    Self.writeHead(page, kind.rawValue, cells: cells, content: content)
    guard !finished.isEmpty else {
      file.write(UnsafeRawBufferPointer(start: page, count: PageFile.pageSize), at: root)
      return file.giveBack(pages)
    }
    finished.append(Finished(page: pages.lowerBound + UInt32(full), divider: [], key: last))
    full += 1
    writeRun()
    file.giveBack(pages.lowerBound + UInt32(full)..<pages.upperBound)
    var level = finished
    while true {
      let above = interior(level)
      if above.isEmpty { return }
      level = above
    }
  }

  /// The pages above others. The last ones go into the root.
  ///
  /// - Returns: An empty list when the root is written.
  private func interior(_ level: [Finished]) -> [Finished] {
    var groups: [[Finished]] = [[]]
    var used = 12
    for child in level {
      let size = 2 + 4 + (kind == .table ? 9 : child.divider.count)
      if used + size > PageFile.pageSize, groups[groups.count - 1].count > 1 {
        groups.append([])
        used = 12
      }
      groups[groups.count - 1].append(child)
      used += size
    }
    // No interior page has only one child.
    if groups.count > 1, groups[groups.count - 1].count == 1 {
      groups[groups.count - 1].insert(groups[groups.count - 2].removeLast(), at: 0)
    }
    var above: [Finished] = []
    for group in groups {
      let number = groups.count == 1 ? root : file.take(1).lowerBound
      writeInterior(group, at: number)
      file.setParent(number, of: group.map(\.page))
      above.append(Finished(page: number, divider: group.last?.divider ?? [], key: group.last?.key ?? 0))
    }
    return groups.count == 1 ? [] : above
  }

  private func writeInterior(_ group: [Finished], at number: UInt32) {
    let page = run.baseAddress!
    page.initializeMemory(as: UInt8.self, repeating: 0, count: PageFile.pageSize)
    var content = PageFile.pageSize
    for (place, child) in group.dropLast().enumerated() {
      var cell = [UInt8](repeating: 0, count: 4)
      cell.put(child.page, at: 0)
      if kind == .table { cell.appendVarint(UInt64(bitPattern: child.key)) } else { cell += child.divider }
      content -= cell.count
      cell.withUnsafeBytes { (page + content).copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
      page.storeBytes(of: UInt16(content).bigEndian, toByteOffset: 12 + 2 * place, as: UInt16.self)
    }
    Self.writeHead(page, kind.interior, cells: group.count - 1, content: content)
    page.storeBytes(of: (group.last?.page ?? 0).bigEndian, toByteOffset: 8, as: UInt32.self)
    file.write(UnsafeRawBufferPointer(start: page, count: PageFile.pageSize), at: number)
  }
}

extension [UInt8] {
  mutating func appendVarint(_ number: UInt64) {
    var bytes = [UInt8](repeating: 0, count: 9)
    let count = bytes.withUnsafeMutableBytes { putVarint(number, $0.baseAddress!) }
    append(contentsOf: bytes[..<count])
  }
}

/// Writes a number as SQLite's files have it: seven bits a byte, the highest first.
///
/// - Returns: The bytes written: 1 to 9.
@inline(__always) func putVarint(_ number: UInt64, _ place: UnsafeMutableRawPointer) -> Int {
  if number < 0x80 {
    place.storeBytes(of: UInt8(number), as: UInt8.self)
    return 1
  }
  if number >> 56 != 0 {
    place.storeBytes(of: UInt8(truncatingIfNeeded: number), toByteOffset: 8, as: UInt8.self)
    for byte in 0..<8 {
      let bits = number >> UInt64(8 + 7 * (7 - byte))
      place.storeBytes(of: UInt8(truncatingIfNeeded: bits) | 0x80, toByteOffset: byte, as: UInt8.self)
    }
    return 9
  }
  let count = (64 - number.leadingZeroBitCount + 6) / 7
  for byte in 0..<count {
    let bits = UInt8(truncatingIfNeeded: number >> UInt64(7 * (count - 1 - byte))) & 0x7F
    place.storeBytes(of: byte == count - 1 ? bits : bits | 0x80, toByteOffset: byte, as: UInt8.self)
  }
  return count
}
