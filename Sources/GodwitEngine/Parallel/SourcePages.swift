import Foundation
import GodwitJob
import GodwitStore

/// Rows of source objects that a mapping with a policy takes.
struct SourcePage {
  /// The key that it was read from.
  var first: Int64
  /// Row by row: the columns of the source's table, then the values that the mapping gives the object, in the order of
  /// `MappedRow.places`, then the keys of links that are written with the object.
  var values = PackedRows()
  var keys: [Int64] = []
  /// The first key of the next page; nil for the last page.
  var next: Int64?
  var bytes: Int { values.byteCount }
}

/// The query that reads the pages of a chunk, by ascending keys.
struct SourcePageQuery {
  let statement: ChunkStatement
  let keyColumns: [String]
  /// How many columns the source's table has, and which is the key.
  let width, keyPlace: Int
  /// nil where the mapping's values are not read.
  let mapped: MappedRow?
  /// A page of large rows is a short one.
  let limitBytes: Int
  let limitRows = EngineTuning.current.pages.rowsPerPage
  /// How many values a row of a page has, and which of them are the mapping's and the keys of links.
  var valuesPerRow: Int { width + mappedCount + keyColumns.count }
  var mappedCount: Int { mapped?.places.count ?? 0 }

  func page(_ prepared: SQLStatement, from first: Int64, through last: Int64) throws -> SourcePage {
    var page = SourcePage(first: first)
    try prepared.bind(statement.builder.arguments(from: first, through: last))
    defer { prepared.reset() }
    let columns = 0..<valuesPerRow
    while try prepared.step() {
      let start = page.values.count
      page.values.append(prepared.row, columns)
      guard case .integer(let key) = page.values.value(start + keyPlace) else {
        page.values.removeLast(from: start)
        continue
      }
      page.keys.append(key)
      if page.keys.count == limitRows || page.bytes >= limitBytes {
        page.next = key < .max ? key + 1 : nil
        return page
      }
    }
    return page
  }
}

/// Reads the pages of a policy's chunk on a second core, while the policy works on the ones before.
///
/// It reads only the source, and a page does not depend on the thread that reads it. The policy's thread repeats a page
/// that fails, and reports the error at its row or reads fewer columns.
final class SourcePagePrefetcher {
  /// Pages that wait, of usual rows: large rows may make one page of several times the bytes, which waits alone.
  private static let limitPages = 4

  let query: SourcePageQuery
  /// The generation of the shortcuts that the query was made for.
  let generation: Int
  private let worker: PrefetchWorker<SourcePage>
  /// The number of pages requested.
  private var taken = 0

  init(
    _ query: SourcePageQuery, generation: Int, from first: Int64, through last: Int64, reader: StoreConnection,
    functions: SQLFunctions
  ) {
    (self.query, self.generation) = (query, generation)
    worker = PrefetchWorker(reader, lead: 1, room: query.limitBytes * Self.limitPages) { $0.bytes }
    worker.start { worker in
      let statement = try reader.prepare(query.statement.sql)
      defer { statement.finalize() }
      var next: Int64? = first
      worker.computeItems { _ in
        guard let key = next, key <= last else { throw PrefetchWorker<SourcePage>.End() }
        let page = try? functions.running(query.statement, context: "") {
          try query.page(statement, from: key, through: last)
        }
        // The start of the pages after a failed one is unknown.
        guard let page else { throw PrefetchWorker<SourcePage>.End() }
        next = page.next
        return page
      }
    }
  }

  /// The page from a key on; nil at the end or after a failure. Pages are requested in order.
  func page(from key: Int64) -> SourcePage? {
    guard let page = worker.take(taken, waiting: .untilEnd), page.first == key else { return nil }
    taken += 1
    EngineTuning.current.pages.onPage?()
    return page
  }

  /// Ends the thread and waits for it.
  func stop() { worker.stop() }
}
