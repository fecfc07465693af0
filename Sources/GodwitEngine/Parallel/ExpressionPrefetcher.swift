import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Evaluates the expressions of a chunk on a second core, ahead of the statement that stores their values.
///
/// 1. The keys of the chunk are cut into spans of about as many rows.
/// 2. The second thread evaluates the expressions of later spans and caches the results. It leaves the next span to the
///    statement, so that both threads evaluate when evaluation is most of the work.
/// 3. The statement looks up each value by expression and key, and evaluates a missing one itself. A value depends only
///    on the expression and the object, so either thread may compute it. Only the statement reports errors.
final class ExpressionPrefetcher: KnownValues, @unchecked Sendable {
  private struct Entry {
    var key: Int64
    var number: Int
    var value: SQLValue
  }

  /// Spans that are kept, and bytes that one may take: larger values are evaluated where they are stored.
  private static let limitSpans = 16
  private static let limitBytes = 256 << 10

  private let spans: KeySpans
  /// Whether the second thread evaluates an expression, by its number.
  private let covers: [Bool]
  private let worker: PrefetchWorker<[Entry]>
  /// The span that the statement is in.
  private var here: Int?
  private var entries: [Entry] = []
  private var place = 0
  /// The number of look-ups that found their value.
  private(set) var hits = 0

  /// - Parameters:
  ///   - query: Calls the expressions of the rows between two keys.
  ///   - numbers: The expressions that it calls.
  init(
    query: ChunkStatement, numbers: Set<Int>, keys: ClosedRange<Int64>, rows: Int64, reader: StoreConnection,
    functions: SQLFunctions
  ) {
    spans = KeySpans(keys, rows: rows, rowsPerSpan: EngineTuning.current.expressions.rowsPerSpan)
    covers = (0...(numbers.max() ?? 0)).map(numbers.contains)
    worker = PrefetchWorker(reader, count: spans.count, lead: 2, room: Self.limitSpans)
    worker.start { [spans] worker in
      let statement = try reader.prepare(query.sql)
      defer { statement.finalize() }
      worker.computeItems { try Self.evaluate(query, spans[$0], statement, functions) }
    }
  }

  private static func evaluate(
    _ query: ChunkStatement, _ keys: ClosedRange<Int64>, _ statement: SQLStatement, _ functions: SQLFunctions
  ) throws -> [Entry] {
    var made: [Entry] = []
    var bytes = 0
    var inputs = StatementInputs()
    inputs.recorder = { number, key, value in
      bytes += 48
      switch value {
      case .text(let content), .blob(let content): bytes += content.count
      default: break
      }
      guard bytes <= limitBytes else { throw PrefetchWorker<[Entry]>.End() }
      made.append(Entry(key: key, number: number, value: value))
    }
    do {
      try functions.running(query, context: "", with: inputs) {
        try statement.run(query.builder.arguments(from: keys.lowerBound, through: keys.upperBound))
      }
    } catch {
      // SQLite knows nothing of errors of ours.
      throw bytes > limitBytes ? PrefetchWorker<[Entry]>.End() : error
    }
    return made
  }

  /// The value of an expression for an object, if it was evaluated ahead. Keys ascend.
  func value(_ number: Int, _ key: Int64) -> SQLValue? {
    guard number >= 0, number < covers.count, covers[number], spans.contains(key) else { return nil }
    let span = spans.number(of: key)
    if span != here {
      // A span that is being evaluated is half done, and would be evaluated twice.
      entries = worker.take(span, waiting: .whileRunning) ?? []
      (here, place) = (span, 0)
    }
    while place < entries.count, entries[place].key < key { place += 1 }
    var next = place
    while next < entries.count, entries[next].key == key {
      if entries[next].number == number {
        hits += 1
        return entries[next].value
      }
      next += 1
    }
    return nil
  }

  /// Ends the thread and waits for it.
  func stop() { worker.stop() }

  /// Waits until as much is ready as may be.
  func fill() { worker.fill() }
}

extension CreationStatements {
  /// A query that calls the expressions in Swift that a statement calls for the values of its rows, and their numbers;
  /// nil without any.
  func evaluations(of members: [MappingID], in statement: ChunkStatement) throws -> (ChunkStatement, Set<Int>)? {
    try step.kept.evaluations(.init(mappings: members, builder: ObjectIdentifier(statement.builder))) {
      try lowerEvaluations(of: members, in: statement)
    }
  }

  private func lowerEvaluations(
    of members: [MappingID], in statement: ChunkStatement
  ) throws -> (ChunkStatement, Set<Int>)? {
    guard members.allSatisfy({ mappings[$0].mapping.uniqueBy.isEmpty && mappings[$0].earlier == nil }) else {
      return nil
    }
    let builder = statement.builder
    // This statement walks the rows alone.
    builder.joinedEnds = [:]
    let association = associations(builder)
    let conditions = members.map { association.matches($0, alias: "s").sql }
    var calls: [String] = []
    var numbers: Set<Int> = []
    for (number, evaluation) in builder.functions.evaluations.enumerated() {
      guard case .expression(let expression) = evaluation.work, let property = evaluation.bindings.propertyName,
        let owner = members.firstIndex(where: {
          evaluation.bindings.entityMapping["name"] == .string(Text(mappings[$0].name))
            && evaluation.entityName == mappings[$0].source.name
            && resolved.destinationModel.attribute(property, of: mappings[$0].destination.name) != nil
        }), !expression.asksOthers
      else { continue }
      let call = ExpressionLowering.call(evaluation, number: number, row: "s", schema: sourceSchema)
      calls.append(members.count == 1 ? call : "CASE WHEN \(conditions[owner]) THEN \(call) END")
      numbers.insert(number)
    }
    guard !calls.isEmpty else { return nil }
    let condition = conditions.map { "(\($0))" }.joinedEvenly(by: " OR ")
    let sql =
      "SELECT \(calls.joined(separator: ", ")) FROM \(try association.table(members[0])) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND (\(condition)) ORDER BY s.Z_PK"
    return (ChunkStatement(sql: sql, builder: builder), numbers)
  }
}

extension ValueExpression {
  /// Whether it calls a policy, or fetches objects that one thread should cache for all rows.
  var asksOthers: Bool {
    contains { part in
      switch part.node {
      case .fetch: true
      case .call(let receiver, _, _): [.variable("manager"), .variable("entityPolicy")].contains(receiver.node)
      default: false
      }
    }
  }
}
