/// How a to-one of one entity is filled: a function from the object's index to its destination's.
///
/// Indexes count the objects of a family: of the entity that declares the relationship, or of the one it leads to.
struct SynthesisToOne: Sendable {
  enum Form: Sendable, Hashable {
    /// The other side sets no limits.
    case free
    /// The other side is to-many: the first rounds give every destination its least number, and `most` bounds the
    /// number that one destination gets.
    case spread(least: Int, most: Int?)
    /// One to one; the other side computes the same pairs from its end.
    case paired(isFirst: Bool, noise: SynthesisNoise, isAlwaysLinked: Bool)
    /// A one-to-one that is its own inverse.
    case mutual(noise: SynthesisNoise, isAlwaysLinked: Bool)
    case never
  }

  var form: Form
  var isOptional: Bool
  /// The objects of the family that declares the relationship.
  var subjects: Int
  var destination: SynthesisLayout.Family
  var isSameFamily: Bool
  var isNasty: Bool
  var noise: SynthesisNoise

  private var nilShare: UInt64 { isNasty ? 3 : 8 }

  /// The index of the destination; nil for none.
  func destination(of index: Int) -> Int? {
    let count = destination.count
    guard count > 0 else { return nil }
    let bits = noise[index]
    let mayBeNil = isOptional && bits % nilShare == 0
    switch form {
    case .never: return nil
    case .free: return mayBeNil ? nil : (bits >> 8).reduced(below: count)
    case .spread(let least, let most):
      let round = index / count
      if round < least { return index % count }
      if let most {
        return round < most && !mayBeNil ? index % count : isOptional || round >= most ? nil : index % count
      }
      if mayBeNil { return nil }
      // A tree, as owners of the same kind are mostly meant.
      if isSameFamily { return index > 0 ? (bits >> 8).reduced(below: index) : isOptional ? nil : 0 }
      return (bits >> 8).reduced(below: count)
    case .paired(let isFirst, let noise, let isAlwaysLinked):
      let pairs = min(subjects, count)
      guard index < pairs else { return nil }
      let shift = pairs > 1 ? 1 : 0
      let other = isFirst ? (index + shift) % pairs : (index - shift + pairs) % pairs
      let first = isFirst ? index : other
      return !isAlwaysLinked && noise[first] % nilShare == 0 ? nil : other
    case .mutual(let noise, let isAlwaysLinked):
      let other = count - 1 - index
      if isAlwaysLinked { return other }
      return other == index || noise[min(index, other)] % nilShare == 0 ? nil : other
    }
  }

  /// The place among the owner's objects: any order that differs from that of the keys will do.
  func orderKey(of index: Int) -> Int64 {
    let spacing = subjects <= 1 << 20 ? Int64(1024) : 1
    return 2048 + spacing * Int64(index ^ 1)
  }
}

/// The pairs of a many-to-many relationship, as a walk round both families.
///
/// Edge e leads from e modulo the owners to e modulo the destinations, one further each time both walks
/// close: no pair comes twice, and every object gets as many as any other, give or take one.
struct SynthesisJoin: Sendable {
  var owners: Int
  var destinations: Int
  var edges: Int
  /// The first edges, which satisfy the required relationships. Some of the others are left out.
  var required: Int
  /// Whether leaving edges out breaks no limit.
  var isSparse: Bool
  var noise: SynthesisNoise

  /// - Parameters: the least and most number of objects of either side; `most` nil for no bound.
  init?(
    owners: Int, destinations: Int, ownerLeast: Int, ownerMost: Int?, destinationLeast: Int, destinationMost: Int?,
    noise: SynthesisNoise
  ) {
    guard owners > 0, destinations > 0 else { return nil }
    let all = Self.product(owners, destinations)
    let low = max(Self.product(owners, ownerLeast), Self.product(destinations, destinationLeast))
    let high = min(
      all, ownerMost.map { Self.product(owners, $0) } ?? .max,
      destinationMost.map { Self.product(destinations, $0) } ?? .max)
    guard low <= high else { return nil }
    self.owners = owners
    self.destinations = destinations
    required = low
    edges = min(high, max(low, 2 * max(owners, destinations)))
    isSparse = ownerLeast <= 1 && destinationLeast <= 1
    self.noise = noise
  }

  private static func product(_ a: Int, _ b: Int) -> Int {
    let (product, overflow) = a.multipliedReportingOverflow(by: b)
    return overflow ? .max : product
  }

  /// The walks close together after as many edges.
  private var round: Int {
    var (a, b) = (owners, destinations)
    while b != 0 { (a, b) = (b, a % b) }
    return Self.product(owners / a, destinations)
  }

  func forEachEdge(
    _ body: (_ owner: Int, _ destination: Int, _ ownerPlace: Int, _ destinationPlace: Int) throws -> Void
  ) throws {
    let round = round
    for edge in 0..<edges {
      if isSparse, edge >= required, noise[edge] % 4 == 0 { continue }
      let owner = edge % owners
      let laps = edges / owners
      // Every other owner has its objects in the opposite order.
      let lap = edge / owners
      let ownerPlace = owner % 2 == 0 ? lap : laps - lap
      try body(owner, (edge + edge / round) % destinations, ownerPlace, edge / destinations)
    }
  }
}
