import GodwitJob
import TestSupport
import Testing

/// The columns of the ledger for a chunk's work. Unfinished jobs hold these numbers.
struct StoredWorkTests {
  static let known: [(ChunkWork, ChunkPhase, StoredWork)] = [
    (.associate(mapping: 3), .associate, .init(subject: 3)),
    (.create(mapping: 4, predicate: nil), .create, .init(subject: 4)),
    (.create(mapping: 4, predicate: 2), .create, .init(subject: 4, predicate: 2)),
    (.relate(link: 5, scan: 1), .relate, .init(subject: 5, part: 1)),
    (.callHook(.begin, policy: 1), .policy, .init(subject: 1, part: 0)),
    (.callHook(.endInstanceCreation, policy: 1), .policy, .init(subject: 1, part: 1)),
    (.callHook(.createRelationships, policy: 1), .policy, .init(subject: 1, part: 2)),
    (.callHook(.endRelationshipCreation, policy: 1), .policy, .init(subject: 1, part: 3)),
    (.callHook(.performCustomValidation, policy: 1), .policy, .init(subject: 1, part: 4)),
    (.callHook(.end, policy: 1), .policy, .init(subject: 1, part: 5)),
    (.prepareResolving(link: 6), .resolve, .init(subject: 6)),
    (.resolve(link: 6), .resolve, .init(subject: 6, part: 1)),
    (.buildIndex(7), .index, .init(subject: 7)),
    (.order(rule: 8), .order, .init(subject: 8)),
    (.derive(rule: 9), .derive, .init(subject: 9)),
    (.validate(mapping: 10), .validate, .init(subject: 10)),
    (.validateEntity(number: 11), .validate, .init(subject: -1, part: 11)),
    (.meet, .meet, .init(subject: 0)),
    (.buildUniqueIndex(12), .unique, .init(subject: 12)),
  ]

  @Test(arguments: known) func `work is stored in its numbers and read from them`(
    work: ChunkWork, phase: ChunkPhase, stored: StoredWork
  ) {
    #expect(work.phase == phase)
    #expect(StoredWork(work) == stored)
    #expect(stored.work(of: phase) == work)
  }

  @Test func `every phase of a chunk has work that is stored`() {
    #expect(Set(Self.known.map(\.1)) == Set(ChunkPhase.allCases))
  }

  @Test(arguments: [-1, PolicyHook.createDestinationInstances.rawValue, 7])
  func `a number that is not of a hook's chunk is refused`(hook: Int) {
    #expect(StoredWork(subject: 0, part: hook).work(of: .policy) == nil)
  }
}
