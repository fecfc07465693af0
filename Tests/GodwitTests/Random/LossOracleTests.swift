import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
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
      let remains = try LossRemains(world)
      checkValues(world, remains, report, &seen, seed)
      checkLinks(world, remains, report, &seen, seed)
      checkOrder(world, remains, report, &seen, seed)
      checkForeign(world, planned, report, &seen, seed)
    }
    #expect(seen.partValues >= seeds.count / fewest(4), "\(seen)")
    #expect(seen.partLinks >= seeds.count / fewest(8), "\(seen)")
    #expect(seen.foreign >= seeds.count && seen.nils >= seeds.count / fewest(4), "\(seen)")
    #expect(seen.kept >= seeds.count && seen.orders >= seeds.count / fewest(12), "\(seen)")
  }

  private func sum(_ report: LossReport, _ kind: LossReport.Kind, _ subjects: [String]) -> Int {
    report.losses.filter { $0.kind == kind && subjects.contains($0.subject) }.reduce(0) { $0 + Int($1.count ?? 0) }
  }

  private func checkValues(
    _ world: LossWorld, _ remains: LossRemains, _ report: LossReport, _ seen: inout Seen, _ seed: UInt64
  ) {
    for (entity, names) in LossWorld.attributes {
      let isMapped = world.fixture.mappings.contains { $0.sourceEntityName == entity }
      for name in names + ["tag", "n"] {
        let held = world.objects.filter { $0.entity == entity && $0.values[name] != nil }
        let gone = held.filter { !remains.values.contains($0.values[name] ?? "") }
        let least = gone.filter { remains.tags.contains($0.tag) }.count
        let told = sum(report, .values, ["\(entity).\(name)"])
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
      let gone = all.filter { !there.contains($0) }
      let least = gone.filter { remains.tags.isSuperset(of: $0) }.count
      let subjects =
        LossWorld.family(pair.from).map { "\($0).\(pair.name)" }
        + LossWorld.family(pair.to).map { "\($0).\(pair.inverse)" }
      let told = sum(report, .links, subjects)
      #expect(
        told >= least && told <= gone.count,
        "seed \(seed): \(pair.from).\(pair.name): \(told), not \(least) to \(gone.count)")
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
    guard !world.keepsOrder else {
      #expect(told == 0, "seed \(seed)")
      for (owner, parts) in remains.parts {
        let places = parts.compactMap { order[owner]?.firstIndex(of: $0) }
        #expect(places == places.sorted(), "seed \(seed): \(owner)")
      }
      return
    }
    let there = remains.links["Cwhole"] ?? []
    let least = order.reduce(0) { sum, one in
      let left = one.value.filter { there.contains([$0, one.key]) }.count
      return sum + (left > 1 ? left : 0)
    }
    let most = order.values.reduce(0) { $0 + ($1.count > 1 ? $1.count : 0) }
    #expect(told >= least && told <= most, "seed \(seed): the order of \(told) parts, not \(least) to \(most)")
    if told > 0 { seen.orders += 1 }
  }
}
