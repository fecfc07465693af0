import GodwitJob
import GodwitXcode

/// The order in which the versions of a model were made, as far as their names, the current version and the mapping
/// models between them tell.
///
/// Names alone often do not: `ArtsyFolio v2.7.0` is newer than `ArtsyPartner 5`, `UserDataModel` older than
/// `MultiassetUserDataModel`. Names that are equal but for their number form a family, in which the number decides. A
/// mapping model leads from the older version to the newer one. The current version is the newest, and its family the
/// last.
enum VersionOrder {
  /// The names in natural order.
  static func natural(_ names: [String]) -> [String] { names.sorted(by: ModelBundle.precedes) }

  /// - Parameter served: The versions that mapping models lead from and to. Pairs that are served in both directions,
  ///   and those that lead away from the current version, are ignored.
  static func order(_ names: [String], current: String?, served: [(source: String, destination: String)]) -> [String] {
    let natural = natural(names)
    var families: [String] = []
    var members: [String: [String]] = [:]
    for name in natural {
      let family = VersionName.family(of: name)
      if members[family] == nil { families.append(family) }
      members[family, default: []].append(name)
    }
    let last = current.map(VersionName.family)
    let pairs = served.filter { pair in natural.contains(pair.source) && natural.contains(pair.destination) }
    let between = pairs.map { (VersionName.family(of: $0.source), VersionName.family(of: $0.destination)) }
    return sorted(families, last: last, pairs: between).flatMap { family in
      sorted(members[family] ?? [], last: current, pairs: pairs.map { ($0.source, $0.destination) })
    }
  }

  /// The items in their order, except where pairs require another; `last` comes last.
  private static func sorted(_ items: [String], last: String?, pairs: [(String, String)]) -> [String] {
    var rest = items.filter { $0 != last } + items.filter { $0 == last }
    let known = Set(items)
    let pairs = pairs.filter { pair in
      pair.0 != pair.1 && known.contains(pair.0) && known.contains(pair.1) && pair.0 != last
        && !pairs.contains { $0.0 == pair.1 && $0.1 == pair.0 }
    }
    var result: [String] = []
    while !rest.isEmpty {
      // In a cycle any item will do.
      let next = rest.firstIndex { item in !pairs.contains { $0.1 == item && rest.contains($0.0) } } ?? 0
      result.append(rest.remove(at: next))
    }
    return result
  }
}
