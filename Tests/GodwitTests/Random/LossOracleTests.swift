import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// The loss report against the rows: all that is gone is named, and nothing that is there.
///
/// The data of an object that no mapping takes may be counted or not. So the rows give two numbers, without it and with
/// it, and the report has to be between them.
@Suite struct LossOracleTests {
  /// How often the seeds show what the report must tell apart.
  private struct Seen {
    var partValues = 0
    var partLinks = 0
    var kept = 0
    var orders = 0
    var foreign = 0
    var nils = 0
    var merged = 0
    var pairs = 0
    var accepted = 0
  }

  @Test func `the report names what is gone by the rows, and nothing else`() throws {
    var seen = Seen()
    let seeds = testSeeds(24)
    for seed in seeds {
      let world = try LossWorld(seed: seed)
      let job = try world.fixture.job
      let planned = try MigrationManager(job).plan().losses
      let report = try MigrationManager(job).run().losses
      #expect(Set(planned.losses) == Set(report.losses), "seed \(seed)")
      #expect(try Verifier(job: job).run().isClean, "seed \(seed)")
      let remains = try LossRemains(world)
      checkMerged(world, report, &seen, seed)
      checkPairs(world, remains, report, &seen, seed)
      try checkAccepted(world, job, planned, &seen, seed)
      if seed % 3 == 0 { try checkTraces(world, job, seed) }
      checkValues(world, remains, report, &seen, seed)
      checkLinks(world, remains, report, &seen, seed)
      checkOrder(world, remains, report, &seen, seed)
      checkForeign(world, planned, report, &seen, seed)
    }
    #expect(seen.partValues >= seeds.count / fewest(4), "\(seen)")
    #expect(seen.partLinks >= seeds.count / fewest(8), "\(seen)")
    #expect(seen.foreign >= seeds.count && seen.nils >= seeds.count / fewest(4), "\(seen)")
    #expect(seen.kept >= seeds.count && seen.orders >= seeds.count / fewest(12), "\(seen)")
    #expect(seen.merged >= seeds.count / fewest(6) && seen.pairs >= seeds.count / fewest(6), "\(seen)")
    #expect(seen.accepted >= seeds.count / fewest(12), "\(seen)")
  }

  @Test func `the losses of a job of two stores are the sums of those of a job for each`() throws {
    for seed in testSeeds(4) {
      let worlds = try (0...1).map { try LossWorld(seed: seed, part: $0) }
      // Objects that one store has and those of the other become one too.
      guard worlds[0].unique == nil else { continue }
      var merged = try worlds[0].fixture.job
      merged.destinationPath = worlds[0].fixture.folder.file("out/merged.sqlite")
      merged.merged = try MergedSources(worlds.map(\.fixture.sourcePath))
      merged = merged.readingMerged(in: merged.workPath)
      let planned = try MigrationManager(merged).plan().losses
      let report = try MigrationManager(merged).run().losses
      #expect(Set(planned.losses) == Set(report.losses), "seed \(seed)")
      var expected: [String: Int64] = [:]
      for world in worlds {
        for loss in try MigrationManager(world.fixture.job).run().losses.losses {
          expected["\(loss.kind) \(loss.subject) \(loss.reason)", default: 0] += loss.count ?? 0
        }
      }
      let found = Dictionary(
        report.losses.map { ("\($0.kind) \($0.subject) \($0.reason)", $0.count ?? 0) }, uniquingKeysWith: +)
      #expect(found == expected, "seed \(seed)")
      #expect(try Verifier(job: merged).run().isClean, "seed \(seed)")
    }
  }

  private func sum(
    _ report: LossReport, _ kind: LossReport.Kind, _ subjects: [String], merged: Bool? = nil
  ) -> Int {
    report.losses.filter {
      $0.kind == kind && subjects.contains($0.subject) && (merged == nil || merged == ($0.cause == .merged))
    }.reduce(0) { $0 + Int($1.count ?? 0) }
  }

  /// Checks the values of objects that become one.
  private func checkMerged(_ world: LossWorld, _ report: LossReport, _ seen: inout Seen, _ seed: UInt64) {
    var expected = world.mergedValues.mapValues(\.count).filter { $0.value > 0 }
    for loss in report.losses where loss.kind == .values && loss.cause == .merged {
      let name = loss.subject.split(separator: ".").last.map(String.init) ?? ""
      let count = expected.removeValue(forKey: name) ?? 0
      #expect(Int(loss.count ?? 0) == count, "seed \(seed): \(loss.subject)")
      seen.merged += 1
    }
    #expect(expected.isEmpty, "seed \(seed): \(expected)")
  }

