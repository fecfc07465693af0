import GodwitModel

/// How many objects each entity gets, so that every required relationship can be satisfied.
///
/// 1. All concrete entities share the objects evenly.
/// 2. While something required cannot be satisfied, those objects move that mend most.
/// 3. If no move helps, one object moves even so, another one each time.
struct SynthesisCounts {
  /// The demand of one relationship on the numbers of two families. Entities stand for their places.
  private struct Demand {
    enum Rule {
      /// With subjects, at least this many destinations.
      case atLeast(Int)
      /// At most this many subjects for each destination.
      case atMost(Int)
      /// At least this many destinations for each subject.
      case each(Int)
    }

    var rule: Rule
    var subjects: [Int]
    var destination: [Int]

    /// How many objects are missing or too many; 0 when the demand is met.
    func excess(_ counts: [Int]) -> Int {
      let subjects = subjects.reduce(0) { $0 + counts[$1] }
      let destination = destination.reduce(0) { $0 + counts[$1] }
      return switch rule {
      case .atLeast(let least): subjects > 0 ? max(0, least - destination) : 0
      case .atMost(let times): max(0, subjects - times * destination)
      case .each(let times): max(0, times * subjects - destination)
      }
    }
  }

  /// No product of a number of rows with it overflows.
  private static let factorLimit = 1_000_000

  private var demands: [Demand] = []
  /// Concrete entities, in name order.
  private let names: [String]
  private var numbers: [Int] = []

  var counts: [String: Int] { Dictionary(uniqueKeysWithValues: zip(names, numbers)) }

  /// - Throws: `.usage` when no distribution of so many objects was found that satisfies the required relationships.
  init(_ model: ManagedObjectModel, rows: Int) throws {
    names = model.entities.filter { !$0.isAbstract }.map(\.name)
    guard !names.isEmpty else {
      guard rows == 0 else {
        throw GodwitError(
          .usage, "cannot make \(rows.counted("object")) of model '\(model.name)': it has no concrete entity")
      }
      return
    }
    numbers = names.indices.map { rows / names.count + ($0 < rows % names.count ? 1 : 0) }
    for entity in names {
      for relationship in model.relationships(of: entity) where !relationship.isTransient && relationship.requiresObject
      {
        addDemands(relationship, of: entity, model)
      }
    }
    for round in 0..<1000 {
      let broken = demands.filter { $0.excess(numbers) > 0 }
      if broken.isEmpty { return }
      improve(broken, round: round)
    }
    throw GodwitError(
      .usage,
      "cannot make \(rows.counted("object")) of model '\(model.name)': found no way to satisfy its required relationships",
      remedy: "give another number of rows, larger by a few")
  }

  private mutating func addDemands(
    _ relationship: RelationshipDescription, of entity: String, _ model: ManagedObjectModel
  ) {
    func concrete(_ name: String) -> [Int] {
      let family = Set(model.family(of: name).map(\.name))
      return names.indices.filter { family.contains(names[$0]) }
    }
    func add(_ rule: Demand.Rule, _ subjects: [Int], _ destination: [Int]) {
      demands.append(Demand(rule: rule, subjects: subjects, destination: destination))
    }
    let destination = concrete(relationship.destinationEntityName)
    let inverse = model.inverse(of: relationship).flatMap { $0.isTransient ? nil : $0 }
    let declaring = model.declaringEntity(of: relationship.name, in: entity)?.name ?? entity
    let family = concrete(declaring)
    let most = inverse.flatMap { $0.maxCount > 0 ? min($0.maxCount, Self.factorLimit) : nil }
    if relationship.isToMany {
      guard let inverse else { return }
      let least = min(max(1, relationship.minCount), Self.factorLimit)
      add(.atLeast(least), names.indices.filter { names[$0] == entity }, destination)
      if !inverse.isToMany { return add(.each(least), family, destination) }
      if let most { add(.atMost(max(1, most / least)), family, destination) }
      return
    }
    add(.atLeast(1), names.indices.filter { names[$0] == entity }, destination)
    guard let inverse else { return }
    if !inverse.isToMany {
      if family != destination { add(.atMost(1), family, destination) }
    } else if let most {
      add(.atMost(most), family, destination)
    }
  }

  /// Moves objects between two entities so that least is missing afterwards.
  private mutating func improve(_ broken: [Demand], round: Int) {
    let total = demands.reduce(0) { $0 + $1.excess(numbers) }
    // Entities that are concerned, and the largest of the others, which have objects to spare.
    let concerned = Set(broken.flatMap { $0.subjects + $0.destination })
    let others = names.indices.filter { !concerned.contains($0) }.sorted { (numbers[$1], $0) < (numbers[$0], $1) }
    let candidates = concerned.sorted() + others.prefix(4)
    struct Move {
      var total, from, to, number: Int
    }
    var best: Move?
    for from in candidates where numbers[from] > 0 {
      for to in candidates where to != from {
        var number = 1
        while number <= numbers[from] {
          var moved = numbers
          moved[from] -= number
          moved[to] += number
          let left = demands.reduce(0) { $0 + $1.excess(moved) }
          if left < best?.total ?? total {
            best = Move(total: left, from: from, to: to, number: number)
          }
          number *= 2
        }
      }
    }
    if let best {
      numbers[best.from] -= best.number
      numbers[best.to] += best.number
      return
    }
    let givers = candidates.filter { numbers[$0] > 0 }
    guard !givers.isEmpty else { return }
    let from = givers[round % givers.count]
    let to = candidates[(round / givers.count + round) % candidates.count]
    numbers[from] -= 1
    numbers[to] += 1
  }
}
