import GodwitJob
import GodwitModel
import GodwitStore

/// The links that `for-each` makes objects of.
///
/// Both the run and the comparison of rows read them from a view of the store reader. Here they are walked from the
/// other side: object by object of the source, along the relationship as the store holds it. Both walks must give the
/// same links with the same places, so a link that the view lacks or invents is found.
struct PairProof {
  private let stores: ComparedStores
  private let findings: Findings
  private let progress: VerificationProgress

  init(_ stores: ComparedStores, _ findings: Findings, _ progress: VerificationProgress) {
    (self.stores, self.findings, self.progress) = (stores, findings, progress)
  }

  func provePairs() throws {
    for pair in stores.job.sourceModel.pairEntities {
      guard let walk = try pairWalk(pair) else { continue }
      let columns = ["ZSOURCE", "ZELEMENT"] + (walk.hasPlaces ? ["Z_FOK_SOURCE"] : [])
      let view = try stores.source.prepare(
        "SELECT \(columns.joined(separator: ", ")) FROM \(stores.table(try stores.sourceTable(pair.name).name)) ORDER BY 1, 2"
      )
      let links = try stores.source.prepare(walk.sql)
      defer {
        view.finalize()
        links.finalize()
      }
      try comparePairs(pair, view, links, width: columns.count)
    }
  }

  private func comparePairs(
    _ pair: PairEntity, _ view: SQLStatement, _ links: SQLStatement, width: Int
  ) throws {
    func next(_ statement: SQLStatement) throws -> [Int64]? {
      try statement.step() ? (0..<width).map { statement.row.isNull($0) ? .min : statement.row.int64($0) } : nil
    }
    var count: Int64 = 0
    var (seen, wanted) = (try next(view), try next(links))
    while seen != nil || wanted != nil {
      count += 1
      if count.isMultiple(of: 65_536) { try progress.checkStop() }
      if let one = seen, let other = wanted, one == other {
        (seen, wanted) = (try next(view), try next(links))
      } else if let other = wanted, seen.map({ other.lexicographicallyPrecedes($0) }) ?? true {
        findPair(.missingObject, pair, other, "is not among those that become objects")
        wanted = try next(links)
      } else if let one = seen {
        findPair(.extraObject, pair, one, "is not in the source")
        seen = try next(view)
      }
    }
  }

  private func findPair(
    _ kind: VerificationReport.Finding.Kind, _ pair: PairEntity, _ link: [Int64], _ what: String
  ) {
    let place = link.count > 2 ? " at place \(link[2])" : ""
    findings.find(
      kind, property: pair.name, "the link from p\(link[0]) to p\(link[1])\(place) along '\(pair.name)' \(what)")
  }

  /// A query of the links from each object of the source entity: its key, the element's key, and the place.
  private func pairWalk(_ pair: PairEntity) throws -> (sql: String, hasPlaces: Bool)? {
    let holders = "\(stores.table(try stores.sourceTable(pair.sourceEntityName).name)) AS h"
    let isHolder = stores.sourceSchema.isObject(of: [pair.sourceEntityName], row: "h").term
    let elements = "\(stores.table(try stores.sourceTable(pair.elementEntityName).name)) AS e"
    let isElement = stores.isKind(pair.elementEntityName, "e.Z_ENT", in: stores.sourceSchema)
    func sql(_ from: String, _ place: String?) -> (String, Bool) {
      let columns = ["h.Z_PK", "e.Z_PK"] + (place.map { [$0] } ?? [])
      return (
        "SELECT \(columns.joined(separator: ", ")) FROM \(holders) \(from) WHERE \(isHolder) AND \(isElement) ORDER BY 1, 2",
        place != nil
      )
    }
    switch stores.sourceSchema.storage(of: pair.relationshipName, in: pair.sourceEntityName) {
    case .inverse(_, let column, _, let order):
      return sql("CROSS JOIN \(elements) ON e.\(quoted(column)) = h.Z_PK", order.map { "e.\(quoted($0))" })
    case .join(let join, let subject, let object, let order):
      let links = "\(join.rows(in: ComparedStores.attached)) AS l"
      return sql(
        "CROSS JOIN \(links) ON l.\(quoted(subject)) = h.Z_PK CROSS JOIN \(elements) ON e.Z_PK = l.\(quoted(object))",
        order.map { "l.\(quoted($0))" })
    case .foreignKey, .none: return nil
    }
  }
}