  /// Checks the links that become objects.
  private func checkPairs(
    _ world: LossWorld, _ remains: LossRemains, _ report: LossReport, _ seen: inout Seen, _ seed: UInt64
  ) {
    guard world.pairs != nil else { return }
    let aliases = world.aliases
    let taken = world.friends.filter(\.isTaken)
    #expect(remains.pairs.count == taken.count, "seed \(seed)")
    let told = sum(report, .objects, ["C.friends"])
    #expect(told == world.friends.count - taken.count, "seed \(seed): \(told) links that are left out")
    for (name, place) in [("$source", 0), ("$element", 1)] {
      let gone = taken.filter { pair in
        remains.pairs.first { $0.c == pair.c.tag && $0.b == pair.b.tag }?.ends[place] == nil
      }
      let least = gone.count { pair in
        let tag = place == 0 ? pair.c.tag : pair.b.tag
        return remains.tags.contains(aliases[tag] ?? tag)
      }
      let lost = sum(report, .links, ["C.friends.\(name)"])
      let most = world.friends.count - taken.count + gone.count
      #expect(lost >= least && lost <= most, "seed \(seed): \(name): \(lost), not \(least) to \(most)")
      seen.pairs += lost > 0 || told > 0 ? 1 : 0
    }
  }

  /// Some of the losses are meant. The job stops if others happen.
  private func checkAccepted(
    _ world: LossWorld, _ job: MigrationJob, _ planned: LossReport, _ seen: inout Seen, _ seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let isWhole = random.chance(40)
    let subjects = Set(planned.losses.map(\.subject).sorted().filter { _ in isWhole || random.chance(80) })
    let rest = planned.losses.filter { !subjects.contains($0.subject) && $0.kind != .linksToNothing }
    var strict = job
    (strict.onLoss, strict.acceptedLosses) = (.fail, subjects.map { .init($0) })
    strict.destinationPath = world.fixture.folder.file("out/strict.sqlite")
    do {
      let summary = try MigrationManager(strict).run()
      #expect(rest.isEmpty, "seed \(seed): \(rest)")
      #expect(Set(summary.losses.losses.filter { $0.isAccepted == true }.map(\.subject)) == subjects, "seed \(seed)")
      seen.accepted += 1
    } catch let error as GodwitError {
      #expect(!rest.isEmpty && error.code == .dataWrong, "seed \(seed): \(error)")
      let lines = error.cause?.split(separator: "\n").count ?? 0
      #expect(lines == rest.count, "seed \(seed): \(error)")
    }
  }

  /// A trace leads from an object to the tags that each mapping which takes it made.
  private func checkTraces(_ world: LossWorld, _ job: MigrationJob, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let aliases = world.aliases
    for object in world.objects.shuffled(using: &random).prefix(2) {
      var expected = world.fixture.mappings.filter { $0.forEach == nil && LossWorld.takes($0, object) }.map { mapping in
        let alias = mapping.name == world.unique?.name ? aliases[object.tag] : nil
        return "\(mapping.name) \(alias ?? object.tag)"
      }
      expected += world.friends.filter { $0.isTaken && [$0.c.tag, $0.b.tag].contains(object.tag) }.map {
        "Pairs \($0.c.tag)"
      }
      let trace = try MigrationManager(job).trace("\(object.entity)/p\(object.key)", in: .source)
      let found = trace.associations.map { one in
        var tag = "nothing"
        if case .string(let text)? = one.destination?.attributes["tag"] { tag = text.string }
        return "\(one.mapping) \(tag)"
      }
      #expect(found.sorted() == expected.sorted(), "seed \(seed): \(object.tag)")
    }
  }

  private func checkValues(
    _ world: LossWorld, _ remains: LossRemains, _ report: LossReport, _ seen: inout Seen, _ seed: UInt64
  ) {
    let (aliases, merged) = (
      world.aliases, world.mergedValues.values.reduce(into: Set<String>()) { $0.formUnion($1.values) }
    )
    for (entity, names) in LossWorld.attributes {
      let isMapped = world.fixture.mappings.contains { $0.sourceEntityName == entity }
      for name in names + ["tag", "n"] {
        let held = world.objects.filter { $0.entity == entity && $0.values[name] != nil }
        let gone = held.filter { !remains.values.union(merged).contains($0.values[name] ?? "") }
        let least = gone.filter { remains.tags.contains(aliases[$0.tag] ?? $0.tag) }.count
        let told = sum(report, .values, ["\(entity).\(name)"], merged: false)
        let most = isMapped ? gone.count : 0
        #expect(told >= least && told <= most, "seed \(seed): \(entity).\(name): \(told), not \(least) to \(most)")
        if told > 0, told < held.count { seen.partValues += 1 }
        if told == 0, !held.isEmpty { seen.kept += 1 }
      }
    }
  }

