package import GodwitModel

/// Answers the requests of expressions to the source store beyond their object: fetches.
package struct SourceHost: ExpressionHost {
  package let context: ObjectContext
  package let now: Double
  package let fetches: FetchedObjects
  /// Answers calls of the policy; nil if no policy runs.
  package var policyCall: ((ExpressionCall) throws -> EvaluatedValue?)?

  package init(
    context: ObjectContext, now: Double, fetches: FetchedObjects,
    policyCall: ((ExpressionCall) throws -> EvaluatedValue?)? = nil
  ) {
    self.context = context
    self.now = now
    self.fetches = fetches
    self.policyCall = policyCall
  }

  package func call(_ call: ExpressionCall) throws -> EvaluatedValue {
    if call.receiver == .policy, let answer = try policyCall?(call) { return answer }
    throw ExpressionError("FUNCTION '\(call.selector)' yields no value here", range: call.range)
  }

  package func storeIdentifier() throws -> Text { try context.storeIdentifier() }

  package func index(of object: any EvaluatedObject, along name: String?) throws -> Int64? {
    guard let toOne = context.schema.model.indexable(name, of: object.entityName) else { return nil }
    return try context.index(of: object.key, of: object.entityName, along: toOne)
  }

  package func fetch(_ request: SourceFetch, countOnly: Bool) throws -> EvaluatedValue {
    let found = try fetches.result(of: request) { try run(request) }
    if countOnly { return .value(.integer(found.count)) }
    guard found.count <= FetchedObjects.limitObjects else {
      throw GodwitError(
        .dataWrong,
        "cannot evaluate FETCH of '\(request.entityName)': expected at most \(FetchedObjects.limitObjects) objects, "
          + "found \(found.count)", remedy: "narrow its predicate, or fetch only the count"
      ).about(.rejectedRow)
    }
    return .objects(
      try found.keys.compactMap { try context.object(entityName: request.entityName, key: $0) }, ordered: false)
  }

  private func run(_ request: SourceFetch) throws -> FetchedObjects.Result {
    var result = FetchedObjects.Result()
    let predicate = try request.predicate()
    let schema = context.schema
    guard let table = schema.table(of: request.entityName) else { return result }
    let family = request.includesSubentities ? schema.model.family(of: request.entityName).map(\.name) : []
    let further = schema.isObject(of: [request.entityName] + family).further
    let condition = ExpressionEvaluator(now: now, role: .filter, host: self).compile(predicate)
    let sql =
      "SELECT Z_PK FROM \(quoted(context.database)).\(quoted(table.name)) WHERE Z_PK >= ?1\(further) ORDER BY Z_PK LIMIT 500"
    var next: Int64? = .min
    while let start = next {
      let keys = try context.keys(sql, start)
      for key in keys {
        guard let object = try context.object(entityName: request.entityName, key: key),
          try condition.matches(object) == true
        else { continue }
        result.count += 1
        if result.keys.count <= FetchedObjects.limitObjects { result.keys.append(key) }
      }
      next = keys.last.flatMap { $0 < .max ? $0 + 1 : nil }
    }
    return result
  }
}

/// The results of fetches. The source does not change and a request names no object, so one answer serves a job.
package final class FetchedObjects {
  /// The most objects that an expression may hold.
  static let limitObjects = 10_000

  struct Result {
    var count: Int64 = 0
    /// The first of them.
    var keys: [Int64] = []
  }

  private var known: [SourceFetch: Result] = [:]
  /// The running requests, which detect a request that contains itself.
  private var running: Set<SourceFetch> = []

  package init() {}

  func result(of request: SourceFetch, _ run: () throws -> Result) throws -> Result {
    if let result = known[request] { return result }
    guard running.insert(request).inserted else {
      throw ExpressionError("a FETCH cannot refer to itself", range: 0..<0)
    }
    defer { running.remove(request) }
    let result = try run()
    if known.count >= 16 { known.removeAll() }
    known[request] = result
    return result
  }
}
