import GodwitModel
import GodwitStore

/// The rows of a SQLite file that an export has passed by because their pages are damaged.
final class DamagedRows {
  /// By table, in the order of reading: the keys, as far as they are known.
  private var parts: [(table: String, what: String)] = []

  /// The most parts that a message names.
  private static let named = 200

  func note(_ table: String, _ what: String) { parts.append((table, what)) }

  /// - Parameters:
  ///   - first: nil for the first key of the table.
  ///   - last: nil for the last.
  func note(_ table: String, from first: Int64?, through last: Int64?) {
    switch (first, last) {
    case (let first?, let last?) where first == last: note(table, "key \(first)")
    case (let first?, let last?): note(table, "keys \(first) to \(last)")
    case (let first?, nil): note(table, "keys from \(first) on")
    case (nil, let last?): note(table, "keys up to \(last)")
    case (nil, nil): note(table, "all rows")
    }
  }

  /// nil if every row was read, and the store is sound.
  ///
  /// - Parameter complaint: The finding of SQLite's check; nil for a sound store.
  func error(_ path: String, _ complaint: String?) -> GodwitError? {
    guard !parts.isEmpty || complaint != nil else { return nil }
    let shown = parts.prefix(Self.named).map { "table '\($0.table)': \($0.what)" }.joined(separator: "; ")
    let more = parts.count > Self.named ? "; and \((parts.count - Self.named).counted("further part"))" : ""
    let causes = [parts.isEmpty ? nil : "left out: " + shown + more, complaint]
    return GodwitError(
      .dataWrong, "cannot read all rows of '\(path)': pages of it are damaged",
      cause: causes.compactMap(\.self).joined(separator: "\n"),
      remedy: GodwitError.damageRemedy
        + "; the output has the rows that SQLite reads, and those of a page in the place of another are under a wrong table",
      safe: "the store is untouched")
  }
}

/// Finds the next row of a table that can be read, behind damage.
///
/// SQLite reads only the pages on the way to a key. So keys are tried, further and further away, and then those between:
/// parts of a damaged range are halved, the widest first, until a readable key is found in none of 256.
struct ReadableKeySearch {
  let connection: StoreConnection
  /// As SQL.
  let table, key: String

  private static let tries = 256

  private enum Found {
    case row(Int64)
    case end
    case damaged
  }

  private func look(from first: Int64) throws -> Found {
    do {
      let rows = "\(table) NOT INDEXED WHERE \(key) >= ?1 ORDER BY \(key) LIMIT 1"
      guard let found = try connection.integer("SELECT \(key) FROM \(rows)", [.integer(first)]) else { return .end }
      // A damaged page may give any key.
      return found >= first ? .row(found) : .damaged
    } catch let error as GodwitError where error.isDamage { return .damaged }
  }

  private func isDamaged(_ key: Int64) throws -> Bool { if case .damaged = try look(from: key) { true } else { false } }

  /// The next row, where a walk has failed to read one.
  ///
  /// - Parameter first: The first key that was not read; nil for the first of the table.
  /// - Returns: The last key that is left out, and the key of the next row; nil each where there is none.
  func next(from first: Int64?) throws -> (skipped: Int64?, row: Int64?) {
    let base = first ?? 0
    if first != nil, case .row(let key) = try look(from: base) {
      // The row itself is damaged, behind its key.
      return (key, key == .max ? nil : key + 1)
    }
    var (low, step) = (base, Int64(1))
    if first == nil, try !isDamaged(base) { return try end(at: base) }
    while true {
      let (high, overflow) = base.addingReportingOverflow(step)
      guard !overflow else { return (nil, nil) }
      let isReadable = try !isDamaged(high)
      if let found = try firstReadable(low, high, isReadable: isReadable) { return try end(at: found) }
      low = high
      let (next, isTooFar) = step.multipliedReportingOverflow(by: 2)
      guard !isTooFar else { return (nil, nil) }
      step = next
    }
  }

  private func end(at key: Int64) throws -> (skipped: Int64?, row: Int64?) {
    if case .row(let row) = try look(from: key) { return (row - 1, row) }
    return (nil, nil)
  }

  /// The lowest key between a damaged one and another one at which a row can be read; nil if none is found.
  private func firstReadable(_ low: Int64, _ high: Int64, isReadable: Bool) throws -> Int64? {
    var damaged = [low]
    var best = isReadable ? high : nil
    var ranges = [(low, high)][...]
    for _ in 0..<Self.tries {
      guard let (first, last) = ranges.popFirst() else { break }
      guard last - first > 1, first < best ?? .max else { continue }
      let middle = first + (last - first) / 2
      if try isDamaged(middle) {
        damaged.append(middle)
        ranges += [(first, middle), (middle, last)]
      } else {
        best = min(best ?? .max, middle)
        ranges.append((first, middle))
      }
    }
    guard var best else { return nil }
    var last = damaged.filter { $0 < best }.max() ?? low
    while best - last > 1 {
      let middle = last + (best - last) / 2
      if try isDamaged(middle) { last = middle } else { best = middle }
    }
    return best
  }
}

extension GodwitError {
  /// Whether SQLite finds a page damaged.
  var isDamage: Bool { code == .dataWrong && topic == .database }
}