  /// Checks content that no model names, and decimals without a value.
  private func checkForeign(
    _ world: LossWorld, _ planned: LossReport, _ report: LossReport, _ seen: inout Seen, _ seed: UInt64
  ) {
    for (subject, count) in world.foreign {
      for losses in [planned, report] {
        let told = losses.losses.filter { $0.subject == subject }.reduce(0) { $0 + Int($1.count ?? 0) }
        #expect(told == count, "seed \(seed): \(subject): \(told), not \(count)")
      }
      seen.foreign += count
    }
    let told = sum(report, .nils, ["B.m"])
    #expect(told == world.nils, "seed \(seed): B.m: \(told), not \(world.nils)")
    seen.nils += told > 0 ? 1 : 0
  }

  private func checkLinks(
    _ world: LossWorld, _ remains: LossRemains, _ report: LossReport, _ seen: inout Seen, _ seed: UInt64
  ) {
    let aliases = world.aliases
    func image(_ tag: String) -> String { aliases[tag] ?? tag }
    for pair in LossWorld.pairs {
      let targets = world.objects.filter { LossWorld.family(pair.to).contains($0.entity) }
      var all: [[String]] = []
      for object in world.objects where LossWorld.family(pair.from).contains(object.entity) {
        for key in object.links[pair.name] ?? [] {
          guard let other = targets.first(where: { $0.key == key }) else { continue }
          all.append([object.tag, other.tag])
        }
      }
      let there = remains.links[pair.from + pair.name] ?? []
      let isObjects = world.pairs != nil && pair.name == "friends"
      let gone = isObjects ? [] : all.filter { !there.contains($0.map(image)) }
      let least = gone.filter { remains.tags.isSuperset(of: $0.map(image)) }.count
      let subjects =
        LossWorld.family(pair.from).map { "\($0).\(pair.name)" }
        + LossWorld.family(pair.to).map { "\($0).\(pair.inverse)" }
      let told = sum(report, .links, subjects)
      #expect(
        told >= least && told <= gone.count,
        "seed \(seed): \(pair.from).\(pair.name): \(told), not \(least) to \(gone.count)\n\(world.description)")
      if told > 0, gone.count < all.count { seen.partLinks += 1 }
    }
  }

  private func checkOrder(
    _ world: LossWorld, _ remains: LossRemains, _ report: LossReport, _ seen: inout Seen, _ seed: UInt64
  ) {
    let told = sum(report, .order, ["A.parts", "S.parts"])
    let tags = Dictionary(grouping: world.objects.filter { $0.entity == "C" }, by: \.key).compactMapValues(\.first?.tag)
    var order: [String: [String]] = [:]
    for object in world.objects where LossWorld.family("A").contains(object.entity) {
      order[object.tag] = (object.links["parts"] ?? []).compactMap { tags[$0] }
    }
    let isMerged = ["A", "C"].contains(world.unique?.sourceEntityName)
    if world.keepsOrder, !isMerged {
      let numbers = Dictionary(world.objects.map { ($0.tag, $0.n) }) { one, _ in one }
      for (owner, parts) in remains.parts {
        let places = parts.compactMap { tag in
          world.sortsParts ? numbers[tag] : order[owner]?.firstIndex(of: tag).map(Int64.init)
        }
        #expect(places == places.sorted(), "seed \(seed): \(owner)")
      }
    }
    if world.keepsOrder, !world.sortsParts { return #expect(told == 0, "seed \(seed)") }
    if world.placesParts {
      // The places of the parts are numbers.
      let missing = Set(world.objects.map(\.tag)).subtracting(remains.tags)
      let most = order.values.reduce(0) { $0 + ($1.count > 1 ? $1.count { missing.contains($0) } : 0) }
      return #expect(told <= most, "seed \(seed): the order of \(told) parts, not 0 to \(most)")
    }
    let there = remains.links["Cwhole"] ?? []
    let least = order.reduce(0) { sum, one in
      let left = one.value.filter { there.contains([$0, one.key]) }.count
      return sum + (left > 1 ? left : 0)
    }
    let most = order.values.reduce(0) { $0 + ($1.count > 1 ? $1.count : 0) }
    #expect(
      told >= (isMerged ? 0 : least) && told <= most,
      "seed \(seed): the order of \(told) parts, not \(least) to \(most)")
    if told > 0 { seen.orders += 1 }
  }
}
