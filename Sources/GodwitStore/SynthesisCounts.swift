import GodwitModel

/// How many objects each entity gets, so that every required relationship can be satisfied.
struct SynthesisCounts {
  /// What one relationship asks of the numbers of two families.
  private enum Demand {
    /// With objects in `subjects`, `destination` needs so many.
    case atLeast(Int, of: Set<String>, for: Set<String>)
    /// `subjects` may have at most so many times the objects of `destination`.
    case atMost(Set<String>, times: Int, Set<String>)
  }

  private var demands: [Demand] = []
  private(set) var counts: [String: Int] = [:]

  /// - Throws: `.usage` when no distribution of so many objects satisfies the required relationships.
  init(_ model: ManagedObjectModel, rows: Int) throws {
    let concrete = model.entities.filter { !$0.isAbstract }.map(\.name)
    guard !concrete.isEmpty else {
      guard rows == 0 else {
        throw GodwitError(.usage, "cannot make \(rows) objects of model '\(model.name)': it has no concrete entity")
      }
      return
    }
    for (index, name) in concrete.enumerated() {
      counts[name] = rows / concrete.count + (index < rows % concrete.count ? 1 : 0)
    }
    for entity in concrete {
      for relationship in model.relationships(of: entity) where !relationship.isTransient {
        gather(relationship, of: entity, model)
      }
    }
    // Each round moves objects from where too many are to where too few are.
    for round in 0..<(200 + 40 * demands.count) {
      var isSettled = true
      for demand in demands where try !settle(demand, round: round, model) { isSettled = false }
      if isSettled { return }
    }
    throw Self.impossible(rows, model)
  }

  private static func impossible(_ rows: Int, _ model: ManagedObjectModel) -> GodwitError {
    GodwitError(
      .usage, "cannot make \(rows) objects of model '\(model.name)': its required relationships allow no such number",
      remedy: "give another number of rows, larger by a few")
  }

  private mutating func gather(_ relationship: RelationshipDescription, of entity: String, _ model: ManagedObjectModel)
  {
    func concrete(_ name: String) -> Set<String> {
      Set(model.family(of: name).filter { !$0.isAbstract }.map(\.name))
    }
    let destination = concrete(relationship.destinationEntityName)
    let inverse = model.inverse(of: relationship).flatMap { $0.isTransient ? nil : $0 }
    let least = relationship.isOptional ? 0 : max(1, relationship.isToMany ? relationship.minCount : 1)
    let declaring = model.declaringEntity(of: relationship.name, in: entity)?.name ?? entity
    let family = concrete(declaring)
    guard least > 0 else { return }
    if relationship.isToMany {
      guard let inverse else { return }
      demands.append(.atLeast(least, of: destination, for: [entity]))
      if !inverse.isToMany { demands.append(.atMost(family, times: -least, destination)) }
      if inverse.isToMany, inverse.maxCount > 0 {
        demands.append(.atMost(family, times: max(1, inverse.maxCount / least), destination))
      }
      return
    }
    demands.append(.atLeast(1, of: destination, for: [entity]))
    guard let inverse else { return }
    if !inverse.isToMany {
      if inverse.name != relationship.name || declaring != inverse.destinationEntityName {
        demands.append(.atMost(family, times: 1, destination))
      }
    } else if inverse.maxCount > 0 {
      demands.append(.atMost(family, times: inverse.maxCount, destination))
    }
  }

  private func total(_ names: Set<String>) -> Int { names.reduce(0) { $0 + (counts[$1] ?? 0) } }

  /// - Returns: whether the demand was met already.
  private mutating func settle(_ demand: Demand, round: Int, _ model: ManagedObjectModel) throws -> Bool {
    switch demand {
    case .atLeast(let least, of: let destination, for: let subjects):
      let missing = least - total(destination)
      guard missing > 0, total(subjects) > 0 else { return true }
      try move(missing, from: Set(counts.keys).subtracting(destination), to: destination, model)
      return false
    case .atMost(let subjects, let times, let destination):
      let (few, many) = (total(subjects), total(destination))
      if times < 0 {
        // Turned round: the destination must have so many times the subjects.
        let factor = -times
        let missing = few.multipliedReportingOverflow(by: factor).partialValue - many
        guard missing > 0 else { return true }
        try move((missing + factor) / (factor + 1), from: subjects.subtracting(destination), to: destination, model)
        return false
      }
      let excess = few - many.multipliedReportingOverflow(by: times).partialValue
      guard excess > 0 else { return true }
      let givers = subjects.subtracting(destination)
      let others = Set(counts.keys).subtracting(subjects).subtracting(destination).sorted(
        by: ManagedObjectModel.precedes)
      if times == 1, excess % 2 == 1, !others.isEmpty {
        // Two numbers that must be equal cannot share an odd one: it goes elsewhere, each time to another entity.
        try move(1, from: givers, to: [others[round % others.count]], model)
        guard excess > 1 else { return false }
      }
      try move(
        (excess + times) / (times + 1), from: subjects.subtracting(destination),
        to: destination.subtracting(subjects), model)
      return false
    }
  }

  private mutating func move(
    _ number: Int, from givers: Set<String>, to takers: Set<String>, _ model: ManagedObjectModel
  ) throws {
    // Ordered by name so that equal numbers are always broken alike.
    let taker = takers.sorted(by: ManagedObjectModel.precedes).min { (counts[$0] ?? 0) < (counts[$1] ?? 0) }
    guard let taker else { throw Self.impossible(counts.values.reduce(0, +), model) }
    var missing = number
    while missing > 0 {
      let giver = givers.subtracting([taker]).sorted(by: ManagedObjectModel.precedes).max {
        (counts[$0] ?? 0) < (counts[$1] ?? 0)
      }
      guard let giver, let count = counts[giver], count > 0 else { return }
      let moved = min(missing, max(1, count / 2), count)
      counts[giver] = count - moved
      counts[taker, default: 0] += moved
      missing -= moved
    }
  }
}
